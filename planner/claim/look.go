package claim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Standing is how the latest claim of a repeat stands.
type Standing struct {
	Cell       string // first 16 digits
	Slot       int
	Generation int
	Holder     Holder
	Left       bool   // its launcher left without saying how it ended
	Done       string // the run that measured it; "" = none did
	Released   bool   // given back
}

// Held says whether somebody holds the claim; he may be dead all the same: see Holder.Lapsed.
func (s Standing) Held() bool { return s.Done == "" && !s.Released && !s.Left }

// Look reads how the claims of a recipe stand, by cell and slot, and changes nothing.
// Two calls; none are there where no ledger run was elected yet.
func Look(ctx context.Context, c *mlflow.Client, experimentID string, recipe batch.Digest) ([]Standing, error) {
	b := &Book{client: c, of: ofRecipe(experimentID, recipe, "recipe "+recipe.Short())}
	_, run, err := b.find(ctx)
	if errors.Is(err, errNoLock) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now, err := b.now()
	if err != nil {
		return nil, err
	}
	v := newView(DefaultTTL)
	v.absorb(run)
	var out []Standing
	for k, all := range v.holds {
		parts := strings.Split(string(k), "/")
		if len(parts) != 3 || parts[0] != kindClaim {
			continue
		}
		slot, err := strconv.Atoi(parts[2])
		if err != nil {
			continue
		}
		last := all[len(all)-1]
		s := Standing{Cell: parts[1], Slot: slot, Generation: last.generation, Holder: v.holder(last), Left: v.beats[last.session].left}
		s.Holder.Lapsed = now.After(s.Holder.Until)
		switch e := v.ends[k.at(last.generation)]; e.word {
		case endDone:
			s.Done = e.what
		case endReleased:
			s.Released = true
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Standing) int { return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Slot, b.Slot)) })
	return out, nil
}
