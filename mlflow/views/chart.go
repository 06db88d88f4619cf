package views

import "fmt"

// Chart is one chart of a view: see [Bar], [Scatter] and [Parallel].
type Chart struct {
	kind            string
	x, y            string   // metrics; of a bar chart y alone
	params, metrics []string // of a parallel chart
}

// Bar is a bar for each run, or group of runs, as long as its metric.
func Bar(metric string) Chart { return Chart{kind: "BAR", y: metric} }

// Scatter is a point for each run, or group of runs, by two metrics.
func Scatter(x, y string) Chart { return Chart{kind: "SCATTER", x: x, y: y} }

// Parallel is a line for each run through its parameters and metrics. MLflow leaves it out where runs are grouped.
func Parallel(params, metrics []string) Chart {
	return Chart{kind: "PARALLEL", params: params, metrics: metrics}
}

// mostRuns is how many runs a bar chart shows.
const mostRuns = 50

const sectionID = "s1"

// chartSection is a foldable part of the chart page.
type chartSection struct {
	ID        string `json:"uuid"`
	Name      string `json:"name"`
	Display   bool   `json:"display"`
	Reordered bool   `json:"isReordered"`
}

// card is the chart as MLflow keeps it.
func (c Chart) card(n int) map[string]any {
	out := map[string]any{"uuid": fmt.Sprintf("c%d", n+1), "type": c.kind, "metricSectionId": sectionID, "deleted": false, "isGenerated": false}
	switch c.kind {
	case "BAR":
		out["runsCountToCompare"], out["metricKey"], out["dataAccessKey"] = mostRuns, c.y, c.y
	case "SCATTER":
		out["runsCountToCompare"] = mostRuns
		out["xaxis"], out["yaxis"] = axis(c.x), axis(c.y)
	case "PARALLEL":
		out["selectedParams"], out["selectedMetrics"], out["showAllRuns"] = c.params, c.metrics, false
	}
	return out
}

func axis(metric string) map[string]any {
	return map[string]any{"key": metric, "type": "METRIC", "dataAccessKey": metric}
}
