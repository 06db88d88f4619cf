package spec

import (
	"maps"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Files is what every file behind a cell had as its digest when it was hashed,
// by slash path relative to the spec.
func (r *Resolved) Files(c batch.Cell) map[string]batch.Digest {
	all := map[string]batch.Digest{}
	for _, m := range []batch.Manifest{r.Agents[c.Agent], r.Models[c.Model], r.Brain, r.Execution, r.Scoring} {
		maps.Copy(all, m.Files)
	}
	return all
}
