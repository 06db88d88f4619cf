package evaluation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// program is a process that is ready to start.
type program struct {
	tree    Tree
	command []string
	job     job
	env     []string
	stdin   string
	memory  int64
	cpus    float64
	stuck   bool // what it left could not be gathered
	unread  bool // what it said could not be written down
}

// discard removes a program's folder. One that could not be gathered is kept,
// under a name by which RemoveLeft does not find it. Where its answers could not be
// written down either, it stays as a killed launcher would leave it: who continues the
// evaluation reads them there.
func (p *program) discard() {
	if p.unread {
		return
	}
	if !p.stuck || os.Rename(filepath.Dir(p.tree.Root), p.aside()) != nil {
		_ = p.tree.Remove()
	}
}

func (p *program) aside() string {
	dir, name := filepath.Split(filepath.Dir(p.tree.Root))
	return dir + "kept-" + name
}

// runner prepares the runner for some tasks: a private folder with copies of
// what its digest covers, the job, and the environment.
func (m *measurement) runner(n int, tasks []batch.Task) (*program, error) {
	s := m.req.Spec
	names := slices.Concat(s.Recipe.Include, m.req.Agent.Files, s.Runner.Files, m.files.CommandFiles(s.Runner.Command))
	p, err := m.program(s.Runner.Command, names, m.req.job(n, tasks, !m.scored()), m.runnerVars())
	if err != nil {
		return nil, err
	}
	if s.Brain != "" {
		if err := m.files.Place(p.tree.Work(), s.Brain, m.req.brainPlacement()); err != nil {
			return nil, errors.Join(err, p.tree.Remove())
		}
	}
	if s.Runner.MLflow {
		p.env = append(p.env, m.req.MLflowEnv...)
	}
	p.memory, p.cpus = s.Recipe.Limits.Memory, s.Recipe.Limits.CPUs
	return p, nil
}

func (m *measurement) runnerVars() Allowed {
	r := m.req.Spec.Runner
	return Allowed{r.Env, r.PassEnv, r.Secrets}
}

func (m *measurement) program(command, names []string, j job, vars Allowed) (p *program, err error) {
	tree, err := NewTree(m.req.WorkRoot, m.req.UUID)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tree.Remove())
		}
	}()
	if err := m.files.Copy(tree.Work(), names...); err != nil {
		return nil, err
	}
	if err := j.write(tree.Job()); err != nil {
		return nil, err
	}
	home := tree.Home()
	if m.req.Spec.Runner.Home == "user" {
		if dir, ok := m.req.Lookup("HOME"); ok {
			home = dir
		}
	}
	env, err := Environ(tree, home, vars, m.req.Lookup)
	return &program{tree: tree, command: command, job: j, env: env}, err
}

// launch runs a program and records it. failed says why it did not start.
func (m *measurement) launch(ctx context.Context, s stage, p *program, limit time.Duration) (end Ended, failed string) {
	if err := m.journal.add(record{Launch: s.Stage}); err != nil {
		m.final = "what is paid for can't be recorded: " + err.Error()
		return end, m.final
	}
	m.launched = true
	begun := time.Now()
	end, err := m.req.Launcher.Launch(ctx, Work{
		Command: p.command, Dir: p.tree.Work(), Env: p.env, Stdin: p.stdin,
		Stdout: p.tree.File("stdout.log"), Stderr: p.tree.File("stderr.log"),
		Timeout: limit, Grace: m.req.Grace, CPUs: p.cpus, Memory: p.memory, MaxOutput: m.req.MaxOutput,
	})
	end.Started, end.Ended = begun.UTC(), since(begun) // the clock on the wall may be set meanwhile
	if s.Stage != "runner" {
		p.forgetExpected()
	}
	if err != nil {
		failed = m.red.Text(err.Error())
		m.final = "the " + s.Stage + " did not start: " + failed
		m.problem("%s", m.final)
	}
	if s.Stage == "runner" {
		m.spent += end.Ended.Sub(end.Started)
	}
	s.Started, s.Ended, s.ExitCode, s.Signal = end.Started, end.Ended, end.ExitCode, end.Signal
	s.TimedOut, s.Interrupted, s.OutputCut, s.Left, s.Error = end.TimedOut, end.Interrupted, end.Cut, end.Left, failed
	if end.Cut {
		m.problem("attempt %d, %s: output beyond %d bytes was dropped", s.Attempt, s.Stage, m.req.MaxOutput)
	}
	m.stages = append(m.stages, s)
	if err := m.journal.add(record{Stage: &s}); err != nil {
		m.final = "what is paid for can't be recorded: " + err.Error()
	}
	return end, failed
}

// since is now, as far after begun as the monotonic clock says.
func since(begun time.Time) time.Time { return begun.Add(time.Since(begun)).UTC() }

// forgetExpected takes the expected answers out of the job of a judge or check
// that has ended: the panel has them, and the evidence does not hand them on.
func (p *program) forgetExpected() {
	for i := range p.job.Tasks {
		p.job.Tasks[i].Expected = nil
	}
	if p.job.write(p.tree.Job()) != nil {
		_ = os.Remove(p.tree.Job())
	}
}

// gather keeps what a program left: its output folder at out, its logs and job
// at the prefix logs. It returns where each file of the output folder went.
func (m *measurement) gather(p *program, out, logs string, l *lines) (kept map[string]string, err error) {
	t := p.tree
	defer func() {
		if err != nil {
			p.stuck = true
			err = fmt.Errorf("what the process left can't be kept, it stays as it is, secrets included, in %s (chmod u+r it to look): %w", p.aside(), err)
		}
	}()
	for _, p := range l.problems {
		m.problem("%s: %s", out, p)
	}
	kept, err = m.keep.folder(t.Out(), out)
	if err != nil {
		return kept, err
	}
	for _, name := range []string{"stdout.log", "stderr.log", "job.json"} {
		if err := m.keep.logFile(t.File(name), logs+name); err != nil {
			return kept, err
		}
	}
	m.tail = m.end(t)
	return kept, nil
}

// tailBytes is how much of a log's end is shown.
const tailBytes = 4 << 10

// end is the end of a program's errors, or of its output if there are none.
func (m *measurement) end(t Tree) string {
	for _, name := range []string{"stderr.log", "stdout.log"} {
		if s := m.endOf(t.File(name)); s != "" {
			return s
		}
	}
	return ""
}

// endOf reads from well before the end, so that a secret is whole when it is
// looked for.
func (m *measurement) endOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size := m.wholeLog(f)
	from := max(0, size-tailBytes-int64(m.red.max))
	var b bytes.Buffer
	if _, err := m.red.Copy(&b, io.NewSectionReader(f, from, size-from)); err != nil {
		return ""
	}
	s := b.Bytes()
	s = s[max(0, len(s)-tailBytes):]
	return printable(string(s))
}

// wholeLog is how much of a log can be shown, in bytes: of one that reached its
// limit not the end, where half a secret may stand.
func (m *measurement) wholeLog(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	if size := info.Size(); size < m.req.MaxOutput {
		return size
	}
	return max(0, m.req.MaxOutput-int64(m.red.max))
}

// printable keeps lines and replaces other control characters.
func printable(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = cutText(line, tailBytes)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func (m *measurement) progress(done int) {
	if m.req.Progress != nil {
		total := len(m.req.Spec.Tasks)
		m.req.Progress(min(done, total), total)
	}
}
