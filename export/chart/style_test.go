package chart

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// luminance and contrast are those of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	require.Len(t, hex, 7)
	sum := 0.0
	for n, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(hex[1+2*n:3+2*n], 16, 8)
		require.NoError(t, err)
		s := float64(v) / 255
		if s <= 0.04045 {
			s /= 12.92
		} else {
			s = math.Pow((s+0.055)/1.055, 2.4)
		}
		sum += weight * s
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// looks are the two looks of a chart, by the names of the colours.
func looks() map[string]map[string]string {
	out := map[string]map[string]string{"light": {}, "dark": {}}
	for _, group := range [][]color{colors, ramp, series} {
		for _, c := range group {
			out["light"][c.name], out["dark"][c.name] = c.light, c.dark
		}
	}
	return out
}

func TestContrast(t *testing.T) {
	assert.InDelta(t, 21, contrast(t, "#000000", "#ffffff"), 1e-9)
	assert.InDelta(t, 4.48, contrast(t, "#777777", "#ffffff"), 0.01)
	for look, of := range looks() {
		for _, ground := range []string{"bg", "lane", "band"} {
			for _, text := range []string{"ink", "note"} {
				assert.GreaterOrEqual(t, contrast(t, of[text], of[ground]), 4.5, "%s: text %s on %s", look, text, ground)
			}
			for _, mark := range []string{"ink", "note", "good", "bad"} {
				assert.GreaterOrEqual(t, contrast(t, of[mark], of[ground]), 3.0, "%s: mark %s on %s", look, mark, ground)
			}
		}
		for _, s := range series {
			for _, ground := range []string{"bg", "lane"} { // bg is also what patterns are cut out with
				assert.GreaterOrEqual(t, contrast(t, of[s.name], of[ground]), 3.0, "%s: part %s on %s", look, s.name, ground)
			}
		}
		for level, c := range ramp {
			text := "ink"
			if figure(level).class == "r" {
				text = "bg"
			}
			assert.GreaterOrEqual(t, contrast(t, of[text], of[c.name]), 4.5, "%s: figure on step %d", look, level)
		}
	}
}

func TestRampReadsInGrey(t *testing.T) {
	of := looks()
	for n := 1; n < len(ramp); n++ {
		light, dark := luminance(t, of["light"][ramp[n-1].name])/luminance(t, of["light"][ramp[n].name]), luminance(t, of["dark"][ramp[n].name])/luminance(t, of["dark"][ramp[n-1].name])
		assert.Greater(t, light, 1.08, "light: step %d is darker than the one before", n)
		assert.Greater(t, dark, 1.08, "dark: step %d is brighter than the one before", n)
	}
}
