package report

import (
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/export/exporttest"
)

var (
	written = regexp.MustCompile(`<text class="([a-z ]+)"[^>]*>([^<]*)`)
	whole1  = regexp.MustCompile(`^[+−-]?\d+(\.\d+)?$`)
	figures = regexp.MustCompile(`[+-]?\d+(\.\d+)?`)
	links   = regexp.MustCompile(`\]\([^)]*\)`)
	plain   = strings.NewReplacer("−", "-", "&#43;", "+")
)

// Every figure on a chart stands in a table of the chart's own section, where it
// follows the name of a row in that row. What is no row's (class n) is a tick of an axis or a legend.
func TestWhatIsDrawnIsWritten(t *testing.T) {
	for name, s := range map[string]*exporttest.Synthetic{"plausible": exporttest.Plausible(), "mixed": exporttest.Mixed()} {
		md, _, charts := folder(t, s, nil)
		checked := 0
		for file, svg := range charts {
			at := strings.Index(md, "](charts/"+file+")")
			if !assert.Positive(t, at, "%s: %s is on no page", name, file) {
				continue
			}
			section := md[strings.LastIndex(md[:at], "\n## "):]
			section, _, _ = strings.Cut(section[4:], "\n## ")
			rows, label := rowsOf(section), ""
			for _, m := range written.FindAllStringSubmatch(svg, -1) {
				text := html.UnescapeString(m[2])
				switch {
				case m[1] == "n" || m[1] == "h":
				case !whole1.MatchString(text):
					label = text
				default:
					among, ok := rows[label]
					if !ok { // a column's name
						among = rows[""]
					}
					checked++
					assert.True(t, stands(among, text), "%s: %s: %s of %q stands in no table: %v", name, file, text, label, among)
				}
			}
		}
		assert.Greater(t, checked, 50, name)
	}
}

// rowsOf are the figures in the rows of all tables, by what the row is of.
func rowsOf(section string) map[string][]string {
	out := map[string][]string{}
	for _, line := range strings.Split(section, "\n") {
		if cells := strings.Split(plain.Replace(links.ReplaceAllString(line, "]")), " | "); strings.HasPrefix(line, "| ") {
			label := strings.TrimSuffix(strings.TrimPrefix(cells[0], "| "), " (withdrawn)")
			for _, c := range cells[1:] {
				found := figures.FindAllString(c, -1)
				out[label], out[""] = append(out[label], found...), append(out[""], found...)
			}
		}
	}
	return out
}

// stands says whether a figure is one of the others, which may have more digits.
func stands(among []string, drawn string) bool {
	v, _ := strconv.ParseFloat(plain.Replace(drawn), 64)
	_, digits, _ := strings.Cut(drawn, ".")
	for _, a := range among {
		w, _ := strconv.ParseFloat(a, 64)
		if _, more, _ := strings.Cut(a, "."); len(more) >= len(digits) && math.Abs(v-w) <= 0.5*math.Pow10(-len(digits))+0.0005 {
			return true
		}
	}
	return false
}
