package export

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Names of the files that an export adds.
const (
	fileManifest = "manifest.json"
	fileSums     = "SHA256SUMS"
	panelPath    = "raw/" + batch.FilePanel
	barePanel    = "raw/panel.withheld.jsonl" // ids, families and digests of the tasks
)

// listFiles lists all files below dir by slash path, sorted bytewise. Anything
// that is neither a file nor a folder is a finding.
func listFiles(dir string) ([]string, []Finding, error) {
	var files []string
	var bad []Finding
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
		case e.Type().IsRegular():
			files = append(files, filepath.ToSlash(rel))
		default:
			bad = append(bad, Finding{File: filepath.ToSlash(rel), Reason: "is not a regular file"})
		}
		return nil
	})
	slices.Sort(files)
	return files, bad, err
}

// hashFiles computes size and digest of every file with some workers at once.
// The order of the answer is that of the names; a file that can't be read is a finding.
func hashFiles(ctx context.Context, dir string, names []string, workers int) ([]FileEntry, []Finding, error) {
	if workers <= 0 {
		workers = max(4, runtime.NumCPU())
	}
	out := make([]FileEntry, len(names))
	failed := make([]error, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i, name := range names {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			out[i].Path = name
			out[i].Digest, out[i].Size, failed[i] = hashFile(filepath.Join(dir, name))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	var bad []Finding
	for i, err := range failed {
		if err != nil {
			bad = append(bad, Finding{File: names[i], Reason: "can't be read: " + err.Error()})
		}
	}
	return out, bad, nil
}

func hashFile(path string) (batch.Digest, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return batch.SumReader(&blocks{f, *buf})
}

// blocks hands its reader's bytes over in large pieces.
type blocks struct {
	r   io.Reader
	buf []byte
}

func (b *blocks) Read(p []byte) (int, error) { return b.r.Read(p) }

// WriteTo is what io.Copy uses.
func (b *blocks) WriteTo(w io.Writer) (int64, error) {
	return io.CopyBuffer(onlyWriter{w}, struct{ io.Reader }{b.r}, b.buf)
}

// encodeSums is SHA256SUMS, as sha256sum writes and checks it.
func encodeSums(files []FileEntry) []byte {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", f.Digest, f.Path)
	}
	return b.Bytes()
}

// decodeSums reads SHA256SUMS strictly: sorted, no path twice.
func decodeSums(data []byte) ([]FileEntry, error) {
	var out []FileEntry
	if len(data) > 0 && data[len(data)-1] != '\n' {
		return nil, fmt.Errorf("the last line is cut off")
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		digest, path, ok := strings.Cut(line, "  ")
		if !ok || !batch.Digest(digest).Valid() || !safeEntry(path) {
			return nil, fmt.Errorf("line %d: not '<64 hex digits>  <path>'", n+1)
		}
		if len(out) > 0 && out[len(out)-1].Path >= path {
			return nil, fmt.Errorf("line %d: %s is out of order or stands twice", n+1, path)
		}
		out = append(out, FileEntry{Path: path, Digest: batch.Digest(digest)})
	}
	return out, nil
}

func safeEntry(path string) bool {
	return path != "" && fs.ValidPath(path) && !strings.ContainsAny(path, "\\\x00\r")
}

// HashFolder lists all files below dir with their digests, sorted bytewise by slash
// path. Anything that is neither a file nor a folder is an error.
func HashFolder(ctx context.Context, dir string) ([]FileEntry, error) {
	names, bad, err := listFiles(dir)
	if err != nil {
		return nil, err
	}
	entries, unread, err := hashFiles(ctx, dir, names, 0)
	if err != nil {
		return nil, err
	}
	if bad = append(bad, unread...); len(bad) > 0 {
		return nil, &IntegrityError{dir, bad}
	}
	return entries, nil
}
