package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// minSecret is the shortest value, in bytes, that is looked for: a shorter one
// would be found in ordinary text.
const minSecret = 8

// secretNames lists the environment variables that hold secrets, sorted.
func (s *Spec) secretNames() []string {
	names := slices.Clone(s.Runner.Secrets)
	if s.Judge != nil {
		names = append(names, s.Judge.Secrets...)
	}
	for _, m := range s.Models {
		for _, a := range append([]Agent{{}}, s.Agents...) {
			if p := s.PreflightFor(a, m); p != nil && p.Key != "" {
				names = append(names, p.Key)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkHidden refuses a spec that holds a password or the value of one of its
// secrets: its text is frozen and shown. It says so where there is one. These
// problems show no values, and stand alone: any other could quote the secret.
func (k *checker) checkHidden() bool {
	alone := newCollector(k.c.file)
	for _, name := range k.s.secretNames() {
		for _, line := range k.linesWith(name) {
			alone.addAt(position{line: line}, "", "the text holds the value of the secret "+plain(name), secretRemedy)
		}
	}
	for field, pos := range k.c.at {
		if holdsPassword(pos.value) {
			alone.addAt(position{line: pos.line, column: pos.column}, field, "an address with a user or password in it: the spec is frozen and shown",
				"take it out, and pass it as a secret: name its variable in runner.secrets or preflight.key")
		}
	}
	if len(*alone.problems) == 0 {
		return false
	}
	k.c.problems = alone.problems
	return true
}

const secretRemedy = "take it out: the spec is frozen and shown, and a secret is passed by name alone"

// linesWith lists the lines of the spec on which the value of a variable stands,
// as written there or as YAML reads it.
func (k *checker) linesWith(name string) []int {
	value, ok := k.env(name)
	if !ok || len(value) < minSecret {
		return nil
	}
	var lines []int
	for i, line := range bytes.Split(k.s.Raw, []byte("\n")) {
		if bytes.Contains(line, []byte(value)) {
			lines = append(lines, i+1)
		}
	}
	if len(lines) > 0 {
		return lines
	}
	if bytes.Contains(k.s.Raw, []byte(value)) { // more than one line
		return []int{0}
	}
	for _, pos := range k.c.at {
		if strings.Contains(pos.value, value) {
			lines = append(lines, pos.line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

var (
	webUser  = regexp.MustCompile(`(?i)https?://[^/?#\s"'@]+@`)
	password = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s"'@:]*:[^/?#\s"'@]+@`)
)

// holdsPassword says whether a text holds an address with a user on the web, or
// with a password anywhere.
func holdsPassword(text string) bool {
	return strings.Contains(text, "@") && (webUser.MatchString(text) || password.MatchString(text))
}

// panelSecret refuses a panel that holds the value of a secret, as it is or as
// JSON writes it.
func (k *checker) panelSecret(c *collector, raw []byte) bool {
	found := false
	for _, name := range k.s.secretNames() {
		value, ok := k.env(name)
		if !ok || len(value) < minSecret {
			continue
		}
		inJSON, err := json.Marshal(value)
		if err != nil {
			continue
		}
		for _, form := range [][]byte{[]byte(value), inJSON[1 : len(inJSON)-1]} {
			if at := bytes.Index(raw, form); at >= 0 {
				c.addAt(position{line: 1 + bytes.Count(raw[:at], []byte("\n"))}, "", fmt.Sprintf("the panel holds the value of the secret %s", plain(name)), secretRemedy)
				found = true
				break
			}
		}
	}
	return found
}
