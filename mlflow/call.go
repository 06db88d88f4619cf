package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	maxAnswer      = 512 << 20 // of a JSON answer: 50,000 runs with many tags are about 300 MB
	maxErrorAnswer = 64 << 10
)

// request is one call, before it is sent.
type request struct {
	route     route
	path      string      // after the route's path, unescaped
	query     url.Values  // may be nil
	body      any         // []byte or retryablehttp.ReaderFunc; nil for none
	mediaType string      // of body
	size      int64       // of a ReaderFunc's body
	header    http.Header // beside those of every call; may be nil
	http      *http.Client
}

// call sends in as JSON (nil for none) and reads the JSON answer into out (nil to ignore it).
func (c *Client) call(ctx context.Context, rt route, query url.Values, in, out any) error {
	req := request{route: rt, query: query, http: c.json}
	if in != nil {
		body, err := encode(in)
		if err != nil {
			return invalid(rt.name, "%v", err)
		}
		req.body, req.mediaType = body, "application/json"
	}
	_, err := c.send(ctx, req, func(resp *http.Response) error { return c.readJSON(rt, resp, out) })
	return err
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// send makes the call, as often as its route allows. handle is given every successful answer; what it returns decides on another try.
func (c *Client) send(ctx context.Context, r request, handle func(*http.Response) error) (*http.Response, error) {
	u := *c.base
	u.Path += r.route.path + r.path
	u.RawQuery = r.query.Encode()
	req, err := retryablehttp.NewRequestWithContext(ctx, r.route.method, u.String(), r.body)
	if err != nil {
		return nil, &Error{Op: r.route.name, URL: cleanURL(&u).String(), Err: err}
	}
	for name, values := range c.headers {
		req.Header[name] = values
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.body != nil {
		req.Header.Set("Content-Type", r.mediaType)
		if r.size > 0 {
			req.ContentLength = r.size
		}
	}
	req.SetResponseHandler(func(resp *http.Response) error {
		c.answered.Store(true)
		if resp.StatusCode < 500 { // a gateway that speaks for an absent server has a clock of its own
			c.clock.note(resp.Header)
		}
		if resp.StatusCode >= 300 {
			defer resp.Body.Close()
			body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorAnswer))
			return c.answerError(r.route, resp, body)
		}
		return handle(resp)
	})
	tries := &attempts{client: c, route: r.route, start: time.Now()}
	sender := retryablehttp.Client{
		HTTPClient: r.http, RetryMax: math.MaxInt32,
		CheckRetry: tries.check, Backoff: tries.backoff, ErrorHandler: tries.giveUp,
		RequestLogHook: func(retryablehttp.Logger, *http.Request, int) { c.count(r.route.name) },
	}
	resp, err := sender.Do(req)
	if err != nil {
		return nil, tries.final(err, cleanURL(&u).String())
	}
	return resp, nil
}

// final makes an *Error of what the library returns: one already, or the context's error when it ended a wait.
func (a *attempts) final(err error, address string) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	e := &Error{Op: a.route.name, URL: address, Err: err, Tries: a.tries, fate: unknownFate}
	if a.last != nil {
		e.Message, e.fate = "ended while waiting for another try after: "+a.last.Error(), a.last.fate
	}
	return e
}

// readJSON reads a whole answer, which must be a JSON object.
func (c *Client) readJSON(rt route, resp *http.Response, out any) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(body) > maxAnswer {
		return &Error{Op: rt.name, Status: resp.StatusCode, Message: "the answer is larger than 512 MiB", Remedy: "use a smaller page"}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return notJSON(rt, resp, body)
	}
	if out == nil {
		out = new(struct{})
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(body, out); errors.As(err, &syntax) {
		return notJSON(rt, resp, body)
	} else if err != nil {
		return &Error{Op: rt.name, URL: cleanURL(resp.Request.URL).String(), Status: resp.StatusCode, Kind: ErrNotJSON,
			Message: "the answer is JSON of another form than MLflow's", Err: err}
	}
	return nil
}
