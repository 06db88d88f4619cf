package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/calibration"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// codes are the codes of the reasons with their weight, as "change powerless".
func codes(c calibrated) []string {
	var out []string
	for _, r := range c.Reasons {
		out = append(out, string(r.Weight)+" "+r.Code)
	}
	return out
}

// TestCalibrate walks a calibration: killed on the way and continued, measured once,
// read by the plan of the whole batch, and never counted in it.
func TestCalibrate(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.ownTemp()
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 4")
	assert.Nil(t, s.plan().Estimate.CostUSD)

	s.faults(map[string]any{"sleep": 600, "from": 3})
	c := s.child(nil, "calibrate", s.spec, "--at-once", "2")
	c.until("five starts", func() bool { return len(s.starts()) == 5 })
	c.kill()
	s.faults(nil)

	var first calibrated
	got := s.json(&first, "calibrate", s.spec)
	assert.Equal(t, ExitVerdict, got.code, got.stderr)
	assert.Contains(t, got.stderr, "2 evaluations that had not ended closed as interrupted")
	assert.Contains(t, got.stderr, "calibration: 5 of 12 tasks, 3 repeats, 4 of 4 variants")
	assert.Equal(t, 9, first.Started)
	assert.Equal(t, batch.Counts{Planned: 12, Done: 12}, first.Counts)
	assert.Len(t, s.starts(), 14)
	for _, start := range s.starts() {
		assert.True(t, strings.HasSuffix(start, " 5"), "%s: the tasks of the slice alone", start)
	}
	assert.Equal(t, calibration.Change, first.Verdict)
	assert.Contains(t, codes(first), "change too_few_units", "4 families can't separate 6 pairs")
	assert.Contains(t, codes(first), "change powerless")
	assert.Equal(t, calibration.Slice{Batch: first.Slice.Batch, Benchmark: s.name(), Version: "v1", Tasks: 5, Of: 12, Repeats: 3}, first.Slice)
	require.NotNil(t, first.Rest.CostUSD)
	assert.InDelta(t, 16*12*0.001, first.Rest.CostUSD.Value, 1e-9, "16 evaluations of 12 tasks at $0.001")
	assert.Equal(t, 16, first.Rest.Evaluations)
	s.ok("verify", first.Folder)

	// Again: nothing is started, and the answers are the same.
	var again calibrated
	got = s.json(&again, "calibrate", s.spec)
	assert.Equal(t, ExitVerdict, got.code)
	assert.Zero(t, again.Started)
	assert.Len(t, s.starts(), 14)
	assert.Equal(t, first.Slice, again.Slice)
	assert.Equal(t, first.Power, again.Power)
	assert.Equal(t, first.Reasons, again.Reasons)
	s.showsCalibration(again)

	// The whole batch: an estimate, and nothing reused.
	p := s.plan()
	assert.Equal(t, batch.Counts{Planned: 16, NotStarted: 16}, p.Counts)
	assert.Empty(t, p.Batch, "a calibration is no unfinished batch")
	require.NotNil(t, p.Estimate.CostUSD)
	assert.InDelta(t, 16*12*0.001, p.Estimate.CostUSD.Mean, 1e-6)
	assert.Equal(t, 16, p.Estimate.Calibrated)
	assert.Contains(t, s.ok("plan", s.spec).out, "of 16 from calibration")

	// It takes no label, and is no look.
	evaluations, parents := s.history()
	require.Len(t, parents, 1)
	assert.Equal(t, map[string]int{"FINISHED complete": 12, "KILLED interrupted": 2}, statuses(evaluations))
	for _, r := range append(evaluations, parents...) {
		assert.Equal(t, "calibration", r.Tag("benchbatch.role"))
		assert.Equal(t, "calibration", r.Tag("benchbatch.version"))
	}
	s.edit("benchmark.yaml", "repeats: 4", "repeats: 1")
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 4, Done: 4}, r.Counts)
	var frozen batch.Plan
	s.decode(filepath.Join(r.Folder, batch.FilePlan), &frozen)
	assert.Empty(t, frozen.Earlier)
	assert.Nil(t, frozen.Calibration)
	assert.Zero(t, s.plan().Estimate.Calibrated)
}

// decode reads a JSON file.
func (s *shell) decode(name string, v any) {
	s.t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(b, v))
}

// showsCalibration: the terminal, the pages and the folder say the same.
func (s *shell) showsCalibration(c calibrated) {
	s.t.Helper()
	got := s.run("calibrate", s.spec)
	assert.Equal(s.t, ExitVerdict, got.code)
	joined := strings.Join(strings.Fields(got.out), " ")
	for _, line := range strings.Split(got.out, "\n") {
		if !strings.Contains(line, s.dir) && !strings.Contains(line, "://") { // paths are never cut
			assert.LessOrEqual(s.t, terminal.Width(line), terminal.Columns, line)
		}
	}
	require.Len(s.t, c.Pages, 2)
	page, err := os.ReadFile(c.Pages[0])
	require.NoError(s.t, err)
	assert.Equal(s.t, c.Folder+".md", c.Pages[0])
	for _, r := range c.Reasons {
		assert.Contains(s.t, joined, r.Text)
		assert.Contains(s.t, string(page), r.Text)
	}
	assert.Contains(s.t, joined, "a slice, and no repeat of the batch")
	assert.Contains(s.t, string(page), "**CALIBRATION**: 5 of 12 tasks")
	chart := regexp.MustCompile(`\]\((charts/repeats-[0-9a-f]{16}\.svg)\)`).FindStringSubmatch(string(page))
	require.NotNil(s.t, chart)
	assert.FileExists(s.t, filepath.Join(filepath.Dir(c.Folder), chart[1]))
	assert.Contains(s.t, got.out, "by repeats")
	html, err := os.ReadFile(c.Pages[1])
	require.NoError(s.t, err)
	assert.Contains(s.t, string(html), "<strong>CALIBRATION</strong>")
	for _, name := range []string{"report.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join(c.Folder, name))
		require.NoError(s.t, err)
		assert.Contains(s.t, string(text), "**CALIBRATION**: a slice of 5 of 12 tasks.")
		assert.Contains(s.t, string(text), "Nothing is decided: this is a calibration.")
	}
	var plan batch.Plan
	s.decode(filepath.Join(c.Folder, batch.FilePlan), &plan)
	require.NotNil(s.t, plan.Calibration)
	assert.Equal(s.t, "v1", plan.Calibration.Version)
	assert.Equal(s.t, 4, plan.Calibration.Repeats)
}

// TestCalibrationWithoutData: an outage is never a go, and is calibrated again.
func TestCalibrationWithoutData(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "\ndecision:", "\nretry: {provider: 0}\ndecision:")
	s.faults(map[string]any{"m-one": 9, "m-two": 9})
	var c calibrated
	got := s.json(&c, "calibrate", s.spec, "--at-once", "1") // else all may have started before a model is given up
	assert.Equal(t, ExitVerdict, got.code, got.stderr)
	assert.Equal(t, calibration.Stop, c.Verdict)
	assert.Equal(t, []string{"stop no_data"}, codes(c))
	assert.Contains(t, c.Reasons[0].Text, "mend it, and calibrate again.")
	assert.Empty(t, c.Folder)
	assert.Contains(t, got.stderr, "3 evaluations in a row failed at its provider")
	assert.Contains(t, got.stderr, "Stop: do not start the batch.")
	assert.Contains(t, s.run("calibrate", s.spec, "--at-once", "1").out, "No evaluation of the slice counts")

	// The provider is back: the same calibration goes on.
	s.faults(nil)
	s.json(&c, "calibrate", s.spec)
	assert.Equal(t, calibration.Change, c.Verdict)
	assert.Equal(t, batch.Counts{Planned: 12, Done: 12}, c.Counts)

	// Frozen with half of it failed: another one is asked for.
	s.faults(map[string]any{"m-two": 9})
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 2\ncalibration: {repeats: 2, tasks: [T-01, T-05, T-09], variants: [quick+m-one, quick+m-two]}")
	got = s.json(&c, "calibrate", s.spec)
	assert.Equal(t, ExitVerdict, got.code, got.stderr)
	assert.Equal(t, []string{"stop failures_everywhere"}, codes(c))
	assert.Equal(t, batch.Counts{Planned: 4, Done: 2, Failed: 2}, c.Counts)
	s.faults(nil)
	s.json(&c, "calibrate", s.spec)
	assert.Equal(t, calibration.Stop, c.Verdict)
	assert.Contains(t, c.Reasons[0].Text, "calibrate again with --new")
	s.json(&c, "calibrate", s.spec, "--new")
	assert.Equal(t, calibration.Change, c.Verdict)
	assert.Equal(t, batch.Counts{Planned: 4, Reused: 2, Done: 2}, c.Counts)
}

// TestCalibrationThatIsUnfinished says what there is, and goes on later.
func TestCalibrationThatIsUnfinished(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "\ndecision:", "\nretry: {provider: 0}\ndecision:")
	s.faults(map[string]any{"m-two": 9})
	var r ran
	got := s.json(&r, "calibrate", s.spec, "--at-once", "1")
	assert.Equal(t, ExitIncomplete, got.code, got.stderr)
	assert.False(t, r.Frozen)
	assert.Equal(t, batch.Counts{Planned: 12, Done: 6, Failed: 3, NotStarted: 3}, r.Counts)
	assert.Contains(t, got.stderr, "3 evaluations in a row failed at its provider")
	s.faults(nil)
	var c calibrated
	s.json(&c, "calibrate", s.spec)
	assert.Equal(t, batch.Counts{Planned: 12, Done: 12}, c.Counts)
	assert.Equal(t, 6, c.Started)
}

// TestCalibrationOfTheWholePanel: what is the same measurement is not paid twice.
func TestCalibrationOfTheWholePanel(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3\ncalibration: {tasks: 3, repeats: 2, variants: [quick+m-one]}")
	var c calibrated
	got := s.json(&c, "calibrate", s.spec, "--out", "elsewhere")
	assert.Equal(t, 2, c.Started, got.stderr)
	assert.True(t, c.Slice.Whole)
	assert.Contains(t, codes(c), "note whole_panel")
	assert.Contains(t, codes(c), "note left_out")
	assert.Equal(t, "elsewhere", filepath.Base(filepath.Dir(c.Folder)))
	p := s.plan()
	assert.Equal(t, batch.Counts{Planned: 12, Reused: 2, NotStarted: 10}, p.Counts)
	assert.Empty(t, p.Batch)
}

// TestCalibrationOfWhatCantBeRun refuses before anything is paid.
func TestCalibrationOfWhatCantBeRun(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	s.measure()
	n := len(s.starts())
	s.edit("policies/refund.md", "", "Changed.\n")
	got := s.run("calibrate", s.spec)
	assert.Equal(t, ExitUsage, got.code, got.stderr)
	assert.Contains(t, got.stderr, `version "v1" of `+s.name()+` is taken by another recipe`)
	assert.Len(t, s.starts(), n)
	got = s.run("calibrate", filepath.Join(s.dir, "none.yaml"))
	assert.Equal(t, ExitUsage, got.code)
}
