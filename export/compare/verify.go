package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Verify checks the folder of a comparison: checksums, what its tables hold, and,
// where sources gives both batches, that all of it follows from them. sources is
// called with their descriptions; an error that is fs.ErrNotExist says that a
// batch is not at hand, which is noted. It writes nothing.
func Verify(ctx context.Context, dir string, sources func(Batch) (Side, error)) (*export.Report, error) {
	r, err := export.CheckBytes(ctx, dir, 0)
	if err != nil {
		return nil, err
	}
	r.DigestsOnly = sources == nil
	data, err := os.ReadFile(filepath.Join(dir, fileManifest))
	if err != nil {
		r.Findings = append(r.Findings, export.Finding{File: fileManifest, Reason: "can't be read: " + err.Error()})
		return r, nil
	}
	m, err := decodeManifest(data)
	var schema *export.SchemaError
	switch {
	case errors.As(err, &schema):
		return nil, schema
	case err != nil:
		r.Findings = append(r.Findings, export.Finding{File: fileManifest, Reason: err.Error()})
		return r, nil
	}
	r.Name = m.Name
	v := &checking{m: m, r: r, dir: dir}
	if err := v.listed(ctx); err != nil {
		return nil, err
	}
	if sources == nil || len(r.Findings) > 0 {
		return r, nil
	}
	v.tables(ctx)
	return r, v.again(ctx, sources, data)
}

// checking is one folder being checked.
type checking struct {
	m   *Manifest
	r   *export.Report
	dir string
}

func (v *checking) find(file, format string, args ...any) {
	v.r.Findings = append(v.r.Findings, export.Finding{File: file, Reason: fmt.Sprintf(format, args...)})
}

// listed compares the manifest's list of files with the folder, both ways.
func (v *checking) listed(ctx context.Context) error {
	there, err := export.HashFolder(ctx, v.dir)
	if err != nil {
		return err
	}
	listed := map[string]export.FileEntry{}
	for _, f := range v.m.Files {
		listed[f.Path] = f
	}
	for _, f := range there {
		if f.Path == fileManifest || f.Path == "SHA256SUMS" {
			continue
		}
		switch want, ok := listed[f.Path]; {
		case !ok:
			v.find(f.Path, "is not in %s", fileManifest)
		case want.Digest != f.Digest:
			v.find(f.Path, "SHA-256 is %s, %s says %s", f.Digest, fileManifest, want.Digest)
		}
		delete(listed, f.Path)
	}
	for _, f := range v.m.Files {
		if _, left := listed[f.Path]; left {
			v.find(f.Path, "is in %s, but not in the folder", fileManifest)
		}
	}
	return nil
}

// tables reads every table by another library than wrote it.
func (v *checking) tables(ctx context.Context) {
	for _, t := range []struct {
		name string
		read func(context.Context, string, string) (export.Content, error)
	}{{"pairs", tables.Digest[PairRow]}, {"overall", tables.Digest[OverallRow]}, {"tasks", tables.Digest[TaskRow]}, {"changes", tables.Digest[ChangeRow]}, {"shared", tables.Digest[SharedRow]}} {
		path := "tables/" + t.name + ".parquet"
		got, err := t.read(ctx, v.dir, t.name)
		switch {
		case err != nil:
			v.find(path, "%v", err)
		case !slices.ContainsFunc(v.m.Contents, func(c export.Content) bool { return c.Path == path && c.Digest == got.Digest }):
			v.find(path, "holds other content than %s says", fileManifest)
		}
	}
}

// again makes the comparison from its sources and compares everything.
func (v *checking) again(ctx context.Context, sources func(Batch) (Side, error), have []byte) error {
	m := v.m
	if m.Format[textOutput] != Format || m.Format["tables"] != Schema {
		v.unproven(fmt.Sprintf("this version makes format %d of texts and schema %d of tables, the folder has %d and %d", Format, Schema, m.Format[textOutput], m.Format["tables"]))
		return nil
	}
	var sides [2]Side
	for i, b := range []Batch{m.A, m.B} {
		s, err := sources(b)
		switch {
		case errors.Is(err, os.ErrNotExist):
			v.unproven(fmt.Sprintf("batch %s is not beside this folder", b.Name))
			return nil
		case err != nil:
			return fmt.Errorf("batch %s: %w", b.Name, err)
		}
		if got := s.Frozen.ResultDigest; got != b.Result {
			v.find(fileManifest, "result.json of %s has SHA-256 %s, %s says %s: the folder beside this one is another batch", b.Name, got, fileManifest, b.Result)
			return nil
		}
		sides[i] = s
	}
	o := Options{Tool: m.Tool, Reference: m.Reference}
	if m.Asked {
		o.Decision = m.Decision
	}
	c, err := Of(ctx, sides[0], sides[1], o)
	if err != nil {
		v.find(fileManifest, "does not follow from the two batches: %v", err)
		return nil
	}
	contents, err := c.files("")
	if err != nil {
		return err
	}
	v.compare(c, contents, have)
	return nil
}

// compare compares what was made again with the folder.
func (v *checking) compare(c *Comparison, contents []export.Content, have []byte) {
	before := len(v.r.Findings)
	for _, got := range contents {
		i := slices.IndexFunc(v.m.Contents, func(w export.Content) bool { return w.Path == got.Path })
		switch {
		case i < 0:
			v.find(got.Path, "follows from the two batches, but is not in %s", fileManifest)
		case v.m.Contents[i].Digest != got.Digest:
			v.find(got.Path, "does not follow from the two batches")
		default:
			v.r.Recomputed = append(v.r.Recomputed, got.Path)
		}
		if got.Output == textOutput && i >= 0 {
			v.bytes(got.Path, got.Digest)
		}
	}
	for _, f := range v.m.Files {
		if !slices.ContainsFunc(contents, func(g export.Content) bool { return g.Path == f.Path }) {
			v.find(f.Path, "follows from nothing")
		}
	}
	again := c.manifest(v.m.Contents)
	again.Files = v.m.Files
	data, err := again.encode()
	if err == nil && len(v.r.Findings) == before && string(data) != string(have) {
		v.find(fileManifest, "does not follow from the two batches")
	}
}

// bytes compares a text with what was made again: the manifest may lie about both.
func (v *checking) bytes(path string, want batch.Digest) {
	i := slices.IndexFunc(v.m.Files, func(f export.FileEntry) bool { return f.Path == path })
	if i < 0 || v.m.Files[i].Digest != want {
		v.find(path, "does not follow from the two batches")
	}
}

func (v *checking) unproven(why string) {
	for _, c := range v.m.Contents {
		v.r.Unproven = append(v.r.Unproven, c.Path)
	}
	slices.SortFunc(v.r.Unproven, strings.Compare)
	v.r.Notes = append(v.r.Notes, "nothing was made again from the two batches: "+why)
}
