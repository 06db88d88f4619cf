package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/local"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

var ctx = context.Background()

// helperDir makes this test binary start a server there and end without stopping it.
const helperDir = "LOCAL_TEST_START_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		if _, err := local.Start(ctx, local.Options{Dir: dir, Executable: os.Getenv("LOCAL_TEST_MLFLOW"), EndWithParent: os.Getenv("LOCAL_TEST_TIED") != ""}); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startInAnotherProcess starts a server from a process that has ended when this returns.
func startInAnotherProcess(t *testing.T, dir string, more ...string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperDir+"="+dir, "LOCAL_TEST_MLFLOW="+mlflowtest.Executable(t, mlflowtest.Newest))
	cmd.Env = append(cmd.Env, more...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestLife follows one server: two starts at once, use, survival of its parent, a second start that finds it, the death of its leader, its end with all
// processes.
func TestLife(t *testing.T) {
	dir := t.TempDir()
	t.Cleanup(func() { _, _ = local.Stop(ctx, dir) })
	status, err := local.Status(dir)
	require.NoError(t, err)
	require.Nil(t, status)

	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { startInAnotherProcess(t, dir, "SECRET_TOKEN=hush") })
	}
	all.Wait()
	server, err := local.Start(ctx, local.Options{Dir: dir, Executable: "/no/such/mlflow"})
	require.NoError(t, err, "what runs needs no executable")
	assert.True(t, server.Found)
	assert.Equal(t, string(mlflowtest.Newest), server.Version)
	assert.True(t, strings.HasPrefix(server.URL, "http://127.0.0.1:"))
	assert.Len(t, sessionOf(t, server.PID), 2, "one server: its leader and one worker")

	client := mlflowtest.Client(t, server.URL)
	run, err := client.CreateRun(ctx, mlflow.CreateRun{ExperimentID: mlflowtest.Experiment(t, client), Name: "r", StartTime: 1})
	require.NoError(t, err)
	require.NoError(t, client.PutArtifactBytes(ctx, run, "a.txt", []byte("x")))
	assert.FileExists(t, filepath.Join(dir, "mlflow.db"))
	assert.FileExists(t, filepath.Join(dir, "mlartifacts", run.ExperimentID, run.RunID, "artifacts", "a.txt"))
	for _, pid := range sessionOf(t, server.PID) {
		environment, err := os.ReadFile("/proc/" + pid + "/environ")
		require.NoError(t, err)
		assert.NotContains(t, string(environment), "hush")
	}

	require.NoError(t, syscall.Kill(server.PID, syscall.SIGKILL))
	require.Eventually(t, func() bool { return len(sessionOf(t, server.PID)) == 1 }, 10*time.Second, 20*time.Millisecond)
	server, err = local.Start(ctx, local.Options{Dir: dir})
	require.NoError(t, err, "the worker outlives its leader and still serves")
	assert.True(t, server.Found)

	stopped, err := local.Stop(ctx, dir)
	require.NoError(t, err)
	assert.True(t, stopped)
	assert.Empty(t, sessionOf(t, server.PID))
	status, err = local.Status(dir)
	require.NoError(t, err)
	assert.Nil(t, status)
	stopped, err = local.Stop(ctx, dir)
	require.NoError(t, err)
	assert.False(t, stopped)
}

// sessionOf lists the processes of a session but those that have ended and wait for their parent to notice.
func sessionOf(t *testing.T, session int) []string {
	t.Helper()
	out, _ := exec.Command("ps", "-o", "pid=,stat=", "-s", strconv.Itoa(session)).Output() // status 1: none
	var pids []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 && !strings.HasPrefix(fields[1], "Z") {
			pids = append(pids, fields[0])
		}
	}
	return pids
}

func jsonText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func TestServerThatEndsWithItsParent(t *testing.T) {
	dir := t.TempDir()
	startInAnotherProcess(t, dir, "LOCAL_TEST_TIED=1")
	require.Eventually(t, func() bool {
		status, err := local.Status(dir)
		return err == nil && status == nil
	}, 30*time.Second, 50*time.Millisecond)
}

// TestStateOfADeadServer: the process id in the file belongs to someone else by now.
func TestStateOfADeadServer(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".benchbatch"), 0o755))
	other := exec.Command("sleep", "60")
	require.NoError(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	file := filepath.Join(dir, ".benchbatch", "server.json")
	require.NoError(t, os.WriteFile(file, []byte(jsonText(map[string]any{"url": "http://127.0.0.1:1", "pid": other.Process.Pid, "started": "1", "version": "3.17.2"})), 0o644))
	status, err := local.Status(dir)
	require.NoError(t, err)
	assert.Nil(t, status)
	stopped, err := local.Stop(ctx, dir)
	require.NoError(t, err)
	assert.False(t, stopped)
	assert.NoError(t, other.Process.Signal(syscall.Signal(0)), "a stranger is left alone")
	assert.NoFileExists(t, file)

	require.NoError(t, os.WriteFile(file, []byte("{half"), 0o644))
	_, err = local.Status(dir)
	require.ErrorContains(t, err, file)
}

func isSchema(err error) bool { return errors.Is(err, local.ErrSchema) }

func TestDatabaseOfAnotherSchema(t *testing.T) {
	dir := t.TempDir()
	database := filepath.Join(dir, "mlflow.db")
	python := filepath.Join(filepath.Dir(mlflowtest.Executable(t, mlflowtest.Newest)), "python")
	write := func(sql string) []byte {
		require.NoError(t, os.RemoveAll(database))
		out, err := exec.Command(python, "-c", "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2]); db.close()", database, sql).CombinedOutput()
		require.NoError(t, err, string(out))
		data, err := os.ReadFile(database)
		require.NoError(t, err)
		return data
	}
	for name, test := range map[string]struct {
		sql, contains string
		schema        bool
	}{
		"an older MLflow":   {"CREATE TABLE alembic_version (version_num TEXT); INSERT INTO alembic_version VALUES ('0584bdc529eb'); CREATE TABLE runs (id TEXT)", "0584bdc529eb", true},
		"a later MLflow":    {"CREATE TABLE alembic_version (version_num TEXT); INSERT INTO alembic_version VALUES ('ffffffffffff'); CREATE TABLE runs (id TEXT)", "ffffffffffff", true},
		"another program's": {"CREATE TABLE things (id TEXT)", "not one of MLflow's", false},
	} {
		before := write(test.sql)
		_, err := local.Start(ctx, local.Options{Dir: dir, Executable: mlflowtest.Executable(t, mlflowtest.Newest)})
		require.Error(t, err, name)
		assert.Equal(t, test.schema, isSchema(err), name)
		assert.ErrorContains(t, err, test.contains, name)
		after, err := os.ReadFile(database)
		require.NoError(t, err)
		assert.Equal(t, before, after, "%s: left as it was", name)
	}
	require.NoError(t, os.WriteFile(database, []byte("no database at all, whatever its name says"), 0o644))
	_, err := local.Start(ctx, local.Options{Dir: dir, Executable: mlflowtest.Executable(t, mlflowtest.Newest)})
	require.ErrorContains(t, err, "no SQLite database")
}

// cutWrite writes a database of an older MLflow and ends in the middle of the next write.
const cutWrite = `
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.executescript("CREATE TABLE alembic_version (version_num TEXT); INSERT INTO alembic_version VALUES ('0584bdc529eb'); CREATE TABLE runs (id TEXT)")
db.execute("PRAGMA cache_size = 2")
db.execute("BEGIN")
for _ in range(2000):
    db.execute("INSERT INTO runs VALUES (?)", ["x" * 1000])
os._exit(0)`

// TestAServerThatWasKilledWhileItWrote: its database is read, not refused.
func TestAServerThatWasKilledWhileItWrote(t *testing.T) {
	dir, executable := t.TempDir(), mlflowtest.Executable(t, mlflowtest.Newest)
	database := filepath.Join(dir, "mlflow.db")
	out, err := exec.Command(filepath.Join(filepath.Dir(executable), "python"), "-c", cutWrite, database).CombinedOutput()
	require.NoError(t, err, string(out))
	require.FileExists(t, database+"-journal")
	_, err = local.Start(ctx, local.Options{Dir: dir, Executable: executable})
	require.ErrorIs(t, err, local.ErrSchema)
	assert.ErrorContains(t, err, "0584bdc529eb")
	assert.NoFileExists(t, database+"-journal", "what was half written is rolled back")
}

func TestNoExecutable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(local.ExecutableVariable, "")
	_, err := local.Start(ctx, local.Options{Dir: t.TempDir()})
	require.ErrorIs(t, err, local.ErrNoExecutable)
	assert.ErrorContains(t, err, "pip install mlflow")
	t.Setenv(local.ExecutableVariable, "/no/such/mlflow")
	_, err = local.Start(ctx, local.Options{Dir: t.TempDir()})
	require.ErrorIs(t, err, local.ErrNoExecutable)
	assert.ErrorContains(t, err, "/no/such/mlflow")
}

// TestServerThatDoesNotStart: an mlflow that passes for one and then fails.
func TestServerThatDoesNotStart(t *testing.T) {
	python := filepath.Join(filepath.Dir(mlflowtest.Executable(t, mlflowtest.Newest)), "python")
	broken := filepath.Join(t.TempDir(), "mlflow")
	require.NoError(t, os.WriteFile(broken, []byte("#!"+python+"\nimport sys\nprint('the reason \\x1b[31m', file=sys.stderr)\nsys.exit(3)\n"), 0o755))
	dir := t.TempDir()
	_, err := local.Start(ctx, local.Options{Dir: dir, Executable: broken})
	require.ErrorContains(t, err, "the reason")
	assert.NotContains(t, err.Error(), "\x1b")
	status, err := local.Status(dir)
	require.NoError(t, err)
	assert.Nil(t, status)
}
