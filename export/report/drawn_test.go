package report

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/exporttest"
)

var (
	drawnText = regexp.MustCompile(`<text class="([a-z ]+)"[^>]*>([^<]*)`)
	figure    = regexp.MustCompile(`[+−-]?\d+(?:\.\d+)?`)
)

func TestDump(t *testing.T) {
	md, _, charts := folder(t, exporttest.Plausible(), nil)
	_ = md
	for name, svg := range charts {
		for _, m := range drawnText.FindAllStringSubmatch(svg, -1) {
			if figure.MatchString(m[2]) {
				t.Log(name, m[1], html.UnescapeString(m[2]))
			}
		}
	}
	require.NotEmpty(t, charts)
	assert.NotEmpty(t, strings.Fields(md))
}
