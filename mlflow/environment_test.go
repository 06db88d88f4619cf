package mlflow_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

func lookup(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func credentialsFile(t *testing.T, text string) (home string) {
	t.Helper()
	home = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".mlflow"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".mlflow", "credentials"), []byte(text), 0o600))
	return home
}

func TestEnvironment(t *testing.T) {
	cfg, err := mlflow.FromEnv(lookup(map[string]string{
		"MLFLOW_TRACKING_URI": "http://127.0.0.1:5000", "MLFLOW_TRACKING_USERNAME": "u", "MLFLOW_TRACKING_PASSWORD": "p", "MLFLOW_TRACKING_TOKEN": "t",
		"MLFLOW_WORKSPACE": "team", "MLFLOW_TRACKING_SERVER_CERT_PATH": "ca.pem", "MLFLOW_TRACKING_CLIENT_CERT_PATH": "client.pem",
		"MLFLOW_TRACKING_INSECURE_TLS": "False", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "2",
		"MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "0", "MLFLOW_ALLOW_HTTP_REDIRECTS": "false", "MLFLOW_ARTIFACT_UPLOAD_DOWNLOAD_TIMEOUT": "7",
	}), "")
	require.NoError(t, err)
	none := 0
	assert.Equal(t, mlflow.Config{
		TrackingURI: "http://127.0.0.1:5000", Username: "u", Password: "p", Token: "t", Workspace: "team", CACertFile: "ca.pem", ClientCertFile: "client.pem",
		Timeout: 30 * time.Second, ArtifactTimeout: 7 * time.Second, BackoffMin: 2 * time.Second, MaxRetries: &none, IgnoreRetryWait: true, NoRedirects: true,
	}, cfg)

	cfg, err = mlflow.FromEnv(lookup(nil), t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, mlflow.Config{}, cfg)
	_, err = mlflow.New(cfg)
	require.ErrorIs(t, err, mlflow.ErrNoServer)
	assert.ErrorContains(t, err, "benchbatch server start")

	cfg, err = mlflow.FromEnv(lookup(map[string]string{"REQUESTS_CA_BUNDLE": "/etc/ca.pem"}), "")
	require.NoError(t, err)
	assert.Equal(t, "/etc/ca.pem", cfg.CACertFile)
}

func TestEnvironmentThatIsNotSupported(t *testing.T) {
	for name, value := range map[string]string{"MLFLOW_TRACKING_AWS_SIGV4": "true", "MLFLOW_TRACKING_AUTH": "kubernetes"} {
		_, err := mlflow.FromEnv(lookup(map[string]string{name: value}), "")
		require.ErrorIs(t, err, mlflow.ErrUnsupported)
		assert.ErrorContains(t, err, name)
		assert.ErrorContains(t, err, "unset it")
	}
	bad := map[string]string{
		"MLFLOW_TRACKING_INSECURE_TLS": "yes", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "11", "MLFLOW_HTTP_REQUEST_TIMEOUT": "-1", "MLFLOW_ALLOW_HTTP_REDIRECTS": "on",
	}
	_, err := mlflow.FromEnv(lookup(bad), "")
	require.ErrorIs(t, err, mlflow.ErrInvalid)
	for name := range bad {
		assert.ErrorContains(t, err, name, "all at once")
	}
}

func TestCredentialsFile(t *testing.T) {
	home := credentialsFile(t, "\ufeff# a comment\n[other]\nmlflow_tracking_username = nobody\n\n[mlflow]\nMLFLOW_TRACKING_USERNAME = file user\n; more\nmlflow_tracking_password: pass%%word=:x\n")
	cfg, err := mlflow.FromEnv(lookup(nil), home)
	require.NoError(t, err)
	assert.Equal(t, "file user", cfg.Username)
	assert.Equal(t, mlflow.Secret("pass%word=:x"), cfg.Password)

	cfg, err = mlflow.FromEnv(lookup(map[string]string{"MLFLOW_TRACKING_USERNAME": "env user"}), home)
	require.NoError(t, err)
	assert.Equal(t, "env user", cfg.Username, "the environment wins, each for itself")
	assert.Equal(t, mlflow.Secret("pass%word=:x"), cfg.Password)

	_, err = mlflow.FromEnv(lookup(nil), credentialsFile(t, "[mlflow]\nhush-password-on-a-line-of-its-own\n"))
	require.ErrorIs(t, err, mlflow.ErrInvalid)
	assert.ErrorContains(t, err, "credentials:2")
	assert.NotContains(t, err.Error(), "hush")
}
