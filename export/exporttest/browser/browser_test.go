package browser

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageIsSeenAsAsked(t *testing.T) {
	page := filepath.Join(t.TempDir(), "a page.html")
	require.NoError(t, os.WriteFile(page, []byte(`<!doctype html><title>t</title>
<style>body{margin:0;height:3000px;background:#fff}@media screen and (prefers-color-scheme: dark){body{background:#000}}</style>`), 0o666))
	b := Start(t)
	for _, tt := range []struct {
		options Options
		dark    bool
	}{
		{Options{Width: 390}, false},
		{Options{Width: 390, Dark: true}, true},
		{Options{Width: 1200, Dark: true, Print: true}, false},
	} {
		b.Open(t, page, tt.options)
		var seen struct {
			Width int
			Color string
		}
		b.Eval(t, `({Width: innerWidth, Color: getComputedStyle(document.body).backgroundColor})`, &seen)
		assert.Equal(t, tt.options.Width, seen.Width)
		assert.Equal(t, map[bool]string{true: "rgb(0, 0, 0)", false: "rgb(255, 255, 255)"}[tt.dark], seen.Color)

		picture, err := png.Decode(bytes.NewReader(b.Screenshot(t, "")))
		require.NoError(t, err)
		assert.Equal(t, 3000, picture.Bounds().Dy(), "the whole page, not the window")
		red, _, _, _ := picture.At(5, 2500).RGBA()
		assert.Equal(t, map[bool]uint32{true: 0, false: 0xffff}[tt.dark], red)
	}
}

// failing remembers why a test would have ended.
type failing struct {
	testing.TB
	why string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.why = fmt.Sprintf(format, args...) }

func TestMissingBrowserSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, named := range []string{"", "no-such-browser"} {
		t.Setenv(Variable, named)
		f := &failing{TB: t}
		assert.Empty(t, program(f))
		assert.Contains(t, f.why, "make browser")
		assert.Contains(t, f.why, Variable)
	}
}
