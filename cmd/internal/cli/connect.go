package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/local"
	"github.com/benchbatch/benchbatch/mlflow/views"
)

// connection is a tracking server and how it was found.
type connection struct {
	client *mlflow.Client
	uri    string        // as MLFLOW_TRACKING_URI would say it
	local  *local.Server // nil = the environment named it
}

// connect uses the server that the environment names, else the one that serves
// the current folder. Where there is none, start says whether one is started.
func (a *App) connect(ctx context.Context, start bool) (*connection, error) {
	if a.getenv("MLFLOW_TRACKING_URI") != "" {
		return a.dial(a.getenv("MLFLOW_TRACKING_URI"), nil)
	}
	s, err := local.Status(a.Dir)
	if err != nil {
		return nil, err
	}
	if s == nil && !start {
		return nil, errors.New("no tracking server: MLFLOW_TRACKING_URI is not set, and none serves the current folder\n" +
			"  set MLFLOW_TRACKING_URI, or start one here with `benchbatch server start` (`benchbatch run` does so by itself)")
	}
	if s == nil {
		if s, err = a.startServer(ctx, 0); err != nil {
			return nil, err
		}
	}
	return a.dial(s.URL, s)
}

// startServer serves the current folder and says so.
func (a *App) startServer(ctx context.Context, port int) (*local.Server, error) {
	a.say("MLFLOW_TRACKING_URI is not set: serving sqlite:///mlflow.db of %s on loopback", a.Dir)
	s, err := local.Start(ctx, local.Options{Dir: a.Dir, Port: port, Executable: a.getenv("BENCHBATCH_MLFLOW")})
	if err != nil {
		return nil, err
	}
	if !s.Found {
		a.say("MLflow %s is up at %s (`benchbatch server stop` ends it)", s.Version, s.URL)
	}
	return s, nil
}

func (a *App) dial(uri string, s *local.Server) (*connection, error) {
	cfg, err := mlflow.FromEnv(func(name string) string {
		if name == "MLFLOW_TRACKING_URI" {
			return uri
		}
		return a.getenv(name)
	}, a.Home)
	if err != nil {
		return nil, err
	}
	cfg.Version = Version()
	c, err := mlflow.New(cfg)
	if err != nil {
		return nil, err
	}
	return &connection{client: c, uri: uri, local: s}, nil
}

// warnOfAnother says when a spec's folder holds a database of MLflow that is not asked.
func (a *App) warnOfAnother(c *connection, dir string) {
	if _, err := os.Stat(filepath.Join(dir, "mlflow.db")); err != nil || (c.local != nil && c.local.Dir == dir) {
		return
	}
	a.say("note: %s is not asked: what it holds is not reused (serve it with `benchbatch server start` in that folder)", filepath.Join(dir, "mlflow.db"))
}

// page is a link into the MLflow UI that opens in the mode that shows runs.
func (c *connection) page(experiment, run string) string {
	return views.Links{Server: c.client.Address()}.Run(experiment, run)
}

// runnerEnv is what a runner with `mlflow: true` is given.
func (c *connection) runnerEnv(env func(string) (string, bool)) []string {
	out := []string{"MLFLOW_TRACKING_URI=" + c.uri}
	for _, name := range []string{"MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_INSECURE_TLS",
		"MLFLOW_TRACKING_SERVER_CERT_PATH", "MLFLOW_WORKSPACE"} {
		if v, ok := env(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}
