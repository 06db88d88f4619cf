package chart

import (
	"fmt"
	"math"
)

// drawing is what every chart is.
type drawing interface{ SVG() string }

func head(name, title string, narrow bool) Head {
	return Head{Name: name, Title: title, Description: "A picture for a test: " + title, Narrow: narrow}
}

// samples are small charts with what is hard to draw: missing figures, equal ones,
// long, wide and right-to-left labels.
func samples(narrow bool) map[string]drawing {
	return map[string]drawing{
		"intervals": sampleIntervals(narrow),
		"scatter":   sampleScatter(narrow),
		"crowd":     sampleCrowd(narrow),
		"dots":      sampleDots(narrow),
		"heat":      sampleHeat(narrow),
		"panel":     samplePanel(narrow, 500, 12),
		"bars":      sampleBars(narrow),
		"spend":     sampleSpend(narrow),
		"curve":     sampleCurve(narrow),
	}
}

const (
	longLabel   = "claude-code-with-a-rather-long-name+openrouter/some-vendor/some-model-70b-instruct-2026-08-15"
	wideLabel   = "代理人甲+模型乙 🚀"
	hebrewLabel = "סוכן+מודל (v2)"
	arabicLabel = "وكيل ١+نموذج"
)

func sampleIntervals(narrow bool) Intervals {
	return Intervals{
		Head: head("intervals", "Five of six share the first group; claude-code+qwen is worse", narrow),
		Rows: []IntervalRow{
			{"codex+gemma-31b", new(0.061), new(0.034), new(0.088), Beats, "beats the reference"},
			{longLabel, new(0.028), new(0.004), new(0.051), Ahead, "ahead on this list"},
			{wideLabel, new(0.003), new(-0.011), new(0.016), Equal, "equal within the margin"},
			{hebrewLabel, new(-0.006), new(-0.03), new(0.019), Tied, "tied (within noise)"},
			{"aider+qwen-27b", new(0.02), new(-0.05), new(0.091), CannotTell, "cannot tell: measured apart, and a difference of the margin's size could have stayed unseen"},
			{"claude-code+qwen-27b", new(-0.072), new(-0.098), new(-0.045), Beats, "beaten by the reference"},
			{"aider+local-9b", new(-0.03), nil, nil, CannotTell, "cannot tell: one repeat"},
			{"opencode+local-9b", nil, nil, nil, CannotTell, "cannot tell"},
		},
		Axis: "difference in mean score, with its simultaneous 95 % interval", Reference: "same as opencode+qwen-27b", Margin: new(0.02),
		Worse: "worse than the reference", Better: "better",
	}
}

func sampleScatter(narrow bool) Scatter {
	return Scatter{
		Head: head("scatter", "Score against cost", narrow),
		Points: []Point{
			{Label: "opencode+qwen-27b", Cost: new(0.0123), Score: new(0.71), ScoreLow: new(0.68), ScoreHigh: new(0.74), CostLow: new(0.011), CostHigh: new(0.0137), Reference: true},
			{Label: "codex+gemma-31b", Cost: new(0.031), Score: new(0.77), ScoreLow: new(0.74), ScoreHigh: new(0.79)},
			{Label: wideLabel, Cost: new(0.0121), Score: new(0.712), ScoreLow: new(0.69), ScoreHigh: new(0.73)},
			{Label: hebrewLabel, Cost: new(0.012), Score: new(0.704)},
			{Label: "aider+qwen-27b", Cost: new(0.004), Score: new(0.73)},
			{Label: "claude-code+gemma-31b", Cost: new(0.9), Score: new(0.79), ScoreLow: new(0.76), ScoreHigh: new(0.81)},
			{Label: "aider+local-9b", Score: new(0.42)},
			{Label: longLabel, Score: new(0.51)},
			{Label: "opencode+broken", Cost: new(0.2)},
		},
		XAxis: "USD per task", YAxis: "mean score", Corner: "better and cheaper",
	}
}

func sampleCrowd(narrow bool) Scatter {
	s := Scatter{Head: head("crowd", "Many variants", narrow), XAxis: "USD per task", YAxis: "mean score", Corner: "better and cheaper"}
	for n := range 24 {
		s.Points = append(s.Points, Point{
			Label: fmt.Sprintf("agent-%d+model-%d", n%6, n/6), Reference: n == 4,
			Cost: new(0.01 + 0.002*float64(n%5)), Score: new(0.6 + 0.01*float64(n*7%11)),
		})
	}
	return s
}

func sampleDots(narrow bool) Dots {
	return Dots{
		Head: head("dots", "Every run: mean score of a run", narrow),
		Rows: []DotRow{
			{Label: "opencode+qwen-27b", Runs: []float64{0.71, 0.69, 0.72, 0.705, 0.712}, Mean: new(0.7074), Low: new(0.695), High: new(0.72)},
			{Label: longLabel, Runs: []float64{0.75, 0.75, 0.75, 0.75, 0.75}, Mean: new(0.75), Low: new(0.75), High: new(0.75), Note: "all runs alike"},
			{Label: arabicLabel, Runs: []float64{0.62, 0.81, 0.66, 0.79}, Mean: new(0.72), Low: new(0.61), High: new(0.83), Note: "runs are unstable"},
			{Label: "aider+local-9b", Runs: []float64{0.58}, Mean: new(0.58)},
			{Label: "opencode+broken"},
		},
		Axis: "mean score of a run over all tasks",
	}
}

func sampleHeat(narrow bool) Heat {
	h := samplePanel(narrow, 14, 6)
	h.Name, h.Title = "heat", "Mean score of every task"
	h.Columns = []string{"opencode+qwen-27b", "codex+gemma-31b", wideLabel, hebrewLabel, longLabel, "aider+local-9b"}
	h.Rows[2].Label, h.Rows[3].Label, h.Rows[4].Label = longLabel, arabicLabel, wideLabel
	return h
}

// samplePanel is a panel of tasks of which some are easy, some hard and some tell
// variants apart.
func samplePanel(narrow bool, tasks, variants int) Heat {
	h := Heat{Head: head("panel", fmt.Sprintf("Mean score of %d tasks under %d variants", tasks, variants), narrow), Value: "mean score", Marked: "tells variants apart"}
	for v := range variants {
		h.Columns = append(h.Columns, fmt.Sprintf("agent-%d+model-%d", v%4, v/4))
	}
	for i := range tasks {
		row := HeatRow{Label: fmt.Sprintf("T-%04d", i+1), Marked: i%5 == 2}
		for v := range variants {
			score := 0.5 + 0.5*math.Sin(float64(i)*1.3)
			if row.Marked {
				score = float64(v) / float64(max(1, variants-1))
			}
			value := new(score)
			if (i*7+v*3)%23 == 0 {
				value = nil
			}
			row.Values = append(row.Values, value)
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

func sampleBars(narrow bool) Bars {
	return Bars{
		Head:  head("bars", "Attempts by outcome", narrow),
		Parts: []string{"scored", "agent failed", "timeout", "provider", "tool", "harness", "judge", "budget", "not started"},
		Rows: []BarRow{
			{Label: "opencode+qwen-27b", Values: []*float64{new(940.0), new(30.0), new(22.0), new(5.0), new(0.0), new(2.0), new(1.0), new(0.0), new(0.0)}},
			{Label: longLabel, Values: []*float64{new(610.0), new(90.0), new(120.0), new(70.0), new(50.0), new(40.0), new(30.0), new(20.0), new(60.0)}},
			{Label: hebrewLabel, Values: []*float64{new(800.0), new(150.0), nil, new(50.0), nil, new(0.0), new(0.0), new(0.0), new(0.0)}, Note: "timeouts were not recorded"},
			{Label: "opencode+broken"},
		},
		Axis: "attempts",
	}
}

func sampleSpend(narrow bool) Bars {
	return Bars{
		Head:  head("spend", "What it cost", narrow),
		Parts: []string{"paid today", "reused", "judges"},
		Rows: []BarRow{
			{Label: "opencode+qwen-27b", Values: []*float64{new(4.2), new(1.11), new(0.35)}},
			{Label: "codex+gemma-31b", Values: []*float64{new(9.75), new(0.0), new(0.4)}},
			{Label: "aider+local-9b", Values: []*float64{nil, nil, new(0.38)}},
		},
		Axis: "USD", Prefix: "$",
	}
}

func sampleCurve(narrow bool) Curve {
	v := Curve{
		Head:  head("curve", "A smaller difference shows with more repeats", narrow),
		XAxis: "repeats of each variant", YAxis: "detectable difference", Legend: "median pair, with its interval",
		Marked: "as planned: 5 repeats, 0.085", Level: new(0.05), At: "margin 0.050",
	}
	for _, k := range []int{3, 4, 5, 6, 8, 10, 15, 20} {
		mde := 0.19 / math.Sqrt(float64(k))
		v.Points = append(v.Points, CurvePoint{X: k, Value: new(mde), Low: new(mde * 0.8), High: new(mde * 1.5), Marked: k == 5})
	}
	v.Points[7].Low, v.Points[7].High = nil, nil
	return v
}
