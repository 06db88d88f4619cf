package local

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ExecutableVariable names the mlflow command to use.
const ExecutableVariable = "BENCHBATCH_MLFLOW"

const installAdvice = "install it, as with: python3 -m venv .venv && .venv/bin/pip install mlflow==3.17.2; then put .venv/bin on the PATH or set " +
	ExecutableVariable + "=.venv/bin/mlflow"

func findExecutable(named string) (string, error) {
	if named == "" {
		named = os.Getenv(ExecutableVariable)
	}
	if named != "" {
		found, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%w: %s can't be run (%s)", ErrNoExecutable, named, installAdvice)
		}
		return filepath.Abs(found)
	}
	found, err := exec.LookPath("mlflow")
	if err != nil {
		return "", fmt.Errorf("%w on the PATH: %s", ErrNoExecutable, installAdvice)
	}
	return filepath.Abs(found)
}

//go:embed probe.py
var probeScript string

// probed is what the probe prints.
type probed struct {
	Version string   `json:"version"`
	Heads   []string `json:"heads"` // the schema that this MLflow wants
	Found   []string `json:"found"` // the schema of the database; nil if there is none yet
	Problem string   `json:"problem"`
}

// probe asks the Python of the mlflow command which MLflow this is, and whether the database is of its schema: MLflow itself upgrades
// some older databases without asking.
func probe(ctx context.Context, executable, database string) (probed, error) {
	python, err := interpreter(executable)
	if err != nil {
		return probed{}, err
	}
	cmd := exec.CommandContext(ctx, python, "-c", probeScript, database)
	cmd.Env = environment(os.Environ())
	cmd.Dir = filepath.Dir(database)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var p probed
	if err == nil {
		err = json.Unmarshal(out, &p)
	}
	if err != nil {
		return probed{}, fmt.Errorf("asking %s for its version: %w: %s", executable, err, lastLines(stderr.String(), 3))
	}
	if p.Problem != "" {
		return probed{}, fmt.Errorf("%s: %s", database, p.Problem)
	}
	if p.Found != nil && !slices.Equal(p.Found, p.Heads) {
		return probed{}, fmt.Errorf("%w: %s has %s, MLflow %s wants %s; it is not upgraded here: use the MLflow that wrote it, "+
			"another folder, or, with a copy kept, run: mlflow db upgrade sqlite:///%s",
			ErrSchema, database, strings.Join(p.Found, "+"), p.Version, strings.Join(p.Heads, "+"), database)
	}
	return p, nil
}

var quotedPython = regexp.MustCompile(`['"](/[^'"]*python[^'"/]*)['"]`)

// interpreter finds the Python that runs a command: its first line names it, or, where that would be too long, its second; else it lies beside it.
func interpreter(executable string) (string, error) {
	real, err := filepath.EvalSymlinks(executable)
	if err != nil {
		return "", err
	}
	f, err := os.Open(real)
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	if lines.Scan() && strings.HasPrefix(lines.Text(), "#!") {
		first, _, _ := strings.Cut(strings.TrimSpace(lines.Text()[2:]), " ")
		if filepath.IsAbs(first) && strings.Contains(filepath.Base(first), "python") {
			return first, nil
		}
		if lines.Scan() {
			if m := quotedPython.FindStringSubmatch(lines.Text()); m != nil {
				return m[1], nil
			}
		}
	}
	for _, name := range []string{"python", "python3"} {
		beside := filepath.Join(filepath.Dir(real), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	return "", fmt.Errorf("%w: %s is a wrapper whose Python can't be found: set %s to the mlflow inside its environment", ErrNoExecutable, executable, ExecutableVariable)
}
