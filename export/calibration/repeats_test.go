package calibration_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/calibration"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/exporttest"
)

var update = flag.Bool("update", false, "write testdata again")

// What is said of another number of repeats is what the batch with that number would
// be said to detect.
func TestByRepeats(t *testing.T) {
	s := exporttest.Lettered(lively...)
	s.Plan.Decision = []byte(within(0.09))
	from := seen(t, s)
	c := calibration.Decide(from, batchOf(s))
	require.NotNil(t, c.Power)
	require.NotNil(t, c.Power.Repeats)
	var at []int
	last := 1.0
	for _, r := range c.Power.ByRepeats {
		at = append(at, r.Repeats)
		p := batchOf(s)
		p.Repeats = r.Repeats
		assert.Equal(t, calibration.Decide(from, p).Power.MDE, r.MDE, r.Repeats)
		assert.Less(t, r.MDE.Value, last, "more repeats show more")
		last = r.MDE.Value
		if r.Repeats >= *c.Power.Repeats {
			assert.LessOrEqual(t, r.MDE.Value, 0.09)
		} else {
			assert.Greater(t, r.MDE.Value, 0.09, "fewer than are needed: %d", r.Repeats)
		}
	}
	assert.Contains(t, at, *c.Power.Repeats)
	assert.Greater(t, *c.Power.Repeats, 5)
	assert.Subset(t, at, []int{3, 4, 5, 6, 8, 10})
	assert.IsIncreasing(t, at)
	assert.Contains(t, c.Repeats().String(), fmt.Sprintf("5: %.3f (planned)", c.Power.MDE.Value))
	sound(t, c)
}

// Chart and table of the section hold the same figures.
func TestRepeatsSection(t *testing.T) {
	s := exporttest.Lettered(lively...)
	s.Plan.Decision = []byte(within(0.16))
	c := calibration.Decide(seen(t, s), batchOf(s))
	page := c.Page()
	md, figures := document.Markdown(page), document.Figures(page)
	require.Len(t, figures, 1)
	_, section, ok := strings.Cut(md, "\n## More repeats, or fewer\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	assert.Contains(t, section, "]("+figures[0].Path()+")")
	for _, r := range c.Power.ByRepeats {
		name := fmt.Sprint(r.Repeats)
		assert.Contains(t, figures[0].SVG, ">"+name+"</text>")
		if r.Repeats == 5 {
			name += " (planned)"
		}
		assert.Contains(t, section, fmt.Sprintf("| %s | %.3f | %.3f–%.3f |", name, r.MDE.Value, *r.MDE.Low, *r.MDE.High))
	}
	assert.Contains(t, figures[0].SVG, fmt.Sprintf("as planned: 5 repeats, %.3f", c.Power.MDE.Value))
	assert.Contains(t, figures[0].SVG, "margin 0.160")
	for name, got := range map[string]string{"testdata/page.md": md, "testdata/repeats.svg": figures[0].SVG} {
		if *update {
			require.NoError(t, os.WriteFile(name, []byte(got), 0o666))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, "%s; look at it, then: go test ./export/calibration -update", name)
	}
}

// Without a margin there is no line, below 3 planned repeats no planned point, and
// without pairs no section.
func TestRepeatsWithoutAMargin(t *testing.T) {
	s := exporttest.Lettered(lively...)
	from := seen(t, s)
	p := batchOf(s)
	p.Repeats = 2
	page := calibration.Decide(from, p).Page()
	figures := document.Figures(page)
	require.Len(t, figures, 1)
	assert.NotContains(t, figures[0].SVG, "margin")
	assert.NotContains(t, figures[0].SVG, "planned:")
	assert.NotContains(t, document.Markdown(page), "the margin of")

	none := calibration.Decide(nil, batchOf(s))
	assert.Empty(t, document.Figures(none.Page()))
	assert.Nil(t, none.Repeats())
}
