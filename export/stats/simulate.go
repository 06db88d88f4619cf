package stats

import (
	"errors"
	"math/rand/v2"
)

// Observed is how one rule did over many batches with known truth.
type Observed struct {
	False     float64 // share of batches with at least one false separation: an equal pair separated, or the worse one ahead
	FalsePair float64 // share of equal pairs that were separated; 0 where there are none
	Power     float64 // share of different pairs that were separated the right way; 0 where there are none
}

// Rates is what Simulate and Shuffle saw, rule by rule.
type Rates struct {
	Replicates int
	Equal      int // equal pairs a batch
	Different  int // different pairs a batch
	Rule       Observed
	OnList     Observed // the same rule, "ahead on this list" counted too
	Range      Observed // the range tie
	PairedT    Observed // the paired t test on tasks, unadjusted, at the rule's two-sided level
}

// replicatesPerBlock share a stream; see drawBlock.
const replicatesPerBlock = 25

// Simulate draws batches from a scenario and lets the rule, the range tie and the
// unadjusted paired t test judge them. The rule needs no reference. The same for
// any number of cores.
func Simulate(s Scenario, rule Rule, key Key, replicates int) (Rates, error) {
	if err := s.check(); err != nil {
		return Rates{}, err
	}
	rule.Reference, rule.Compare, rule.Pairs = "", AllPairs, nil
	if _, err := rule.check(&Data{}); err != nil {
		return Rates{}, err
	}
	return calibrate(rule, key, replicates, s.draw, s.effect)
}

// Shuffle permutes the variants' labels within each task of a real batch: every
// separation is then false. A variant's runs of a task move together, and take
// their number along where it differs. Under scope List single runs change places:
// on exactly these tasks, labels that keep their runs together do differ.
func Shuffle(d *Data, rule Rule, key Key, replicates int) (Rates, error) {
	rule.Reference, rule.Compare, rule.Pairs = "", AllPairs, nil
	if _, err := rule.check(d); err != nil {
		return Rates{}, err
	}
	draw := func(g *rand.Rand) *Data { return d.shuffled(g, rule.Scope == List) }
	return calibrate(rule, key, replicates, draw, func(int) float64 { return 0 })
}

// tally counts over batches; whole numbers, so that their order doesn't matter.
type tally struct{ batches, equal, different, separated, found int64 }

func (t *tally) add(o tally) {
	t.batches += o.batches
	t.equal += o.equal
	t.different += o.different
	t.separated += o.separated
	t.found += o.found
}

func (t *tally) observed(replicates int) Observed {
	o := Observed{False: float64(t.batches) / float64(replicates)}
	if t.equal > 0 {
		o.FalsePair = float64(t.separated) / float64(t.equal)
	}
	if t.different > 0 {
		o.Power = float64(t.found) / float64(t.different)
	}
	return o
}

const rules = 4

func calibrate(rule Rule, key Key, replicates int, draw func(*rand.Rand) *Data, effect func(int) float64) (Rates, error) {
	if replicates < 1 {
		return Rates{}, errors.New("replicates: at least 1 is needed")
	}
	blocks := (replicates + replicatesPerBlock - 1) / replicatesPerBlock
	results := make([][rules]tally, blocks)
	parallel(blocks, func(b int) {
		g := rand.New(key.stream(b))
		for range min(replicatesPerBlock, replicates-b*replicatesPerBlock) {
			replicate(draw(g), rule, effect, &results[b])
		}
	})
	var sum [rules]tally
	for b := range results {
		for i := range sum {
			sum[i].add(results[b][i])
		}
	}
	return Rates{Replicates: replicates, Equal: int(sum[0].equal) / replicates, Different: int(sum[0].different) / replicates,
		Rule: sum[0].observed(replicates), OnList: sum[1].observed(replicates),
		Range: sum[2].observed(replicates), PairedT: sum[3].observed(replicates)}, nil
}

// replicate lets every rule judge one batch.
func replicate(d *Data, rule Rule, effect func(int) float64, out *[rules]tally) {
	first := d.read(false)
	contests := first.judge(rule, Nobody)
	if d.differs() {
		for i, again := range d.read(true).judge(rule, Nobody) {
			if c := &contests[i]; c.mark != again.mark || c.winner != again.winner {
				c.mark, c.winner = CannotTell, Nobody
			}
		}
	}
	s := newScratch(len(d.unit))
	var wrong [rules]bool
	for i := range contests {
		c := &contests[i]
		truth := effect(c.a) - effect(c.b)
		for j, side := range first.sides(c, rule, s) {
			wrong[j] = out[j].count(truth, side) || wrong[j]
		}
	}
	for j := range wrong {
		if wrong[j] {
			out[j].batches++
		}
	}
}

// count books one pair: side is 1 where the first variant was put ahead, -1 where
// the second was, 0 where neither. It reports a false separation.
func (t *tally) count(truth float64, side int) bool {
	if truth == 0 {
		t.equal++
		if side != 0 {
			t.separated++
		}
		return side != 0
	}
	t.different++
	if float64(side)*truth > 0 {
		t.found++
	}
	return float64(side)*truth < 0
}

// sides says whom each rule puts ahead.
func (r *reading) sides(c *contest, rule Rule, s *scratch) (side [rules]int) {
	claimed := 0
	if c.mark >= Ahead {
		claimed = 1
		if c.winner == c.b {
			claimed = -1
		}
	}
	if c.mark == rule.ahead() {
		side[0] = claimed
	}
	side[1] = claimed
	if t := rangeTie(r.columns[c.a].runs.means, r.columns[c.b].runs.means); t.Known && !t.Tie {
		side[2] = -1
		if t.Ahead {
			side[2] = 1
		}
	}
	r.pair(c.a, c.b, s)
	if t, ok := PairedT(s.d); ok && Significant(t.P, rule.level()) {
		side[3] = 1
		if t.Difference < 0 {
			side[3] = -1
		}
	}
	return side
}
