package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/examples"
	"github.com/benchbatch/benchbatch/export"
)

const demoName = "support-bench"

func (a *App) demoCommand() *cobra.Command {
	f := runFlags{yes: true}
	c := &cobra.Command{
		Use:   "demo",
		Short: "All of it on the bundled benchmark",
		Long: `demo writes the bundled benchmark to ./support-bench (where it is not there yet),
starts its small model gateway and, where MLFLOW_TRACKING_URI is not set, an MLflow
server in the current folder, runs the batch, and writes and verifies its dated
folder. It needs python3 for the agents and the gateway.

The agents really answer tickets, on small statistical text models that really
vary: the numbers are yours. One of the four models does not answer, so that
skipping shows. Edit support-bench/ and run demo again: only what is affected is
measured.`,
		Example: "  benchbatch demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), f)
		},
	}
	c.Flags().IntVar(&f.atOnce, "at-once", 4, "`N` evaluations at once over all quotas")
	c.Flags().BoolVar(&f.new, "new", false, "freeze another dated batch although this one is finished")
	c.Flags().StringVar(&f.out, "out", "batches", "`DIR` that receives the dated folder")
	return c
}

func (a *App) demo(ctx context.Context, f runFlags) error {
	dir := filepath.Join(a.Dir, demoName)
	if err := a.unpackDemo(dir); err != nil {
		return err
	}
	conn, err := a.connect(ctx, true)
	if err != nil {
		return err
	}
	gateway, err := startGateway(ctx, dir)
	if err != nil {
		return err
	}
	defer gateway.stop()
	env := a.Env
	a.Env = func(name string) (string, bool) {
		switch name {
		case "GATEWAY_URL":
			return gateway.url, true
		case "GATEWAY_TOKEN":
			return gateway.token, true
		}
		return env(name)
	}
	r, err := a.load(filepath.Join(dir, "benchmark.yaml"))
	if err != nil {
		return err
	}
	out, err := a.run(ctx, conn, r, f)
	var part incomplete
	if err != nil && (!errors.As(err, &part) || out == nil || !out.Frozen) {
		return err
	}
	checked, err := export.Verify(ctx, out.Folder, export.VerifyOptions{Outputs: outputs()})
	if err != nil {
		return err
	}
	if err := a.result(out, func() {
		a.showRan(out)
		a.showVerified(checked)
	}); err != nil {
		return err
	}
	return checked.Err()
}

// unpackDemo writes the bundled benchmark, unless it is there already.
func (a *App) unpackDemo(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "benchmark.yaml")); err == nil {
		a.say("using the benchmark in %s as it is", dir)
		return nil
	}
	bundled, err := fs.Sub(examples.SupportBench, demoName)
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, bundled); err != nil {
		return fmt.Errorf("the bundled benchmark can't be written: %w; move %s away, or use another folder", err, dir)
	}
	a.say("wrote the bundled benchmark to %s", dir)
	return nil
}

// gateway is the demo's model gateway: a child that ends when its input is closed.
type gateway struct {
	url, token string
	cmd        *exec.Cmd
	input      io.Closer
	temp       string
}

// startGateway starts the gateway on a free port of loopback and waits for its address.
func startGateway(ctx context.Context, dir string) (*gateway, error) {
	temp, err := os.MkdirTemp("", "benchbatch-gateway-")
	if err != nil {
		return nil, err
	}
	g := &gateway{token: uuid.NewString(), temp: temp}
	address := filepath.Join(temp, "address")
	g.cmd = exec.CommandContext(ctx, "python3", filepath.Join(dir, "gateway", "gateway.py"), "--port", "0", "--address-file", address)
	g.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GATEWAY_TOKEN=" + g.token, "PYTHONDONTWRITEBYTECODE=1"}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is ours: what runs needs the gateway to its end
	log, err := os.Create(filepath.Join(temp, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	g.cmd.Stdout, g.cmd.Stderr = log, log
	if g.input, err = g.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the demo's model gateway can't start: %w; it needs python3 (3.10 or newer) on the PATH", err)
	}
	for range 300 {
		if b, err := os.ReadFile(address); err == nil {
			g.url = strings.TrimSpace(string(b))
			return g, nil
		}
		if ctx.Err() != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	said, _ := os.ReadFile(filepath.Join(temp, "log"))
	g.stop()
	return nil, fmt.Errorf("the demo's model gateway did not say its address within 30 s: %s", strings.TrimSpace(string(said)))
}

func (g *gateway) stop() {
	_ = g.input.Close()
	_ = g.cmd.Wait() // its exit code does not matter any more
	os.RemoveAll(g.temp)
}
