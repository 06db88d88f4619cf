package chart

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/exporttest/browser"
)

var pictures = flag.String("pictures", "", "folder in which to keep what the browser shows")

// seen is a chart as the browser laid it out, in CSS pixels of the page.
type seen struct {
	ID, Ground string
	Unit       float64 // CSS pixels to one unit of the drawing
	Frame      rectangle
	Texts      []struct {
		Text string
		Size float64
		rectangle
	}
}

type rectangle struct{ Left, Top, Right, Bottom float64 }

const look = `[...document.querySelectorAll("svg")].map(svg => {
	const box = e => { const r = e.getBoundingClientRect(); return {Left: r.left + scrollX, Top: r.top + scrollY, Right: r.right + scrollX, Bottom: r.bottom + scrollY} }
	return {
		ID: svg.querySelector("title").id, Ground: getComputedStyle(svg.querySelector(".bg")).fill,
		Unit: svg.getBoundingClientRect().width / svg.viewBox.baseVal.width, Frame: box(svg),
		Texts: [...svg.querySelectorAll("text")].map(e => ({Text: e.textContent, Size: parseFloat(getComputedStyle(e).fontSize), ...box(e)})),
	}
})`

const (
	lightGround = "rgb(255, 255, 255)"
	darkGround  = "rgb(21, 24, 29)"
)

// TestPage looks at all charts of a width inside one page.
func TestPage(t *testing.T) {
	b := browser.Start(t)
	for _, narrow := range []bool{false, true} {
		all := samples(narrow)
		var page strings.Builder
		page.WriteString("<!doctype html><meta charset=utf-8><title>charts</title><style>body{margin:16px}svg{display:block;margin-bottom:16px}</style>")
		for _, name := range slices.Sorted(maps.Keys(all)) {
			page.WriteString(all[name].SVG())
		}
		file := filepath.Join(t.TempDir(), "page.html")
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o666))
		for _, o := range []browser.Options{{Width: 390}, {Width: 390, Dark: true}, {Width: 1200}, {Width: 1200, Dark: true}, {Width: 1200, Dark: true, Print: true}} {
			t.Run(strings.Join([]string{"narrow=" + strconv.FormatBool(narrow), strconv.Itoa(o.Width), "dark=" + strconv.FormatBool(o.Dark), "print=" + strconv.FormatBool(o.Print)}, ","), func(t *testing.T) {
				b.Open(t, file, o)
				var charts []seen
				b.Eval(t, look, &charts)
				require.Len(t, charts, len(all))
				var wider bool
				b.Eval(t, `document.documentElement.scrollWidth > innerWidth`, &wider)
				assert.False(t, wider, "the page scrolls sideways")
				shot, err := png.Decode(bytes.NewReader(b.Screenshot(t, keep(t))))
				require.NoError(t, err)
				for _, c := range charts {
					ground := lightGround
					if o.Dark && !o.Print {
						ground = darkGround
					}
					assert.Equal(t, ground, c.Ground, c.ID)
					c.check(t, shot)
					if narrow || o.Width > 640 {
						for _, text := range c.Texts {
							assert.GreaterOrEqual(t, text.Size*c.Unit, 12.9, "%s: %s", c.ID, text.Text)
						}
					}
				}
			})
		}
	}
}

// TestFiles looks at every chart as a file of its own.
func TestFiles(t *testing.T) {
	b := browser.Start(t)
	all := samples(false)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file := filepath.Join(t.TempDir(), name+".svg")
		require.NoError(t, os.WriteFile(file, []byte(all[name].SVG()), 0o666))
		b.Open(t, file, browser.Options{Width: 700})
		var c seen
		b.Eval(t, `[document.documentElement].map(svg => ({ID: "`+name+`", Frame: {Right: svg.getBoundingClientRect().width, Bottom: svg.getBoundingClientRect().height}, Unit: svg.viewBox.baseVal.height}))[0]`, &c)
		assert.Equal(t, 640.0, c.Frame.Right, name)
		assert.InDelta(t, c.Unit, c.Frame.Bottom, 0.1, "%s: as high as drawn", name)
	}
}

func keep(t *testing.T) string {
	if *pictures == "" {
		return ""
	}
	return filepath.Join(*pictures, strings.NewReplacer("/", "_", "=", "-", ",", "_").Replace(t.Name())+".png")
}

// check says whether all text is inside the chart, none covers another, and
// something is drawn.
func (c seen) check(t *testing.T, shot image.Image) {
	t.Helper()
	const slack = 0.5
	require.NotEmpty(t, c.Texts, c.ID)
	for n, text := range c.Texts {
		inside := text.Left >= c.Frame.Left-slack && text.Right <= c.Frame.Right+slack && text.Top >= c.Frame.Top-slack && text.Bottom <= c.Frame.Bottom+slack
		assert.True(t, inside, "%s: %q is at %v, the chart at %v", c.ID, text.Text, text.rectangle, c.Frame)
		for _, other := range c.Texts[:n] {
			apart := text.Left >= other.Right-slack || other.Left >= text.Right-slack || text.Top >= other.Bottom-slack || other.Top >= text.Bottom-slack
			assert.True(t, apart, "%s: %q covers %q", c.ID, text.Text, other.Text)
		}
	}
	r := image.Rect(int(c.Frame.Left)+8, int(c.Frame.Top)+8, int(c.Frame.Right)-8, int(c.Frame.Bottom)-8).Intersect(shot.Bounds())
	ground, drawn := shot.At(r.Min.X, r.Min.Y), 0
	for y := r.Min.Y; y < r.Max.Y; y += 3 {
		for x := r.Min.X; x < r.Max.X; x += 2 {
			if shot.At(x, y) != ground {
				drawn++
			}
		}
	}
	assert.Greater(t, drawn, r.Dx()*r.Dy()/6/50, "%s is blank", c.ID)
}

// TestWidthIsOnTheSafeSide compares the estimate with what the browser draws.
func TestWidthIsOnTheSafeSide(t *testing.T) {
	words := []string{"opencode+qwen-27b", "WAMMW", "iiiiillll", "±0.02 · “naïve” → ¿Ærøskøbing?", "ΑΩ Жюри", longLabel, wideLabel, hebrewLabel, arabicLabel,
		"한국어 라벨", "ไทย", "हिन्दी", "e\u0301\u0302\u0303", "ﷺ ﷽", "👩🏽 🏳 ✓ ✗", "ǅ ﬃ ㎞", "𒐫𒈙", "\u202e\u200b"}
	var page strings.Builder
	page.WriteString(`<!doctype html><meta charset=utf-8>`)
	c := &canvas{w: 2000}
	for n, s := range words {
		for i, f := range []font{titleFont, labelFont, plainFont} {
			c.text(f, 10, float64(20+60*n+20*i), start, s)
		}
	}
	c.y = 2000
	page.WriteString(Head{}.finish(c))
	file := filepath.Join(t.TempDir(), "words.html")
	require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o666))
	b := browser.Start(t)
	b.Open(t, file, browser.Options{Width: 2100})
	var drawn []float64
	b.Eval(t, `[...document.querySelectorAll("text")].map(e => e.getComputedTextLength())`, &drawn)
	require.Len(t, drawn, 3*len(words))
	for n, s := range words {
		for i, f := range []font{titleFont, labelFont, plainFont} {
			assert.LessOrEqual(t, drawn[3*n+i], width(s, f)*1.01+0.5, "%q in %s", s, f.class)
		}
	}
}
