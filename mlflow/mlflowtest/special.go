package mlflowtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
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
	admin   *mlflow.Client
}

const (
	admin         = "admin"
	adminPassword = "the-admins-own-word-9"
)

// RealWith starts a server for one test, and ends it with the test.
func RealWith(t testing.TB, version Version, setup Setup) *Special {
	t.Helper()
	s := &Special{Dir: t.TempDir()}
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
			"authorization_function = mlflow.server.auth:authenticate_request_basic_auth\nauth_cache_ttl_seconds = 600\n", admin, adminPassword), 0o600))
		env = append(env, "MLFLOW_AUTH_CONFIG_PATH="+config, "MLFLOW_FLASK_SERVER_SECRET_KEY=of-one-test")
	}
	cmd, err := launch(s.Dir, nil, env, append([]string{Executable(t, version)}, args...)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, endGroup(cmd)) })
	s.admin = Client(t, s.Address, func(c *mlflow.Config) {
		c.Patience = time.Millisecond
		if setup.Logins {
			c.Username, c.Password = admin, adminPassword
		}
	})
	require.NoError(t, wait("MLflow", func() error { _, err := s.admin.GetExperiment(context.Background(), "0"); return err }))
	return s
}

// AddUser lets a user log in.
func (s *Special) AddUser(t testing.TB, name, password string) {
	t.Helper()
	s.post(t, "users/create", fmt.Sprintf(`{"username":%q,"password":%q}`, name, password))
}

// Grant gives a user a permission on an experiment, as EDIT.
func (s *Special) Grant(t testing.TB, experimentID, user, permission string) {
	t.Helper()
	s.post(t, "experiments/permissions/create", fmt.Sprintf(`{"experiment_id":%q,"username":%q,"permission":%q}`, experimentID, user, permission))
}

func (s *Special) post(t testing.TB, call, body string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.Address+"/api/2.0/mlflow/"+call, strings.NewReader(body))
	require.NoError(t, err)
	req.SetBasicAuth(admin, adminPassword)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s as admin", call)
}
