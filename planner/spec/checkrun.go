package spec

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

const longest = 30 * 24 * time.Hour // that anything may take

func (k *checker) checkRunner() {
	r := k.s.Runner
	if len(r.Command) == 0 {
		k.missing("runner.command", "write the program as a list of words, such as [./run.sh]")
	}
	k.oneOf("runner.unit", r.Unit, "evaluation", "task")
	k.oneOf("runner.home", r.Home, "private", "user")
	within(k, "runner.timeout", r.Timeout, time.Second, longest)
	k.literal("runner.harness", r.Harness, 128)
	k.literal("runner.harness_version", r.HarnessVersion, 128)
	k.literal("runner.image", r.Image, 512)
	if r.Image != "" && !strings.Contains(r.Image, "@sha256:") {
		k.c.add("runner.image", "names no digest: what it runs could change unseen", "write NAME@sha256:DIGEST")
	}
	if len(r.Check) > 0 && r.Unit != "task" {
		k.c.add("runner.check", "a check looks at one answer, and the runner does a whole evaluation", "write unit: task, or score in the runner")
	}
	if len(r.Check) > 0 && k.s.Judge != nil {
		k.c.add("runner.check", "both a check and a judge stage score the answers", "keep one of both")
	}
	k.checkNames("runner", r.Env, r.PassEnv, r.Secrets)
}

func (k *checker) checkJudgeStage() {
	j := k.s.Judge
	if j == nil {
		return
	}
	if len(j.Command) == 0 {
		k.missing("judge.command", "write the program as a list of words, such as [./judge.sh]")
	}
	within(k, "judge.timeout", j.Timeout, time.Second, longest)
	k.checkNames("judge", j.Env, j.PassEnv, j.Secrets)
}

var envPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// checkNames checks the environment variables that a program may see.
func (k *checker) checkNames(at string, env, pass, secrets []string) {
	first := map[string]string{}
	for _, list := range []struct {
		key   string
		names []string
	}{{"env", env}, {"pass_env", pass}, {"secrets", secrets}} {
		for i, name := range list.names {
			field := fmt.Sprintf("%s.%s[%d]", at, list.key, i)
			ok := k.checkName(field, name)
			if f, taken := first[name]; taken {
				k.c.add(field, "the variable is named twice: also in "+f, "keep one of both")
			} else {
				first[name] = field
			}
			if _, set := k.env(name); ok && !set && list.key == "env" {
				k.c.add(field, "the environment variable is not set, and its value is part of the identity",
					fmt.Sprintf("set %s, or list it in pass_env if it cannot change a result", name))
			}
		}
	}
}

// checkName checks the name of a variable and says whether it may be listed.
func (k *checker) checkName(field, name string) bool {
	switch {
	case !envPattern.MatchString(name):
		k.c.add(field, "not the name of an environment variable", "write the name alone, such as REGION")
	case name == "HOME":
		k.c.add(field, "the runner has a HOME of its own", "write home: user to keep the user's")
	case name == "PATH" || name == "LANG" || name == "TMPDIR" || strings.HasPrefix(name, "BENCHBATCH_"):
		k.c.add(field, "the variable is always set", "remove it")
	case strings.HasPrefix(name, "MLFLOW_"):
		k.c.add(field, "MLflow's variables are not passed by name: who can read the tracking server can read the answers",
			"write mlflow: true in runner if it must see the server, or remove it")
	default:
		return true
	}
	return false
}

// PreflightFor is the tiny call that shows whether a model answers an agent: the
// spec's, with the fields that the model and then the agent override, and the
// defaults. Nil = none.
func (s *Spec) PreflightFor(a Agent, m Model) *Preflight {
	if s.Preflight == nil && m.Preflight == nil && a.Preflight == nil {
		return nil
	}
	p := Preflight{MaxTokens: 16, Timeout: 20 * time.Second}
	for _, over := range []*Preflight{s.Preflight, m.Preflight, a.Preflight} {
		if over == nil {
			continue
		}
		overlay(&p.Kind, over.Kind)
		overlay(&p.URL, over.URL)
		overlay(&p.Key, over.Key)
		overlay(&p.MaxTokens, over.MaxTokens)
		overlay(&p.Timeout, over.Timeout)
		if over.Command != nil {
			p.Command = over.Command
		}
	}
	if p.Kind == "" {
		p.Kind = "openai-chat"
		if p.URL == "" && len(p.Command) > 0 {
			p.Kind = "command"
		}
	}
	return &p
}

func overlay[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}

// checkPreflights checks the calls of one model: that of agents without a preflight
// of their own, and one for each that has one.
func (k *checker) checkPreflights(i int, m Model) {
	others := false
	for j, a := range k.s.Agents {
		if a.Preflight == nil {
			others = true
		} else if i == 0 { // the same for every model, but for what the model overrides
			k.checkPreflight(fmt.Sprintf("agents[%d].preflight", j), k.s.PreflightFor(a, m), true)
		}
	}
	if others {
		k.checkPreflight(fmt.Sprintf("models[%d].preflight", i), k.s.PreflightFor(Agent{}, m), m.Preflight != nil)
	}
}

// checkPreflight checks the call of one model; own says that the model overrides
// the spec's, so that problems stand there.
func (k *checker) checkPreflight(at string, p *Preflight, own bool) {
	if p == nil {
		return
	}
	if !own {
		at = "preflight"
	}
	field := func(key string) string {
		if own && !k.given(at+"."+key) && k.given("preflight."+key) {
			return "preflight." + key
		}
		return at + "." + key
	}
	k.oneOf(field("kind"), p.Kind, "openai-chat", "openai-responses", "anthropic-messages", "command")
	within(k, field("max_tokens"), p.MaxTokens, 1, 100_000)
	within(k, field("timeout"), p.Timeout, time.Millisecond, time.Hour)
	if p.Key != "" && !envPattern.MatchString(p.Key) {
		k.c.add(field("key"), "not the name of an environment variable", "write the name of the variable that holds the key, never the key")
	}
	switch p.Kind {
	case "command":
		if len(p.Command) == 0 {
			k.missing(field("command"), "write the program as a list of words")
		}
	case "openai-chat", "openai-responses", "anthropic-messages":
		k.checkURL(field("url"), p.URL)
	}
}

var variablePattern = regexp.MustCompile(`\$\{([^}]*)\}`)

// checkURL checks an address that may begin with ${NAME}.
func (k *checker) checkURL(field, address string) {
	if address == "" {
		k.missing(field, "write the address that answers, such as https://HOST/v1/chat/completions")
		return
	}
	r := k.s.Runner
	for _, m := range variablePattern.FindAllStringSubmatch(address, -1) {
		name := m[1]
		if !slices.Contains(r.Env, name) && !slices.Contains(r.PassEnv, name) && !slices.Contains(r.Secrets, name) {
			k.c.add(field, "the variable "+quote(name)+" is not among runner.env, pass_env or secrets", "list it in runner.pass_env")
		}
	}
	filled := address
	if strings.HasPrefix(address, "${") {
		filled = variablePattern.ReplaceAllString(filled, "http://host")
	}
	filled = variablePattern.ReplaceAllString(filled, "x")
	u, err := url.Parse(filled)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		k.c.add(field, "not an http or https address", "write https://HOST/v1/chat/completions or ${NAME}/v1/chat/completions")
	} else if u.User != nil {
		pos := k.c.at[field]
		k.c.addAt(position{line: pos.line, column: pos.column}, field, "holds a user or password", "put the key into an environment variable and name it in preflight.key")
	}
}

// checkFree checks what is in no digest: quotas, budget and retries.
func (k *checker) checkFree() {
	for _, name := range slices.Sorted(maps.Keys(k.s.Quotas)) {
		at := join("quotas", name)
		if !isID(name) {
			k.c.add(at, idRule, "")
		}
		within(k, at+".at_once", k.s.Quotas[name].AtOnce, 0, 10_000)
		within(k, at+".spacing", k.s.Quotas[name].Spacing, 0, time.Hour)
		within(k, at+".tokens_per_minute", k.s.Quotas[name].TokensPerMinute, 0, 1_000_000_000)
	}
	if c := k.s.Budget.CeilingUSD; c != nil {
		within(k, "budget.ceiling_usd", *c, 0, 1e9)
	}
	k.oneOf("traces", k.s.Traces, TracesNone, TracesScores, TracesFull)
	classes := []string{"provider", "harness", "tool", "judge", "budget"}
	for _, class := range slices.Sorted(maps.Keys(k.s.Retry)) {
		k.oneOf(join("retry", class), class, classes...)
		within(k, join("retry", class), k.s.Retry[class], 0, 10)
	}
}

func (k *checker) checkReuse() {
	if m := k.s.Valid.MaxMissing; m < 0 || m >= 1 {
		k.c.add("valid.max_missing", "out of range: 0 up to but not 1 is allowed", "write it as 5% or 0.05")
	}
	r := k.s.Reuse
	if k.given("reuse.max_age") && r.MaxAge <= 0 {
		k.c.add("reuse.max_age", "out of range", "write it as 30d or 12h")
	}
	if r.NotBefore != "" {
		if _, err := parseDay(r.NotBefore); err != nil {
			k.c.add("reuse.not_before", "not a day or a time", "write 2006-01-02 (UTC) or 2006-01-02T15:04:05Z")
		}
	}
	for i, e := range r.Experiments {
		at := fmt.Sprintf("reuse.experiments[%d]", i)
		k.literal(at, e, 250)
		if e == "" {
			k.c.add(at, "the name is empty", "remove it")
		}
	}
}

// parseDay reads a day (its beginning in UTC) or an RFC 3339 time.
func parseDay(s string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC(), err
}

// NotBeforeTime is the earliest start of a repeat that may count; the zero time
// does not bound.
func (r Reuse) NotBeforeTime() time.Time {
	t, err := parseDay(r.NotBefore)
	if err != nil {
		return time.Time{}
	}
	return t
}
