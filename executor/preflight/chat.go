package preflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer = 1 << 20 // bytes read of an answer
	maxCalls  = 3
)

// chat asks over HTTP. A limit, a server's error and a lost connection are
// tried again while there is time.
func (c *check) chat(ctx context.Context) (Result, error) {
	address, err := c.address()
	if err != nil {
		return Result{}, err
	}
	timed, cancel := context.WithTimeout(ctx, c.p.Timeout)
	defer cancel()
	field := "max_tokens"
	var r Result
	for {
		r.Calls++
		a, err := c.call(timed, address, field)
		if err == nil {
			r.Model, r.Answer = c.clean(a.Model, 100), c.clean(a.text(), 80)
			return r, nil
		}
		var f *Error
		if !errors.As(err, &f) {
			return r, err
		}
		wait := time.Duration(r.Calls) * 500 * time.Millisecond
		switch {
		case f.Fault == BadRequest && field == "max_tokens" && strings.Contains(f.What, "max_completion_tokens"):
			field, wait = "max_completion_tokens", 0
		case f.Fault == Limited, f.Fault == ServerError, f.Fault == Refused:
			if r.Calls == maxCalls {
				return r, err
			}
			wait = max(wait, a.retryAfter)
		default:
			return r, err
		}
		if !sleep(timed, wait) {
			return r, err
		}
	}
}

// sleep waits, unless the time would run out meanwhile: then it says so at once.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// address fills in the variables of the URL: only those that the spec passes on.
func (c *check) address() (string, error) {
	r := c.spec.Runner
	var problem *Error
	filled := variable.ReplaceAllStringFunc(c.p.URL, func(v string) string {
		name := v[2 : len(v)-1]
		if !slices.Contains(r.Env, name) && !slices.Contains(r.PassEnv, name) && !slices.Contains(r.Secrets, name) {
			problem = c.fault(NotFound, "preflight.url names "+v+", which the spec does not pass on", "list "+name+" in runner.pass_env")
			return ""
		}
		value, ok := c.lookup(name)
		if !ok || value == "" {
			problem = c.fault(NotFound, "the environment variable "+name+" of preflight.url is not set", "export it before the run")
		}
		return strings.TrimRight(value, "/")
	})
	if problem != nil {
		return "", problem
	}
	u, err := url.Parse(filled)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", c.fault(NotFound, "preflight.url "+c.p.URL+" is not an http or https address once it is filled in", "write https://HOST/v1/chat/completions")
	}
	return filled, nil
}

// answer is what is read of a chat completion.
type answer struct {
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content          any             `json:"content"`
			Reasoning        string          `json:"reasoning"`
			ReasoningContent string          `json:"reasoning_content"`
			ToolCalls        json.RawMessage `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Error      any `json:"error"`
	retryAfter time.Duration
}

// text is what the model said or thought.
func (a answer) text() string {
	for _, c := range a.Choices {
		said, _ := c.Message.Content.(string)
		if parts, ok := c.Message.Content.([]any); ok {
			for _, p := range parts {
				if m, ok := p.(map[string]any); ok {
					t, _ := m["text"].(string)
					said += t
				}
			}
		}
		for _, s := range []string{said, c.Message.Reasoning, c.Message.ReasoningContent} {
			if strings.TrimSpace(s) != "" {
				return s
			}
		}
	}
	return ""
}

// client follows no redirect: an API does not send one, a login page does.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (c *check) call(ctx context.Context, address, field string) (answer, error) {
	body, err := json.Marshal(map[string]any{
		"model": c.model.Route, field: c.p.MaxTokens,
		"messages": []map[string]string{{"role": "user", "content": "Reply with the word ready."}},
	})
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, c.fault(NotFound, "preflight.url is not an address", "correct preflight.url")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "benchbatch")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	at := shown(req.URL)
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, c.unreachable(at, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, c.unreachable(at, err)
	}
	return c.judge(at, resp, text)
}

// shown is an address without user, password and query.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (c *check) unreachable(at string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return c.fault(TimedOut, fmt.Sprintf("%s did not answer within %s", at, c.p.Timeout), "see whether the endpoint is alive, or raise preflight.timeout")
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // its text repeats the address with its query
	}
	return c.fault(Refused, fmt.Sprintf("no connection to %s: %v", at, err), "start the endpoint, or correct the address")
}

// judge tells apart what can be wrong with an answer.
func (c *check) judge(at string, resp *http.Response, text []byte) (answer, error) {
	var a answer
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		a.retryAfter = time.Duration(min(s, 3600)) * time.Second
	}
	says := fmt.Sprintf("%s answers %d%s", at, resp.StatusCode, c.message(text))
	code := resp.StatusCode
	switch {
	case code == 401 || code == 403:
		remedy := "the model needs a key: name its variable in preflight.key"
		if c.p.Key != "" {
			remedy = "see whether the key in " + c.p.Key + " is right and may use this model"
		}
		return a, c.fault(RejectedKey, says, remedy)
	case code == 404 || code == 405:
		return a, c.fault(NotFound, says, fmt.Sprintf("see whether the address is right and the model's route %q exists there", c.model.Route))
	case code == 429:
		return a, c.fault(Limited, says, "wait until the limit is over, or lower at_once in quotas")
	case code >= 500:
		return a, c.fault(ServerError, says, "see the endpoint's own log or status page")
	case code >= 400:
		return a, c.fault(BadRequest, says, fmt.Sprintf("see whether the endpoint knows the model %q and chat completions", c.model.Route))
	case code >= 300:
		return a, c.fault(NotAnAPI, fmt.Sprintf("%s answers %d, a redirect", at, code), "write the address of the API itself; a login may stand in front of it")
	}
	return c.read(at, resp, text, a)
}

// read looks at a successful answer.
func (c *check) read(at string, resp *http.Response, text []byte, a answer) (answer, error) {
	body := bytes.TrimSpace(text)
	if strings.Contains(resp.Header.Get("Content-Type"), "html") || bytes.HasPrefix(body, []byte("<")) {
		return a, c.fault(NotAnAPI, at+" answers a web page", "write the address of the API itself; a login may stand in front of it")
	}
	if len(body) == 0 {
		return a, c.fault(Empty, at+" answers nothing", "see whether the address is that of chat completions")
	}
	wait := a.retryAfter
	if err := json.Unmarshal(body, &a); err != nil {
		return a, c.fault(NotAnAPI, fmt.Sprintf("%s answers what is not a chat completion: %s", at, c.clean(string(body), 200)), "see whether the address is that of chat completions")
	}
	a.retryAfter = wait
	switch {
	case a.Error != nil:
		return a, c.fault(ServerError, at+" answers 200 with an error"+c.message(text), "see the endpoint's own log or status page")
	case len(a.Choices) == 0:
		return a, c.fault(NotAnAPI, at+" answers JSON without choices", "see whether the address is that of chat completions")
	case a.text() == "" && len(a.Choices[0].Message.ToolCalls) == 0 && a.Choices[0].FinishReason == "length":
		return a, c.fault(Empty, fmt.Sprintf("the answer is empty after %d tokens", c.p.MaxTokens), "raise preflight.max_tokens: the model may think before it speaks")
	case a.text() == "" && len(a.Choices[0].Message.ToolCalls) == 0:
		return a, c.fault(Empty, at+" answers without any text", "see whether the model is loaded and serves chat completions")
	}
	return a, nil
}

// message is the server's own explanation, or "".
func (c *check) message(text []byte) string {
	var doc struct {
		Error   any    `json:"error"`
		Message string `json:"message"`
		Detail  any    `json:"detail"`
	}
	said := ""
	if json.Unmarshal(text, &doc) == nil {
		switch e := doc.Error.(type) {
		case string:
			said = e
		case map[string]any:
			said, _ = e["message"].(string)
		}
		if said == "" {
			said = doc.Message
		}
		if detail, ok := doc.Detail.(string); ok && said == "" {
			said = detail
		}
	} else if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		said = string(text)
	}
	if said = c.clean(said, 300); said == "" {
		return ""
	}
	return " (" + said + ")"
}
