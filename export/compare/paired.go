package compare

import (
	"github.com/benchbatch/benchbatch/export/stats"
)

// decide applies the rule to each variant, B's half against A's, and to all together.
func (m *merged) decide() error {
	c := m.c
	data := m.filling.Data()
	m.filling = nil
	rule := c.Rule.Rule
	for i := range m.both {
		rule.Pairs = append(rule.Pairs, [2]int{2*i + 1, 2 * i})
	}
	first, err := stats.Decide(data, rule)
	if err != nil {
		return err
	}
	c.Level, c.Places = first.Level, first.Compared
	for i := range first.Pairs {
		if first.Pairs[i].Compared {
			c.Variants[i].Pair = &first.Pairs[i]
		}
	}
	together := rule
	together.Pairs = nil
	for i := range m.both {
		if c.Variants[i].Pair != nil {
			together.Pairs = append(together.Pairs, rule.Pairs[i])
		}
	}
	if len(together.Pairs) == 0 {
		return nil
	}
	if c.Overall, err = stats.DecideOverall(data, together); err != nil {
		return err
	}
	return m.reread(data, rule, together, first)
}

// reread decides again without some outcomes.
func (m *merged) reread(data *stats.Data, rule, together stats.Rule, first *stats.Verdicts) error {
	c := m.c
	for i, name := range readings {
		if m.left[i] == 0 {
			continue
		}
		kept := data.Without(func(column, run, task int) bool { return m.drop(i, column, run, task) })
		again, err := stats.Decide(kept, rule)
		if err != nil {
			return err
		}
		over, err := stats.DecideOverall(kept, together)
		if err != nil {
			return err
		}
		r := Reading{Name: name, Left: m.left[i], Over: over.Mark != c.Overall.Mark || over.Up != c.Overall.Up}
		for _, p := range stats.Turned(first, again) {
			if c.Variants[p].Pair != nil {
				r.Turned = append(r.Turned, m.both[p])
			}
		}
		c.Readings = append(c.Readings, r)
	}
	return nil
}

// Stands says whether the verdict over all is the same in every reading.
func (c *Comparison) Stands() bool {
	for _, r := range c.Readings {
		if r.Over {
			return false
		}
	}
	return true
}
