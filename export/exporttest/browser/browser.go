// Package browser opens pages in a real Chromium, for tests of pages and charts.
//
// Start it once per test; then Open a file or address as somebody would see it
// (width, dark, printed), ask it with Eval, and keep a picture with Screenshot.
// It reaches loopback and files alone. Every failure ends the test; a missing
// browser too, naming the target that installs one.
package browser

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Variable names the program to use instead of the one on PATH.
const Variable = "BENCHBATCH_CHROMIUM"

// names are looked for on PATH, in this order.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// patience is how long one step may take; far more than a busy machine needs.
const patience = 2 * time.Minute

// Browser is a headless browser with one tab.
type Browser struct {
	ctx context.Context
}

// Options say how a page is looked at.
type Options struct {
	Width, Height int  // of the window in CSS pixels; 0 means 1200 and 800
	Dark          bool // the reader prefers dark
	Print         bool // the rules for paper apply
}

// Start starts a browser that ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t)),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("hide-scrollbars", true),
	)
	if os.Geteuid() == 0 {
		flags = append(flags, chromedp.NoSandbox) // Chromium refuses root otherwise
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the end of the process; it may be gone already
		closeTab()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return &Browser{ctx}
}

func program(t testing.TB) string {
	t.Helper()
	if named := os.Getenv(Variable); named != "" {
		found, err := exec.LookPath(named)
		if err != nil {
			t.Fatalf("%s=%s: %v; name a Chromium, or unset it and run: make browser", Variable, named, err)
			return ""
		}
		return found
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Fatalf("none of %s is on PATH: install one with: make browser, or name one with %s", strings.Join(names, ", "), Variable)
	return ""
}

// Open loads a page, by the path of a file or by its address, and waits until it
// is laid out.
func (b *Browser) Open(t testing.TB, page string, o Options) {
	t.Helper()
	if page != "about:blank" && !strings.Contains(page, "://") {
		path, err := filepath.Abs(page)
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		page = (&url.URL{Scheme: "file", Path: path}).String()
	}
	media, scheme := "screen", "light"
	if o.Print {
		media = "print"
	}
	if o.Dark {
		scheme = "dark"
	}
	_ = run(t, b, "open "+page, chromedp.Steps(
		chromedp.EmulateViewport(int64(or(o.Width, 1200)), int64(or(o.Height, 800))),
		chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			return err
		}),
		chromedp.Navigate(page),
	))
}

// Eval evaluates a JavaScript expression in the page and decodes its value, as
// JSON, into what out points to.
func (b *Browser) Eval(t testing.TB, js string, out any) {
	t.Helper()
	value := run(t, b, "evaluate "+js, chromedp.Evaluate[string]("JSON.stringify("+js+")"))
	if err := json.Unmarshal([]byte(value), out); err != nil {
		t.Fatalf("%s is %s: %v", js, value, err)
	}
}

// Screenshot writes a PNG of the whole page to path, or returns it only when path
// is empty.
func (b *Browser) Screenshot(t testing.TB, path string) []byte {
	t.Helper()
	png := run(t, b, "screenshot", chromedp.FullScreenshot(100))
	if path == "" {
		return png
	}
	if err := os.WriteFile(path, png, 0o666); err != nil {
		t.Fatal(err)
	}
	return png
}

// PDF prints the page on the paper that its style asks for.
func (b *Browser) PDF(t testing.TB) []byte {
	t.Helper()
	yes := true
	return run(t, b, "print", chromedp.Action[[]byte](func(ctx context.Context, tab *chromedp.Target) ([]byte, error) {
		printed, err := cdp.Call(ctx, tab, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
		return printed.Data, err
	}))
}

// Window writes a PNG of what the window shows to path. Unlike Screenshot it never changes the window, to which some pages answer by starting anew.
func (b *Browser) Window(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, run(t, b, "screenshot", chromedp.CaptureScreenshot()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func run[T any](t testing.TB, b *Browser, what string, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return value
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
