package spec

import (
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// readPrices reads the price table. A model without a line has unknown prices.
func (k *checker) readPrices() {
	if k.s.Prices == "" {
		return
	}
	clean, _, ok := k.find("prices", k.s.Prices)
	if !ok {
		return
	}
	raw, err := readFile(k.root.Open, clean, maxFile)
	if err != nil {
		k.c.add("prices", fileMessage(err), "")
		return
	}
	c := k.c.sub(path.Join(path.Dir(k.s.Path), clean), 2)
	node := parseYAML(c, raw)
	if node == nil {
		return
	}
	var prices batch.Prices
	(&decoder{c}).decode(node, reflect.ValueOf(&prices).Elem(), "", "")
	own := &checker{c: c, s: k.s}
	for _, id := range slices.Sorted(maps.Keys(prices)) {
		at := join("", id)
		own.exists(at, "model", id, k.s.modelIDs())
		p := prices[id]
		for key, v := range map[string]*float64{"input": p.Input, "cache_read": p.CacheRead, "cache_write": p.CacheWrite, "output": p.Output} {
			if v != nil {
				within(own, at+"."+key, *v, 0, 1e6)
			}
		}
	}
	k.s.PriceList = prices
}
