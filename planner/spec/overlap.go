package spec

import (
	"fmt"
	"path"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// checkFiles checks all paths of the spec, and that no file belongs to two parts.
func (k *checker) checkFiles() {
	entries := k.gather()
	k.checkTwice(entries)
	k.checkOwners(entries)
	k.checkOwnFiles(entries)
	k.checkPlacement(entries)
	k.checkFreeCommands()
}

// checkTwice refuses a path that is listed twice, or within another, in one list.
func (k *checker) checkTwice(entries []entry) {
	for i, e := range entries {
		for _, f := range entries[:i] {
			if list := enclosing(e.field); list != enclosing(f.field) || strings.HasSuffix(list, ".command") || strings.HasSuffix(list, ".check") {
				continue
			}
			switch {
			case e.path == f.path:
				k.c.add(e.field, "listed twice", "remove one of both")
			case covers(f.path, e.path):
				k.c.add(e.field, plain(f.path)+" already holds it", "remove it")
			case covers(e.path, f.path):
				k.c.add(f.field, plain(e.path)+" already holds it", "remove it")
			}
		}
	}
}

// checkOwners refuses a file of two parts: a change of it would look like a
// change of both. The same path written for both on purpose is allowed where
// they are alike: two agents that share a library, a runner and its judge.
func (k *checker) checkOwners(entries []entry) {
	for i, e := range entries {
		for _, f := range entries[:i] {
			if e.owner() == f.owner() || !overlap(e.path, f.path) {
				continue
			}
			alike := e.part == f.part || (recipe(e.part) && recipe(f.part))
			if alike && e.path == f.path {
				continue
			}
			k.c.add(e.field, fmt.Sprintf("%s belongs to %s and %s (in %s) to %s: no file can be part of both",
				plain(e.path), e.owner(), plain(f.path), f.field, f.owner()), "move the files apart, or remove one entry")
		}
	}
}

func recipe(p batch.Part) bool { return p == batch.PartExecution || p == batch.PartScoring }

// checkOwnFiles refuses to hand the spec, the panel or the prices to an agent.
func (k *checker) checkOwnFiles(entries []entry) {
	own := []struct{ path, why string }{
		{path.Base(strings.ReplaceAll(k.s.Path, `\`, "/")), "the spec itself: a price or quota would change the identity"},
		{k.s.Panel, "the panel: agents would see the expected answers"},
		{k.s.Prices, "the prices: a new price would change the identity"},
	}
	for _, e := range entries {
		for _, o := range own {
			if o.path != "" && overlap(e.path, path.Clean(o.path)) {
				k.c.add(e.field, "holds "+o.why, "keep it in a folder of its own")
			}
		}
		if out := outputAmong([]string{strings.TrimSuffix(e.path, "/")}); out != "" {
			k.c.add(e.field, "benchbatch or MLflow writes there", "keep inputs in a folder of their own")
		}
	}
}

// checkPlacement checks where the brain goes in each agent's working folder.
func (k *checker) checkPlacement(entries []entry) {
	for i, a := range k.s.Agents {
		field := fmt.Sprintf("agents[%d].brain_placement", i)
		at := path.Clean(a.BrainPlacement)
		if a.BrainPlacement == "" || path.IsAbs(at) || at == ".." || strings.HasPrefix(at, "../") || strings.Contains(at, `\`) {
			k.c.add(field, "not a folder in the working folder", "write a relative path such as .agent/skills, or . for the working folder itself")
			continue
		}
		taken := map[string]string{}
		for _, e := range entries {
			if e.part == batch.PartExecution || (e.part == batch.PartAgent && e.agent == a.ID) {
				for _, f := range e.files {
					taken[f] = e.field
				}
			}
		}
		for _, e := range entries {
			if e.part == batch.PartBrain {
				k.placed(field, e, at, taken)
			}
		}
	}
}

// placed refuses a brain that would cover another file of the working folder.
func (k *checker) placed(field string, brain entry, at string, taken map[string]string) {
	for _, f := range brain.files {
		target := path.Join(at, strings.TrimPrefix(f, brain.path))
		for p := target; p != "."; p = path.Dir(p) {
			if by, ok := taken[p]; ok {
				k.c.add(field, fmt.Sprintf("the brain's %s would cover %s of %s", plain(f), plain(p), by), "place the brain elsewhere")
				return
			}
		}
	}
}

// checkFreeCommands checks that programs named by a path exist where no part
// holds them.
func (k *checker) checkFreeCommands() {
	check := func(field string, words []string) {
		for i, w := range words {
			if strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../") {
				k.find(fmt.Sprintf("%s[%d]", field, i), w)
			}
		}
	}
	for i, a := range k.s.Agents {
		check(fmt.Sprintf("agents[%d].version_command", i), a.VersionCommand)
	}
	for i, m := range k.s.Models {
		if m.Preflight != nil {
			check(fmt.Sprintf("models[%d].preflight.command", i), m.Preflight.Command)
		}
	}
	for i, a := range k.s.Agents {
		if a.Preflight != nil {
			check(fmt.Sprintf("agents[%d].preflight.command", i), a.Preflight.Command)
		}
	}
	if k.s.Preflight != nil {
		check("preflight.command", k.s.Preflight.Command)
	}
}

// covers says whether folder a holds b.
func covers(a, b string) bool { return strings.HasSuffix(a, "/") && strings.HasPrefix(b, a) && a != b }

// overlap says whether two paths name the same file or one holds the other.
func overlap(a, b string) bool { return a == b || covers(a, b) || covers(b, a) }
