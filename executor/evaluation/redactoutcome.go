package evaluation

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/benchbatch/benchbatch/planner/outcome"
)

// outcome redacts every text of a parsed line: what an escape hid has been
// decoded by now.
func (r *Redactor) outcome(o *outcome.Outcome) {
	if len(r.forms) == 0 {
		return
	}
	texts := []*string{&o.Output, &o.Transcript}
	for i := range o.Judges {
		v := &o.Judges[i]
		texts = append(texts, &v.Name, &v.Kind, &v.Model, &v.Rationale, &v.Error)
	}
	for i := range o.Flags {
		texts = append(texts, &o.Flags[i].Audit, &o.Flags[i].Evidence)
	}
	if o.Served != nil {
		texts = append(texts, &o.Served.Model, &o.Served.Provider)
	}
	if o.Error != nil {
		texts = append(texts, &o.Error.Message)
	}
	for _, t := range texts {
		*t = r.Text(*t)
	}
	o.Other = jsontext.Value(r.Text(string(o.Other)))
}
