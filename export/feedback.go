package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// feedbackPath is the place of what people said in the folder.
const feedbackPath = "raw/" + batch.FileFeedback

// Feedback is what people said of the batch's outcomes in MLflow, as the folder has it.
// It stands beside the measurement: no score, no statistic and no verdict is made from it.
type Feedback struct {
	batch.Feedback
	// Refreshed says that it was read again after the freeze: then its digest is the
	// folder's own, and result.json knows nothing of it.
	Refreshed bool `json:"refreshed"`

	said []batch.Assessment
}

// Said are the assessments, run by run; of a folder whose raw evidence is withheld without their text.
func (f *Feedback) Said() []batch.Assessment { return f.said }

// Superseded names the folder that another one replaces.
type Superseded struct {
	Folder   string       `json:"folder"`
	Manifest batch.Digest `json:"manifest_sha256"` // of its manifest.json
}

// Name is the name of the folder: that of the frozen batch, and where people's feedback
// was read again after the freeze, when.
func (f *Frozen) Name() string {
	if f.Feedback == nil || !f.Feedback.Refreshed {
		return f.Result.Name
	}
	return RefreshedName(f.Result.Name, &f.Feedback.Feedback)
}

// RefreshedName is the name of the folder of a batch whose feedback was read again.
func RefreshedName(name string, f *batch.Feedback) string {
	return name + RefreshedMark + f.AsOf.UTC().Format(refreshedTime)
}

// BatchName is the name of the batch that a folder of this name holds.
func BatchName(folder string) string {
	if at := strings.LastIndex(folder, RefreshedMark); at > 0 {
		if _, err := time.Parse(refreshedTime, folder[at+len(RefreshedMark):]); err == nil {
			return folder[:at]
		}
	}
	return folder
}

const refreshedTime = "20060102T150405.000Z"

// RefreshedMark stands in the name of a folder between that of the batch and the time.
const RefreshedMark = "_feedback-"

// setFeedback takes what was said, which must be of this batch and what its digest says.
// Bare says that the lines are not there.
func (f *Frozen) setFeedback(lines []byte, again *batch.Feedback, bare bool) error {
	of := f.Result.Feedback
	if again != nil {
		of = again
	}
	if of == nil {
		return nil
	}
	f.Feedback = &Feedback{Feedback: *of, Refreshed: again != nil}
	if bare {
		return nil
	}
	if got := batch.Sum(lines); got != of.Digest {
		return &IntegrityError{f.Name(), []Finding{{File: feedbackPath, Reason: fmt.Sprintf("SHA-256 is %s, %s was read", got, of.Digest)}}}
	}
	said, err := batch.ReadFeedback(lines)
	if err == nil {
		err = f.setSaid(said)
	}
	if err != nil {
		return &InputError{batch.FileFeedback, err}
	}
	return nil
}

// setSaid is setFeedback of what was read already.
func (f *Frozen) setSaid(said []batch.Assessment) error {
	want := 0
	if f.Feedback != nil {
		want = f.Feedback.Rows
	}
	if len(said) != want {
		return fmt.Errorf("%d assessments, %d were read", len(said), want)
	}
	for i := range said {
		if run := said[i].RunID; !slices.ContainsFunc(f.Result.Evaluations, func(e batch.Evaluation) bool { return e.RunID == run }) {
			return fmt.Errorf("assessment %d: run %q is no evaluation of the batch", i+1, run)
		}
	}
	if want == 0 {
		return nil
	}
	if f.Feedback.said = said; f.Withholds(WithholdRaw) {
		for i := range said {
			bareAssessment(&said[i])
		}
	}
	return nil
}

// bareAssessment forgets free text, which may quote answers: numbers and yes or no stay.
func bareAssessment(a *batch.Assessment) {
	a.Rationale = ""
	switch is := a.Bool(); {
	case is != nil:
		a.Value = json.RawMessage(strconv.FormatBool(*is))
	case a.Number() == nil:
		a.Value = nil
	}
}

// hasFeedback says whether the folder holds the lines.
func (f *Frozen) hasFeedback() bool {
	return f.Feedback != nil && f.Feedback.Rows > 0 && !f.Withholds(WithholdRaw)
}
