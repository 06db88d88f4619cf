package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/export/exporttest"
)

// A script that demands a verdict is told by the exit code where there is none.
func TestDemandedVerdict(t *testing.T) {
	best, open := oneBest(), exporttest.New(exporttest.Shape{Agents: 2, Models: 1, Tasks: 12, Repeats: 2, Seed: 3})
	sh := &shell{t: t, dir: t.TempDir()}
	sure, unsure := dated(t, best, nil), dated(t, open, nil)
	sh.ok("report", sure, "--require-verdict")
	sh.ok("report", unsure)
	got := sh.run("report", unsure, "--require-verdict")
	assert.Equal(t, ExitVerdict, got.code)
	assert.Contains(t, got.stderr, "no verdict: 1 pairs compared, 1 cannot be told")
	assert.Contains(t, got.out, "Nothing can be told", "the report is shown all the same")

	same := sh.run("compare", sure, sure, "--require-verdict")
	assert.Equal(t, ExitVerdict, same.code)
}
