package stats

import (
	"fmt"
	"math"
)

// Filling is a Data whose runs are given one by one: a batch may be too large to be
// held as cells. Scores, votes and costs out of range, NaN, repeated ids and runs of
// another length than the panel are refused; nothing is guessed.
type Filling struct{ d *Data }

// Begin checks everything of a batch but its cells. Until Run gives them, all
// cells of a run are NotRun; Cells of the runs of b are not looked at.
func Begin(b Batch) (*Filling, error) {
	d := &Data{metric: b.Metric, tasks: append([]Task(nil), b.Tasks...), judges: append([]Judge(nil), b.Judges...)}
	if b.PassThreshold != nil {
		d.threshold = ptr(*b.PassThreshold)
	}
	if err := d.checkPanel(); err != nil {
		return nil, err
	}
	d.unit = units(b.Tasks)
	seen := map[string]bool{}
	times, runs := 0, 0
	for i := range b.Variants {
		v := &b.Variants[i]
		if v.ID == "" || seen[v.ID] {
			return nil, fmt.Errorf("variant %d: id %q: must be given and be unique", i+1, v.ID)
		}
		seen[v.ID] = true
		col, err := d.column(v)
		if err != nil {
			return nil, fmt.Errorf("variant %q: %w", v.ID, err)
		}
		d.variants = append(d.variants, col)
		for r := range v.Runs {
			runs++
			if !v.Runs[r].Started.IsZero() {
				times++
			}
		}
	}
	if times != 0 && times != runs {
		return nil, fmt.Errorf("start times: %d of %d runs have one; give all or none", times, runs)
	}
	d.timed, d.seed = times > 0, b.Digest
	if d.seed == "" {
		d.seed = d.digest()
	}
	return &Filling{d}, nil
}

// Run gives the cells of one run, by index, in the order of the panel. They are
// copied. Each run is given once at most.
func (f *Filling) Run(variant, run int, cells []Cell) error {
	d := f.d
	v := &d.variants[variant]
	if len(cells) != len(d.tasks) {
		return fmt.Errorf("variant %q: run %d: %d cells: the panel has %d tasks", v.id, run+1, len(cells), len(d.tasks))
	}
	k := len(v.runs)
	for t := range cells {
		if err := d.put(v, t*k+run, &cells[t]); err != nil {
			return fmt.Errorf("variant %q: run %d, task %q: %w", v.id, run+1, d.tasks[t].ID, err)
		}
		if cells[t].State == Failed {
			v.runs[run].failed++
		}
	}
	return nil
}

// Data is the batch as far as it was given. The Filling is of no use afterwards.
func (f *Filling) Data() *Data {
	d := f.d
	f.d = nil
	return d
}

// column makes room for the runs of a variant; all cells are NotRun.
func (d *Data) column(v *Variant) (variant, error) {
	size, k := len(d.tasks)*len(v.Runs), len(v.Runs)
	out := variant{id: v.ID, family: v.Family, runs: make([]runInfo, k),
		state: make([]State, size), score: make([]float64, size), pass: make([]bool, size), cost: unknown(size), wall: unknown(size)}
	out.y = out.score
	if d.metric == Pass {
		out.y = make([]float64, size)
	}
	if len(d.judges) > 0 {
		out.votes = unknown(size * len(d.judges))
	}
	for r := range v.Runs {
		if v.Runs[r].Place > Replaced {
			return out, fmt.Errorf("run %d: place %d: must be Counted, Unfilled or Replaced", r+1, v.Runs[r].Place)
		}
		out.runs[r] = runInfo{started: v.Runs[r].Started, place: v.Runs[r].Place}
	}
	return out, nil
}

// unknown is n values of which none is known.
func unknown(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

// Judge adds a judge that was not known at the start; it has given no vote so far.
func (f *Filling) Judge(j Judge) {
	d := f.d
	old := len(d.judges)
	d.judges = append(d.judges, j)
	for i := range d.variants {
		v := &d.variants[i]
		votes := unknown(len(v.state) * len(d.judges))
		for c := range v.state {
			copy(votes[c*len(d.judges):], v.votes[c*old:(c+1)*old])
		}
		v.votes = votes
	}
}
