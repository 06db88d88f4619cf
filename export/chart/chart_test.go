package chart

import (
	"encoding/xml"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected files anew")

func TestGolden(t *testing.T) {
	for _, narrow := range []bool{false, true} {
		all := samples(narrow)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if name == "panel" {
				continue // large; TestLargePanel
			}
			got := all[name].SVG()
			assert.Equal(t, got, all[name].SVG(), "the same bytes each time")
			if narrow {
				name += "-narrow"
			}
			file := filepath.Join("testdata", name+".svg")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "%s; look at it, then: go test ./export/chart -update", file)
		}
	}
}

func TestLargePanel(t *testing.T) {
	h := samplePanel(false, 500, 12)
	svg := h.SVG()
	wellFormed(t, svg)
	assert.Less(t, len(svg), 120_000)
	_, strokes, _ := strings.Cut(svg, "crispEdges")
	drawn := 0.0
	for _, stroke := range regexp.MustCompile(`M[0-9.]+ [0-9.]+h([0-9.]+)`).FindAllStringSubmatch(strokes, -1) {
		length, err := strconv.ParseFloat(stroke[1], 64)
		require.NoError(t, err)
		drawn += length
	}
	assert.Equal(t, 500*12*h.layout(h.begin()).width, drawn, "every cell is drawn once")
}

// wellFormed parses svg as strict XML and returns its text and its elements' names.
func wellFormed(t require.TestingT, svg string) (text string, names map[string]int) {
	names = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	ids := map[string]bool{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return text, names
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			names[e.Name.Local]++
			for _, a := range e.Attr {
				if a.Name.Local == "id" {
					require.False(t, ids[a.Value], "id %s occurs twice", a.Value)
					ids[a.Value] = true
				}
			}
		case xml.CharData:
			text += string(e)
		}
	}
}
