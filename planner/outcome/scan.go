package outcome

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads outcomes in the usual form without reflection. Whatever is not
// usual (unknown, repeated or escaped keys, a value of another kind, anything
// wrong) makes it give up, and the strict decoder decides. A test compares both.
type scanner struct {
	b      []byte
	i      int
	floats []float64 // what pointers point to
	ints   []int64
	slab   int      // how many of each are made at once; 0 = as many as a line has
	words  []string // texts that were read before, 256 places; nil = not kept
}

// manyLines is a scanner that reads a whole file: it makes room for many lines at
// once, and knows the texts that repeat from line to line.
func manyLines() *scanner { return &scanner{slab: 512, words: make([]string, 256)} }

// lineNumbers is how many numbers of a kind a line usually has.
const lineNumbers = 6

// keep is b as a string, the one that is there already where it was just read.
func (s *scanner) keep(b []byte) string {
	if len(b) == 0 || s.words == nil {
		return string(b)
	}
	at := &s.words[uint8(len(b)*31)^b[0]^b[len(b)-1]*7]
	if *at != string(b) {
		*at = string(b)
	}
	return *at
}

// record reads an object or null.
func record[T any](s *scanner, p **T, member func(*T, *scanner, []byte) (uint, bool)) bool {
	if s.null() {
		*p = nil
		return true
	}
	v := new(T)
	*p = v
	return s.object(func(key []byte) (uint, bool) { return member(v, s, key) })
}

// list reads a list of objects or null.
func list[T any](s *scanner, p *[]T, member func(*T, *scanner, []byte) (uint, bool)) bool {
	if s.null() {
		*p = nil
		return true
	}
	out := []T{}
	ok := s.array(func() bool {
		out = append(out, *new(T))
		v := &out[len(out)-1]
		return s.object(func(key []byte) (uint, bool) { return member(v, s, key) })
	})
	*p = out
	return ok
}

// object reads an object; member reads the value of a key.
func (s *scanner) object(member func(key []byte) (uint, bool)) bool {
	if !s.next('{') {
		return false
	}
	if s.next('}') {
		return true
	}
	var seen uint32
	for {
		key, ok := s.plain()
		if !ok || !s.next(':') {
			return false
		}
		n, ok := member(key)
		if !ok || seen&(1<<n) != 0 {
			return false
		}
		seen |= 1 << n
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

// array reads a list; element reads one of it.
func (s *scanner) array(element func() bool) bool {
	if !s.next('[') {
		return false
	}
	if s.next(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

func (s *scanner) space() {
	for s.i < len(s.b) && s.b[s.i] <= ' ' && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
}

// next takes one character if it comes next.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// word takes a word if it comes next.
func (s *scanner) word(w string) bool {
	s.space()
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) null() bool { return s.word("null") }

// plain reads a text without escapes, not copied.
func (s *scanner) plain() ([]byte, bool) {
	if !s.next('"') {
		return nil, false
	}
	start := s.i
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1], true
		case c == '\\' || c < ' ':
			return nil, false
		}
	}
	return nil, false
}

func (s *scanner) text(p *string) bool {
	s.space()
	start := s.i
	if b, ok := s.plain(); ok {
		*p = s.keep(b)
		return true
	}
	if s.i = start; s.i >= len(s.b) || s.b[s.i] != '"' {
		return false
	}
	for i := s.i + 1; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '"':
			b, err := jsontext.AppendUnquote(nil, s.b[start:i+1])
			*p, s.i = string(b), i+1
			return err == nil
		}
	}
	return false
}

func (s *scanner) boolean(p *bool) bool {
	*p = s.word("true")
	return *p || s.word("false")
}

func (s *scanner) flag(p **bool) bool {
	if s.null() {
		*p = nil
		return true
	}
	*p = new(bool)
	return s.boolean(*p)
}

// digits takes a number as it stands.
func (s *scanner) digits() []byte {
	s.space()
	start := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			break
		}
		s.i++
	}
	return s.b[start:s.i]
}

func (s *scanner) value() (float64, bool) {
	b := s.digits()
	if !isNumber(b) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil
}

// isNumber says whether b is a number by the grammar of JSON.
func isNumber(b []byte) bool {
	i := 0
	run := func() bool {
		start := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !run() {
		return false
	}
	if i < len(b) && b[i] == '.' {
		if i++; !run() {
			return false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !run() {
			return false
		}
	}
	return i == len(b)
}

func (s *scanner) float(p **float64) bool {
	if s.null() {
		*p = nil
		return true
	}
	f, ok := s.value()
	if len(s.floats) == cap(s.floats) {
		s.floats = make([]float64, 0, max(s.slab, lineNumbers))
	}
	s.floats = append(s.floats, f)
	*p = &s.floats[len(s.floats)-1]
	return ok
}

func (s *scanner) numbers(p *[]float64) bool {
	if s.null() {
		*p = nil
		return true
	}
	out := make([]float64, 0, 4)
	ok := s.array(func() bool {
		f, ok := s.value()
		out = append(out, f)
		return ok
	})
	*p = out
	return ok
}

// integer reads a number without fraction and exponent.
func (s *scanner) integer() (int64, bool) {
	b := s.digits()
	if !isNumber(b) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

func (s *scanner) number(p *int) bool {
	n, ok := s.integer()
	*p = int(n)
	return ok && int64(*p) == n
}

func (s *scanner) count(p **int64) bool {
	if s.null() {
		*p = nil
		return true
	}
	n, ok := s.integer()
	if len(s.ints) == cap(s.ints) {
		s.ints = make([]int64, 0, max(s.slab, lineNumbers))
	}
	s.ints = append(s.ints, n)
	*p = &s.ints[len(s.ints)-1]
	return ok
}
