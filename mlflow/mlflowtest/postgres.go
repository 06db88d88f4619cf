package mlflowtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
)

// postgresServer is MLflow on PostgreSQL, shared by the tests of a package.
type postgresServer struct {
	once              sync.Once
	dir, url          string
	database, tracker *exec.Cmd
	err               error
}

var onPostgres = &postgresServer{}

// RealOnPostgres gives the address of a real MLflow server of the newest version that keeps its runs in PostgreSQL, both started at the first call
// and shared by the tests of the package: see [Real]. What is not installed fails the test.
func RealOnPostgres(t testing.TB) string {
	t.Helper()
	if !inMain {
		t.Fatal("a package that uses mlflowtest.RealOnPostgres needs: func TestMain(m *testing.M) { mlflowtest.Main(m) }")
	}
	executable := Executable(t, Newest)
	driver := filepath.Join(filepath.Dir(executable), "../../../.postgres")
	programs := postgresPrograms()
	if !exists(filepath.Join(driver, "installed")) || programs == "" {
		t.Fatalf("PostgreSQL and its driver for MLflow are not installed: run make postgres, or scripts/install-postgres.sh %s", Newest)
	}
	p := onPostgres
	p.once.Do(func() { p.err = p.start(executable, driver, programs) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.url
}

// postgresPrograms is the folder of initdb and postgres; "" where there is none. Debian does not put them on the PATH.
func postgresPrograms() string {
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

func (p *postgresServer) start(executable, driver, programs string) error {
	var err error
	if p.dir, err = os.MkdirTemp("", "mlflowtest-postgres-"); err != nil {
		return err
	}
	as, err := unprivileged(p.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(p.dir, "data")
	initdb := exec.Command(filepath.Join(programs, "initdb"), "-D", data, "-U", "mlflow", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	initdb.Dir = p.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	p.database, err = launch(p.dir, as, nil, filepath.Join(programs, "postgres"), "-D", data, "-p", port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200")
	if err == nil {
		err = wait("PostgreSQL", func() error {
			c, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				err = c.Close()
			}
			return err
		})
	}
	if err == nil {
		err = p.startTracker(executable, driver, "postgresql+psycopg://mlflow@127.0.0.1:"+port+"/postgres")
	}
	return err
}

func (p *postgresServer) startTracker(executable, driver, store string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	p.url = "http://127.0.0.1:" + port
	environment := append(os.Environ(), "PYTHONPATH="+driver, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false", "MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true",
		"MLFLOW_SQLALCHEMYSTORE_POOL_SIZE=20", "MLFLOW_SQLALCHEMYSTORE_MAX_OVERFLOW=80")
	p.tracker, err = launch(p.dir, nil, environment, executable, "server", "--host", "127.0.0.1", "--port", port, "--workers", "1",
		"--backend-store-uri", store, "--serve-artifacts", "--artifacts-destination", filepath.Join(p.dir, "artifacts"))
	if err != nil {
		return err
	}
	none := 0
	client, err := mlflow.New(mlflow.Config{TrackingURI: p.url, MaxRetries: &none, Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	return wait("MLflow on PostgreSQL", func() error {
		_, err := client.GetExperiment(context.Background(), "0")
		return err
	})
}

// tied runs a program beside a reader of standard input, which stops the whole group when this process, and so the input, ends.
const tied = `exec 3<&0
(cat <&3 >/dev/null; kill -TERM 0) &
exec "$@" </dev/null 3<&-`

// launch starts a program in a folder, where its log goes too, and in a process group of its own.
func launch(dir string, as *syscall.Credential, environment []string, program ...string) (*exec.Cmd, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", tied, "sh"}, program...)...)
	cmd.Dir, cmd.Env = dir, environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as}
	log, err := os.Create(filepath.Join(dir, filepath.Base(program[0])+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if _, err := cmd.StdinPipe(); err != nil { // held open until this process ends
		return nil, err
	}
	return cmd, cmd.Start()
}

// unprivileged gives the folder to whom PostgreSQL may run as: it refuses root. nil = this user.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.Atoi(who.Uid)
	gid, gidErr := strconv.Atoi(who.Gid)
	if err := errors.Join(err, gidErr, os.Chown(dir, uid, gid)); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// wait asks until there is an answer.
func wait(what string, ask func() error) error {
	deadline := time.Now().Add(3 * time.Minute)
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not start: %w", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

func (p *postgresServer) stop() error {
	var err error
	for _, cmd := range []*exec.Cmd{p.tracker, p.database} {
		if cmd != nil && cmd.Process != nil {
			err = errors.Join(err, endGroup(cmd))
		}
	}
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// endGroup ends a program and what it started: politely, then for good.
func endGroup(cmd *exec.Cmd) error {
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		select {
		case <-ended:
			return nil
		case <-time.After(5 * time.Second):
		}
	}
	return fmt.Errorf("%s does not end", cmd.Args[4])
}
