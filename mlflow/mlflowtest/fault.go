package mlflowtest

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// Fault is something that goes wrong with some requests.
type Fault struct {
	Route string // the end of the path, as "runs/create", or any part of it; "" for all
	Skip  int    // so many such requests go through first
	Times int    // then it happens so often; 0 means always
	Do    Act
}

// Act answers a request in place of the server behind, which it may call.
type Act func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Faults is a handler in front of a server, with what goes wrong in between.
type Faults struct {
	next http.Handler

	mu     sync.Mutex
	faults []*Fault
	counts map[string]int
}

// NewFaults puts a handler behind faults, none at first.
func NewFaults(next http.Handler) *Faults { return &Faults{next: next, counts: map[string]int{}} }

// Inject adds a fault. Of several that match a request, the one that was added first and is not used up happens.
func (f *Faults) Inject(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault)
}

// Clear removes all faults.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Requests counts the requests whose path contains route, those that faults answered included.
func (f *Faults) Requests(route string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for path, count := range f.counts {
		if strings.Contains(path, route) {
			n += count
		}
	}
	return n
}

func (f *Faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if act := f.pick(r.URL.Path); act != nil {
		act(w, r, f.next)
		return
	}
	f.next.ServeHTTP(w, r)
}

func (f *Faults) pick(path string) Act {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[path]++
	for i, fault := range f.faults {
		if !strings.Contains(path, fault.Route) {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			return nil
		}
		if fault.Times == 1 {
			f.faults = append(f.faults[:i:i], f.faults[i+1:]...)
		}
		fault.Times = max(fault.Times-1, 0)
		return fault.Do
	}
	return nil
}

// Forward passes requests on to a server.
func Forward(server string) (http.Handler, error) {
	target, err := url.Parse(server)
	quiet := log.New(io.Discard, "", 0) // what fails, fails at the client too
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ErrorLog: quiet}, err
}

// NewProxy puts faults in front of a real server. The proxy ends with the test.
func NewProxy(t testing.TB, server string) (faults *Faults, address string) {
	next, err := Forward(server)
	if err != nil {
		t.Fatal(err)
	}
	faults = NewFaults(next)
	proxy := httptest.NewServer(faults)
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return faults, proxy.URL
}

// LoseAnswer lets the server act and then closes the connection without an answer.
func LoseAnswer(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Drop closes the connection before the server hears of the request.
func Drop(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Answer answers in the server's place. headers are names and values in turn.
func Answer(status int, body string, headers ...string) Act {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// Fail answers with one of MLflow's errors.
func Fail(status int, code, message string) Act {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		writeFailure(w, &failure{status, code, message})
	}
}

// Afterwards lets the server act and throws its answer away for another, as a gateway does that ran out of patience.
func Afterwards(then Act) Act {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		then(w, r, next)
	}
}

// Slow waits before the server hears of the request, or until the client is gone.
func Slow(d time.Duration) Act {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-r.Context().Done():
		case <-time.After(d):
			next.ServeHTTP(w, r)
		}
	}
}

// CutBody sends only the first n bytes of the answer's body, having promised all.
func CutBody(n int) Act {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:min(n, rec.Body.Len())])
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// CutUpload hands only the first half of the request's body on, and cuts both connections.
func CutUpload(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	body, _ := io.ReadAll(r.Body)
	half := io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(http.ErrAbortHandler))
	r.Body, r.ContentLength = io.NopCloser(half), int64(len(body))
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// LoginPage answers as an access proxy does: with a page and status 200.
func LoginPage(w http.ResponseWriter, r *http.Request, next http.Handler) {
	Answer(http.StatusOK, `<!doctype html><title>Sign in</title><form action="/login"><input name="u"></form>`,
		"Content-Type", "text/html", "Set-Cookie", "session=cookie-of-the-login-page")(w, r, next)
}

// Redirect sends the client to another server, path and query kept.
func Redirect(status int, base string) Act {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		Answer(status, "", "Location", strings.TrimRight(base, "/")+r.URL.RequestURI())(w, r, next)
	}
}

// Rewrite changes the body of the server's answer.
func Rewrite(change func(body []byte) []byte) Act {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = bytes.NewReader(change(rec.Body.Bytes())).WriteTo(w)
	}
}
