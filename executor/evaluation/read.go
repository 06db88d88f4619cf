package evaluation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// maxOutcomes bounds the outcomes.jsonl of one process, in bytes.
const maxOutcomes = 1 << 30

// lines is what an outcomes.jsonl says about the tasks of a job.
type lines struct {
	of       map[string]outcome.Outcome // valid lines
	refused  map[string]string          // task → why its line does not count
	problems []string                   // every refused line, with its number
	red      *Redactor
}

func (l *lines) refuse(n int, task, why string) {
	why = l.red.Text(why) // it can quote what was decoded
	l.problems = append(l.problems, fmt.Sprintf("%s line %d: %s", batch.FileOutcomes, n, why))
	if task == "" {
		return
	}
	if _, ok := l.refused[task]; !ok {
		l.refused[task] = fmt.Sprintf("line %d: %s", n, why)
	}
	delete(l.of, task)
}

func (m *measurement) newLines() *lines {
	return &lines{of: map[string]outcome.Outcome{}, refused: map[string]string{}, red: m.red}
}

// readLines reads the outcomes.jsonl of an output folder. A file that is absent
// has no lines. Secrets are redacted before a line is looked at.
func (m *measurement) readLines(out string, tasks []batch.Task) *lines {
	l := m.newLines()
	f, err := openRegular(out, batch.FileOutcomes)
	if errors.Is(err, os.ErrNotExist) {
		return l
	}
	if err != nil {
		l.problems = append(l.problems, fmt.Sprintf("%s: %v", batch.FileOutcomes, err))
		return l
	}
	defer f.Close()
	wanted := make(map[string]bool, len(tasks))
	for _, t := range tasks {
		wanted[t.ID] = true
	}
	pr, pw := io.Pipe()
	go func() {
		_, err := m.red.Copy(pw, io.LimitReader(f, maxOutcomes))
		pw.CloseWithError(err)
	}()
	seen := map[string]int{}
	err = outcome.Lines(pr, func(n int, b []byte) error {
		l.line(n, b, wanted, seen)
		return nil
	})
	pr.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		l.problems = append(l.problems, fmt.Sprintf("%s: %v; nothing behind it was read", batch.FileOutcomes, err))
	}
	return l
}

// line reads one line and returns the task of the job that it is about, or "".
func (l *lines) line(n int, b []byte, wanted map[string]bool, seen map[string]int) string {
	o, err := outcome.ParseLine(b)
	task := o.Task
	if err != nil {
		task = taskOf(b)
	}
	if !wanted[task] {
		if err == nil {
			err = fmt.Errorf("task %q is not one of this job", cutText(task, 80))
		}
		l.refuse(n, "", err.Error())
		return ""
	}
	if first := seen[task]; first > 0 {
		l.refuse(n, task, fmt.Sprintf("task %q stands twice (line %d too)", task, first))
		return task
	}
	seen[task] = n
	if err == nil && o.Error != nil && o.Error.Class == outcome.NotRun {
		err = errors.New(`error.class "not_run": one of agent, timeout, provider, tool, harness, judge, budget is expected`)
	}
	if err != nil {
		l.refuse(n, task, err.Error())
		return task
	}
	l.red.outcome(&o)
	o.State, o.Attempt = "", 0 // ours to say
	l.of[task] = o
	return task
}

var taskPattern = regexp.MustCompile(`"task"\s*:\s*"([A-Za-z0-9._-]{1,64})"`)

// taskOf finds the task of a line that could not be read, if it names exactly one.
func taskOf(line []byte) string {
	found := taskPattern.FindAllSubmatch(line, 2)
	if len(found) != 1 {
		return ""
	}
	return string(found[0][1])
}

// openRegular opens a regular file of a folder that a foreign process wrote:
// no links, and no waiting at the other end of a pipe.
func openRegular(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openIn(root, name)
}

func openIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if why := notKept(info); why != "" {
		return nil, fmt.Errorf("it is %s", why)
	}
	if info.Mode()&0o400 == 0 {
		_ = root.Chmod(name, 0o600)
	}
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

// notKept says what a file is if it is not an ordinary one of its own folder.
func notKept(info os.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&os.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a folder"
	case !mode.IsRegular():
		return "a special file"
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return "a hard link"
	}
	return ""
}

// cutText is the first n characters of s on one line, control characters replaced.
func cutText(s string, n int) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if n == 0 {
			b.WriteString("…")
			break
		}
		if r < ' ' || r == 0x7f {
			r = ' '
		}
		b.WriteRune(r)
		n--
	}
	return strings.TrimSpace(b.String())
}
