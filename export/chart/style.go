package chart

import (
	"fmt"
	"strings"
)

// color is what one thing looks like in light, which is also paper, and in dark.
type color struct{ name, light, dark string }

// colors are the custom properties of a chart. Text has a contrast of at least
// 4.5 to 1, marks of 3 to 1, on bg, lane and band; a test computes it.
var colors = []color{
	{"bg", "#ffffff", "#15181d"},
	{"lane", "#f3f5f8", "#20252c"}, // behind a row's marks
	{"band", "#dfe7f1", "#2c3a4b"}, // the margin, the corner one wants
	{"ink", "#1a1e24", "#e9ecf0"},  // text
	{"note", "#4c5561", "#b3bcc8"}, // text of less weight, axes, marks without a claim
	{"grid", "#cdd4dc", "#3b434d"}, // decoration
	{"good", "#0a57a4", "#74b6f7"}, // a claim to the better
	{"bad", "#a33c00", "#f5a662"},  // a claim to the worse
}

// ramp are the colours of values from 0 to 1: brightness falls, or in dark rises,
// from step to step.
var ramp = []color{
	{"v0", "#fbefd9", "#2a2319"}, {"v1", "#f1ddbb", "#352b1b"}, {"v2", "#dfcba4", "#403520"},
	{"v3", "#bebb9c", "#45442d"}, {"v4", "#98ab99", "#455743"}, {"v5", "#709595", "#456d61"},
	{"v6", "#4d7787", "#518d94"}, {"v7", "#386582", "#66a2b8"}, {"v8", "#27557a", "#87b5d4"},
	{"v9", "#184473", "#abc9e8"}, {"v10", "#0c3366", "#d4e1f2"},
}

// series are the colours of parts of a whole; each has its pattern, too.
var series = []color{
	{"s0", "#0a57a4", "#74b6f7"}, {"s1", "#a85a00", "#eda64a"}, {"s2", "#0b7a5c", "#4cc7a0"}, {"s3", "#a3306f", "#ee8bc0"},
	{"s4", "#6b53b8", "#b5a2f5"}, {"s5", "#8a1f1f", "#f08c83"}, {"s6", "#4c5561", "#b3bcc8"}, {"s7", "#6b6a12", "#c9c64f"},
}

const fonts = `system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif`

var css = style()

func style() string {
	var b, dark strings.Builder
	b.WriteString("\n.bbc{")
	for _, group := range [][]color{colors, ramp, series} {
		for _, c := range group {
			fmt.Fprintf(&b, "--bbc-%s:%s;", c.name, c.light)
			fmt.Fprintf(&dark, "--bbc-%s:%s;", c.name, c.dark)
		}
	}
	b.WriteString("}\n@media screen and (prefers-color-scheme:dark){.bbc{" + dark.String() + "}}\n")
	b.WriteString(".bbc text{font-family:" + fonts + ";font-variant-numeric:tabular-nums;direction:ltr;unicode-bidi:isolate;fill:var(--bbc-ink)}\n")
	for _, f := range []font{titleFont, labelFont, plainFont, noteFont} {
		weight := 400
		if f.bold {
			weight = 600
		}
		fmt.Fprintf(&b, ".bbc .%s{font-size:%spx;font-weight:%d}\n", f.class, num(f.size), weight)
	}
	b.WriteString(rules)
	for _, c := range ramp {
		fmt.Fprintf(&b, ".bbc .%s{fill:var(--bbc-%[1]s)}\n", c.name)
	}
	for _, c := range series {
		fmt.Fprintf(&b, ".bbc .%s{fill:var(--bbc-%[1]s);stroke:none}\n", c.name)
	}
	return b.String()
}

// rules: g is a line, f a filled and o a hollow sign.
const rules = `.bbc .halo{paint-order:stroke;stroke:var(--bbc-lane);stroke-width:4px;stroke-linejoin:round}
.bbc .r{font-size:13px;fill:var(--bbc-bg)}
.bbc .n{fill:var(--bbc-note)}
.bbc .bg{fill:var(--bbc-bg)}
.bbc .lane{fill:var(--bbc-lane)}
.bbc .band{fill:var(--bbc-band)}
.bbc .grid{stroke:var(--bbc-grid);fill:none}
.bbc .edge{stroke:var(--bbc-note);fill:none;stroke-dasharray:2 3}
.bbc .axis{stroke:var(--bbc-note);fill:none}
.bbc .zero{stroke:var(--bbc-ink);stroke-width:1.5;fill:none}
.bbc .cut{stroke:var(--bbc-bg);stroke-width:1.6;fill:none}
.bbc .thin{stroke:var(--bbc-note);stroke-width:1.2;fill:none}
.bbc .leader{stroke:var(--bbc-note);stroke-width:1;fill:none}
.bbc .gn{stroke:var(--bbc-note);stroke-width:2;fill:none}
.bbc .gd{stroke:var(--bbc-note);stroke-width:2;fill:none;stroke-dasharray:4 3}
.bbc .gg{stroke:var(--bbc-good);stroke-width:2.5;fill:none}
.bbc .gb{stroke:var(--bbc-bad);stroke-width:2.5;fill:none}
.bbc .fn{fill:var(--bbc-note);stroke:var(--bbc-note);stroke-width:2}
.bbc .fi{fill:var(--bbc-ink)}
.bbc .fg{fill:var(--bbc-good);stroke:var(--bbc-good);stroke-width:2}
.bbc .fb{fill:var(--bbc-bad);stroke:var(--bbc-bad);stroke-width:2}
.bbc .on{fill:var(--bbc-bg);stroke:var(--bbc-note);stroke-width:2}
.bbc .og{fill:var(--bbc-bg);stroke:var(--bbc-good);stroke-width:2}
`
