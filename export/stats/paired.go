package stats

import "math"

// pairing is everything F6 to F9, F13 and F14 need of two variants over their
// common tasks. It keeps no slices; differences live in a scratch of the caller.
type pairing struct {
	kA, kB    int
	tasks     int // N, common tasks
	families  int // G, among them
	units     int // U: families where they are the independent units, else tasks
	clustered bool
	nonzero   int // units whose difference is not 0 (m of F13)
	mean      float64
	vTask     float64 // F6, or F4 squared where larger
	dfTask    float64 // N-1, or G-1 where F4 supplied vTask
	vRerun    float64 // F7
	rerun     bool    // vRerun is known
	wA, wB    float64 // of F7, over the common tasks
}

// scratch holds the differences of the pair at hand.
type scratch struct {
	d      []float64 // by common task
	unit   []int     // by common task
	sums   []float64 // by unit number
	counts []int     // by unit number
	signs  signScratch
}

func newScratch(tasks int) *scratch {
	return &scratch{sums: make([]float64, tasks), counts: make([]int, tasks)}
}

// pair compares columns a and b over their common tasks.
func (r *reading) pair(a, b int, s *scratch) pairing {
	ca, cb := &r.columns[a], &r.columns[b]
	p := pairing{kA: ca.k, kB: cb.k}
	s.d, s.unit = s.d[:0], s.unit[:0]
	sum := 0.0
	for t, va := range ca.valid {
		if va > 0 && cb.valid[t] > 0 {
			d := ca.mean[t] - cb.mean[t]
			if math.Abs(d) < nought {
				d = 0
			}
			s.d, s.unit = append(s.d, d), append(s.unit, r.unit[t])
			sum += d
		}
	}
	p.tasks = len(s.d)
	if p.tasks == 0 {
		return p
	}
	p.mean = sum / float64(p.tasks)
	if math.Abs(p.mean) < nought {
		p.mean = 0
	}
	s.spread(&p)
	p.wA, p.wB, p.vRerun, p.rerun = rerunVariance(ca, cb, p.tasks)
	return p
}

// spread computes V_task (F6, F4) and leaves the units' sums D_u (F13) in s.sums[:units].
func (s *scratch) spread(p *pairing) {
	clear(s.sums)
	clear(s.counts)
	n, squares := float64(p.tasks), 0.0
	for i, d := range s.d {
		if e := d - p.mean; math.Abs(e) >= nought {
			squares += float64(e * e)
		}
		s.sums[s.unit[i]] += d
		s.counts[s.unit[i]]++
	}
	for _, c := range s.counts {
		if c > 0 {
			p.families++
		}
	}
	p.clustered = p.families > 1 && p.families < p.tasks
	p.units, p.dfTask = p.tasks, n-1
	if p.tasks > 1 {
		p.vTask = squares / (n * (n - 1))
	}
	if p.clustered {
		p.units = p.families
		if v := s.clusterVariance(p); v > p.vTask {
			p.vTask, p.dfTask = v, float64(p.families-1)
		}
		kept := s.sums[:0]
		for u, c := range s.counts {
			if c > 0 {
				kept = append(kept, s.sums[u])
			}
		}
	} else {
		copy(s.sums, s.d)
	}
	for _, d := range s.sums[:p.units] {
		if math.Abs(d) >= nought {
			p.nonzero++
		}
	}
}

// clusterVariance is F4 squared: (1/N²) G/(G-1) Σ_g (Σ_{t in g} (d_t - dbar))².
func (s *scratch) clusterVariance(p *pairing) float64 {
	squares := 0.0
	for u, c := range s.counts {
		if c > 0 {
			e := s.sums[u] - float64(float64(c)*p.mean)
			squares += float64(e * e)
		}
	}
	n, g := float64(p.tasks), float64(p.families)
	return squares * g / ((g - 1) * n * n)
}

// rerunVariance is F7: the variance of the mean difference that rerunning alone
// gives. A task run once takes its variant's mean variance over the common tasks
// with 2 runs (none: over all its tasks; none again: ok is false). Below 5 tasks
// that vary the variance is at least that of one odd run in one task on each side.
func rerunVariance(a, b *column, tasks int) (wA, wB, v float64, ok bool) {
	wA, okA := commonNoise(a, b)
	wB, okB := commonNoise(b, a)
	if !okA || !okB {
		return 0, 0, 0, false
	}
	sum, varying := 0.0, 0
	for t, na := range a.valid {
		nb := b.valid[t]
		if na == 0 || nb == 0 {
			continue
		}
		sA, sB := a.s2[t], b.s2[t]
		if sA+sB > 0 {
			varying++
		}
		if na == 1 {
			sA = wA
		}
		if nb == 1 {
			sB = wB
		}
		sum += sA/float64(na) + sB/float64(nb)
	}
	n, kA, kB := float64(tasks), float64(a.k), float64(b.k)
	v = sum / (n * n)
	if varying < 5 {
		v = math.Max(v, (1/(kA*kA)+1/(kB*kB))/(n*n))
	}
	return wA, wB, v, true
}

// commonNoise is w of variant a over the tasks it shares with b.
func commonNoise(a, b *column) (w float64, ok bool) {
	sum, n := 0.0, 0
	for t, v := range a.valid {
		if v > 1 && b.valid[t] > 0 {
			sum += a.s2[t]
			n++
		}
	}
	if n == 0 {
		return a.w, a.noisy
	}
	return sum / float64(n), true
}

// test is F9 for one question: a variance with its degrees of freedom.
type test struct {
	vMean float64 // V_m
	vRun  float64 // V_c
	v     float64
	df    float64
}

// shockTerms is what run shocks add to F9.
type shockTerms struct {
	vRun float64 // V_c
	raw  float64 // (c (sigma2_run + E))²/nu': the run spread is an estimate too
	own  float64 // (V_c - c sigma2_run)²/max(1, k_A+k_B-5)
}

// shocks is V_c and its share of F9's degrees of freedom for one pair.
func (p *pairing) shocks(s *shock, excess float64) shockTerms {
	c := 1/float64(p.kA) + 1/float64(p.kB)
	nu := s.nu
	if nu < 12 {
		nu = math.Max(1, nu-1)
	}
	x := shockTerms{vRun: c * math.Max(s.excess, excess)}
	raw, own := c*(s.excess+s.expected), x.vRun-float64(c*s.excess)
	x.raw, x.own = raw*raw/nu, own*own/math.Max(1, float64(p.kA+p.kB-5))
	return x
}

// population is F9: task sampling or rerun noise, whichever is larger, and run shocks.
func (p *pairing) population(x shockTerms) test {
	if p.vRerun > p.vTask {
		return p.list(x)
	}
	return x.test(p.vTask, p.dfTask)
}

// list is the same for "on exactly these tasks": rerun noise and run shocks.
func (p *pairing) list(x shockTerms) test { return x.test(p.vRerun, float64(p.tasks-1)) }

func (x shockTerms) test(vm, dfm float64) test {
	t := test{vMean: vm, vRun: x.vRun, v: vm + x.vRun}
	t.df = t.v * t.v / (vm*vm/dfm + x.raw + x.own)
	return t
}

// p is the two-sided p of a mean difference; 1 for no difference.
func (t test) p(mean float64) float64 {
	if mean == 0 {
		return 1
	}
	return studentTwoSided(mean/math.Sqrt(t.v), t.df)
}
