package evaluation

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of one escape: deeper nesting than this is not seen through.
const (
	maxSlashes = 15 // JSON in JSON in JSON in JSON
	maxEscape  = 20 // bytes for one of the character: the slashes and uXXXX
)

// plain is a text with the escapes of JSON (\/, \u002f, \\u002F in JSON within
// JSON) and of URLs (%2f, %252F) replaced by their characters, so that a text and
// its escaped forms become the same. Byte i of it stands at at[i] of b; at ends
// with the length of b.
func plain(b []byte) (text []byte, at []int) {
	text, at = make([]byte, 0, len(b)), make([]int, 0, len(b)+1)
	for i := 0; i < len(b); {
		var char [utf8.UTFMax]byte
		n, size := 1, 1
		switch b[i] {
		case '\\':
			size, n = slashed(b[i:], &char)
		case '%':
			char[0], size = percent(b[i:])
		default:
			char[0] = b[i]
		}
		for _, c := range char[:n] {
			text, at = append(text, c), append(at, i)
		}
		i += size
	}
	return text, append(at, len(b))
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
