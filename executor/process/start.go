//go:build unix

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
)

// files are the open ends of a process.
type files struct{ in, out, err *os.File }

func openFiles(w evaluation.Work) (*files, error) {
	in := w.Stdin
	if in == "" {
		in = os.DevNull
	}
	f := &files{}
	var err error
	if f.in, err = os.Open(in); err != nil {
		return nil, err
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_APPEND
	if f.out, err = os.OpenFile(w.Stdout, flags, 0o600); err != nil {
		f.close()
		return nil, err
	}
	if f.err, err = os.OpenFile(w.Stderr, flags, 0o600); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *files) close() {
	for _, file := range []*os.File{f.in, f.out, f.err} {
		if file != nil {
			_ = file.Close() // the process has its own handle
		}
	}
}

// start starts the process in a group of its own. A program that was copied
// moments ago can be busy for as long as another launch is between fork and
// exec, and is tried again.
func start(w evaluation.Work, f *files) (*exec.Cmd, error) {
	path, err := find(w)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		cmd := &exec.Cmd{Path: path, Args: w.Command, Dir: w.Dir, Env: w.Env, Stdin: f.in, Stdout: f.out, Stderr: f.err, SysProcAttr: attributes()}
		if cmd.Env == nil {
			cmd.Env = []string{} // nil would be our own
		}
		err := cmd.Start()
		if err == nil {
			return cmd, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || try == 100 {
			return nil, explain(w, path, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// find is the program's file: relative to Dir if its name has a slash, else
// looked up in the PATH of the process, not in ours.
func find(w evaluation.Work) (string, error) {
	name := w.Command[0]
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(w.Dir, path)
		}
		if why := notProgram(path); why != "" {
			return "", fmt.Errorf("%s: %s", name, why)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(variable(w.Env, "PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(path) && notProgram(path) == "" {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: no such program in PATH (%s); install it, or write ./%s if it is a file beside the spec", name, variable(w.Env, "PATH"), name)
}

// notProgram says why a file can't be run, or "".
func notProgram(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file in the working folder; name it in the command, recipe.include or the agent's files"
	case err != nil:
		return err.Error()
	case info.IsDir():
		return "is a folder, not a program"
	case info.Mode()&0o111 == 0:
		return "may not be executed; chmod +x it"
	}
	return ""
}

func explain(w evaluation.Work, path string, err error) error {
	name := w.Command[0]
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is neither a program for this machine nor a script: its first line should be #! and the interpreter", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: its interpreter %s does not exist", name, interpreter(path))
	}
	return fmt.Errorf("starting %s: %w", name, err)
}

// interpreter is the first line of a script, or "".
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 128)
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	return fmt.Sprintf("%q", line)
}

// variable is the value of a variable in an environment, or "".
func variable(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
