package claim

import (
	"context"
	"strings"
)

// Estate is money that a launcher took and did not settle before it ended.
type Estate struct {
	Launcher   string  // who took it; "" = its heartbeat is missing
	USD        float64 // taken and not settled
	SettledUSD float64 // what it, or an earlier heir, had settled before in this batch

	tranches []*Lease
}

// Inherit takes over what launchers that ended without settling had taken. Each
// estate is inherited once, and counts as spent in full until it is settled.
func (b *Budget) Inherit(ctx context.Context) ([]Estate, error) {
	if err := b.member.read(ctx); err != nil {
		return nil, b.member.trouble(err)
	}
	a := b.account()
	bids := make([]bid, len(a.estates))
	for i, k := range a.estates {
		bids[i] = bid{key: k, usd: a.latestUSD[k]}
	}
	verdicts, err := b.member.take(ctx, bids)
	if err != nil {
		return nil, err
	}
	var out []Estate
	at := map[string]int{} // in out, by session
	for i, v := range verdicts {
		if v.lease == nil {
			continue
		}
		first := a.firstHolder[a.estates[i]]
		n, known := at[first.session]
		if !known {
			n = len(out)
			at[first.session] = n
			out = append(out, Estate{Launcher: b.launcher(first), SettledUSD: a.settledBy[first.session].usd()})
		}
		out[n].tranches = append(out[n].tranches, v.lease)
		out[n].USD += v.lease.hold.usd.usd()
	}
	return out, nil
}

func (b *Budget) launcher(h hold) string {
	b.member.mu.Lock()
	defer b.member.mu.Unlock()
	return strings.TrimSpace(b.member.view.holder(h).Launcher)
}

// SettleEstate says what of an estate was spent, as the runs of its launcher tell:
// their cost, less Estate.SettledUSD. It is repeated after an error.
func (b *Budget) SettleEstate(ctx context.Context, e Estate, spentUSD float64) error {
	left, err := toMicro(spentUSD)
	if err != nil {
		return err
	}
	for i, l := range e.tranches {
		spent := min(left, l.hold.usd)
		if i == len(e.tranches)-1 {
			spent = left
		}
		left -= spent
		if err := l.end(ctx, endSpent, spent.String()); err != nil {
			return err
		}
	}
	return nil
}
