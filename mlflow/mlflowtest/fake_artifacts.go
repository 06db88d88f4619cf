package mlflowtest

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

const proxyPrefix = "/api/2.0/mlflow-artifacts/artifacts/"

// storedPath is where the server puts a file: it decodes percent signs until none is left, and refuses ways out.
func storedPath(p string) (string, error) {
	for {
		decoded, err := url.PathUnescape(p)
		if err != nil || decoded == p {
			break
		}
		p = decoded
	}
	bad := p == "" || strings.HasPrefix(p, "/") || strings.ContainsAny(p, "#\\")
	for _, part := range strings.Split(p, "/") {
		bad = bad || part == ".."
		if len(part) > 255 {
			return "", &failure{http.StatusInternalServerError, "INTERNAL_ERROR", "File name too long"}
		}
	}
	if bad {
		return "", badValue("Invalid path")
	}
	return path.Clean(p), nil
}

func (f *Fake) serveProxied(w http.ResponseWriter, r *http.Request) {
	p, err := storedPath(strings.TrimPrefix(r.URL.Path, proxyPrefix))
	if err != nil {
		writeFailure(w, err)
		return
	}
	switch r.Method {
	case http.MethodPut:
		data, err := io.ReadAll(r.Body)
		if err == nil || f.version == Oldest { // which keeps a part
			f.store(p, data)
		}
		if err == nil && f.version == Oldest {
			writeJSON(w, http.StatusOK, struct{}{})
		}
	case http.MethodGet:
		f.serveFile(w, p)
	default:
		writePage(w, http.StatusMethodNotAllowed, "Method Not Allowed")
	}
}

func (f *Fake) store(p string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.artifacts[p] = data
}

func (f *Fake) serveFile(w http.ResponseWriter, p string) {
	f.mu.Lock()
	data, ok := f.artifacts[p]
	f.mu.Unlock()
	if !ok {
		if f.version == Oldest {
			writeFailure(w, &failure{http.StatusInternalServerError, "INTERNAL_ERROR", "The following failures occurred while downloading one or more artifacts: " + p})
			return
		}
		writeFailure(w, missing("No such artifact: '"+p+"'"))
		return
	}
	media := mime.TypeByExtension(path.Ext(p))
	if media == "" {
		media = "application/octet-stream"
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", "attachment; filename="+path.Base(p))
	_, _ = w.Write(data)
}

// runPath is a path below the artifacts of the run that a query names.
func (f *Fake) runPath(id, p string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run, err := f.run(id)
	if err != nil {
		return "", err
	}
	return storedPath(run.root() + "/" + p)
}

func (f *Fake) serveRunArtifact(w http.ResponseWriter, r *http.Request) {
	p, err := f.runPath(cmp.Or(r.URL.Query().Get("run_id"), r.URL.Query().Get("run_uuid")), r.URL.Query().Get("path"))
	if err != nil {
		writeFailure(w, err)
		return
	}
	f.serveFile(w, p)
}

func (f *Fake) uploadRunArtifact(w http.ResponseWriter, r *http.Request) {
	p, err := f.runPath(r.URL.Query().Get("run_uuid"), r.URL.Query().Get("path"))
	if err != nil {
		writeFailure(w, err)
		return
	}
	data, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
	case len(data) == 0:
		writeFailure(w, badValue("Request must specify data."))
	case len(data) > 10<<20:
		writeFailure(w, badValue("Artifact size is too large. Max size is 10MB."))
	default:
		f.store(p, data)
		w.Header().Set("Content-Type", "application/json")
	}
}

func (f *Fake) listArtifacts(q request) (any, error) {
	var dir string
	q.read(fields{"path": text(&dir)})
	run, err := f.run(q.runID())
	if err != nil {
		return nil, err
	}
	prefix := run.root() + "/"
	if dir != "" {
		if dir, err = storedPath(dir); err != nil {
			return nil, err
		}
		prefix += dir + "/"
	}
	entries := map[string]map[string]any{}
	for stored, data := range f.artifacts {
		below, ok := strings.CutPrefix(stored, prefix)
		if !ok {
			continue
		}
		name, _, isDir := strings.Cut(below, "/")
		entry := map[string]any{"path": path.Join(dir, name), "is_dir": isDir}
		if !isDir && len(data) > 0 { // the size of an empty file is left out
			entry["file_size"] = len(data)
		}
		entries[name] = entry
	}
	out := map[string]any{"root_uri": "mlflow-artifacts:/" + run.root()}
	if len(entries) > 0 {
		files := make([]map[string]any, 0, len(entries))
		for _, e := range entries {
			files = append(files, e)
		}
		slices.SortFunc(files, func(a, b map[string]any) int { return strings.Compare(a["path"].(string), b["path"].(string)) })
		out["files"] = files
	}
	return out, nil
}
