package mlflow

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

// failure makes an *Error of whatever went wrong with one try.
func (c *Client) failure(rt route, resp *http.Response, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Op: rt.name, URL: c.base.String() + rt.path, fate: unknownFate, again: againPatiently, Kind: ErrUnreachable}
	var redirect *redirected
	if errors.As(err, &redirect) {
		return c.redirectError(e, rt, redirect)
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		if u, parseErr := url.Parse(urlErr.URL); parseErr == nil {
			e.URL = cleanURL(u).String()
		}
		err = urlErr.Err // its text holds the query
	}
	e.Err = err
	if resp != nil { // the answer broke off
		e.Status, e.Message = resp.StatusCode, "the answer broke off"
		return e
	}
	var dial *net.OpError
	var size *sizeError
	switch {
	case errors.As(err, &size):
		e.Kind, e.again, e.fate = nil, againNever, unknownFate
	case isTLS(err):
		e.again, e.fate = againNever, untouched
		e.Remedy = "check the address and the certificates: MLFLOW_TRACKING_SERVER_CERT_PATH names a bundle to trust"
	case errors.As(err, &dial) && dial.Op == "dial":
		e.fate = untouched
		e.Remedy = "is it running? benchbatch server start starts one here; MLFLOW_TRACKING_URI names another"
	}
	return e
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &unknown) ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

func (c *Client) redirectError(e *Error, rt route, r *redirected) *Error {
	e.Kind, e.again, e.fate, e.Err, e.Status = ErrRedirected, againNever, untouched, nil, r.status
	e.Message = fmt.Sprintf("the server redirects to %s, which is not followed", r.to)
	e.Remedy = "if it asks for a login, set MLFLOW_TRACKING_TOKEN or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
	if base, ok := strings.CutSuffix(r.to.String(), rt.path); ok {
		e.Remedy = "set MLFLOW_TRACKING_URI to " + base
	}
	return e
}

// answerError makes an *Error of an answer that is not a success. body is what could be read of it.
func (c *Client) answerError(rt route, resp *http.Response, body []byte) *Error {
	e := &Error{Op: rt.name, URL: cleanURL(resp.Request.URL).String(), Status: resp.StatusCode}
	e.Code, e.Message = serverMessage(resp, body)
	e.fate = unknownFate
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized:
		e.Kind, e.fate = ErrUnauthorized, untouched
		e.Message = c.User() + ": " + e.Message
		e.Remedy = "check MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
	case status == http.StatusForbidden:
		e.Kind, e.fate = ErrForbidden, untouched
		e.Message = c.User() + ": " + e.Message
		e.Remedy = fmt.Sprintf("ask whoever owns the experiment, or the server's administrator, for %s permission on the experiment", rt.permission())
		if strings.Contains(e.Message, "Host header") {
			e.Remedy = "the server must be started with --allowed-hosts " + resp.Request.URL.Host
		}
	case status == http.StatusTooManyRequests:
		e.again, e.fate = againPatiently, untouched
	case strings.Contains(e.Message, "disabled due to the mlflow server running"):
		e.Kind, e.fate = ErrUnsupported, untouched
		e.Remedy = "the server was started with --artifacts-only or --no-serve-artifacts: start it without"
	case e.Code == "FEATURE_DISABLED" && c.cfg.Workspace != "":
		e.fate, e.Remedy = untouched, "the server has no workspaces: unset MLFLOW_WORKSPACE"
	case status == http.StatusServiceUnavailable && e.Code == "TEMPORARILY_UNAVAILABLE":
		// The database is busy, or a search has more conditions than it can join.
		e.Kind, e.again = ErrUnreachable, againAFewTimes
	case status == http.StatusBadRequest && strings.Contains(e.Message, "QueuePool limit"):
		// Too many writers at once held all connections to the database.
		e.Kind, e.again = ErrUnreachable, againAFewTimes
		e.Remedy = "send less at once, or start the server with MLFLOW_SQLALCHEMYSTORE_POOL_SIZE=20 and MLFLOW_SQLALCHEMYSTORE_MAX_OVERFLOW=80"
	case status == http.StatusRequestTimeout || status >= 502 && status <= 504:
		e.Kind, e.again = ErrUnreachable, againPatiently
	case status == http.StatusInternalServerError && (e.Code == "INTERNAL_ERROR" || e.Code == ""):
		e.again = againAFewTimes
	case status < 500:
		e.fate = untouched
		e.explain4xx()
	}
	return e
}

// explain4xx adds what the codes of a refusal mean.
func (e *Error) explain4xx() {
	switch {
	case e.Code == "RESOURCE_DOES_NOT_EXIST" || e.Code == "NOT_FOUND":
		e.Kind = ErrNotFound
	case e.Code == "RESOURCE_ALREADY_EXISTS" || e.Code == "ALREADY_EXISTS":
		e.Kind = ErrAlreadyExists
	case strings.Contains(e.Message, "must be in the 'active' state"):
		e.Kind, e.Remedy = ErrDeleted, "restore it in MLflow, or use another"
	case e.Status == http.StatusNotFound:
		e.Kind, e.Remedy = ErrNotJSON, "is this the address of an MLflow server, with its path prefix?"
	}
}

// serverMessage reads MLflow's error answer, FastAPI's, or a line of plain text. A page is not quoted.
func serverMessage(resp *http.Response, body []byte) (code, message string) {
	var answer struct {
		Code    string          `json:"error_code"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &answer) == nil {
		if answer.Message == "" && answer.Detail != nil {
			answer.Message = string(answer.Detail)
		}
		return answer.Code, oneLine(answer.Message)
	}
	if bytes.Contains(body, []byte("<")) || len(body) == 0 && looksLikePage(resp, body) { // MLflow sends plain refusals as text/html
		return "", "the answer is a web page"
	}
	return "", oneLine(string(body))
}

func looksLikePage(resp *http.Response, body []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) || strings.Contains(resp.Header.Get("Content-Type"), "html")
}

// notJSON is the error for a success that is none: an access proxy's login page, or something that is no MLflow server.
func notJSON(rt route, resp *http.Response, body []byte) *Error {
	message := ErrNotJSON.Error()
	if looksLikePage(resp, body) {
		message += " (looks like a login page)"
	}
	return &Error{Op: rt.name, URL: cleanURL(resp.Request.URL).String(), Status: resp.StatusCode, Kind: ErrNotJSON, Message: message, fate: untouched,
		Remedy: "check the address; behind a login, set MLFLOW_TRACKING_TOKEN or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"}
}

// oneLine makes foreign text fit for a message: one line, nothing that a terminal acts on, not too long.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return clip(strings.Join(strings.Fields(s), " "), 500)
}
