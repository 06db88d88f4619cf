package compare

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/planner/batch"
)

const fileManifest = "manifest.json"

// textOutput is the output that texts and charts have in the manifest.
const textOutput = "texts"

// Write writes the comparison as the folder out/Name in one step, and returns the
// path. Where the folder exists with the same content it is left as it is; with
// other content the error is an *export.ExistsError.
func Write(ctx context.Context, c *Comparison, out string) (string, error) {
	return export.Publish(ctx, out, c.Name, func(dir string) error {
		contents, err := c.files(dir)
		if err != nil {
			return err
		}
		m := c.manifest(contents)
		if m.Files, err = export.HashFolder(ctx, dir); err != nil {
			return err
		}
		data, err := m.encode()
		if err != nil {
			return err
		}
		if err := export.WriteFile(filepath.Join(dir, fileManifest), data); err != nil {
			return err
		}
		all := append(slices.Clone(m.Files), export.FileEntry{Path: fileManifest, Digest: batch.Sum(data)})
		slices.SortFunc(all, func(a, b export.FileEntry) int { return strings.Compare(a.Path, b.Path) })
		var sums strings.Builder
		for _, f := range all {
			fmt.Fprintf(&sums, "%s  %s\n", f.Digest, f.Path)
		}
		return export.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()))
	})
}

// files makes texts, charts and tables below dir, or their digests where dir is "".
func (c *Comparison) files(dir string) ([]export.Content, error) {
	page := c.Page()
	files := map[string]string{"README.md": document.Markdown(c.Readme()), "report.md": document.Markdown(page), "report.html": document.HTML(page)}
	names := []string{"README.md", "report.html", "report.md"}
	for _, f := range document.Figures(page) {
		files[f.Path()] = f.SVG
		names = append(names, f.Path())
	}
	var out []export.Content
	for _, n := range names {
		if dir != "" {
			if err := export.WriteFile(filepath.Join(dir, filepath.FromSlash(n)), []byte(files[n])); err != nil {
				return nil, err
			}
		}
		out = append(out, export.Content{Output: textOutput, Path: n, Digest: batch.Sum([]byte(files[n]))})
	}
	contents, err := c.writeTables(dir)
	return append(out, contents...), err
}
