package report

import (
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/exporttest"
)

var (
	written = regexp.MustCompile(`(?:<g transform="translate\(([-0-9.]+) ([-0-9.]+)\)[^>]*>)?<text class="([a-z ]+)" x="([-0-9.]+)" y="([-0-9.]+)"[^>]*>([^<]*)`)
	whole1  = regexp.MustCompile(`^[+−-]?\d+(\.\d+)?$`)
	figures = regexp.MustCompile(`[+-]?\d+(\.\d+)?`)
	links   = regexp.MustCompile(`\]\([^)]*\)`)
	plain   = strings.NewReplacer("−", "-", "&#43;", "+")
	grids   = map[string]bool{"matrix.svg": true, "families.svg": true, "tasks.svg": true}
)

// Every figure on a chart stands in a table of the chart's own section: in the row whose
// name it follows, on a grid also in the column. What is no row's (class n) is a tick of
// an axis or a legend.
func TestWhatIsDrawnIsWritten(t *testing.T) {
	for name, s := range map[string]*exporttest.Synthetic{"plausible": exporttest.Plausible(), "mixed": exporttest.Mixed()} {
		md, _, charts := folder(t, s, nil)
		checked, onGrids := 0, map[string]int{}
		for file, svg := range charts {
			at := strings.Index(md, "](charts/"+file+")")
			if !assert.Positive(t, at, "%s: %s is on no page", name, file) {
				continue
			}
			section := md[strings.LastIndex(md[:at], "\n## "):]
			section, _, _ = strings.Cut(section[4:], "\n## ")
			rows := rowsOf(section)
			for _, f := range drawnIn(t, svg, grids[file]) {
				cells, ok := rows[f.row]
				if !assert.True(t, ok, "%s: %s: %q, at which %s is drawn, is no row of a table", name, file, f.row, f.text) {
					continue
				}
				checked++
				var among []string
				for _, c := range cells {
					if !grids[file] || c.column == f.column {
						among = append(among, c.figures...)
					}
				}
				if grids[file] {
					onGrids[file]++
				}
				assert.True(t, stands(among, f.text), "%s: %s: %s of %q %q stands in no table: %v", name, file, f.text, f.row, f.column, among)
			}
		}
		assert.Greater(t, checked, 50, name)
		for file := range grids {
			assert.Positive(t, onGrids[file], "%s: %s has no figures", name, file)
		}
	}
}

// drawn is a figure on a chart, with what it is of.
type drawn struct{ text, row, column string }

// drawnIn reads a chart. A figure belongs to the label that was drawn before it; on a
// grid to the labels at its height and above it.
func drawnIn(t *testing.T, svg string, grid bool) []drawn {
	t.Helper()
	type text struct {
		s    string
		x, y float64
	}
	var labels, found []text
	var out []drawn
	for _, m := range written.FindAllStringSubmatch(svg, -1) {
		w := text{s: html.UnescapeString(m[6])}
		for i, to := range map[int]*float64{4: &w.x, 5: &w.y} {
			n, err := strconv.ParseFloat(m[i], 64)
			require.NoError(t, err)
			if m[i-3] != "" { // of an upright label
				off, err := strconv.ParseFloat(m[i-3], 64)
				require.NoError(t, err)
				n += off
			}
			*to = n
		}
		switch {
		case m[3] == "n" || m[3] == "h":
		case !whole1.MatchString(w.s):
			labels = append(labels, w)
		case grid:
			found = append(found, w)
		default:
			require.NotEmpty(t, labels, "%s stands before every label", w.s)
			out = append(out, drawn{w.s, labels[len(labels)-1].s, ""})
		}
	}
	for _, w := range found {
		d := drawn{text: w.s}
		for _, l := range labels {
			if math.Abs(l.y-w.y) < 6 && l.x < w.x {
				d.row = l.s
			}
			if math.Abs(l.x-w.x) < 6 && l.y < w.y {
				d.column = l.s
			}
		}
		out = append(out, d)
	}
	return out
}

// cell is one of a row's, under its column's head.
type cell struct {
	column  string
	figures []string
}

// rowsOf are the cells of the rows of all tables, by what the row is of.
func rowsOf(section string) map[string][]cell {
	out := map[string][]cell{}
	var head []string
	for _, line := range strings.Split(section, "\n") {
		if !strings.HasPrefix(line, "| ") {
			head = nil
			continue
		}
		cells := strings.Split(strings.Trim(plain.Replace(links.ReplaceAllString(line, "]")), "| "), " | ")
		if head == nil {
			head = cells
			continue
		}
		label := strings.TrimSuffix(cells[0], " (withdrawn)")
		for i, c := range cells[1:] {
			out[label] = append(out[label], cell{head[i+1], figures.FindAllString(c, -1)})
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
