package evaluation

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/spec"
)

// MinSecret is the shortest value, in bytes, that is looked for: shorter ones
// would hit ordinary text.
const MinSecret = 8

// Redactor replaces secrets by [redacted:NAME], in the forms in which they
// usually turn up: plain, base64 wherever it starts, and each of them with any
// of its characters escaped as JSON or URLs do, more than once too.
type Redactor struct {
	forms []form
	max   int // length of the longest with every character escaped, bytes
}

type form struct {
	value []byte
	plain []byte // value without escapes; nil = too short to be looked for
	by    []byte
}

// NewRedactor knows the values of all secrets that the spec names: those of
// runner and judge and the preflight keys; the credentials of the tracking
// server, from lookup and from mlflowEnv (NAME=value, given to the runner); and
// passwords in the addresses that the spec passes.
func NewRedactor(s *spec.Spec, lookup Lookup, mlflowEnv []string) *Redactor {
	r := &Redactor{}
	for _, name := range secretNames(s) {
		if v, ok := lookup(name); ok {
			r.add(name, v)
		}
	}
	for _, name := range addressNames(s) {
		if v, ok := lookup(name); ok {
			r.addAddress(name, v)
		}
	}
	for _, e := range mlflowEnv {
		name, v, _ := strings.Cut(e, "=")
		if credential.MatchString(name) {
			r.add(name, v)
		}
		r.addAddress(name, v)
	}
	slices.SortStableFunc(r.forms, func(a, b form) int { return len(b.value) - len(a.value) })
	if len(r.forms) > 0 {
		r.max = maxEscape * len(r.forms[0].value)
	}
	return r
}

// credential matches variables that hold one.
var credential = regexp.MustCompile(`PASSWORD|TOKEN|SECRET|CREDENTIAL|KEY`)

func secretNames(s *spec.Spec) []string {
	names := append(slices.Clone(s.Runner.Secrets), "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")
	if s.Judge != nil {
		names = append(names, s.Judge.Secrets...)
	}
	if s.Preflight != nil {
		names = append(names, s.Preflight.Key)
	}
	for _, m := range s.Models {
		if m.Preflight != nil {
			names = append(names, m.Preflight.Key)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

func addressNames(s *spec.Spec) []string {
	names := append(slices.Clone(s.Runner.PassEnv), "MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI")
	if s.Judge != nil {
		names = append(names, s.Judge.PassEnv...)
	}
	return names
}

// addAddress adds the password of an address, as it is and as it is written
// there, and user:password, which may be long enough where the password is not.
func (r *Redactor) addAddress(name, v string) {
	u, err := url.Parse(v)
	if err != nil || u.User == nil {
		return
	}
	password, ok := u.User.Password()
	if !ok || password == "" {
		r.add(name, u.User.Username()) // a token alone
		return
	}
	r.add(name, password)
	r.add(name, u.User.Username()+":"+password)
	r.add(name, u.User.String())
}

func (r *Redactor) add(name, v string) {
	if len(v) < MinSecret || slices.ContainsFunc(r.forms, func(f form) bool { return string(f.value) == v }) {
		return
	}
	by := []byte("[redacted:" + name + "]")
	forms := append([]string{v, strings.TrimSpace(v), jsonText(v), url.QueryEscape(v)}, base64Forms(v)...)
	slices.Sort(forms)
	for _, f := range slices.Compact(forms) {
		if len(f) < MinSecret {
			continue
		}
		p := unescape([]byte(f)).text
		if len(p) < MinSecret {
			p = nil
		}
		r.forms = append(r.forms, form{[]byte(f), p, by})
	}
}

func jsonText(v string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return v
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// base64Forms are the characters that depend on nothing but v, for each of the
// three positions at which v can start in an encoded text such as user:password.
func base64Forms(v string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for k := range 3 {
			s := enc.EncodeToString(append(make([]byte, k), v...))
			out = append(out, s[(k*8+5)/6:(k+len(v))*8/6])
		}
	}
	return out
}

// Text redacts a text.
func (r *Redactor) Text(s string) string {
	if len(r.forms) == 0 || s == "" {
		return s
	}
	var b bytes.Buffer
	_, _ = r.Copy(&b, strings.NewReader(s)) // neither side can fail
	return b.String()
}

// Copy copies from src to dst and redacts on the way. It returns the bytes written.
func (r *Redactor) Copy(dst io.Writer, src io.Reader) (int64, error) {
	if len(r.forms) == 0 {
		return io.Copy(dst, src)
	}
	w := &counter{w: dst}
	buf := make([]byte, 0, 64<<10+r.max)
	for {
		n, err := io.ReadFull(src, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return w.n, err
		}
		rest, werr := r.flush(w, buf, end)
		if werr != nil || end {
			return w.n, werr
		}
		buf = buf[:copy(buf[:cap(buf)], rest)]
	}
}

// flush writes buf up to where a secret could still begin that goes on in the
// next block, and returns what is left.
func (r *Redactor) flush(w io.Writer, buf []byte, end bool) ([]byte, error) {
	limit := len(buf)
	if !end {
		limit = max(0, len(buf)-r.max+1)
	}
	at := 0
	for _, s := range r.spans(buf) {
		if s.from >= limit {
			break
		}
		if _, err := w.Write(buf[at:s.from]); err != nil {
			return nil, err
		}
		if _, err := w.Write(s.by); err != nil {
			return nil, err
		}
		at = s.to
	}
	if at < limit {
		if _, err := w.Write(buf[at:limit]); err != nil {
			return nil, err
		}
		at = limit
	}
	return buf[at:], nil
}

// span is a secret in a text.
type span struct {
	from, to int
	by       []byte
}

// spans are the secrets in buf in order; those that overlap are one.
func (r *Redactor) spans(buf []byte) []span {
	var all []span
	for _, f := range r.forms {
		each(buf, f.value, func(from, to int) { all = append(all, span{from, to, f.by}) })
	}
	if bytes.ContainsAny(buf, `\%`) {
		u := unescape(buf)
		for _, f := range r.forms {
			each(u.text, f.plain, func(from, to int) { all = append(all, span{u.raw(from), u.raw(to), f.by}) })
		}
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	merged := all[:0]
	for _, s := range all {
		if n := len(merged); n > 0 && s.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// each calls found for every place of value in text.
func each(text, value []byte, found func(from, to int)) {
	if value == nil {
		return
	}
	for at := 0; ; {
		n := bytes.Index(text[at:], value)
		if n < 0 {
			return
		}
		at += n + len(value)
		found(at-len(value), at)
	}
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
