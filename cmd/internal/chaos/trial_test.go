//go:build linux

package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/cmd/internal/chaos"
)

// trial is one batch in a world in which things go wrong.
type trial struct {
	t       *testing.T
	world   *world
	n       int
	dir     string
	log     string // the runner's
	name    string // of the benchmark, and so the experiment
	ceiling float64
	proxy   *chaos.Proxy
	random  *rand.Rand
	all     []*launcher

	mu     sync.Mutex
	lives  map[string]*chaos.Life
	killed map[chaos.Process]time.Time
}

// tight is a ceiling that pays for some two thirds of a batch. Every third batch has it.
const tight = 0.25

func newTrial(t *testing.T, w *world, n int) *trial {
	dir, err := os.MkdirTemp("", fmt.Sprintf("chaos-%d-%d-", w.seed, n))
	require.NoError(t, err)
	b := &trial{t: t, world: w, n: n, dir: dir, name: fmt.Sprintf("chaos-%d-%d", w.seed, n), ceiling: 100,
		random: rand.New(rand.NewPCG(w.seed, uint64(n)+100)), lives: map[string]*chaos.Life{}, killed: map[chaos.Process]time.Time{}}
	b.log = filepath.Join(b.dir, "log")
	if n%3 == 2 {
		b.ceiling = tight
	}
	b.proxy, err = chaos.NewProxy(w.server.URL, 0.15, b.random.Uint64(), &w.faults)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.proxy.Close() })
	require.NoError(t, os.Mkdir(filepath.Join(b.dir, "tmp"), 0o700))
	for i := range 2 + b.random.IntN(2) {
		l := &launcher{batch: b, name: fmt.Sprintf("batch-%d-%c", n, 'a'+i), spec: filepath.Join(b.dir, fmt.Sprint(i), "bench", "benchmark.yaml")}
		require.NoError(t, os.CopyFS(filepath.Dir(l.spec), os.DirFS("testdata/bench")))
		b.edit(l, "benchmark: NAME", "benchmark: "+b.name)
		b.edit(l, "ceiling_usd: 100", fmt.Sprint("ceiling_usd: ", b.ceiling))
		b.all = append(b.all, l)
	}
	return b
}

func (b *trial) edit(l *launcher, before, after string) {
	text, err := os.ReadFile(l.spec)
	require.NoError(b.t, err)
	require.Contains(b.t, string(text), before)
	require.NoError(b.t, os.WriteFile(l.spec, []byte(strings.Replace(string(text), before, after, 1)), 0o600))
}

// tool is a command of the tool, which names itself to its runners.
func (b *trial) tool(name string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(b.t, err)
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.SysProcAttr = b.dir, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with the test, however that ends
	cmd.Env = []string{"BENCHBATCH_CHAOS_MAIN=1", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + b.dir, "TMPDIR=" + filepath.Join(b.dir, "tmp"),
		"MLFLOW_TRACKING_URI=" + b.proxy.URL, "MLFLOW_HTTP_REQUEST_TIMEOUT=10",
		"CHAOS_LOG=" + b.log, "CHAOS_LAUNCHER=" + name, "CHAOS_SEED=" + strconv.FormatUint(b.world.seed+uint64(b.n), 10)}
	return cmd
}

func (b *trial) born(name string, l *chaos.Life) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lives[name] = l
}

// storm runs the launchers side by side while things go wrong, until all have done
// their part or the time is over.
func (b *trial) storm(limit time.Duration) {
	over := time.Now().Add(limit)
	done := make(chan struct{})
	var running, acting sync.WaitGroup
	for i, l := range b.all {
		pause := time.Duration(b.random.IntN(1500)) * time.Millisecond
		running.Go(func() {
			time.Sleep(time.Duration(i) * pause / 2)
			for time.Now().Before(over) && !l.run().final() {
				time.Sleep(pause)
			}
		})
	}
	acting.Go(func() { b.act(over, done) })
	go func() {
		time.Sleep(time.Until(over))
		b.proxy.Calm()
	}()
	running.Wait()
	close(done)
	acting.Wait()
	b.proxy.Calm()
}

// act does something to a process now and then.
func (b *trial) act(over time.Time, done <-chan struct{}) {
	var acts sync.WaitGroup
	defer acts.Wait()
	for time.Now().Before(over) {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(300+b.random.IntN(1500)) * time.Millisecond):
		}
		if len(b.works()) == 0 {
			continue // nobody is at work yet
		}
		l := b.all[b.random.IntN(len(b.all))]
		d := time.Duration(b.random.IntN(2500)) * time.Millisecond
		switch b.random.IntN(12) {
		case 0, 1:
			l.kill()
		case 2, 3, 4, 5:
			b.killRunner()
		case 6:
			acts.Go(func() { l.stop(lease/2 + d) })
		case 7:
			acts.Go(func() { l.stop(2*lease + d) })
		case 8, 9:
			acts.Go(func() { l.starve(d) })
		default:
			if err := b.proxy.Refuse(d / 2); err != nil {
				b.world.note(b.name, []string{err.Error()})
				return
			}
		}
	}
}

func (b *trial) works() []chaos.Work {
	works, err := chaos.ReadLog(b.log)
	if err != nil {
		b.world.note(b.name, []string{err.Error()})
	}
	return works
}

// killRunner kills the process group of one of the runners that are at work.
func (b *trial) killRunner() {
	var at []chaos.Work
	for _, w := range b.works() {
		if w.Over.IsZero() && b.isRunner(w) {
			at = append(at, w)
		}
	}
	if len(at) == 0 {
		return
	}
	w := at[b.random.IntN(len(at))]
	now := time.Now()
	if b.isRunner(w) && syscall.Kill(-w.PID, syscall.SIGKILL) == nil {
		b.mu.Lock()
		b.killed[w.Process()] = now
		b.mu.Unlock()
		b.world.faults.Add("runner killed")
	}
}

// isRunner says whether a process is still that of the log.
func (b *trial) isRunner(w chaos.Work) bool {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", w.PID))
	return strings.Contains(string(env), "/benchbatch-"+w.UUID+"-")
}
