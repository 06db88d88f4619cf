package preflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

// ask asks over HTTP. A limit, a server's error and a lost connection are
// tried again while there is time.
func (c *check) ask(ctx context.Context, d dialect) (Result, error) {
	address, err := c.address()
	if err != nil {
		return Result{}, err
	}
	timed, cancel := context.WithTimeout(ctx, c.p.Timeout)
	defer cancel()
	var r Result
	for {
		r.Calls++
		a, again, err := c.call(timed, address, d)
		if err == nil {
			r.Model, r.Answer = c.clean(a.model, 100), c.clean(a.text, 80)
			return r, nil
		}
		var f *Error
		if !errors.As(err, &f) {
			return r, err
		}
		wait := time.Duration(r.Calls) * 500 * time.Millisecond
		switch {
		case f.Fault == BadRequest && d.limit == "max_tokens" && strings.Contains(f.What, "max_completion_tokens"):
			d.limit, wait = "max_completion_tokens", 0
		case f.Fault == Limited, f.Fault == ServerError, f.Fault == Refused:
			if r.Calls == maxCalls {
				return r, err
			}
			wait = max(wait, again)
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

// client follows no redirect: an API does not send one, a login page does.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// call makes one call. again is how long the server asks to be left alone.
func (c *check) call(ctx context.Context, address string, d dialect) (a reply, again time.Duration, err error) {
	doc := maps.Clone(d.body)
	doc["model"], doc[d.limit] = c.model.Route, c.p.MaxTokens
	body, err := json.Marshal(doc)
	if err != nil {
		return a, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return a, 0, c.fault(NotFound, "preflight.url is not an address", "correct preflight.url")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "benchbatch")
	if c.key != "" {
		d.auth(req.Header, c.key)
	}
	at := shown(req.URL)
	resp, err := client.Do(req)
	if err != nil {
		return a, 0, c.unreachable(at, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return a, 0, c.unreachable(at, err)
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		again = time.Duration(min(s, 3600)) * time.Second
	}
	if err := c.judge(at, resp, text, d); err != nil {
		return a, again, err
	}
	a, err = c.read(at, resp, text, d)
	return a, again, err
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

// judge tells apart what can be wrong by an answer's status.
func (c *check) judge(at string, resp *http.Response, text []byte, d dialect) error {
	says := fmt.Sprintf("%s answers %d%s", at, resp.StatusCode, c.message(text))
	code := resp.StatusCode
	switch {
	case code == 401 || code == 403:
		remedy := "the model needs a key: name its variable in preflight.key"
		if c.p.Key != "" {
			remedy = "see whether the key in " + c.p.Key + " is right and may use this model"
		}
		return c.fault(RejectedKey, says, remedy)
	case code == 404 || code == 405:
		return c.fault(NotFound, says, fmt.Sprintf("see whether the address is right (it usually ends in %s) and the model's route %q exists there", d.path, c.model.Route))
	case code == 429:
		return c.fault(Limited, says, "wait until the limit is over, or lower at_once in quotas")
	case code >= 500:
		return c.fault(ServerError, says, "see the endpoint's own log or status page")
	case code >= 400:
		return c.fault(BadRequest, says, fmt.Sprintf("see whether the endpoint knows the model %q and %s", c.model.Route, d.called))
	case code >= 300:
		return c.fault(NotAnAPI, fmt.Sprintf("%s answers %d, a redirect", at, code), "write the address of the API itself; a login may stand in front of it")
	}
	return nil
}

// read looks at a successful answer.
func (c *check) read(at string, resp *http.Response, text []byte, d dialect) (reply, error) {
	var a reply
	other := "see whether the address is that of " + d.called + ": it usually ends in " + d.path
	body := bytes.TrimSpace(text)
	if strings.Contains(resp.Header.Get("Content-Type"), "html") || bytes.HasPrefix(body, []byte("<")) {
		return a, c.fault(NotAnAPI, at+" answers a web page", "write the address of the API itself; a login may stand in front of it")
	}
	if len(body) == 0 {
		return a, c.fault(Empty, at+" answers nothing", other)
	}
	var failed struct {
		Error any `json:"error"`
	}
	if json.Unmarshal(body, &failed) == nil && failed.Error != nil {
		return a, c.fault(ServerError, at+" answers 200 with an error"+c.message(text), "see the endpoint's own log or status page")
	}
	a, err := d.read(body)
	switch {
	case err != nil:
		return a, c.fault(NotAnAPI, fmt.Sprintf("%s answers what is not in the form of %s: %s", at, d.called, c.clean(string(body), 200)), other)
	case !a.known:
		return a, c.fault(NotAnAPI, at+" answers JSON without "+d.shape, other)
	case !a.alive() && a.cut:
		return a, c.fault(Empty, fmt.Sprintf("the answer is empty after %d tokens", c.p.MaxTokens), "raise preflight.max_tokens: the model may think before it speaks")
	case !a.alive():
		return a, c.fault(Empty, at+" answers without any text", "see whether the model is loaded and serves "+d.called)
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
