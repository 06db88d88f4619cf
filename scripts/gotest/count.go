package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is a line of go test -json, see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// count is what one go test run came to. Tests and their subtests are counted alike.
type count struct {
	stdout, stderr io.Writer
	passed, failed int
	output         map[string]*strings.Builder // by package and test, until it is known how that ended
}

// read counts the events of r and prints each package's end and the output of what failed.
func (c *count) read(r io.Reader) error {
	c.output = map[string]*strings.Builder{}
	inPackage := map[string]int{} // failed tests
	for d := json.NewDecoder(r); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go test -json: %w", err)
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "build-output":
			fmt.Fprint(c.stderr, e.Output)
		case e.Action == "output":
			c.keep(key, e.Output)
		case e.Test == "":
			c.packageEnd(e, inPackage[e.Package])
		case e.Action == "pass":
			c.passed++
			delete(c.output, key)
		case e.Action == "fail":
			c.failed++
			inPackage[e.Package]++
			c.show("FAILED", key)
		case e.Action == "skip":
			c.failed++
			inPackage[e.Package]++
			c.show("SKIPPED, which counts as failed:", key)
		}
	}
}

// packageEnd prints how a package ended; one that failed outside its tests is a failure.
func (c *count) packageEnd(e event, failedTests int) {
	key := e.Package + " "
	switch e.Action {
	case "pass":
		fmt.Fprintf(c.stdout, "ok    %-60s %6.1f s\n", e.Package, e.Elapsed)
	case "fail":
		if failedTests == 0 {
			c.failed++
			c.show("FAILED outside its tests:", key)
		}
		fmt.Fprintf(c.stdout, "FAIL  %-60s %6.1f s\n", e.Package, e.Elapsed)
	case "skip": // no test files
	default:
		return
	}
	delete(c.output, key)
}

// end turns what no event told into failures: go test's own error, or that there was nothing to test.
func (c *count) end(args []string, err error) {
	switch {
	case err != nil && c.failed == 0:
		c.failed++
		fmt.Fprintf(c.stderr, "go test %s: %v\n", strings.Join(args, " "), err)
	case c.passed+c.failed == 0:
		c.failed++
		fmt.Fprintf(c.stderr, "go test %s: no test was run\n", strings.Join(args, " "))
	}
}

func (c *count) keep(key, text string) {
	b := c.output[key]
	if b == nil {
		b = &strings.Builder{}
		c.output[key] = b
	}
	b.WriteString(text)
}

func (c *count) show(what, key string) {
	fmt.Fprintf(c.stderr, "%s %s\n", what, strings.TrimSpace(key))
	if b := c.output[key]; b != nil {
		fmt.Fprint(c.stderr, b.String())
		delete(c.output, key)
	}
}
