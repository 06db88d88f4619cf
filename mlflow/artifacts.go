package mlflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/go-retryablehttp"
)

// ListArtifacts lists one folder of a run, "" for the root. A missing folder gives an empty list, as does a path that is a file.
// Every listed path lies directly below the folder that was asked for, whatever the server says; its name may still be unfit as a local one.
func (c *Client) ListArtifacts(ctx context.Context, run RunInfo, dir string) ([]FileInfo, error) {
	op := artifactsList.name
	if err := checkID(op, "the run id", run.RunID); err != nil {
		return nil, err
	}
	query := url.Values{"run_id": {run.RunID}}
	if dir != "" {
		if err := checkArtifactPath(op, dir); err != nil {
			return nil, err
		}
		query.Set("path", dir)
	}
	var files []FileInfo
	pages := newPages(op)
	for {
		var out struct {
			Files []struct {
				Path  string     `json:"path"`
				IsDir bool       `json:"is_dir"`
				Size  *int64Wire `json:"file_size"`
			} `json:"files"`
			NextToken string `json:"next_page_token"`
		}
		if err := c.call(ctx, artifactsList, query, nil, &out); err != nil {
			return nil, err
		}
		fresh := 0
		for _, f := range out.Files {
			if err := checkListed(op, dir, f.Path); err != nil {
				return nil, err
			}
			if pages.fresh(f.Path) {
				size := int64(-1)
				if f.Size != nil && !f.IsDir {
					size = int64(*f.Size)
				}
				files = append(files, FileInfo{Path: f.Path, IsDir: f.IsDir, Size: size})
				fresh++
			}
		}
		more, err := pages.next(out.NextToken, fresh)
		if err != nil || !more {
			return files, err
		}
		query.Set("page_token", out.NextToken)
	}
}

// checkListed refuses a listing that leads out of the folder: the server is not trusted with local names.
func checkListed(op, dir, p string) error {
	name := p
	if dir != "" {
		name, _ = strings.CutPrefix(p, dir+"/")
	}
	if p != path.Join(dir, name) || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return &Error{Op: op, Kind: ErrNotJSON, Message: fmt.Sprintf("the server lists %s in folder %s of the run, which is not inside it", quote(p), quote(dir))}
	}
	return nil
}

// PutArtifact stores size bytes as the run's file p; open is called anew for every try. A file of that name is replaced.
// Some servers keep a cut-off upload, so that the size must be compared when all is sent: see [Client.CheckArtifacts].
func (c *Client) PutArtifact(ctx context.Context, run RunInfo, p string, open func() (io.ReadCloser, error), size int64) error {
	op := artifactsPut.name
	if err := errors.Join(checkID(op, "the run id", run.RunID), checkArtifactPath(op, p)); err != nil {
		return err
	}
	req := request{route: artifactsPut, mediaType: "application/octet-stream", size: size, http: c.artifacts}
	if root, ok := c.proxied(run.ArtifactURI); ok {
		req.path = root + "/" + p
	} else {
		if size == 0 || size > maxUpload {
			return invalid(runArtifactPut.name, "%s has %d bytes: the server takes 1 to %d for a run whose artifacts it does not proxy (%s)", quote(p), size, maxUpload, quote(run.ArtifactURI))
		}
		req.route, req.query = runArtifactPut, url.Values{"run_uuid": {run.RunID}, "path": {p}}
	}
	req.body = retryablehttp.ReaderFunc(func() (io.Reader, error) {
		if size == 0 {
			return http.NoBody, nil
		}
		r, err := open()
		if err != nil {
			return nil, err
		}
		return &exactReader{in: r, name: p, size: size}, nil
	})
	_, err := c.send(ctx, req, func(resp *http.Response) error {
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorAnswer))
		if err == nil && len(bytes.TrimSpace(body)) > 0 && looksLikePage(resp, body) {
			return notJSON(req.route, resp, body)
		}
		return err
	})
	return err
}

// PutArtifactBytes is [Client.PutArtifact] of what is in memory.
func (c *Client) PutArtifactBytes(ctx context.Context, run RunInfo, p string, data []byte) error {
	return c.PutArtifact(ctx, run, p, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, int64(len(data)))
}

// CheckArtifacts compares the sizes that the server lists with what was sent (path to bytes), in one call for each folder.
// A missing file or another size is an error of kind ErrNotStored.
func (c *Client) CheckArtifacts(ctx context.Context, run RunInfo, want map[string]int64) error {
	paths := make([]string, 0, len(want))
	for p := range want {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	listed := map[string]map[string]int64{}
	for _, p := range paths {
		dir := path.Dir(p)
		if dir == "." {
			dir = ""
		}
		if listed[dir] == nil {
			files, err := c.ListArtifacts(ctx, run, dir)
			if err != nil {
				return err
			}
			listed[dir] = map[string]int64{}
			for _, f := range files {
				listed[dir][f.Path] = f.Size
			}
		}
		size, ok := listed[dir][p]
		if !ok {
			return &Error{Op: artifactsList.name, Kind: ErrNotStored, Message: fmt.Sprintf("run %s: %s was sent and is not listed", run.RunID, quote(p))}
		}
		if size != want[p] && !(size < 0 && want[p] == 0) { // the size of an empty file is left out
			return &Error{Op: artifactsList.name, Kind: ErrNotStored, Remedy: "send it again",
				Message: fmt.Sprintf("run %s: %s was sent with %d bytes and is listed with %d", run.RunID, quote(p), want[p], size)}
		}
	}
	return nil
}

// GetArtifact opens a run's file. The size is -1 where the server does not say it. ErrNotFound if there is no such file: servers
// that answer 500 for a missing one are asked for the list of its folder. Reading may still fail with [io.ErrUnexpectedEOF] if
// the connection breaks; see [Client.ReadArtifact].
func (c *Client) GetArtifact(ctx context.Context, run RunInfo, p string) (io.ReadCloser, int64, error) {
	op := artifactsGet.name
	if err := errors.Join(checkID(op, "the run id", run.RunID), checkArtifactPath(op, p)); err != nil {
		return nil, 0, err
	}
	req := request{route: artifactsGet, http: c.artifacts}
	if root, ok := c.proxied(run.ArtifactURI); ok {
		req.path = root + "/" + p
	} else {
		req.route, req.query = runArtifactGet, url.Values{"run_id": {run.RunID}, "path": {p}}
	}
	absentChecked := false
	for {
		resp, err := c.send(ctx, req, keepOpen(req.route, p))
		if err == nil {
			return resp.Body, resp.ContentLength, nil
		}
		var e *Error
		if !errors.As(err, &e) || e.Status != http.StatusInternalServerError || absentChecked {
			return nil, 0, err
		}
		listed, listErr := c.listed(ctx, run, p)
		if listErr != nil {
			return nil, 0, errors.Join(err, listErr)
		}
		if !listed {
			return nil, 0, &Error{Op: op, URL: e.URL, Status: e.Status, Kind: ErrNotFound, Message: fmt.Sprintf("run %s has no file %s", run.RunID, quote(p))}
		}
		absentChecked = true
	}
}

// keepOpen leaves a file's body to the caller. An HTML answer for a file that is none is a login page.
func keepOpen(rt route, p string) func(*http.Response) error {
	return func(resp *http.Response) error {
		page := strings.Contains(resp.Header.Get("Content-Type"), "text/html")
		if page && resp.Header.Get("Content-Disposition") == "" && !strings.HasSuffix(p, ".html") && !strings.HasSuffix(p, ".htm") {
			defer resp.Body.Close()
			return notJSON(rt, resp, nil)
		}
		return nil
	}
}

func (c *Client) listed(ctx context.Context, run RunInfo, p string) (bool, error) {
	dir := path.Dir(p)
	if dir == "." {
		dir = ""
	}
	files, err := c.ListArtifacts(ctx, run, dir)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(files, func(f FileInfo) bool { return f.Path == p && !f.IsDir }), nil
}

// ReadArtifact reads a whole file of at most limit bytes; a broken connection is tried again.
func (c *Client) ReadArtifact(ctx context.Context, run RunInfo, p string, limit int64) ([]byte, error) {
	var last error
	for try := 1; try <= 3; try++ {
		body, size, err := c.GetArtifact(ctx, run, p)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(body, limit+1))
		_ = body.Close()
		switch {
		case err == nil && int64(len(data)) > limit:
			return nil, &Error{Op: artifactsGet.name, Message: fmt.Sprintf("run %s: %s has more than the %d bytes that are read", run.RunID, quote(p), limit)}
		case err == nil && (size < 0 || size == int64(len(data))):
			return data, nil
		case err == nil:
			err = io.ErrUnexpectedEOF
		}
		if ctx.Err() != nil {
			return nil, &Error{Op: artifactsGet.name, Err: err}
		}
		last = err
	}
	return nil, &Error{Op: artifactsGet.name, Kind: ErrUnreachable, Message: fmt.Sprintf("run %s: %s breaks off", run.RunID, quote(p)), Err: last, Tries: 3}
}

const proxyMark = "/api/2.0/mlflow-artifacts/artifacts/"

// proxied gives the path of a run's artifact root behind the tracking server's proxy; false if the root is elsewhere.
func (c *Client) proxied(artifactURI string) (root string, ok bool) {
	u, err := url.Parse(artifactURI)
	if err != nil {
		return "", false
	}
	switch u.Scheme {
	case "mlflow-artifacts":
		if u.Host != "" && !strings.EqualFold(u.Host, c.base.Host) {
			return "", false
		}
		root = u.Path
	case "http", "https":
		_, after, found := strings.Cut(u.Path, proxyMark)
		if !found || !strings.EqualFold(u.Host, c.base.Host) {
			return "", false
		}
		root = after
	default:
		return "", false
	}
	root = strings.Trim(root, "/")
	return root, root != ""
}

// sizeError is a file that is not as long as was said.
type sizeError struct {
	name string
	size int64
}

func (e *sizeError) Error() string {
	return fmt.Sprintf("%s does not have the %d bytes it was to have: it changed while it was sent", quote(e.name), e.size)
}

// exactReader passes on size bytes and fails unless there are exactly so many. It looks beyond the last one before it passes that on, so that
// no server gets a file that it takes for whole.
type exactReader struct {
	in   io.ReadCloser
	name string
	size int64
	read int64
}

func (r *exactReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.read += int64(n)
	if r.read == r.size && n > 0 && err == nil {
		extra, extraErr := io.CopyN(io.Discard, r.in, 1)
		r.read += extra
		err = extraErr
	}
	if r.read > r.size || err == io.EOF && r.read != r.size {
		return 0, &sizeError{r.name, r.size}
	}
	return n, err
}

func (r *exactReader) Close() error { return r.in.Close() }
