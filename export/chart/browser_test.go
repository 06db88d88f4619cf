package chart

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/exporttest/browser"
)

var pictures = flag.String("pictures", "", "folder in which to keep what the browser shows")

func TestPictures(t *testing.T) {
	b := browser.Start(t)
	dir := *pictures
	if dir == "" {
		dir = t.TempDir()
	}
	for _, narrow := range []bool{false, true} {
		all := samples(narrow)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			file := filepath.Join(dir, fmt.Sprintf("%s-%t.html", name, narrow))
			require.NoError(t, os.WriteFile(file, []byte("<!doctype html><meta charset=utf-8><style>body{margin:16px;background:#fff}</style>"+all[name].SVG()), 0o666))
			for _, dark := range []bool{false, true} {
				w := 700
				if narrow {
					w = 390
				}
				b.Open(t, file, browser.Options{Width: w, Dark: dark})
				b.Screenshot(t, filepath.Join(dir, fmt.Sprintf("%s-%t-%t.png", name, narrow, dark)))
			}
		}
	}
}
