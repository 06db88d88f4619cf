package mlflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

var ctx = context.Background()

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	c, err := mlflow.New(mlflow.Config{TrackingURI: address, Patience: time.Hour})
	require.NoError(t, err)
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = c.GetExperiment(limited, "1")
	require.ErrorIs(t, err, mlflow.ErrUnreachable)
	assert.NoError(t, limited.Err(), "within five seconds")
	assert.ErrorContains(t, err, address)
	assert.ErrorContains(t, err, "connection refused")
	assert.ErrorContains(t, err, "benchbatch server start")
}

func TestAddresses(t *testing.T) {
	for uri, kind := range map[string]error{
		"":                                   mlflow.ErrNoServer,
		"mlruns":                             mlflow.ErrUnsupported,
		"file:///tmp/mlruns":                 mlflow.ErrUnsupported,
		"sqlite:///mlflow.db":                mlflow.ErrUnsupported,
		"postgresql://user:hush@db/mlflow":   mlflow.ErrUnsupported,
		"databricks":                         mlflow.ErrUnsupported,
		"databricks-uc://x":                  mlflow.ErrUnsupported,
		"http://":                            mlflow.ErrUnsupported,
		"http://host/?token=hush":            mlflow.ErrUnsupported,
		"http://host/#hush":                  mlflow.ErrUnsupported,
		"http://user:hush@host:port/":        mlflow.ErrUnsupported,
		"http://user:hush@127.0.0.1:5000/x/": nil,
	} {
		c, err := mlflow.New(mlflow.Config{TrackingURI: uri})
		if kind == nil {
			require.NoError(t, err, uri)
			assert.Equal(t, "http://127.0.0.1:5000/x", c.Address())
			continue
		}
		require.ErrorIs(t, err, kind, uri)
		var e *mlflow.Error
		require.ErrorAs(t, err, &e)
		assert.NotEmpty(t, e.Remedy, uri)
		assert.NotContains(t, err.Error(), "hush")
	}
}

// prefixed serves a handler below a path prefix and nothing beside it.
func prefixed(t *testing.T, prefix string, h http.Handler) string {
	mux := http.NewServeMux()
	mux.Handle(prefix+"/", http.StripPrefix(prefix, h))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestPathPrefix(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	for _, slash := range []string{"", "/"} {
		c := mlflowtest.Client(t, prefixed(t, "/team/mlflow", fake)+"/team/mlflow"+slash)
		experiment := mlflowtest.Experiment(t, c)
		run := mustRun(t, c, experiment)
		require.NoError(t, c.PutArtifactBytes(ctx, run, "a/b.txt", []byte("x")))
		data, err := c.ReadArtifact(ctx, run, "a/b.txt", 10)
		require.NoError(t, err)
		assert.Equal(t, "x", string(data))
		info, err := c.ServerInfo(ctx)
		require.NoError(t, err)
		assert.Equal(t, "SqlStore", info.StoreType)
	}
	c := mlflowtest.Client(t, prefixed(t, "/team/mlflow", fake)) // the prefix forgotten
	_, err := c.GetExperimentByName(ctx, "x")
	require.Error(t, err)
	assert.NotErrorIs(t, err, mlflow.ErrNotFound, "a wrong address is not an absent experiment")
	assert.ErrorContains(t, err, "path prefix")
}

func mustRun(t *testing.T, c *mlflow.Client, experiment string, tags ...mlflow.Tag) mlflow.RunInfo {
	t.Helper()
	run, err := c.CreateRun(ctx, mlflow.CreateRun{ExperimentID: experiment, Name: "a run", StartTime: 1000, Tags: tags})
	require.NoError(t, err)
	return run
}

func TestRedirects(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	front := func(status int, to string) *mlflow.Client {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mlflowtest.Redirect(status, to)(w, r, nil)
		}))
		t.Cleanup(server.Close)
		return mlflowtest.Client(t, server.URL)
	}
	for _, status := range []int{307, 308} {
		c := front(status, fake.URL)
		experiment := mlflowtest.Experiment(t, c)
		run := mustRun(t, c, experiment)
		require.NoError(t, c.PutArtifactBytes(ctx, run, "kept.txt", []byte("method and body")))
		data, err := c.ReadArtifact(ctx, run, "kept.txt", 100)
		require.NoError(t, err)
		assert.Equal(t, "method and body", string(data))
	}
	for _, status := range []int{301, 302, 303} {
		c := front(status, fake.URL)
		_, err := c.CreateExperiment(ctx, "moved", nil)
		require.ErrorIs(t, err, mlflow.ErrRedirected, "%d", status)
		assert.ErrorContains(t, err, "MLFLOW_TRACKING_URI to "+fake.URL+")")
		_, err = c.GetExperimentByName(ctx, "moved")
		require.ErrorIs(t, err, mlflow.ErrRedirected, "reads too: a login page would follow")
		assert.Equal(t, 2, total(c.Calls()), "and it is not tried again")
	}
	_, err := mlflowtest.Client(t, fake.URL).GetExperimentByName(ctx, "moved")
	require.ErrorIs(t, err, mlflow.ErrNotFound, "nothing was written")

	elsewhere := strings.Replace(fake.URL, "127.0.0.1", "localhost", 1)
	_, err = front(308, elsewhere).CreateExperiment(ctx, "elsewhere", nil)
	require.ErrorIs(t, err, mlflow.ErrRedirected, "another host")
	_, err = front(302, "https://login.example.org/oauth?state=hush").GetExperiment(ctx, "1")
	require.ErrorIs(t, err, mlflow.ErrRedirected)
	assert.ErrorContains(t, err, "MLFLOW_TRACKING_TOKEN")
	assert.NotContains(t, err.Error(), "hush")
}

func total(calls map[string]int) (n int) {
	for _, count := range calls {
		n += count
	}
	return n
}

func TestLoginPage(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	experiment := mlflowtest.Experiment(t, c)
	run := mustRun(t, c, experiment, mlflow.Tag{Key: "unique", Value: "1"})
	fake.Inject(mlflowtest.Fault{Do: mlflowtest.LoginPage})
	before := total(c.Calls())
	_, searchErr := c.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}})
	_, createErr := c.CreateRun(ctx, mlflow.CreateRun{ExperimentID: experiment, Name: "r", StartTime: 1, UniqueTag: "u", Tags: []mlflow.Tag{{Key: "u", Value: "1"}}})
	_, ensureErr := c.EnsureExperiment(ctx, "e", nil)
	_, infoErr := c.ServerInfo(ctx)
	_, _, artifactErr := c.GetArtifact(ctx, run, "outcomes.jsonl")
	errs := []error{searchErr, createErr, ensureErr, infoErr, artifactErr,
		c.LogBatch(ctx, run.RunID, mlflow.Batch{Tags: []mlflow.Tag{{Key: "a", Value: "b"}}}), c.PutArtifactBytes(ctx, run, "a.txt", []byte("x"))}
	for _, err := range errs {
		require.ErrorIs(t, err, mlflow.ErrNotJSON)
		assert.NotContains(t, err.Error(), "Sign in")
		assert.NotContains(t, err.Error(), "cookie")
	}
	assert.ErrorContains(t, searchErr, "did not answer with JSON (looks like a login page)")
	assert.Equal(t, len(errs), total(c.Calls())-before, "nothing is tried twice")

	fake.Clear()
	fake.Inject(mlflowtest.Fault{Route: "runs/get", Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		mlflowtest.Answer(200, rec.Body.String(), "Content-Type", "text/html")(w, r, next)
	}})
	_, err := c.GetRun(ctx, run.RunID)
	require.NoError(t, err, "JSON is JSON, whatever it is called")
}

func TestErrorsSayWhatToDo(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL, func(cfg *mlflow.Config) { cfg.Workspace = "team" })
	_, err := c.GetExperiment(ctx, "0")
	assert.ErrorContains(t, err, "MLFLOW_WORKSPACE")

	c = mlflowtest.Client(t, fake.URL)
	for _, test := range []struct {
		do       mlflowtest.Act
		is       error
		contains []string
	}{
		{mlflowtest.Answer(401, "You are not authenticated."), mlflow.ErrUnauthorized, []string{"401", "You are not authenticated.", "MLFLOW_TRACKING_USERNAME", "/api/2.0/mlflow/experiments/get"}},
		{mlflowtest.Answer(403, "Permission denied"), mlflow.ErrForbidden, []string{"nobody is logged in: Permission denied", "READ permission"}},
		{mlflowtest.Answer(403, "Invalid Host header - possible DNS rebinding attack detected"), mlflow.ErrForbidden, []string{"--allowed-hosts " + strings.TrimPrefix(fake.URL, "http://")}},
		{mlflowtest.Answer(503, "Endpoint: /x disabled due to the mlflow server running in `--artifacts-only` mode."), mlflow.ErrUnsupported, []string{"without"}},
		{mlflowtest.Answer(422, `{"detail":"no such thing"}`), nil, []string{"422", "no such thing"}},
		{mlflowtest.Answer(400, "<html>"+strings.Repeat("long ", 1000)), nil, []string{"the answer is a web page"}},
		{mlflowtest.Fail(400, "INVALID_PARAMETER_VALUE", "two\nlines \x1b[31mred\u202e"), nil, []string{"INVALID_PARAMETER_VALUE: two lines [31mred"}},
		{mlflowtest.Answer(500, strings.Repeat("x", 2000)), nil, []string{"…", "after 5 tries"}},
	} {
		fake.Clear()
		fake.Inject(mlflowtest.Fault{Do: test.do})
		_, err := c.GetExperiment(ctx, "0")
		require.Error(t, err)
		if test.is != nil {
			require.ErrorIs(t, err, test.is)
		}
		for _, part := range test.contains {
			assert.ErrorContains(t, err, part)
		}
		assert.Less(t, len(err.Error()), 900)
		assert.NotContains(t, err.Error(), "\x1b")
		assert.NotContains(t, err.Error(), "experiment_id=0", "the query stays out")
	}
}

func TestCredentialsAreSentAndNeverShown(t *testing.T) {
	const hush = "hush-hush-secret"
	seen := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		seen <- user + ":" + password + " " + r.Header.Get("Authorization") + " " + r.Header.Get("User-Agent")
		w.WriteHeader(401)
	}))
	t.Cleanup(server.Close)
	for want, cfg := range map[string]mlflow.Config{
		"u:" + hush + " Basic ":       {Username: "u", Password: hush, Token: "other"},
		": Bearer " + hush + " bench": {Username: "u", Token: hush},
		": " + " benchbatch/1.2.3":    {Username: "u", Version: "1.2.3"},
	} {
		cfg.TrackingURI = server.URL
		c, err := mlflow.New(cfg)
		require.NoError(t, err)
		_, err = c.GetExperiment(ctx, "0")
		require.ErrorIs(t, err, mlflow.ErrUnauthorized)
		assert.Contains(t, <-seen, want)
		printed, jsonErr := json.Marshal([]any{cfg.Password, cfg.Token})
		require.NoError(t, jsonErr)
		var e *mlflow.Error
		require.True(t, errors.As(err, &e))
		for _, text := range []string{err.Error(), string(printed), fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg.Password), fmt.Sprintf("%+v", e)} {
			assert.NotContains(t, text, hush)
		}
	}
	withUser := strings.Replace(server.URL, "http://", "http://u:"+hush+"@", 1)
	c, err := mlflow.New(mlflow.Config{TrackingURI: withUser})
	require.NoError(t, err)
	_, err = c.GetExperiment(ctx, "0")
	assert.Contains(t, <-seen, "u:"+hush)
	assert.NotContains(t, err.Error(), hush)
	assert.NotContains(t, c.Address(), hush)
}

func TestSlowServer(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL, func(cfg *mlflow.Config) { cfg.Timeout = 100 * time.Millisecond })
	fake.Inject(mlflowtest.Fault{Route: "experiments/get", Times: 1, Do: mlflowtest.Slow(time.Minute)})
	_, err := c.GetExperiment(ctx, "0")
	require.NoError(t, err, "the second try is quick")
	assert.Equal(t, 2, c.Calls()["experiments/get"])
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(mlflowtest.NewFake(t))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of each refused handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	c := mlflowtest.Client(t, server.URL)
	_, err := c.GetExperiment(ctx, "0")
	require.Error(t, err)
	assert.ErrorContains(t, err, "MLFLOW_TRACKING_SERVER_CERT_PATH")
	assert.Equal(t, 1, total(c.Calls()), "a bad certificate stays one")
	_, err = mlflowtest.Client(t, server.URL, func(cfg *mlflow.Config) { cfg.InsecureTLS = true }).GetExperiment(ctx, "0")
	require.NoError(t, err)
	_, err = mlflow.New(mlflow.Config{TrackingURI: server.URL, InsecureTLS: true, CACertFile: "ca.pem"})
	require.ErrorIs(t, err, mlflow.ErrInvalid)
	_, err = mlflow.New(mlflow.Config{TrackingURI: server.URL, CACertFile: "no-such.pem"})
	require.ErrorIs(t, err, mlflow.ErrInvalid)
	_, err = mlflowtest.Client(t, strings.Replace(mlflowtest.NewFake(t).URL, "http:", "https:", 1)).GetExperiment(ctx, "0")
	require.ErrorContains(t, err, "HTTP response to HTTPS client")
}
