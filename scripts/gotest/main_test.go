package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRun(t *testing.T) {
	const (
		pass  = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
		ended = `{"Action":"pass","Package":"p","Elapsed":0.5}` + "\n"
		none  = `{"Action":"skip","Package":"q"}` + "\n"
	)
	for name, c := range map[string]struct {
		events string
		err    error
		last   string
		told   string
	}{
		"passed":         {pass + ended + none, nil, "1 passed, 0 failed", ""},
		"failed":         {pass + output("TestB", "want 1, got 2") + `{"Action":"fail","Package":"p","Test":"TestB"}{"Action":"fail","Package":"p"}`, errors.New("exit status 1"), "1 passed, 1 failed", "want 1, got 2"},
		"skipped":        {pass + output("TestB", "no server") + `{"Action":"skip","Package":"p","Test":"TestB"}` + ended, nil, "1 passed, 1 failed", "no server"},
		"no tests":       {none, nil, "0 passed, 1 failed", "no test was run"},
		"build failed":   {`{"ImportPath":"p","Action":"build-output","Output":"undefined: x\n"}{"Action":"fail","Package":"p"}`, errors.New("exit status 1"), "0 passed, 1 failed", "undefined: x"},
		"panic":          {pass + output("", "panic: boom") + `{"Action":"fail","Package":"p"}`, errors.New("exit status 1"), "1 passed, 1 failed", "panic: boom"},
		"could not run":  {"", errors.New("go: no such tool"), "0 passed, 1 failed", "no such tool"},
		"only exit code": {pass + ended, errors.New("exit status 1"), "1 passed, 1 failed", "exit status 1"},
		"not JSON":       {pass + "oops", nil, "1 passed, 1 failed", "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			test := func(_ []string, _ io.Writer, read func(io.Reader) error) error {
				return errors.Join(read(strings.NewReader(c.events)), c.err)
			}
			ok := run([]string{"./..."}, test, &stdout, &stderr)
			assert.Equal(t, strings.HasSuffix(c.last, " 0 failed"), ok)
			lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
			assert.Equal(t, c.last, lines[len(lines)-1])
			assert.Contains(t, stderr.String(), c.told)
		})
	}
}

func TestRunCountsAllLists(t *testing.T) {
	var stdout, stderr strings.Builder
	var asked []string
	ok := run([]string{"./...", "--", "-race", "./a"}, func(args []string, _ io.Writer, read func(io.Reader) error) error {
		asked = append(asked, strings.Join(args, " "))
		return read(strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestA"}`))
	}, &stdout, &stderr)
	assert.True(t, ok)
	assert.Equal(t, []string{"./...", "-race ./a"}, asked)
	assert.Equal(t, "2 passed, 0 failed\n", stdout.String())
}

func output(test, text string) string {
	return `{"Action":"output","Package":"p","Test":"` + test + `","Output":"` + text + `\n"}` + "\n"
}
