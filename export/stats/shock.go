package stats

// runShock is one variant's share of F8: how far whole runs differ from each
// other, beside what rerun noise alone would give.
type runShock struct {
	means  []float64 // R_vr of each run that can be placed
	df     int       // runs - 1; 0 where there is nothing to see
	tasks  float64   // n_v, harmonic mean of the tasks behind each run mean
	s2     float64   // S2_v, variance of the run means
	excess float64   // x_v = S2_v - w_v/n_v; expectation 0 without shocks
}

// shock pools the batch (F8).
type shock struct {
	nu       float64 // degrees of freedom of all runs together
	expected float64 // E: the variance of run means that rerun noise gives
	excess   float64 // sigma2_run >= 0
	phi      float64 // sum of (k-1) n S2/w, chi-squared without shocks
	phiDF    float64
	p        *float64 // of phi; nil where no variant varies
}

// shock computes R_vr = ybar_v + the mean deviation of run r over the tasks with
// two valid runs or more, so that a run with holes isn't favoured by the tasks it lost.
func (v *variant) shock(c *column, usable []bool) runShock {
	var s runShock
	k, inverse := len(v.runs), 0.0
	for r := range k {
		sum, n := 0.0, 0
		for t, valid := range c.valid {
			if valid > 1 && usable[t*k+r] {
				sum += v.y[t*k+r] - c.mean[t]
				n++
			}
		}
		if n > 0 {
			s.means = append(s.means, c.ybar+sum/float64(n))
			inverse += 1 / float64(n)
		}
	}
	if len(s.means) < 2 {
		return s
	}
	s.df = len(s.means) - 1
	s.tasks = float64(len(s.means)) / inverse
	s.s2 = variance(s.means)
	s.excess = s.s2 - c.w/s.tasks
	return s
}

// pool computes nu, E, sigma2_run and the test Phi of F8 over the batch.
func pool(columns []column) shock {
	var s shock
	for i := range columns {
		c := &columns[i]
		df := float64(c.runs.df)
		if df == 0 {
			continue
		}
		s.nu += df
		s.expected += df * c.w / c.runs.tasks
		s.excess += float64(df * c.runs.excess)
		if c.w > 0 {
			s.phi += df * c.runs.tasks * c.runs.s2 / c.w
			s.phiDF += df
		}
	}
	if s.nu > 0 {
		s.expected /= s.nu
		s.excess = max(0, s.excess/s.nu)
	}
	if s.phiDF > 0 {
		p := chiSquareTail(s.phi, s.phiDF)
		s.p = &p
	}
	return s
}

// ShockLevel is the level at which runs differ by more than rerun noise (F8).
const ShockLevel = 0.01

func (s *shock) unstable() bool { return s.p != nil && *s.p < ShockLevel-guard }

// pairExcess is sigma2_AB: the shock of the two variants of a pair alone. It may be negative.
func pairExcess(a, b *column) float64 {
	da, db := float64(a.runs.df), float64(b.runs.df)
	if da+db == 0 {
		return 0
	}
	return (float64(da*a.runs.excess) + float64(db*b.runs.excess)) / (da + db)
}
