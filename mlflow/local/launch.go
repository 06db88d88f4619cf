package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/benchbatch/benchbatch/mlflow"
)

// errPortTaken means that someone else took the port between its choice and its use.
var errPortTaken = errors.New("the port is taken")

func launch(ctx context.Context, o Options, dir, executable, version string) (*state, error) {
	for try := 1; ; try++ {
		port := o.Port
		if port == 0 {
			var err error
			if port, err = freePort(); err != nil {
				return nil, err
			}
		}
		st, err := launchAt(ctx, o, dir, executable, version, port)
		if o.Port == 0 && try < 3 && errors.Is(err, errPortTaken) {
			continue
		}
		return st, err
	}
}

func launchAt(ctx context.Context, o Options, dir, executable, version string, port int) (*state, error) {
	log, err := os.Create(logFile(dir))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := command(o, executable, port)
	cmd.Dir = dir
	cmd.Env = environment(os.Environ())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if o.EndWithParent {
		if _, err := cmd.StdinPipe(); err != nil { // held open until this process ends
			return nil, err
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", executable, err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	st := &state{URL: "http://127.0.0.1:" + strconv.Itoa(port), PID: cmd.Process.Pid, Version: version}
	st.Started, _ = startOf(st.PID)
	if err = st.write(dir); err == nil {
		err = waitReady(ctx, st, exited)
	}
	if err != nil {
		stopErr := st.end(context.WithoutCancel(ctx), stopGrace)
		return nil, errors.Join(startError(dir, port, err), stopErr, removeState(dir))
	}
	return st, nil
}

// tied runs the server beside a reader of standard input, which stops the whole group when the parent, and so the input, ends.
const tied = `exec 3<&0
(cat <&3 >/dev/null; kill -TERM 0) &
"$@" </dev/null 3<&-
code=$?
trap '' TERM
kill -TERM 0
exit $code`

func command(o Options, executable string, port int) *exec.Cmd {
	args := []string{executable, "server", "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--workers", "1",
		"--backend-store-uri", "sqlite:///" + databaseName, "--serve-artifacts", "--artifacts-destination", "./mlartifacts"}
	if o.EndWithParent {
		return exec.Command("/bin/sh", append([]string{"-c", tied, "sh"}, args...)...)
	}
	return exec.Command(args[0], args[1:]...)
}

// environment gives the server what a Python program needs, and none of the caller's secrets or MLflow settings.
func environment(all []string) []string {
	kept := []string{
		"MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false", // its job runner and consumers take 1.5 GB
		// A write holds two connections: with the usual 15, eight writers at once can wait 30 s for each other.
		"MLFLOW_SQLALCHEMYSTORE_POOL_SIZE=20", "MLFLOW_SQLALCHEMYSTORE_MAX_OVERFLOW=80",
		"MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true", "PYTHONUNBUFFERED=1",
	}
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH":
			kept = append(kept, entry)
		}
	}
	return kept
}

// waitReady waits for an answer to a real call. exited is nil for a server that another process started.
func waitReady(ctx context.Context, st *state, exited <-chan error) error {
	none := 0
	client, err := mlflow.New(mlflow.Config{TrackingURI: st.URL, MaxRetries: &none, Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	for {
		if _, err = client.GetExperiment(ctx, "0"); err == nil {
			return nil
		}
		if exited == nil && !st.alive() {
			return errors.New("it ended")
		}
		select {
		case exit := <-exited:
			if exit != nil {
				return fmt.Errorf("it ended: %w", exit)
			}
			return errors.New("it ended")
		case <-ctx.Done():
			return fmt.Errorf("%w: last answer: %w", context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// startError explains why a server did not start, from its log.
func startError(dir string, port int, err error) error {
	data, _ := os.ReadFile(logFile(dir))
	text := string(data)
	lower := strings.ToLower(text)
	if strings.Contains(lower, "address already in use") || strings.Contains(lower, "connection in use") {
		return fmt.Errorf("%w: 127.0.0.1:%d is used by another program: choose another port", errPortTaken, port)
	}
	if strings.Contains(text, "database schema") {
		return fmt.Errorf("%w: MLflow refuses %s: %s", ErrSchema, filepath.Join(dir, databaseName), lastLines(text, 1))
	}
	return fmt.Errorf("the MLflow server did not start: %w; the end of %s:\n%s", err, logFile(dir), lastLines(text, 12))
}

// lastLines is the end of a log, fit for a terminal.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-n):]
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.Join(lines, "\n"))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
