package cli

import (
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// load reads, checks and resolves a spec.
func (a *App) load(path string) (*spec.Resolved, error) {
	s, err := spec.Load(path, a.Env)
	if err != nil {
		return nil, err
	}
	return spec.Resolve(s, a.Env)
}

// input is what a plan of a resolved spec is made from.
func (a *App) input(r *spec.Resolved) planner.Input {
	return planner.Input{Resolved: r, Now: a.Now(), Tool: Version()}
}
