package report

import (
	"context"
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/exporttest/browser"
)

var shots = flag.String("shots", "", "folder in which the browser test leaves its screenshots")

func TestShots(t *testing.T) {
	dir, err := export.Write(context.Background(), exporttest.Plausible().Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{Output{}}})
	require.NoError(t, err)
	b := browser.Start(t)
	for name, o := range map[string]browser.Options{"wide": {Width: 1280}, "narrow": {Width: 390, Dark: true}} {
		b.Open(t, filepath.Join(dir, "report.html"), o)
		if *shots != "" {
			b.Screenshot(t, filepath.Join(*shots, name+".png"))
		}
	}
}
