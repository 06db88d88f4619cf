package mlflowtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// Setup says how a real server differs from that of [Real].
type Setup struct {
	Prefix string // as /ml: its pages and calls lie below
	Logins bool   // who calls logs in, and may do what he was given; reading is open to all who can log in
}

// Special is a real server of one test.
type Special struct {
	Address string // with the prefix, without login
	Log     string // file of its output
	Dir     string // its folder
	python  string // of its installation
	version Version
}

const (
	admin         = "admin"
	adminPassword = "the-admins-own-word-9"
)

// RealWith starts a server for one test, and ends it with the test.
func RealWith(t testing.TB, version Version, setup Setup) *Special {
	t.Helper()
	s := &Special{Dir: t.TempDir(), version: version, python: filepath.Join(filepath.Dir(Executable(t, version)), "python")}
	s.Log = filepath.Join(s.Dir, "mlflow.log")
	port, err := freePort()
	require.NoError(t, err)
	s.Address = fmt.Sprintf("http://127.0.0.1:%s%s", port, setup.Prefix)
	args := []string{"server", "--host", "127.0.0.1", "--port", port, "--workers", "1", "--backend-store-uri", "sqlite:///mlflow.db",
		"--artifacts-destination", "./mlartifacts"}
	if setup.Prefix != "" {
		args = append(args, "--static-prefix", setup.Prefix)
	}
	env := append(os.Environ(), "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false", "MLFLOW_DISABLE_TELEMETRY=true")
	if setup.Logins {
		args = append(args, "--app-name", "basic-auth")
		config := filepath.Join(s.Dir, "logins.ini")
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "[mlflow]\ndefault_permission = READ\ndatabase_uri = sqlite:///logins.db\nadmin_username = %s\nadmin_password = %s\n"+
			"authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n", admin, adminPassword), 0o600))
		env = append(env, "MLFLOW_AUTH_CONFIG_PATH="+config, "MLFLOW_FLASK_SERVER_SECRET_KEY=of-one-test")
	}
	cmd, err := launch(s.Dir, nil, env, append([]string{Executable(t, version)}, args...)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, endGroup(cmd)) })
	first := Client(t, s.Address, func(c *mlflow.Config) {
		c.Patience = time.Millisecond
		if setup.Logins {
			c.Username, c.Password = admin, adminPassword
		}
	})
	require.NoError(t, wait("MLflow", func() error { _, err := first.GetExperiment(context.Background(), "0"); return err }))
	if setup.Logins {
		s.hasten(t, admin, adminPassword)
	}
	return s
}

// AddUser lets a user log in.
func (s *Special) AddUser(t testing.TB, name, password string) {
	t.Helper()
	s.post(t, "2.0", "users/create", fmt.Sprintf(`{"username":%q,"password":%q}`, name, password))
	s.hasten(t, name, password)
}

// hasten stores a password with a hash of one round: checking the usual one takes 0.15 s of a processor, at every call.
func (s *Special) hasten(t testing.TB, user, password string) {
	t.Helper()
	const script = `import sqlite3, sys
from werkzeug.security import generate_password_hash
with sqlite3.connect("logins.db", timeout=60) as db:
    changed = db.execute("UPDATE users SET password_hash = ? WHERE username = ?", (generate_password_hash(sys.argv[2], "pbkdf2:sha256:1"), sys.argv[1]))
    assert changed.rowcount == 1`
	cmd := exec.Command(s.python, "-c", script, user, password)
	cmd.Dir = s.Dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// Grant gives a user a permission on an experiment, as EDIT, or NO_PERMISSIONS in place of what all have.
func (s *Special) Grant(t testing.TB, experimentID, user, permission string) {
	t.Helper()
	if s.version == Oldest {
		s.post(t, "2.0", "experiments/permissions/create", fmt.Sprintf(`{"experiment_id":%q,"username":%q,"permission":%q}`, experimentID, user, permission))
		return
	}
	if permission == "NO_PERMISSIONS" {
		permission = "DENY" // its name of today
	}
	s.post(t, "3.0", "users/permissions/grant", fmt.Sprintf(`{"resource_type":"experiment","resource_id":%q,"username":%q,"permission":%q}`, experimentID, user, permission))
}

func (s *Special) post(t testing.TB, api, call, body string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.Address+"/api/"+api+"/mlflow/"+call, strings.NewReader(body))
	require.NoError(t, err)
	req.SetBasicAuth(admin, adminPassword)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s as admin", call)
}
