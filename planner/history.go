package planner

import (
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// History is what evaluations took: of this recipe's own repeats, of the same cell
// or else of the same model; else of calibrations of the benchmark, a task of a slice
// standing for a task of the panel. Nil knows nothing. It is not safe for concurrent use.
type History struct {
	tasks              int // of the panel
	cost, wall, tokens quantity
}

// quantity is what is known of one quantity, by what is alike.
type quantity map[string]moments

// moments are the count, the sum and the sum of squares of some values.
type moments struct {
	n, sum, squares float64
	tasks           int // least number of tasks behind one of them
}

// NewHistory is the history that valid repeats of a panel of so many tasks make,
// and evaluations of slices of it.
func NewHistory(tasks int, valid, calibrated []ledger.Entry) *History {
	h := &History{tasks: tasks, cost: quantity{}, wall: quantity{}, tokens: quantity{}}
	for _, v := range valid {
		h.Add(v.Identity, v.CostUSD, v.WallS, v.Tokens)
	}
	h.calibrate(calibrated)
	return h
}

// Add takes one more evaluation of the whole panel in: its cost in USD, its time in
// seconds, its tokens of all kinds. Nil = unknown.
func (h *History) Add(id batch.Identity, costUSD, wallS, tokens *float64) {
	keys := []string{string(id.Cell), ownModel(id)}
	h.cost.add(costUSD, 1, h.tasks, keys)
	h.wall.add(wallS, 1, h.tasks, keys)
	h.tokens.add(tokens, 1, h.tasks, keys)
}

// calibrate takes evaluations of slices in. One whose number of tasks is unknown
// says nothing of the panel.
func (h *History) calibrate(entries []ledger.Entry) {
	for _, v := range entries {
		if v.Tasks == 0 {
			continue
		}
		keys := []string{sliceKey(v.Identity), string(v.Identity.Model)}
		scale := float64(h.tasks) / float64(v.Tasks)
		h.cost.add(v.CostUSD, scale, v.Tasks, keys)
		h.wall.add(v.WallS, scale, v.Tasks, keys)
		h.tokens.add(v.Tokens, scale, v.Tasks, keys)
	}
}

// CostUSD is what an evaluation of a cell probably costs, in USD; nil = unknown.
func (h *History) CostUSD(c batch.Cell) *float64 {
	return h.mean(c, func(h *History) quantity { return h.cost })
}

// WallS is how long an evaluation of a cell probably takes, in seconds; nil = unknown.
func (h *History) WallS(c batch.Cell) *float64 {
	return h.mean(c, func(h *History) quantity { return h.wall })
}

// TokensPerMinute is how many tokens of all kinds an evaluation of a cell uses a
// minute; nil = unknown.
func (h *History) TokensPerMinute(c batch.Cell) *float64 {
	wall, tokens := h.WallS(c), h.mean(c, func(h *History) quantity { return h.tokens })
	if wall == nil || tokens == nil || *wall <= 0 {
		return nil
	}
	rate := *tokens / *wall * 60
	return &rate
}

func (h *History) mean(c batch.Cell, of func(*History) quantity) *float64 {
	if h == nil {
		return nil
	}
	m := of(h).like(c.Identity)
	if m.n == 0 {
		return nil
	}
	v := m.mean()
	return &v
}

// ownModel is what cells of this recipe with one model have in common.
func ownModel(id batch.Identity) string { return "own " + string(id.Model) }

// sliceKey is what a cell has in common with the cell of a slice.
func sliceKey(id batch.Identity) string {
	return string(id.Agent) + " " + string(id.Model) + " " + string(id.Brain)
}

func (q quantity) add(v *float64, scale float64, tasks int, keys []string) {
	if v == nil {
		return
	}
	x := *v * scale
	for _, key := range keys {
		m := q[key]
		if m.n == 0 || tasks < m.tasks {
			m.tasks = tasks
		}
		m.n, m.sum, m.squares = m.n+1, m.sum+x, m.squares+x*x
		q[key] = m
	}
}

// like is what is known of evaluations that are most like one of a cell; n = 0: nothing.
func (q quantity) like(id batch.Identity) moments {
	for _, key := range []string{string(id.Cell), ownModel(id), sliceKey(id), string(id.Model)} {
		if m := q[key]; m.n > 0 {
			return m
		}
	}
	return moments{}
}

func (m moments) mean() float64 { return m.sum / m.n }

// variance is that of one value.
func (m moments) variance() float64 {
	if m.n < 2 {
		return m.mean() * m.mean() / 4 // one value says little: half of it as the spread
	}
	return max(0, (m.squares-m.sum*m.sum/m.n)/(m.n-1))
}
