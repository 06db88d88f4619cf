package preflight_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/preflight"
	"github.com/benchbatch/benchbatch/planner/spec"
)

const (
	key = "sk-test-0123456789abcdef"
	ok  = `{"model":"served-1","choices":[{"message":{"content":"ready"}}]}`
)

func aSpec(url string) *spec.Spec {
	return &spec.Spec{
		Runner:    spec.Runner{PassEnv: []string{"GATEWAY_URL"}, Secrets: []string{"KEY"}},
		Preflight: &spec.Preflight{Kind: "openai-chat", URL: url, Key: "KEY", MaxTokens: 16, Timeout: 5 * time.Second},
	}
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

var model = spec.Model{ID: "m", Route: "provider/m"}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// check asks as the spec says for an agent without a preflight of its own.
func check(ctx context.Context, s *spec.Spec, m spec.Model, env func(string) (string, bool)) (preflight.Result, error) {
	return preflight.Check(ctx, s, m, s.PreflightFor(spec.Agent{}, m), env)
}

func ask(t *testing.T, s *spec.Spec, env map[string]string) (preflight.Result, error) {
	t.Helper()
	r, err := check(context.Background(), s, model, lookup(env))
	if err != nil {
		assert.NotContains(t, err.Error(), key)
	}
	return r, err
}

func TestAsksOneSmallQuestion(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var doc map[string]any
		assert.NoError(t, json.Unmarshal(body, &doc))
		assert.Equal(t, "provider/m", doc["model"])
		assert.InDelta(t, 16, doc["max_tokens"], 0)
		assert.Len(t, doc["messages"], 1)
		assert.Equal(t, "Bearer "+key, r.Header.Get("Authorization"))
		assert.Equal(t, "/v1/chat/completions", r.URL.Path)
		_, _ = io.WriteString(w, ok)
	})
	r, err := ask(t, aSpec("${GATEWAY_URL}/v1/chat/completions"), map[string]string{"GATEWAY_URL": url + "/", "KEY": key})
	require.NoError(t, err)
	assert.Equal(t, "openai-chat", r.Kind)
	assert.Equal(t, "served-1", r.Model)
	assert.Equal(t, "ready", r.Answer)
	assert.Equal(t, 1, r.Calls)
}

func TestTellsFaultsApart(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name  string
		h     http.HandlerFunc
		fault preflight.Fault
		want  string
	}{
		{"401 repeats the key", answer(401, `{"error":{"message":"bad key `+key+`"}}`), preflight.RejectedKey, "bad key [redacted:KEY]"},
		{"403", answer(403, ``), preflight.RejectedKey, "KEY"},
		{"404", answer(404, `{"error":{"message":"no such model"}}`), preflight.NotFound, `"provider/m"`},
		{"400", answer(400, `{"error":"what?"}`), preflight.BadRequest, "what?"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, preflight.NotAnAPI, "redirect"},
		{"login page", answer(200, "<!doctype html><title>Log in</title>"), preflight.NotAnAPI, "web page"},
		{"text", answer(200, "it works"), preflight.NotAnAPI, "it works"},
		{"other JSON", answer(200, `{"status":"ok"}`), preflight.NotAnAPI, "without choices"},
		{"nothing", answer(200, ""), preflight.Empty, "answers nothing"},
		{"empty text", answer(200, `{"choices":[{"message":{"content":" "}}]}`), preflight.Empty, "without any text"},
		{"cut while thinking", answer(200, `{"choices":[{"finish_reason":"length","message":{"content":""}}]}`), preflight.Empty, "max_tokens"},
		{"endless", func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				_, _ = io.WriteString(w, strings.Repeat("x", 64<<10))
			}
		}, preflight.NotAnAPI, "not in the form of chat completions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := ask(t, aSpec(serve(t, c.h)+"/v1/chat/completions"), map[string]string{"KEY": key})
			var f *preflight.Error
			require.ErrorAs(t, err, &f)
			assert.Equal(t, c.fault, f.Fault)
			assert.Equal(t, "m", f.Model)
			assert.NotEmpty(t, f.Remedy)
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 1500)
			assert.Equal(t, 1, r.Calls)
		})
	}
}

// TestOtherRoutes asks by the other two kinds of route.
func TestOtherRoutes(t *testing.T) {
	for kind, c := range map[string]struct {
		header, field, good, thinks, empty, cut, other string
	}{
		"anthropic-messages": {"X-Api-Key", "max_tokens",
			`{"type":"message","model":"served-1","content":[{"type":"text","text":"ready"}],"stop_reason":"end_turn"}`,
			`{"type":"message","content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"max_tokens"}`,
			`{"type":"message","content":[],"stop_reason":"end_turn"}`,
			`{"type":"message","content":[],"stop_reason":"max_tokens"}`, "without content"},
		"openai-responses": {"Authorization", "max_output_tokens",
			`{"object":"response","model":"served-1","error":null,"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ready"}]}]}`,
			`{"object":"response","error":null,"status":"completed","output":[{"type":"function_call"}]}`,
			`{"object":"response","error":null,"status":"completed","output":[]}`,
			`{"object":"response","error":null,"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[]}]}`, "without output"},
	} {
		t.Run(kind, func(t *testing.T) {
			var said string
			status := http.StatusOK
			s := aSpec(serve(t, func(w http.ResponseWriter, r *http.Request) {
				var doc map[string]any
				assert.NoError(t, json.NewDecoder(r.Body).Decode(&doc))
				assert.Equal(t, "provider/m", doc["model"])
				assert.InDelta(t, 16, doc[c.field], 0)
				assert.Equal(t, key, strings.TrimPrefix(r.Header.Get(c.header), "Bearer "))
				w.WriteHeader(status)
				_, _ = io.WriteString(w, said)
			}))
			s.Preflight.Kind = kind
			env := map[string]string{"KEY": key}
			said = c.good
			r, err := ask(t, s, env)
			require.NoError(t, err)
			assert.Equal(t, preflight.Result{Kind: kind, Model: "served-1", Took: r.Took, Calls: 1, Answer: "ready"}, r)
			said = c.thinks
			_, err = ask(t, s, env)
			require.NoError(t, err, "a model that thinks or acts is there")
			for _, bad := range []struct {
				code       int
				body, want string
				fault      preflight.Fault
			}{
				{200, c.empty, "without any text", preflight.Empty},
				{200, c.cut, "raise preflight.max_tokens", preflight.Empty},
				{200, ok, c.other, preflight.NotAnAPI},
				{200, `{"type":"error","error":{"type":"x","message":"no credit"}}`, "no credit", preflight.ServerError},
				{401, `{"type":"error","error":{"message":"invalid key"}}`, "invalid key", preflight.RejectedKey},
				{404, ``, "usually ends in /v1/", preflight.NotFound},
			} {
				said, status = bad.body, bad.code
				_, err = ask(t, s, env)
				var f *preflight.Error
				require.ErrorAs(t, err, &f)
				assert.Equal(t, bad.fault, f.Fault)
				assert.ErrorContains(t, err, bad.want)
			}
		})
	}
}

func TestPassingFailuresAreTriedAgain(t *testing.T) {
	var calls atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, ok)
	})
	r, err := ask(t, aSpec(url), map[string]string{"KEY": key})
	require.NoError(t, err)
	assert.Equal(t, 2, r.Calls)
}

func TestALongLimitIsNotWaitedFor(t *testing.T) {
	var calls atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := ask(t, aSpec(url), map[string]string{"KEY": key})
	var f *preflight.Error
	require.ErrorAs(t, err, &f)
	assert.Equal(t, preflight.Limited, f.Fault)
	assert.Equal(t, int32(1), calls.Load())
}

func TestOtherNameOfTheTokenLimit(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"max_tokens"`) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"use 'max_completion_tokens' instead"}}`)
			return
		}
		_, _ = io.WriteString(w, ok)
	})
	_, err := ask(t, aSpec(url), map[string]string{"KEY": key})
	require.NoError(t, err)
}

func TestNoConnectionAndNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = ask(t, aSpec("http://"+closed+"/v1?token="+key), map[string]string{"KEY": key})
	var f *preflight.Error
	require.ErrorAs(t, err, &f)
	assert.Equal(t, preflight.Refused, f.Fault)
	assert.NotContains(t, err.Error(), "token=")

	release := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	s := aSpec(url)
	s.Preflight.Timeout = 100 * time.Millisecond
	_, err = ask(t, s, map[string]string{"KEY": key})
	require.ErrorAs(t, err, &f)
	assert.Equal(t, preflight.TimedOut, f.Fault)
}

func TestWhatIsMissingIsSaidBeforeACall(t *testing.T) {
	for _, c := range []struct {
		url   string
		env   map[string]string
		fault preflight.Fault
		want  string
	}{
		{"http://127.0.0.1:1/", nil, preflight.MissingKey, "KEY is not set"},
		{"${GATEWAY_URL}/v1", map[string]string{"KEY": key}, preflight.NotFound, "GATEWAY_URL"},
		{"${HOME}/v1", map[string]string{"KEY": key, "HOME": "/home/me"}, preflight.NotFound, "runner.pass_env"},
		{"${GATEWAY_URL}/v1", map[string]string{"KEY": key, "GATEWAY_URL": "localhost:1"}, preflight.NotFound, "http or https"},
	} {
		_, err := ask(t, aSpec(c.url), c.env)
		var f *preflight.Error
		require.ErrorAs(t, err, &f)
		assert.Equal(t, c.fault, f.Fault)
		assert.ErrorContains(t, err, c.want)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := check(ctx, aSpec("http://127.0.0.1:1/"), model, lookup(map[string]string{"KEY": key}))
	require.ErrorIs(t, err, context.Canceled)
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ping.sh"), []byte(`#!/bin/sh
case "$BENCHBATCH_MODEL" in
provider/m) echo "pong for $BENCHBATCH_MODEL"; ls -A "$HOME";;
slow) sleep 600;;
*) echo "no model: $KEY" >&2; exit 4;;
esac
`), 0o700))
	s := &spec.Spec{
		Dir: dir, Runner: spec.Runner{Secrets: []string{"KEY"}},
		Preflight: &spec.Preflight{Kind: "command", Command: []string{"./ping.sh"}, Timeout: 20 * time.Second},
	}
	env := lookup(map[string]string{"KEY": key, "PATH": os.Getenv("PATH")})
	r, err := check(context.Background(), s, model, env)
	require.NoError(t, err)
	assert.Equal(t, "pong for provider/m", r.Answer)

	var f *preflight.Error
	_, err = check(context.Background(), s, spec.Model{ID: "x", Route: "x"}, env)
	require.ErrorAs(t, err, &f)
	assert.Equal(t, preflight.Command, f.Fault)
	assert.ErrorContains(t, err, "exited with 4: no model: [redacted:KEY]")

	s.Preflight.Timeout = 200 * time.Millisecond
	_, err = check(context.Background(), s, spec.Model{ID: "slow", Route: "slow"}, env)
	require.ErrorAs(t, err, &f)
	assert.Equal(t, preflight.TimedOut, f.Fault)

	s.Preflight.Command = []string{"./absent.sh"}
	_, err = check(context.Background(), s, model, env)
	require.ErrorAs(t, err, &f)
	assert.ErrorContains(t, err, "absent.sh")
}
