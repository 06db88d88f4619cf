package views

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// Prefix of the tag that holds a view; its id follows.
const Prefix = "mlflow.sharedViewState."

// View is a named view of an experiment's runs.
type View struct {
	ID         string   // in links: letters, digits, dot, dash and underscore; it decides what a later Set overwrites
	Name       string   // in the menu
	Filter     string   // which runs, in MLflow's filter language; "" = all
	OrderBy    string   // a column; "" = by time of creation, which nests children below their parents
	Ascending  bool     // the lowest first
	Columns    []string // in their order, besides those that are always there
	GroupBy    []string // columns by whose value runs are put together, with the means of their metrics
	Charts     []Chart  // above those that MLflow makes itself
	ChartTitle string   // over the charts
	Opens      Mode     // what a link shows
}

// Mode says what a link to a view shows.
type Mode string

// The modes of the Runs table.
const (
	Table     Mode = ""
	Charts    Mode = "CHART"
	Artifacts Mode = "ARTIFACT" // tables that runs have logged, side by side; not for grouped runs
)

// Param names a param's column.
func Param(key string) string { return "params.`" + key + "`" }

// Metric names a metric's column.
func Metric(key string) string { return "metrics.`" + key + "`" }

// Tag names a tag's column.
func Tag(key string) string { return "tags.`" + key + "`" }

// Attribute names another column: Dataset, Source, Description and others of the menu "Columns".
func Attribute(name string) string { return "attributes.`" + name + "`" }

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// envelope is what MLflow 3 reads: the state as text, compressed.
type envelope struct {
	Name      string `json:"name"`
	CreatedAt int64  `json:"createdAt"` // ms
	UpdatedAt int64  `json:"updatedAt"` // ms
	State     string `json:"state"`
}

// state is what MLflow 2 reads, and what is compressed for MLflow 3. No field may be left out: MLflow 2.22 breaks without some.
type state struct {
	SearchFilter       string           `json:"searchFilter"`
	OrderByKey         string           `json:"orderByKey"`
	OrderByAsc         bool             `json:"orderByAsc"`
	StartTime          string           `json:"startTime"`
	LifecycleFilter    string           `json:"lifecycleFilter"`
	DatasetsFilter     []string         `json:"datasetsFilter"`
	ModelVersionFilter string           `json:"modelVersionFilter"`
	SelectedColumns    []string         `json:"selectedColumns"`
	ColumnOrder        []string         `json:"columnOrder"`
	RunsExpanded       struct{}         `json:"runsExpanded"`
	RunsPinned         []string         `json:"runsPinned"`
	RunsHidden         []string         `json:"runsHidden"`
	RunsHiddenMode     string           `json:"runsHiddenMode"`
	ViewMaximized      bool             `json:"viewMaximized"`
	RunListHidden      bool             `json:"runListHidden"`
	Reordered          bool             `json:"isAccordionReordered"`
	GroupedInCharts    bool             `json:"useGroupedValuesInCharts"`
	HideEmptyCharts    bool             `json:"hideEmptyCharts"`
	GroupBy            *grouping        `json:"groupBy"`
	GroupsExpanded     struct{}         `json:"groupsExpanded"`
	AutoRefresh        bool             `json:"autoRefreshEnabled"`
	LineCharts         lineCharts       `json:"globalLineChartConfig"`
	Sections           []chartSection   `json:"compareRunSections,omitempty"`
	Charts             []map[string]any `json:"compareRunCharts,omitempty"`
}

type grouping struct {
	Aggregate string     `json:"aggregateFunction"`
	Keys      []groupKey `json:"groupByKeys"`
}

type groupKey struct {
	Mode string `json:"mode"` // param, tag
	Data string `json:"groupByData"`
}

type lineCharts struct {
	XAxis  string `json:"xAxisKey"`
	Smooth int    `json:"lineSmoothness"`
	Metric string `json:"selectedXAxisMetricKey"`
}

// Value is the tag's value of a view that is made at a time. It holds the view twice, so that every supported MLflow reads it.
func (v View) Value(at time.Time) (string, error) {
	s, err := v.state()
	if err != nil {
		return "", err
	}
	plain, err := encode(s)
	if err != nil {
		return "", err
	}
	packed, err := deflate(plain)
	if err != nil {
		return "", err
	}
	whole, err := encode(struct {
		envelope
		state
	}{envelope{v.Name, at.UnixMilli(), at.UnixMilli(), packed}, s})
	return string(whole), err
}

func (v View) state() (state, error) {
	s := state{
		SearchFilter: v.Filter, OrderByKey: v.OrderBy, OrderByAsc: v.Ascending, StartTime: "ALL", LifecycleFilter: "Active",
		DatasetsFilter: []string{}, ModelVersionFilter: "All Runs", SelectedColumns: v.Columns, ColumnOrder: v.Columns, RunsPinned: []string{},
		RunsHidden: []string{}, RunsHiddenMode: "FIRST_20_RUNS", GroupedInCharts: true, HideEmptyCharts: true, LineCharts: lineCharts{XAxis: "step"},
	}
	if !idPattern.MatchString(v.ID) {
		return s, fmt.Errorf("view id %q: 1 to 100 letters, digits, dots, dashes and underscores are wanted", v.ID)
	}
	if s.OrderByKey == "" {
		s.OrderByKey = Attribute("Created")
	}
	if len(v.Columns) == 0 {
		s.SelectedColumns, s.ColumnOrder = []string{}, []string{}
	}
	if len(v.GroupBy) > 0 {
		s.GroupBy = &grouping{Aggregate: "average"}
	}
	for _, column := range v.GroupBy {
		key, err := groupBy(column)
		if err != nil {
			return s, fmt.Errorf("view %s: %w", v.ID, err)
		}
		s.GroupBy.Keys = append(s.GroupBy.Keys, key)
	}
	if len(v.Charts) > 0 {
		s.Sections = []chartSection{{ID: sectionID, Name: v.ChartTitle, Display: true}}
	}
	for i, c := range v.Charts {
		s.Charts = append(s.Charts, c.card(i))
	}
	return s, nil
}

var columnPattern = regexp.MustCompile("^(param|tag)s\\.`([^`]+)`$")

func groupBy(column string) (groupKey, error) {
	parts := columnPattern.FindStringSubmatch(column)
	if parts == nil {
		return groupKey{}, fmt.Errorf("grouping by %s: only parameters and tags are offered", column)
	}
	return groupKey{parts[1], parts[2]}, nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// deflate is the form in which MLflow 3 itself keeps a state.
func deflate(plain []byte) (string, error) {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return "deflate;" + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
