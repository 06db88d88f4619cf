package traces

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// assessments are the score, whether it passes, the judges' votes and the expected answer.
func (e Evaluation) assessments(traceID string, o outcome.Outcome) []mlflow.Assessment {
	var out []mlflow.Assessment
	add := func(a mlflow.Assessment) {
		a.ID = AssessmentID(traceID, a.Name)
		if a.Metadata == nil {
			a.Metadata = map[string]string{}
		}
		a.Metadata["mlflow.assessment.sourceRunId"] = e.RunID
		out = append(out, a)
	}
	scorer := "benchbatch/" + e.Scorer
	if o.Score != nil {
		why := ""
		if o.Error != nil {
			why = string(o.Error.Class) + ": " + o.Error.Message
		}
		add(mlflow.Assessment{Name: NameScore, SourceType: "CODE", SourceID: scorer, Value: round6(*o.Score), Rationale: clip(why, maxRationale)})
	} else {
		failure := mlflow.AssessmentError{Code: strings.ToUpper(string(o.State)), Message: "no result"}
		if o.Error != nil {
			failure.Message = cmp.Or(clip(o.Error.Message, maxRationale), failure.Message)
		}
		add(mlflow.Assessment{Name: NameScore, SourceType: "CODE", SourceID: scorer, Error: &failure})
	}
	if pass := o.Pass(e.Threshold, e.Reported); pass != nil {
		a := mlflow.Assessment{Name: NamePassed, SourceType: "CODE", SourceID: scorer, Value: "no", Rationale: fmt.Sprintf("passes with a score of at least %v", e.Threshold)}
		if *pass { // MLflow shows yes and no as Pass and Fail
			a.Value = "yes"
		}
		if e.Reported && o.State == outcome.Scored {
			a.Rationale = "as the " + e.Scorer + " reported"
		}
		add(a)
	}
	used := map[string]bool{NameScore: true, NamePassed: true, NameExpected: true}
	for _, v := range o.Judges {
		add(e.vote(v, used))
	}
	if expected := e.Tasks[o.Task].Expected; expected != "" {
		add(mlflow.Assessment{Name: NameExpected, SourceType: "HUMAN", SourceID: "panel", Expectation: expected})
	}
	return out
}

// Ours says whether an assessment of a trace is one that [Evaluation.Of] makes, such as the vote of a human judge.
func Ours(t mlflow.Trace, a mlflow.Assessment) bool { return a.ID == AssessmentID(t.ID, a.Name) }

// vote is a judge's view, on 0 to 1 as everywhere in MLflow.
func (e Evaluation) vote(v outcome.Vote, used map[string]bool) mlflow.Assessment {
	declared := e.Judges[v.Name]
	kind, model := cmp.Or(v.Kind, declared.Kind), cmp.Or(v.Model, declared.Model)
	a := mlflow.Assessment{Name: nameOf(v.Name, used), SourceType: "CODE", SourceID: cmp.Or(clip(v.Name, maxName), "judge"), Rationale: clip(v.Rationale, maxRationale)}
	switch kind {
	case "model":
		a.SourceType, a.SourceID = "LLM_JUDGE", cmp.Or(clip(model, maxName), a.SourceID)
	case "human":
		a.SourceType = "HUMAN"
	}
	if u := v.Unit(); u != nil {
		a.Value = round6(*u)
	} else {
		a.Error = &mlflow.AssessmentError{Code: "JUDGE", Message: cmp.Or(clip(v.Error, maxRationale), "the judge gave no score")}
	}
	a.Metadata = map[string]string{}
	if v.Scale != nil && v.Score != nil {
		a.Metadata["benchbatch.on_scale"] = fmt.Sprintf("%v of %v to %v", *v.Score, v.Scale[0], v.Scale[1])
	}
	if len(v.Samples) > 1 {
		if b, err := json.Marshal(v.Samples[:min(len(v.Samples), 100)]); err == nil {
			a.Metadata["benchbatch.samples"] = string(b)
		}
	}
	if v.CostUSD != nil {
		a.Metadata["mlflow.assessment.judgeCost"] = fmt.Sprint(*v.CostUSD)
	}
	return a
}

// nameOf is an assessment's name for a judge, apart from all others of the trace.
func nameOf(judge string, used map[string]bool) string {
	name := cmp.Or(clip(judge, maxName), "judge")
	if used[name] {
		name = "judge/" + name
	}
	for n := 2; used[name]; n++ {
		name = fmt.Sprintf("judge/%s (%d)", clip(judge, maxName), n)
	}
	used[name] = true
	return name
}

func round6(v float64) float64 { return math.Round(v*1e6) / 1e6 }
