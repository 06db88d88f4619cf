package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

var console = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestDocumentedCommands runs the commands of every page, each page as one shell
// script in a folder of its own. `make` lines are what CI runs.
func TestDocumentedCommands(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	pages = append(pages, "../../../README.md")
	ran := 0
	for _, page := range pages {
		script := commands(t, page)
		if script == "" {
			continue
		}
		ran++
		t.Run(filepath.Base(page), func(t *testing.T) {
			cmd := exec.Command("sh", "-euc", script)
			cmd.Dir = t.TempDir()
			cmd.Env = toolEnv(t, mlflowtest.Real(t, mlflowtest.Newest).URL)
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s\n%s", script, out)
		})
	}
	assert.NotZero(t, ran)
}

// commands are the lines of a page's console blocks that start with "$ ".
func commands(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var script strings.Builder
	for _, block := range console.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			if c, ok := strings.CutPrefix(line, "$ "); ok && !strings.HasPrefix(c, "make ") {
				script.WriteString(c)
			}
		}
	}
	return script.String()
}

// toolEnv is an environment whose PATH has this test binary as benchbatch.
func toolEnv(t *testing.T, server string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "benchbatch"), []byte("#!/bin/sh\nBENCHBATCH_TEST_MAIN=1 exec '"+self+"' \"$@\"\n"), 0o755)) //nolint:gosec // it is run
	return []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "MLFLOW_TRACKING_URI=" + server}
}

// TestLinks checks that relative links of the pages lead somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	pages, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "../../../README.md", "../../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			assert.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}
