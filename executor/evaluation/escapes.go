package evaluation

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of one escape: deeper nesting than this is not seen through.
const (
	maxSlashes = 15 // JSON in JSON in JSON in JSON
	maxEscape  = 20 // bytes for one of the character: the slashes and uXXXX
)

// unescaped is a text with the escapes of JSON (\/, \u002f, \\u002F in JSON within
// JSON) and of URLs (%2f, %252F) replaced by their characters, so that a text and
// its escaped forms become the same.
type unescaped struct {
	text  []byte
	moves []move
}

// move says that the bytes from text on stand in the original from raw on.
type move struct{ text, raw int }

func unescape(b []byte) *unescaped {
	u := &unescaped{text: make([]byte, 0, len(b))}
	for i := 0; i < len(b); {
		n := 0
		for i+n < len(b) && b[i+n] != '\\' && b[i+n] != '%' {
			n++
		}
		u.text = append(u.text, b[i:i+n]...)
		if i += n; i == len(b) {
			break
		}
		var char [utf8.UTFMax]byte
		size, set := 0, 1
		if b[i] == '%' {
			char[0], size = percent(b[i:])
		} else {
			size, set = slashed(b[i:], &char)
		}
		u.text = append(u.text, char[:set]...)
		i += size
		if size != set {
			u.moves = append(u.moves, move{len(u.text) - set, i - size}, move{len(u.text), i})
		}
	}
	return u
}

// raw is where byte i of the text stands in the original.
func (u *unescaped) raw(i int) int {
	n, _ := slices.BinarySearchFunc(u.moves, i+1, func(m move, i int) int { return m.text - i })
	if n == 0 {
		return i
	}
	m := u.moves[n-1]
	return m.raw + i - m.text
}

// slashed reads an escape that begins with a backslash: its size, and how many
// bytes of char are set.
func slashed(b []byte, char *[utf8.UTFMax]byte) (size, n int) {
	k := slashes(b)
	if r, ok := unit(b[k:]); ok {
		size = k + 5
		if utf16.IsSurrogate(r) {
			next := slashes(b[size:])
			if low, ok := unit(b[size+next:]); ok && next > 0 && utf16.DecodeRune(r, low) != utf8.RuneError {
				r, size = utf16.DecodeRune(r, low), size+next+5
			}
		}
		return size, utf8.EncodeRune(char[:], r)
	}
	char[0] = '\\'
	if k == len(b) {
		return k, 1
	}
	if c := bytes.IndexByte([]byte(`/"'ntrbf`), b[k]); c >= 0 {
		char[0] = "/\"'\n\t\r\b\f"[c]
		k++
	}
	return k, 1
}

func slashes(b []byte) int {
	n := 0
	for n < min(len(b), maxSlashes) && b[n] == '\\' {
		n++
	}
	return n
}

// unit reads uXXXX.
func unit(b []byte) (rune, bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[1:5]), 16, 16)
	return rune(v), err == nil
}

// percent reads %XX, with the percent sign itself escaped up to four times.
func percent(b []byte) (c byte, size int) {
	size = 1
	for size < 9 && bytes.HasPrefix(b[size:], []byte("25")) {
		size += 2
	}
	if len(b) >= size+2 {
		if v, err := strconv.ParseUint(string(b[size:size+2]), 16, 8); err == nil {
			return byte(v), size + 2
		}
	}
	return '%', size
}
