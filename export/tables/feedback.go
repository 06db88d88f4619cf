package tables

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// FeedbackRow is what one person said of one outcome in MLflow. It is in no other
// table: no score and no verdict is made from it.
type FeedbackRow struct {
	Batch
	Variant
	Run
	Task        *string  `parquet:"task,dict"`        // null: the trace names none
	Judge       string   `parquet:"judge,dict"`       // human/ and what the person called it
	Kind        string   `parquet:"kind,dict"`        // feedback, or expectation: what would have been right
	ValueNumber *float64 `parquet:"value_number"`     // the value where it is a number
	ValueBool   *bool    `parquet:"value_bool"`       // also of the texts yes and no
	ValueText   *string  `parquet:"value_text,plain"` // text, or a list or object as JSON; null where raw is withheld
	Rationale   *string  `parquet:"rationale,plain"`  // null where raw is withheld
	Who         *string  `parquet:"who,dict"`         // as MLflow names the person
	Created     *int64   `parquet:"created,timestamp(millisecond)"`
	Updated     *int64   `parquet:"updated,timestamp(millisecond)"`
	AsOf        int64    `parquet:"as_of,timestamp(millisecond)"` // when it was read
	Trace       string   `parquet:"trace,plain"`                  // id of the trace in MLflow
	Assessment  string   `parquet:"assessment,plain"`             // its id in MLflow
}

// judgeHuman stands before the name of what a person said.
const judgeHuman = "human/"

func (b *builder) addFeedback(*export.Summary) error {
	f := b.f.Feedback
	if f == nil {
		return nil
	}
	runs := map[string]*batch.Evaluation{}
	for i := range b.f.Result.Evaluations {
		e := &b.f.Result.Evaluations[i]
		runs[e.RunID] = e
	}
	said := f.Said()
	for i := range said {
		a := &said[i]
		r, err := b.feedback.next()
		if err != nil {
			return err
		}
		e := runs[a.RunID]
		r.Batch, r.Variant, r.Run = b.batch(), variantOf(b.f.Cell(e.Cell)), Run{e.RunID, int64(e.Slot), e.Counted, e.Reused}
		r.Task, r.Judge, r.Kind, r.Who = text(&a.Task), judgeHuman+a.Name, a.Kind, text(&a.Who)
		r.ValueNumber, r.ValueBool, r.ValueText, r.Rationale = finite(a.Number()), a.Bool(), valueText(a), text(&a.Rationale)
		r.Created, r.Updated, r.AsOf = millis(&a.Created), millis(&a.Updated), f.AsOf.UnixMilli()
		r.Trace, r.Assessment = a.Trace, a.ID
	}
	return nil
}

// valueText is a value that is text, a list or an object; null = it is none of these.
func valueText(a *batch.Assessment) *string {
	if s := a.Text(); s != nil {
		return s
	}
	if len(a.Value) == 0 || a.Number() != nil || a.Bool() != nil || string(a.Value) == "null" {
		return nil
	}
	s := string(a.Value)
	return &s
}

// Feedback reads what people said back from its table in dir. A list or object comes back as its text.
func (Output) Feedback(ctx context.Context, dir string) (said []batch.Assessment, err error) {
	t := &restored{}
	var rows *cursor[FeedbackRow]
	err = safely(func() error {
		if restore(ctx, t, &rows, dir, "feedback", &err); err != nil {
			return err
		}
		for {
			r, err := rows.peek()
			if r == nil || err != nil {
				return err
			}
			said = append(said, assessmentOf(r))
			rows.next()
		}
	})
	return said, errors.Join(err, t.Close())
}

func assessmentOf(r *FeedbackRow) batch.Assessment {
	a := batch.Assessment{RunID: r.RunID, Task: value(r.Task), Name: r.Judge[min(len(judgeHuman), len(r.Judge)):], Kind: r.Kind, Rationale: value(r.Rationale), Who: value(r.Who),
		Created: moment(r.Created), Updated: moment(r.Updated), Trace: r.Trace, ID: r.Assessment}
	switch {
	case r.ValueNumber != nil:
		a.Value = strconv.AppendFloat(nil, *r.ValueNumber, 'g', -1, 64)
	case r.ValueText != nil:
		a.Value, _ = json.Marshal(*r.ValueText) // text can be marshalled
	case r.ValueBool != nil:
		a.Value = strconv.AppendBool(nil, *r.ValueBool)
	}
	return a
}

func moment(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return time.UnixMilli(*ms).UTC()
}
