package evaluation

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/benchbatch/benchbatch/planner/batch"
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

// Assessment redacts what a person said. A value that is no text any more is one without its secret.
func (r *Redactor) Assessment(a *batch.Assessment) {
	for _, t := range []*string{&a.Task, &a.Name, &a.Rationale, &a.Who} {
		*t = r.Text(*t)
	}
	clean := r.Text(string(a.Value))
	if clean == string(a.Value) {
		return
	}
	if a.Value = json.RawMessage(clean); !json.Valid(a.Value) {
		a.Value, _ = json.Marshal(clean) // text can be marshalled
	}
}
