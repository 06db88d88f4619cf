package report

import (
	"bytes"
	"compress/zlib"
	"context"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/calibration"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/exporttest/browser"
	"github.com/benchbatch/benchbatch/export/tables"
)

var shots = flag.String("shots", "", "folder in which the browser test leaves its pictures")

// pages are batches to be looked at, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	draft := exporttest.Plausible()
	draft.Plan.Draft = true
	empty := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 2, Seed: 1})
	empty.AddSlot(0, 1, "skipped", "the model does not answer")
	out := map[string]string{}
	for name, s := range map[string]*exporttest.Synthetic{"plausible": draft, "mixed": exporttest.Mixed(), "empty": empty} {
		dir, err := export.Write(context.Background(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{Output{}}})
		require.NoError(t, err)
		out[name] = filepath.Join(dir, "report.html")
	}
	out["calibration"] = filepath.Join(t.TempDir(), "calibration.html")
	require.NoError(t, os.WriteFile(out["calibration"], []byte(document.HTML(calibrated(t).Page())), 0o666))
	return out
}

// calibrated is a calibration with everything that its page can show.
func calibrated(t *testing.T) *calibration.Calibration {
	s := exporttest.Mixed()
	dir, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{tables.Output{}}})
	require.NoError(t, err)
	f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
	require.NoError(t, err)
	from := &calibration.Collector{}
	_, _, err = f.Render(t.Context(), "", []export.Output{from})
	require.NoError(t, err)
	p := calibration.Planned{Version: "v1", Tasks: 60, Units: 60, Repeats: 5}
	for _, c := range s.Plan.Cells {
		p.Variants = append(p.Variants, calibration.Rest{Variant: c.Variant.String(), Missing: 5})
	}
	return calibration.Decide(from, p)
}

// seenPage is what a page tells of itself.
type seenPage struct {
	Overflow []string // what reaches over the page's right edge
	Faint    []string // texts of too little contrast
	Headings []int
	Bad      []string // tables, charts and links that lack something
	Charts   []struct{ X, Y, W, H float64 }
	Closed   int // details whose content is not shown
}

const inspect = `(() => {
	const out = {Overflow: [], Faint: [], Headings: [], Bad: [], Charts: [], Closed: 0};
	if (document.documentElement.scrollWidth > innerWidth) {
		for (const e of document.body.querySelectorAll('*')) {
			if (!e.closest('.scroll, svg') && e.getBoundingClientRect().right > innerWidth + 1) out.Overflow.push(e.outerHTML.slice(0, 120));
		}
		out.Overflow.push('the page is ' + document.documentElement.scrollWidth + ' wide');
	}
	const rgb = s => { const m = s.match(/[\d.]+/g); return m && s.startsWith('rgb') ? m.map(Number) : null };
	const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
	const paper = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c && (c.length < 4 || c[3] > 0)) return c.slice(0, 3) } return [255, 255, 255] };
	const behind = t => { // what is drawn below the middle of a text of a chart
		t.scrollIntoView({block: 'center'});
		const box = t.getBoundingClientRect();
		for (const s of document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2)) {
			if (!t.ownerSVGElement.contains(s) || s.closest('text, line, circle') || s === t.ownerSVGElement) continue;
			const style = getComputedStyle(s), c = rgb(style.fill) || s.closest('[shape-rendering]') && rgb(style.stroke); // cells are drawn as strokes
			if (c) return c.slice(0, 3);
		}
		return paper(t.ownerSVGElement.parentElement);
	};
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement;
		if (!n.data.trim() || !e.checkVisibility() || e.closest('style, title, desc, .watermark')) continue;
		const svg = e.closest('svg'), s = getComputedStyle(e), c = rgb(svg ? s.fill : s.color);
		const k = c ? contrast(c.slice(0, 3), svg ? behind(e.closest('text')) : paper(e)) : 0;
		if (k < 4.5) out.Faint.push(k.toFixed(2) + ' ' + n.data.trim().slice(0, 60));
	}
	out.Headings = [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1]);
	for (const th of document.querySelectorAll('th')) if (!['col', 'row'].includes(th.scope)) out.Bad.push('a th without scope: ' + th.textContent);
	for (const t of document.querySelectorAll('table')) if (!t.caption) out.Bad.push('a table without caption');
	const ids = new Set();
	for (const e of document.querySelectorAll('[id]')) { if (ids.has(e.id)) out.Bad.push('twice: ' + e.id); ids.add(e.id) }
	for (const a of document.querySelectorAll('a[href^="#"]')) if (!ids.has(a.getAttribute('href').slice(1))) out.Bad.push('leads nowhere: ' + a.outerHTML);
	for (const s of document.querySelectorAll('svg')) {
		const label = s.getAttribute('aria-labelledby'), title = label && document.getElementById(label);
		if (s.getAttribute('role') !== 'img' || !title || !title.textContent.trim()) out.Bad.push('a chart without name');
		const b = s.getBoundingClientRect();
		if (s.checkVisibility()) out.Charts.push({X: b.x + scrollX, Y: b.y + scrollY, W: b.width, H: b.height});
	}
	for (const d of document.querySelectorAll('main details > :not(summary)')) if (d.getBoundingClientRect().height === 0) out.Closed++;
	return out;
})()`

// The page is looked at in a real browser: wide and narrow, light and dark.
func TestPageInBrowser(t *testing.T) {
	b := browser.Start(t)
	ways := map[string][]browser.Options{
		"plausible":   {{Width: 1280}, {Width: 1280, Dark: true}, {Width: 390}, {Width: 390, Dark: true}, {Width: 695, Print: true}},
		"mixed":       {{Width: 390}, {Width: 1280, Dark: true}},
		"empty":       {{Width: 390, Dark: true}, {Width: 695, Print: true}},
		"calibration": {{Width: 1280}, {Width: 390, Dark: true}, {Width: 695, Print: true}},
	}
	for name, page := range pages(t) {
		require.NotEmpty(t, ways[name], name)
		for _, o := range ways[name] {
			at := fmt.Sprintf("%s-%d-%t-%t", name, o.Width, o.Dark, o.Print)
			b.Open(t, page, o)
			var p seenPage
			b.Eval(t, inspect, &p)
			assert.Empty(t, p.Overflow, at)
			assert.Empty(t, p.Faint, at)
			assert.Empty(t, p.Bad, at)
			checkHeadings(t, p.Headings, at)
			if o.Print {
				assert.Zero(t, p.Closed, "%s: details stay closed in print", at)
			}
			picture := b.Screenshot(t, "")
			keep(t, at+".png", picture)
			decoded, err := png.Decode(bytes.NewReader(picture))
			require.NoError(t, err)
			if name != "empty" {
				assert.NotEmpty(t, p.Charts, at)
			}
			for i, c := range p.Charts {
				assert.Greater(t, colours(decoded, image.Rect(int(c.X), int(c.Y), int(c.X+c.W), int(c.Y+c.H))), 5, "%s: chart %d is blank", at, i)
			}
		}
	}
}

func checkHeadings(t *testing.T, levels []int, at string) {
	t.Helper()
	require.NotEmpty(t, levels, at)
	assert.Equal(t, 1, levels[0], at)
	for i := 1; i < len(levels); i++ {
		assert.Greater(t, levels[i], 1, at)
		assert.LessOrEqual(t, levels[i], levels[i-1]+1, "%s: heading %d skips a level", at, i)
	}
}

func colours(m image.Image, r image.Rectangle) int {
	seen := map[[3]uint32]bool{}
	r = r.Intersect(m.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			red, green, blue, _ := m.At(x, y).RGBA()
			seen[[3]uint32{red, green, blue}] = true
		}
	}
	return len(seen)
}

func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if *shots != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*shots, name), data, 0o666))
	}
}

var (
	pageObject = regexp.MustCompile(`(?s)/Type /Page\b[^s].*?/Contents (\d+) 0 R`)
	markColour = []byte("\n.6275 .0627 .0627 RG")
)

// Printed, the page has no empty sheet, and its marks stand on every one.
func TestPrinted(t *testing.T) {
	b := browser.Start(t)
	b.Open(t, pages(t)["plausible"], browser.Options{Print: true})
	pdf := b.PDF(t)
	keep(t, "plausible.pdf", pdf)
	found := pageObject.FindAllSubmatch(pdf, -1)
	require.Greater(t, len(found), 3)
	for i, m := range found {
		sheet := stream(t, pdf, string(m[1]))
		assert.GreaterOrEqual(t, bytes.Count(sheet, []byte("Tj")), 5, "sheet %d of %d is empty", i+1, len(found))
		assert.True(t, bytes.Contains(sheet, markColour), "sheet %d of %d bears no mark", i+1, len(found))
	}
}

// stream is the content of an object of a PDF.
func stream(t *testing.T, pdf []byte, object string) []byte {
	t.Helper()
	m := regexp.MustCompile(`(?s)\n` + object + ` 0 obj\n<<.*?>>\s*stream\n`).FindIndex(pdf)
	require.NotNil(t, m, "object %s", object)
	r, err := zlib.NewReader(bytes.NewReader(pdf[m[1]:]))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return text
}
