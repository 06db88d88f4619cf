// Command gotest runs go test once for each list of arguments, the lists parted
// by "--", and counts over all of them: a skipped test, a run without tests and
// a failed build are failures. The output of what failed goes to stderr; the
// last line of stdout is "N passed, N failed". It exits with 1 on any failure.
//
//	go run ./scripts/gotest ./... -- -race ./executor/...
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if !run(os.Args[1:], goTest, os.Stdout, os.Stderr) {
		os.Exit(1)
	}
}

// run counts the tests of each list of arguments and says whether all is well.
func run(args []string, test func([]string, io.Writer, func(io.Reader) error) error, stdout, stderr io.Writer) bool {
	var all count
	for _, list := range lists(args) {
		c := count{stdout: stdout, stderr: stderr}
		err := test(list, stderr, c.read)
		c.end(list, err)
		all.passed += c.passed
		all.failed += c.failed
	}
	fmt.Fprintf(stdout, "%d passed, %d failed\n", all.passed, all.failed)
	return all.failed == 0
}

// lists parts args at each "--".
func lists(args []string) [][]string {
	out := [][]string{nil}
	for _, a := range args {
		if a == "--" {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], a)
	}
	return out
}

// goTest runs go test -json and hands its output to read.
func goTest(args []string, stderr io.Writer, read func(io.Reader) error) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(out)
	if err := cmd.Wait(); err != nil {
		return err
	}
	return readErr
}
