package mlflow

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// FromEnv reads MLflow's own environment variables through env (as [os.Getenv]) and, for what they leave open, the file .mlflow/credentials
// below home ("" for none). They mean what they mean for MLflow's Python client; one that is not supported here is an error of kind
// ErrUnsupported that names it. TrackingURI is "" where MLFLOW_TRACKING_URI is not set.
func FromEnv(env func(string) string, home string) (Config, error) {
	r := envReader{env: env}
	cfg := Config{
		TrackingURI:     env("MLFLOW_TRACKING_URI"),
		Username:        env("MLFLOW_TRACKING_USERNAME"),
		Password:        Secret(env("MLFLOW_TRACKING_PASSWORD")),
		Token:           Secret(env("MLFLOW_TRACKING_TOKEN")),
		Workspace:       env("MLFLOW_WORKSPACE"),
		InsecureTLS:     r.bool("MLFLOW_TRACKING_INSECURE_TLS", false),
		CACertFile:      env("MLFLOW_TRACKING_SERVER_CERT_PATH"),
		ClientCertFile:  env("MLFLOW_TRACKING_CLIENT_CERT_PATH"),
		Timeout:         r.seconds("MLFLOW_HTTP_REQUEST_TIMEOUT"),
		ArtifactTimeout: r.seconds("MLFLOW_ARTIFACT_UPLOAD_DOWNLOAD_TIMEOUT"),
		MaxRetries:      r.retries("MLFLOW_HTTP_REQUEST_MAX_RETRIES"),
		BackoffMin:      r.seconds("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR"), // the jitter is ours whatever MLFLOW_HTTP_REQUEST_BACKOFF_JITTER says
		IgnoreRetryWait: !r.bool("MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", true),
		NoRedirects:     !r.bool("MLFLOW_ALLOW_HTTP_REDIRECTS", true),
	}
	if cfg.CACertFile == "" && !cfg.InsecureTLS {
		cfg.CACertFile = env("REQUESTS_CA_BUNDLE")
	}
	if r.bool("MLFLOW_TRACKING_AWS_SIGV4", false) {
		r.refuse("MLFLOW_TRACKING_AWS_SIGV4", "requests are not signed for AWS here: unset it, or reach the server through a proxy that signs")
	}
	if env("MLFLOW_TRACKING_AUTH") != "" {
		r.refuse("MLFLOW_TRACKING_AUTH", "plugins of Python's MLflow can't be used here: unset it and set MLFLOW_TRACKING_TOKEN to a bearer token")
	}
	if home != "" {
		r.add(credentials(&cfg, filepath.Join(home, ".mlflow", "credentials")))
	}
	return cfg, errors.Join(r.problems...)
}

// envReader collects all problems of the environment.
type envReader struct {
	env      func(string) string
	problems []error
}

func (r *envReader) add(err error) {
	if err != nil {
		r.problems = append(r.problems, err)
	}
}

func (r *envReader) refuse(name, remedy string) {
	r.add(&Error{Op: "settings", Kind: ErrUnsupported, Message: name + " is not supported", Remedy: remedy})
}

func (r *envReader) bool(name string, def bool) bool {
	switch strings.ToLower(r.env(name)) {
	case "":
		return def
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	r.add(invalid("settings", "%s is %s: true, false, 1 or 0 is wanted", name, quote(r.env(name))))
	return def
}

// seconds reads a duration; 0 means that it is not set.
func (r *envReader) seconds(name string) time.Duration {
	text := r.env(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		r.add(invalid("settings", "%s is %s: whole seconds from 1 are wanted", name, quote(text)))
		return 0
	}
	return time.Duration(n) * time.Second
}

func (r *envReader) retries(name string) *int {
	text := r.env(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 10 {
		r.add(invalid("settings", "%s is %s: a number from 0 to 10 is wanted", name, quote(text)))
		return nil
	}
	return &n
}

// credentials fills in the user and password that the environment leaves open, each by itself, from section [mlflow] of an INI file.
func credentials(cfg *Config, file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return invalid("settings", "the credentials file: %v", err)
	}
	defer f.Close()
	section := ""
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			continue
		}
		at := strings.IndexAny(line, "=:")
		if at < 0 { // the line itself may be a password
			return invalid("settings", "%s:%d: a line of the form key = value is wanted", file, n)
		}
		if section != "mlflow" {
			continue
		}
		value := strings.ReplaceAll(strings.TrimSpace(line[at+1:]), "%%", "%")
		switch strings.ToLower(strings.TrimSpace(line[:at])) {
		case "mlflow_tracking_username":
			if cfg.Username == "" {
				cfg.Username = value
			}
		case "mlflow_tracking_password":
			if cfg.Password == "" {
				cfg.Password = Secret(value)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the credentials file %s: %w", file, err)
	}
	return nil
}
