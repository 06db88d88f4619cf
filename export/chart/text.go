package chart

import (
	"strings"
	"unicode"

	"github.com/benchbatch/benchbatch/export/escape"
)

// font is a class of text. Sizes are in CSS pixels.
type font struct {
	class string
	size  float64
	bold  bool
}

var (
	titleFont = font{"h", 16, true}
	labelFont = font{"l", 14, true}
	plainFont = font{"p", 13, false}
	noteFont  = font{"n", 13, false}
	haloFont  = font{"p halo", 13, false} // over a grid
)

const ellipsis = "…"

// advance is the width of the characters from space to tilde in hundredths of an
// em: those of DejaVu Sans, which is wider than the usual fonts.
var advance = [...]uint8{
	32, 41, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54,
	100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 39, 34, 39, 84, 50,
	50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
}

// visible is s as it is drawn: one line without anything hidden.
func visible(s string) string { return strings.TrimSpace(escape.Terminal(s)) }

// width estimates how wide s is drawn, on the safe side.
func width(s string, f font) float64 {
	sum := 0.0
	for _, r := range visible(s) {
		w := em(r)
		if f.bold && w > 0 {
			w = w*1.08 + 0.045
		}
		sum += w
	}
	return sum * f.size
}

func em(r rune) float64 {
	switch {
	case r >= ' ' && r <= '~':
		return float64(advance[r-' ']) / 100
	case extends(r):
		return 0
	case r == 0xFDFD, r >= 0x12000 && r <= 0x1254F: // the widest signs there are
		return 8
	case doubled(r):
		return 1.25
	case r >= 0xA0 && r < 0x530: // Latin, Greek, Cyrillic
		return 0.8
	}
	return 1.0
}

// extends says whether r is drawn on the character before it.
func extends(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || r >= 0x1F3FB && r <= 0x1F3FF
}

// doubled says whether r takes two cells of a terminal.
func doubled(r rune) bool {
	return r >= 0x1100 && r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0xFFE0 && r <= 0xFFE6 ||
		r >= 0x1F000 && r <= 0x1FAFF || r >= 0x20000 && r <= 0x3FFFD
}

// letters splits s before every character that is not drawn on the one before.
func letters(s string) []string {
	var out []string
	for _, r := range s {
		if extends(r) && len(out) > 0 {
			out[len(out)-1] += string(r)
		} else {
			out = append(out, string(r))
		}
	}
	return out
}

// cut shortens s to a width by an ellipsis in the middle: ids that belong together
// often differ at the end alone.
func cut(s string, f font, room float64) string {
	s = visible(s)
	if width(s, f) <= room {
		return s
	}
	all := letters(s)
	left := room - width(ellipsis, f)
	var head, tail strings.Builder
	var ends []string
	for i, j := 0, len(all)-1; i <= j; {
		w := width("."+all[i]+".", f) - width("..", f) // a space at the end counts too
		if left -= w; left < 0 {
			break
		}
		head.WriteString(all[i])
		i++
		if i > j {
			break
		}
		w = width("."+all[j]+".", f) - width("..", f)
		if left -= w; left < 0 {
			break
		}
		ends = append(ends, all[j])
		j--
	}
	for i := len(ends) - 1; i >= 0; i-- {
		tail.WriteString(ends[i])
	}
	return strings.TrimSpace(head.String()) + ellipsis + strings.TrimSpace(tail.String())
}

// wrap breaks s between words into lines of a width, at most so many; the last
// one is cut where there is more.
func wrap(s string, f font, room float64, lines int) []string {
	words := strings.Fields(visible(s))
	var out []string
	for len(words) > 0 {
		if len(out) == lines-1 {
			return append(out, cut(strings.Join(words, " "), f, room))
		}
		n := 1
		for n < len(words) && width(strings.Join(words[:n+1], " "), f) <= room {
			n++
		}
		out = append(out, cut(strings.Join(words[:n], " "), f, room))
		words = words[n:]
	}
	return out
}
