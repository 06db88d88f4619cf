package spec

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Resolve hashes everything a loaded spec names and gives its cells. It reads
// the files as they are now; env is that of Load.
func Resolve(s *Spec, env func(string) (string, bool)) (*Resolved, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := newCollector(s.Path)
	if s.at != nil {
		c.at = s.at
	}
	k := &checker{c: c, s: s, root: root, env: lookup(env)}
	entries := k.gather()
	m := &maker{s: s, fsys: root.FS(), env: k.env, entries: entries, hashed: map[string]hashed{}}
	k.checkNames("runner", s.Runner.Env, nil, nil)
	if s.Judge != nil {
		k.checkNames("judge", s.Judge.Env, nil, nil)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	r, err := m.resolve()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plain(s.Path), err)
	}
	return r, nil
}

// maker builds the manifests of a spec.
type maker struct {
	s       *Spec
	fsys    fs.FS
	env     func(string) (string, bool)
	entries []entry
	hashed  map[string]hashed // by path: a file of two parts is read once
}

type hashed struct {
	digest batch.Digest
	files  []batch.File
}

func (m *maker) resolve() (*Resolved, error) {
	s := m.s
	r := &Resolved{Spec: s, Agents: map[string]batch.Manifest{}, Models: map[string]batch.Manifest{}}
	var err error
	if r.PanelFile, err = PanelFile(s.Tasks); err != nil {
		return nil, err
	}
	if r.Decision, err = batch.Canonical(s.Decision); err != nil {
		return nil, err
	}
	if r.Brain, r.Brains, err = m.brain(); err != nil {
		return nil, err
	}
	if r.Execution, err = m.execution(); err != nil {
		return nil, err
	}
	if r.Scoring, err = m.scoring(); err != nil {
		return nil, err
	}
	for _, a := range s.Agents {
		if r.Agents[a.ID], err = m.agent(a); err != nil {
			return nil, err
		}
	}
	for _, mod := range s.Models {
		r.Models[mod.ID] = modelManifest(mod)
	}
	if err := r.cells(); err != nil {
		return nil, err
	}
	r.Key, err = r.batchKey()
	return r, err
}

// cells derives the identity of every variant.
func (r *Resolved) cells() error {
	execution, err := r.Execution.Digest(batch.PartExecution)
	if err != nil {
		return err
	}
	scoring, err := r.Scoring.Digest(batch.PartScoring)
	if err != nil {
		return err
	}
	for _, v := range r.Spec.Variants() {
		a, err := r.Agents[v.Agent].Digest(batch.PartAgent)
		if err != nil {
			return err
		}
		m, err := r.Models[v.Model].Digest(batch.PartModel)
		if err != nil {
			return err
		}
		cell := batch.Cell{Variant: v, Identity: batch.NewIdentity(a, m, r.Brains, execution, scoring)}
		r.Cells = append(r.Cells, r.Spec.label(cell))
	}
	if len(r.Cells) > 0 {
		r.Recipe = r.Cells[0].Identity.Recipe
	}
	return nil
}

// label adds what a cell is called.
func (s *Spec) label(c batch.Cell) batch.Cell {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.ID == c.Agent })
	j := slices.IndexFunc(s.Models, func(m Model) bool { return m.ID == c.Model })
	c.AgentVersion, c.Route = s.Agents[i].Version, s.Models[j].Route
	return c
}

// sum hashes an entry.
func (m *maker) sum(e entry) (hashed, error) {
	if h, ok := m.hashed[e.path]; ok {
		return h, nil
	}
	var h hashed
	var err error
	if e.folder() {
		h.digest, h.files, err = batch.DirDigest(m.fsys, path.Clean(e.path))
		for i := range h.files {
			h.files[i].Path = e.path + h.files[i].Path
		}
	} else {
		var f batch.File
		f, err = batch.FileDigest(m.fsys, e.path)
		h = hashed{f.Digest, []batch.File{f}}
	}
	m.hashed[e.path] = h
	return h, err
}

// addFiles puts the entries of a part into a manifest.
func (m *maker) addFiles(man *batch.Manifest, part batch.Part, agent string) error {
	for _, e := range m.entries {
		if e.part != part || e.agent != agent {
			continue
		}
		h, err := m.sum(e)
		if err != nil {
			return err
		}
		man.Items[e.label+" "+e.path] = h.digest
		for _, f := range h.files {
			man.Files[f.Path] = f.Digest
		}
	}
	return nil
}

func newManifest() batch.Manifest {
	return batch.Manifest{Items: map[string]any{}, Files: map[string]batch.Digest{}}
}
