package stats

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkAgainst times all statistics of 12 variants × 500 tasks × 5 repeats beside
// the plain block bootstrap and beside NumPy and SciPy loops, in one run, and reports
// the ratios. The numbers must agree with those of the loops. It needs the readers
// (`make readers`).
func BenchmarkAgainst(b *testing.B) {
	in := benchBatch(12, 500, 5)
	d, rule := build(b, in), benchRule()
	bootstrap := newYardstick(d)
	theirs := numpyStats(b, in, rule)
	for b.Loop() {
		var v *Verdicts
		var x *Description
		ours := fastest(func() {
			v = ruled(b, d, rule)
			x = Describe(d, rule, v)
		})
		yard := fastest(bootstrap.run)
		compare(b, theirs, d, v, x)
		b.ReportMetric(ours.Seconds()*1000, "ms-all")
		b.ReportMetric(ours.Seconds()/yard.Seconds(), "x-block-bootstrap")
		b.ReportMetric(theirs.Seconds/ours.Seconds(), "x-faster-than-numpy")
	}
}

// fastest is the shortest of seven times, which other work on the machine disturbs least.
func fastest(f func()) time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 7 {
		start := time.Now()
		f()
		least = min(least, time.Since(start))
	}
	return least
}

// loops is what scripts/bench/stats.py writes.
type loops struct {
	Seconds  float64 `json:"seconds"` // without starting Python and reading the input
	Variants []struct {
		Mean, Cost, Wall []float64 // value, SE, low, high
		Rerun, ICC       float64
		Flips            float64
		Runs             []float64
		PassHat          []float64 `json:"pass_hat"`
		PassAt           []float64 `json:"pass_at"`
		WallMedian       float64   `json:"wall_median"`
		WallP90          float64   `json:"wall_p90"`
		Ratio            float64   `json:"pass_per_usd"`
		Low              float64   `json:"pass_per_usd_low"`
		High             float64   `json:"pass_per_usd_high"`
	} `json:"variants"`
	Pairs []struct {
		Difference, Low, High, V, DF, P, MDE float64
		VTask                                float64 `json:"v_task"`
		VRerun                               float64 `json:"v_rerun"`
		PList                                float64 `json:"p_list"`
		PTost                                float64 `json:"p_tost"`
		PAdj                                 float64 `json:"p_adj"`
		PListAdj                             float64 `json:"p_list_adj"`
		PTostAdj                             float64 `json:"p_tost_adj"`
	} `json:"pairs"`
	ItemRest []*float64 `json:"item_rest"`
	Rho2     float64    `json:"rho2"`
	Shock    []float64  `json:"shock"`
	FamilyP  []float64  `json:"family_p"`
}

func numpyStats(b *testing.B, in Batch, rule Rule) loops {
	b.Helper()
	dir := b.TempDir()
	data, err := json.Marshal(arrays(in, rule))
	require.NoError(b, err)
	from, to := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json")
	require.NoError(b, os.WriteFile(from, data, 0o600))
	out, err := exec.Command("../../.readers/bin/python", "../../scripts/bench/stats.py", from, to).CombinedOutput()
	require.NoError(b, err, "run `make readers`: %s", out)
	data, err = os.ReadFile(to) //nolint:gosec // this test named it
	require.NoError(b, err)
	var got loops
	require.NoError(b, json.Unmarshal(data, &got))
	return got
}

// arrays are the numbers of a batch, by variant, task and run.
func arrays(in Batch, rule Rule) map[string]any {
	cube := func(of func(Cell) float64) (out [][][]float64) {
		for _, v := range in.Variants {
			rows := make([][]float64, len(in.Tasks))
			for t := range rows {
				for _, run := range v.Runs {
					rows[t] = append(rows[t], of(run.Cells[t]))
				}
			}
			out = append(out, rows)
		}
		return out
	}
	return map[string]any{
		"pass": cube(func(c Cell) float64 { return indicator(c.Passed) }), "cost": cube(func(c Cell) float64 { return *c.CostUSD }),
		"wall": cube(func(c Cell) float64 { return *c.WallS }), "family": units(in.Tasks),
		"margin": *rule.Margin, "alpha": rule.Alpha, "draws": Draws,
	}
}

// compare demands the same numbers to 1e-9, and the same drawn ones as far as chance allows.
func compare(b *testing.B, want loops, d *Data, v *Verdicts, x *Description) {
	b.Helper()
	same := func(what string, want, got float64) {
		if !(math.Abs(want-got) <= 1e-9*math.Max(1, math.Abs(want))) {
			b.Fatalf("%s: %v with NumPy, %v here", what, want, got)
		}
	}
	near := func(what string, want, got, by float64) {
		if !(math.Abs(want-got) <= by) {
			b.Fatalf("%s: %v with NumPy, %v here", what, want, got)
		}
	}
	mean := func(what string, want []float64, got *Mean) {
		for i, g := range []float64{got.Value, *got.SE, got.Interval.Low, got.Interval.High} {
			same(what, want[i], g)
		}
	}
	for i, w := range want.Variants {
		s := &x.Variants[i]
		mean("mean", w.Mean, s.Mean)
		mean("cost", w.Cost, s.Cost.TaskUSD)
		mean("wall", w.Wall, s.WallS)
		same("rerun", w.Rerun, *s.Rerun)
		same("ICC", w.ICC, *s.OneWay.ICC)
		same("flip rate", w.Flips, *s.FlipRate)
		same("median", w.WallMedian, *s.WallMedian)
		same("90 %", w.WallP90, *s.WallP90)
		for k := range w.PassHat {
			same("pass^k", w.PassHat[k], s.PassHat[k].Mean.Value)
			same("pass@k", w.PassAt[k], s.PassAt[k].Mean.Value)
		}
		for r := range w.Runs {
			same("run mean", w.Runs[r], s.RunMeans[r])
		}
		ratio := s.Cost.PassPerDollar
		same("passes per dollar", w.Ratio, ratio.Value)
		width := ratio.Interval.High - ratio.Interval.Low
		near("drawn low", w.Low, ratio.Interval.Low, .05*width)
		near("drawn high", w.High, ratio.Interval.High, .05*width)
	}
	for i, w := range want.Pairs {
		p := &v.Pairs[i]
		for j, g := range []float64{*p.Difference, p.Interval.Low, p.Interval.High, p.Noise.Task, p.Noise.Rerun, p.Noise.V, p.Noise.DF,
			*p.PT, *p.PList, *p.PTost, *p.PAdj, *p.PListAdj, *p.PTostAdj, *p.MDE} {
			same("pair", []float64{w.Difference, w.Low, w.High, w.VTask, w.VRerun, w.V, w.DF, w.P, w.PList, w.PTost, w.PAdj, w.PListAdj, w.PTostAdj, w.MDE}[j], g)
		}
	}
	for t, w := range want.ItemRest {
		if got := x.Tasks[t].ItemRest; w == nil || got == nil {
			require.Equal(b, w == nil, got == nil, "item-rest of task %d", t)
		} else {
			same("item-rest", *w, *got)
		}
	}
	same("rho²", want.Rho2, *x.Panel.Rho2)
	for i, g := range []float64{v.Shock.Excess, v.Shock.Expected, v.Shock.Phi, *v.Shock.P} {
		same("shock", want.Shock[i], g)
	}
	for i, w := range want.FamilyP {
		near("family", w, x.Families[i].P.P, .03+4*math.Sqrt(w*(1-w)/100))
	}
	require.Len(b, want.Pairs, len(v.Pairs))
	require.Len(b, want.Variants, len(d.variants))
}
