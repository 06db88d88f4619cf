package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/export/report"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/note"
	"github.com/benchbatch/benchbatch/planner/page"
)

// frozenNote is the note of a frozen batch: the numbers of its report, in brief.
func frozenNote(p ledger.Parent, e exported, whole bool) (note.Batch, error) {
	var l views.Links
	f, s, id := e.frozen, e.summary, p.Info
	b := note.Batch{Verdict: report.Headline(s, escape.Markdown), Draft: f.Plan.Draft, Calibration: f.Plan.Calibration != nil, Question: f.Plan.Question,
		Counts: f.Result.Counts, Spent: spentOf(s), Reasons: page.Reasons(f.Result.Slots), Folder: f.Result.Name, Ranked: ranked(s)}
	v, err := page.ViewsOf(p.Benchmark, p.Version, p.Recipe, p.Brain)
	if err != nil {
		return b, err
	}
	more := []note.Link{{Label: "report", Address: l.Artifact(id.ExperimentID, id.RunID, "report.html")}}
	if whole {
		more = append(more, note.Link{Label: "dated folder with all raw bundles", Address: l.Artifact(id.ExperimentID, id.RunID, f.Result.Name)})
	}
	b.Links, b.AllRuns = page.Links(l, v, id.ExperimentID, more...), l.View(id.ExperimentID, v.Score)
	if _, err := os.Stat(filepath.Join(e.folder, filepath.FromSlash(pictureFile))); err == nil {
		b.Picture = l.File(id.RunID, pictureFile)
	}
	for _, i := range leaderboard(s) {
		b.Cells = append(b.Cells, cellNote(l, f, &s.Variants[i], id.ExperimentID))
	}
	return b, nil
}

func ranked(s *export.Summary) bool { return s.Verdict.Decided() && s.Verdict.Ranks != nil }

// leaderboard is the order of a report: by rank, then mean; unmeasured variants last.
func leaderboard(s *export.Summary) []int {
	order := make([]int, len(s.Variants))
	for i := range order {
		order[i] = i
	}
	if !ranked(s) {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := s.Verdict.Ranks[a], s.Verdict.Ranks[b]
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		}
		return cmp.Or(cmp.Compare(x.Low, y.Low), cmp.Compare(x.High, y.High), cmp.Compare(s.Verdict.Description.Variants[b].Mean.Value, s.Verdict.Description.Variants[a].Mean.Value))
	})
	return order
}

// cellNote is a variant's row. The experiment is that of the batch: MLflow opens a run's page whatever experiment a link names.
func cellNote(l views.Links, f *export.Frozen, v *export.VariantNumber, experiment string) note.Cell {
	c := note.Cell{Variant: v.Cell.Variant, Planned: v.Slots.Planned, Score: v.Mean, Pass: v.Passed}
	c.Low, c.High = v.Range()
	for i := range f.Result.Evaluations {
		ev := &f.Result.Evaluations[i]
		if !ev.Counted || ev.Cell != v.Cell.Identity.Cell {
			continue
		}
		r := note.Repeat{Slot: ev.Slot, Reused: ev.Reused, Run: l.Run(experiment, ev.RunID)}
		if slices.ContainsFunc(ev.Artifacts, func(a batch.Artifact) bool { return a.Path == batch.FileBundle }) {
			r.Raw = l.File(ev.RunID, batch.FileBundle)
		}
		c.Repeats = append(c.Repeats, r)
	}
	slices.SortFunc(c.Repeats, func(a, b note.Repeat) int { return cmp.Compare(a.Slot, b.Slot) })
	if n := len(c.Repeats); n > 0 && v.Spent.Reported.Known > 0 {
		usd := (v.Spent.Reported.Total + v.Spent.Judges.Total) / float64(n)
		c.USD, c.AtLeast = &usd, v.Spent.Reported.Unknown+v.Spent.Judges.Unknown > 0
	}
	return c
}

// spentOf is what the batch itself paid, judges included.
func spentOf(s *export.Summary) note.Spent {
	today := &s.Paid.Today
	out := note.Spent{Unknown: today.Reported.Unknown+today.Judges.Unknown > 0}
	if s.Paid.Ran == 0 || today.Reported.Known+today.Judges.Known > 0 {
		usd := today.Reported.Total + today.Judges.Total
		out.USD = &usd
	}
	return out
}
