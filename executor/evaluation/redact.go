package evaluation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/benchbatch/benchbatch/planner/spec"
)

// MinSecret is the shortest value, in bytes, that is looked for: shorter ones
// would hit ordinary text.
const MinSecret = 8

// Redactor replaces secrets by [redacted:NAME], in the forms in which they
// usually turn up: plain, URL-escaped, in JSON, and base64 wherever it starts.
type Redactor struct {
	forms []form // longest first
	max   int    // length of the longest, bytes
}

type form struct{ value, by []byte }

// NewRedactor knows the values of all secrets that the spec names: those of
// runner and judge and the preflight keys; and the tracking server's credentials.
func NewRedactor(s *spec.Spec, lookup Lookup) *Redactor {
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
	r := &Redactor{}
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" {
			continue
		}
		if v, ok := lookup(name); ok && len(v) >= MinSecret && !seen[v] {
			seen[v] = true
			r.add(name, v)
		}
	}
	slices.SortStableFunc(r.forms, func(a, b form) int { return len(b.value) - len(a.value) })
	if len(r.forms) > 0 {
		r.max = len(r.forms[0].value)
	}
	return r
}

func (r *Redactor) add(name, v string) {
	by := []byte("[redacted:" + name + "]")
	forms := []string{v, strings.TrimSpace(v), jsonText(v, true), jsonText(v, false), asciiJSON(v), strings.ReplaceAll(v, `\`, `\\`)}
	forms = append(append(forms, urlForms(v)...), base64Forms(v)...)
	slices.Sort(forms)
	for _, f := range slices.Compact(forms) {
		if len(f) >= MinSecret {
			r.forms = append(r.forms, form{[]byte(f), by})
		}
	}
}

func jsonText(v string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(v) != nil {
		return v
	}
	return strings.Trim(strings.TrimSpace(b.String()), `"`)
}

// asciiJSON escapes as writers do that keep JSON in ASCII.
func asciiJSON(v string) string {
	var b strings.Builder
	for _, r := range jsonText(v, false) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// urlForms are v with %XX, which writers do for more or fewer characters.
func urlForms(v string) []string {
	out := []string{url.QueryEscape(v)}
	for _, kept := range []string{"", "/", "!*'()", "$&+=:@", ";,/?:@&=+$!*'()#"} {
		for _, digits := range []string{"%%%02X", "%%%02x"} {
			var b strings.Builder
			for _, c := range []byte(v) {
				if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-_.~"+kept, c) >= 0 {
					b.WriteByte(c)
				} else {
					fmt.Fprintf(&b, digits, c)
				}
			}
			out = append(out, b.String())
		}
	}
	return out
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
	for {
		at, f := r.first(buf)
		if f == nil || at >= limit {
			break
		}
		if _, err := w.Write(buf[:at]); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.by); err != nil {
			return nil, err
		}
		buf = buf[at+len(f.value):]
		limit -= at + len(f.value)
	}
	limit = max(0, limit)
	_, err := w.Write(buf[:limit])
	return buf[limit:], err
}

// first is the earliest secret in buf; of two at one place the longer.
func (r *Redactor) first(buf []byte) (int, *form) {
	at, found := len(buf), (*form)(nil)
	for i := range r.forms {
		f := &r.forms[i]
		if n := bytes.Index(buf[:min(len(buf), at+len(f.value))], f.value); n >= 0 && n < at {
			at, found = n, f
		}
	}
	return at, found
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
