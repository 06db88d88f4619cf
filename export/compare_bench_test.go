package export_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
)

// BenchmarkAgainst times one export and its checks of 1,000,000 outcomes beside what
// a user would write instead, in one run, and reports the ratios. It needs the
// readers (`make readers`) and sha256sum.
func BenchmarkAgainst(b *testing.B) {
	python, err := filepath.Abs("../.readers/bin/python")
	require.NoError(b, err)
	in := large(b, 400, false)
	raw := b.TempDir()
	for b.Loop() {
		var dir string
		write := wall(b, func() error {
			dir, err = export.Write(context.Background(), in, export.Options{Out: b.TempDir(), Outputs: outputs()})
			return err
		})
		pandas := script(b, python, "export.py", filepath.Join(dir, "raw"), filepath.Join(raw, "out.parquet"))
		verify := wall(b, func() error { return check(dir, export.VerifyOptions{Outputs: outputs()}) })
		pyarrow := script(b, python, "verify.py", dir)
		digests := wall(b, func() error { return check(dir, export.VerifyOptions{DigestsOnly: true, Outputs: outputs()}) })
		sums := wall(b, func() error {
			cmd := exec.Command("sha256sum", "--quiet", "-c", "SHA256SUMS")
			cmd.Dir = dir
			return cmd.Run()
		})
		b.ReportMetric(write.Seconds(), "s-export")
		b.ReportMetric(pandas.Seconds()/write.Seconds(), "x-faster-than-pandas")
		b.ReportMetric(verify.Seconds(), "s-verify")
		b.ReportMetric(pyarrow.Seconds()/verify.Seconds(), "x-faster-than-pyarrow")
		b.ReportMetric(digests.Seconds()/sums.Seconds(), "x-sha256sum")
	}
}

func check(dir string, o export.VerifyOptions) error {
	r, err := export.Verify(context.Background(), dir, o)
	if err != nil {
		return err
	}
	return r.Err()
}

func wall(b *testing.B, f func() error) time.Duration {
	b.Helper()
	start := time.Now()
	require.NoError(b, f())
	return time.Since(start)
}

// script runs one of scripts/bench and returns its wall time.
func script(b *testing.B, python, name string, args ...string) time.Duration {
	b.Helper()
	return wall(b, func() error {
		out, err := exec.Command(python, append([]string{filepath.Join("..", "scripts", "bench", name)}, args...)...).CombinedOutput()
		if err != nil {
			b.Logf("%s", out)
		}
		return err
	})
}
