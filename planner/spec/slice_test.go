package spec

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// slice resolves a spec and its calibration.
func slice(t *testing.T, files map[string]string, env map[string]string) (whole, part *Resolved) {
	t.Helper()
	s, err := Load(filepath.Join(folder(t, files), "spec.yaml"), lookupIn(env))
	require.NoError(t, err)
	whole, err = Resolve(s, lookupIn(env))
	require.NoError(t, err)
	part, err = whole.Slice(lookupIn(env))
	require.NoError(t, err)
	return whole, part
}

func ids(tasks []batch.Task) string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.ID)
	}
	return strings.Join(out, " ")
}

// panelOf is a CSV panel: "T-1 f1" is a task with its family.
func panelOf(tasks ...string) string {
	out := "id,input,family\n"
	for _, t := range tasks {
		id, family, _ := strings.Cut(t, " ")
		out += fmt.Sprintf("%s,about %s,%s\n", id, id, family)
	}
	return out
}

func TestSliceTasks(t *testing.T) {
	families := panelOf("A-1 a", "A-2 a", "A-3 a", "B-1 b", "B-2 b", "C-1 c", "D-1 d", "E-1 e", "F-1 f")
	flat := panelOf("T-1", "T-2", "T-3", "T-4", "T-5", "T-6", "T-7")
	for name, c := range map[string]struct{ panel, block, want string }{
		"one of each family":        {families, "", "A-3 B-1 C-1 D-1 E-1 F-1"},
		"two of each family":        {families, "calibration: {tasks: 2}\n", "A-1 A-3 B-1 B-2 C-1 D-1 E-1 F-1"},
		"listed":                    {families, "calibration: {tasks: [B-2, A-1]}\n", "A-1 B-2"},
		"few families are filled":   {panelOf("A-1 a", "A-2 a", "A-3 a", "B-1 b", "B-2 b", "B-3 b"), "", "A-1 A-3 B-1 B-2 B-3"},
		"a number fills nothing":    {panelOf("A-1 a", "A-2 a", "A-3 a", "B-1 b", "B-2 b"), "calibration: {tasks: 1}\n", "A-3 B-1"},
		"without families":          {flat, "", "T-2 T-3 T-5 T-6 T-7"},
		"a small panel is all":      {panelOf("T-1", "T-2"), "", "T-1 T-2"},
		"withdrawn ones don't help": {families, "withdraw: [{task: C-1, why: wrong, date: 2026-12-02}]\n", "A-3 B-1 D-1 E-1 F-1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, part := slice(t, map[string]string{"spec.yaml": smallSpec + c.block, "lamps.csv": c.panel, "ask.sh": "1", "grade.sh": "1"}, nil)
			assert.Equal(t, c.want, ids(part.Spec.Tasks)) // and B-1, B-3, B-2 are the orders of their SHA-256
		})
	}
}

func TestSliceIsABenchmarkOfItsOwn(t *testing.T) {
	whole, part := slice(t, golden(t), goldenEnv)
	assert.Nil(t, whole.Spec.Of())
	of := part.Spec.Of()
	require.NotNil(t, of)
	assert.Equal(t, batch.Calibration{Version: "v1", Recipe: whole.Recipe, Key: whole.Key, Tasks: len(whole.Spec.Tasks), Repeats: 3, Variants: 3}, *of)
	assert.Equal(t, batch.CalibrationLabel, part.Spec.Version)
	assert.Equal(t, 4, part.Spec.Repeats)
	require.Len(t, part.Cells, 1)
	assert.Equal(t, "plain+small", part.Cells[0].Variant.String())
	assert.Equal(t, whole.Agents, part.Agents)
	assert.Equal(t, whole.Models, part.Models)
	assert.Equal(t, whole.Brains, part.Brains)
	assert.Equal(t, whole.Decision, part.Decision, "decided by the same rule")
	assert.NotEqual(t, whole.Recipe, part.Recipe, "the panel is another one")
	assert.NotEqual(t, whole.Key, part.Key)
	assert.False(t, of.Whole(part.Recipe))
	assert.Equal(t, "v1", whole.Spec.Version, "the whole is left as it was")
	assert.Len(t, whole.Spec.Exclude, 1)

	// Where the slice is the whole panel, its repeats are the same measurement.
	whole, part = slice(t, map[string]string{"spec.yaml": smallSpec, "lamps.csv": smallPanel, "ask.sh": "1", "grade.sh": "1"}, nil)
	assert.Equal(t, whole.Recipe, part.Recipe)
	assert.True(t, part.Spec.Of().Whole(part.Recipe))
	assert.NotEqual(t, whole.Key, part.Key)
}

func TestCalibrationProblems(t *testing.T) {
	for _, c := range []struct{ block, want string }{
		{"calibration: {repeats: 1}\n", "calibration.repeats: \"1\": out of range: 2 to 1000 is allowed"},
		{"calibration: {tasks: 0}\n", "calibration.tasks: \"0\": out of range: 1 to 100000 is allowed"},
		{"calibration: {tasks: []}\n", "calibration.tasks: names no task; write how many of each family, or task ids"},
		{"calibration: {tasks: some}\n", "calibration.tasks: \"some\": not a plain whole number"},
		{"calibration: {tasks: [L-9]}\n", "calibration.tasks[0]: \"L-9\": no such task in the panel; did you mean"},
		{"calibration: {tasks: [L-1, L-1]}\n", "calibration.tasks[1]: \"L-1\": the task is named twice; keep one of both"},
		{"calibration: {variants: []}\n", "calibration.variants: names no variant; remove it to measure all of them"},
		{"calibration: {variants: [other+x]}\n", "calibration.variants[0]: \"other+x\": no such variant"},
		{"calibration: {task: 2}\n", "calibration.task: unknown key; did you mean tasks? known here: tasks, repeats, variants"},
		{"version: calibration\n", "version: \"calibration\": the label of calibrations, which are never repeats of a batch; give the benchmark a label of its own, such as v1"},
	} {
		got := lines(t, small(t, smallSpec+c.block, nil), nil)
		require.Len(t, got, 1, "%s\n%s", c.block, strings.Join(got, "\n"))
		assert.Contains(t, got[0], c.want)
	}
}
