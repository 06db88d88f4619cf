package export

import (
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Why a cost could not be computed from tokens.
const (
	NoPrice    = "no price"       // the model has no price, or none for a kind of token that was used
	NoTokens   = "tokens unknown" // nothing is known of the tokens
	PartTokens = "tokens in part" // a kind that has a price was not counted
)

// Reprice is the cost in USD of some tokens under the batch's frozen prices, or
// nil and the reason.
//
// Each kind of token is tokens × price. A kind that was counted as 0 costs
// nothing. A kind with a count but without a price makes the cost unknown. A
// kind without a count makes it unknown too, except where its price is 0, and
// except for cached tokens (read or written) that the price table has no price
// for: there the provider sells no such thing.
func (f *Frozen) Reprice(model string, t *outcome.Tokens) (*float64, string) {
	price, ok := f.Plan.Prices[model]
	if !ok {
		return nil, NoPrice
	}
	if t == nil || (t.Input == nil && t.CacheRead == nil && t.CacheWrite == nil && t.Output == nil) {
		return nil, NoTokens
	}
	sum := 0.0
	for _, k := range []struct {
		tokens *int64
		price  *float64
		cache  bool
	}{{t.Input, price.Input, false}, {t.CacheRead, price.CacheRead, true}, {t.CacheWrite, price.CacheWrite, true}, {t.Output, price.Output, false}} {
		switch {
		case k.tokens == nil && (k.price != nil && *k.price == 0 || k.price == nil && k.cache):
		case k.tokens == nil:
			return nil, PartTokens
		case *k.tokens == 0:
		case k.price == nil:
			return nil, NoPrice
		default:
			// The conversions keep the compiler from fusing the product and the sum.
			sum += float64(float64(*k.tokens) * *k.price / 1e6)
		}
	}
	return &sum, ""
}
