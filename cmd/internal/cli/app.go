// Package cli is the command line: one file a command, flags, exit codes, wiring.
//
// Main runs a command against an App, which holds everything of the process that
// a command may touch, so that a test can run any command inside itself. It returns an
// exit code and no error: what went wrong was said on stderr, with what to do.
package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// App is the process as commands see it.
type App struct {
	Args     []string // without the program's name
	Stdout   io.Writer
	Stderr   io.Writer
	Env      func(string) (string, bool)
	Home     string // the user's home folder, "" = unknown
	Dir      string // current folder, absolute
	Terminal bool   // stderr is a terminal: progress bars are drawn
	Screen   bool   // stdout is a terminal: sentences are broken into lines that fit
	Colour   bool   // stdout is a terminal that shows marks, and NO_COLOR is not set
	Now      func() time.Time
	Signals  <-chan os.Signal // interrupts

	asJSON bool
	quiet  bool
	tidy   tidyStop
	lease  time.Duration // of claims; 0 = the executor's own
	peek   time.Duration // between two looks at what others do; 0 = the executor's own
}

// Process is the App of this process.
func Process() *App {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	home, _ := os.UserHomeDir() // unknown: then there is no credentials file to read
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	return &App{
		Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Env: os.LookupEnv, Home: home, Dir: dir,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())), Screen: term.IsTerminal(int(os.Stdout.Fd())), Colour: colour(), Now: time.Now, Signals: signals,
	}
}

// Hasten shortens the leases of claims, for tests that wait for their end; 0 = as users
// have it. All launchers that meet must have the same.
func (a *App) Hasten(lease time.Duration) { a.lease, a.peek = lease, lease/6 }

// colour says whether stdout may hold marks: see no-color.org.
func colour() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
}

// Main runs the command and returns its exit code.
func Main(a *App) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go a.heed(ctx, cancel)
	root := a.root()
	root.SetArgs(a.Args)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	return a.finish(err)
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "benchbatch",
		Short: "Compare AI agents and models in frozen, dated batches, with MLflow as the source of truth",
		Long: `benchbatch runs frozen benchmark batches of AI agents and models.

It asks MLflow which repeats of each (agent, model) cell exist already, runs only
the missing ones, logs each as a nested run, and writes a dated folder of Parquet
tables with the raw evidence, which anyone can verify.

SPEC is the YAML file of a benchmark. BATCH is a run id, the name of a dated folder
or "latest". FOLDER is a dated folder.

Exit codes: 0 done, 1 failed, 2 usage or spec error, 3 verdict negative,
4 incomplete (cells missing), 5 a hash does not match, 130 interrupted.`,
		Example: `  benchbatch demo                          the whole job, bundled
  benchbatch init my-bench                 a small benchmark that runs
  benchbatch check my-bench/benchmark.yaml
  benchbatch run my-bench/benchmark.yaml
  benchbatch report batches/my-bench-*`,
		Version:       Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().BoolVar(&a.asJSON, "json", false, "print the result as JSON on stdout")
	root.PersistentFlags().BoolVar(&a.quiet, "quiet", false, "no progress")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	helpful(root)
	section(root, "Measure:", a.demoCommand(), a.initCommand(), a.checkCommand(), a.planCommand(), a.calibrateCommand(), a.runCommand(),
		a.statusCommand(), a.stopCommand())
	section(root, "Read the results:", a.openCommand(), a.reportCommand(), a.compareCommand(), a.exportCommand(), a.verifyCommand(), a.selftestCommand())
	section(root, "MLflow:", a.serverCommand(), a.doctorCommand(), a.hashCommand(), a.gcCommand(), a.uninstallViewsCommand())
	a.complete(root)
	return root
}

// Version is the version that this binary was built as.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return version
	}
	return info.Main.Version
}

// version is what a build without module version calls itself; -ldflags -X sets it.
var version = "devel"

func (a *App) getenv(name string) string {
	v, _ := a.Env(name)
	return v
}

// result prints v as JSON where that was asked for, else calls text.
func (a *App) result(v any, text func()) error {
	if !a.asJSON {
		text()
		return nil
	}
	e := json.NewEncoder(a.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
