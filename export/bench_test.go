package export_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
)

// Sizes by number of outcomes. Each run holds 2,500.
var sizes = []struct {
	name string
	runs int
}{{"100k", 40}, {"1M", 400}}

// large writes raw evidence to a folder, so that the benchmark's memory is that of the export.
func large(b *testing.B, runs int, full bool) export.Batch {
	b.Helper()
	shape := exporttest.Shape{Agents: 2, Models: 4, Tasks: 2500, Repeats: runs / 8, Seed: 3, Dir: b.TempDir()}
	if full {
		shape.Attempts, shape.Judges = true, 2
	}
	return exporttest.New(shape).Freeze()
}

// BenchmarkWrite exports outcomes alone (plain), and with attempts, bundles and two judges (full).
func BenchmarkWrite(b *testing.B) {
	for _, full := range []bool{false, true} {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/%s", kind(full), size.name), func(b *testing.B) {
				in := large(b, size.runs, full)
				out := b.TempDir()
				start := begin(b)
				for i := range b.N {
					_, err := export.Write(context.Background(), in, export.Options{Out: filepath.Join(out, fmt.Sprint(i)), Outputs: outputs()})
					require.NoError(b, err)
				}
				figures(b, size.runs*2500, start)
			})
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, digests := range []bool{true, false} {
		for _, size := range sizes {
			name := "full"
			if digests {
				name = "digests"
			}
			b.Run(fmt.Sprintf("%s/%s", name, size.name), func(b *testing.B) {
				dir, err := export.Write(context.Background(), large(b, size.runs, false), export.Options{Out: b.TempDir(), Outputs: outputs()})
				require.NoError(b, err)
				start := begin(b)
				for range b.N {
					r, err := export.Verify(context.Background(), dir, export.VerifyOptions{DigestsOnly: digests, Outputs: outputs()})
					require.NoError(b, err)
					require.NoError(b, r.Err())
				}
				figures(b, size.runs*2500, start)
			})
		}
	}
}

func kind(full bool) string {
	if full {
		return "full"
	}
	return "plain"
}

// begin ends the preparation of a benchmark, and says how much processor time it took.
func begin(b *testing.B) float64 {
	start := usage(b)
	b.ResetTimer()
	return start
}

// figures adds outcomes per second, processor time per outcome (which other work on
// the machine disturbs less), and the largest memory of this process so far.
func figures(b *testing.B, rows int, start float64) {
	b.StopTimer()
	n := float64(rows) * float64(b.N)
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	b.ReportMetric(n/b.Elapsed().Seconds(), "outcomes/s")
	b.ReportMetric((usage(b)-start)/n*1e6, "cpu-µs/outcome")
	b.ReportMetric(float64(u.Maxrss)/1024, "MiB-peak")
}

// usage is the processor time of this process so far, in seconds.
func usage(b *testing.B) float64 {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	seconds := func(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}
