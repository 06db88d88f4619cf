package mlflow_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// runsServer answers searches over n runs with at most 1,000 a page. last is how it says that there are no more; full makes a full last
// page promise another one.
func runsServer(t *testing.T, n int, last string, full bool) *mlflow.Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Max     int      `json:"max_results"`
			Token   string   `json:"page_token"`
			OrderBy []string `json:"order_by"`
		}
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&q))
		assert.LessOrEqual(t, q.Max, 50_000)
		assert.Equal(t, []string{"attributes.start_time ASC"}, q.OrderBy, "no order that drops rows")
		offset := 0
		if q.Token != "" {
			data, err := base64.StdEncoding.DecodeString(q.Token)
			assert.NoError(t, err)
			offset, err = strconv.Atoi(string(data))
			assert.NoError(t, err)
		}
		end := min(offset+min(q.Max, 1000), n)
		var rows []string
		for i := offset; i < end; i++ {
			rows = append(rows, fmt.Sprintf(`{"info":{"run_id":"run%05d","experiment_id":"1","status":"FINISHED","start_time":"%d"},"data":{}}`, i, i/10))
		}
		token := last
		if end < n || full && end-offset == 1000 {
			token = fmt.Sprintf(`,"next_page_token":"%s"`, base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end))))
		}
		fmt.Fprintf(w, `{"runs":[%s]%s}`, strings.Join(rows, ","), token)
	}))
	t.Cleanup(server.Close)
	return mlflowtest.Client(t, server.URL)
}

func TestAllPagesAreRead(t *testing.T) {
	for _, last := range []string{"", `,"next_page_token":""`, `,"next_page_token":null`} {
		for _, n := range []int{2501, 2000, 0, 1} {
			for _, full := range []bool{false, true} {
				c := runsServer(t, n, last, full)
				runs, err := c.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{"1"}})
				require.NoError(t, err)
				require.Len(t, runs, n)
				for i, run := range runs {
					require.Equal(t, fmt.Sprintf("run%05d", i), run.Info.RunID)
					require.EqualValues(t, i/10, run.Info.StartTime, "numbers in quotation marks are read")
				}
			}
		}
	}
}

func TestLimitStopsEarly(t *testing.T) {
	c := runsServer(t, 2501, "", false)
	runs, err := c.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{"1"}, Limit: 1500})
	require.NoError(t, err)
	assert.Len(t, runs, 1500)
	assert.Equal(t, 2, c.Calls()["runs/search"])
}

func TestPagesThatLeadNowhere(t *testing.T) {
	one := `{"runs":[{"info":{"run_id":"a"}}],"next_page_token":"t"}`
	for name, pages := range map[string][]string{
		"the same token again":       {one, `{"runs":[{"info":{"run_id":"b"}}],"next_page_token":"t"}`},
		"the same rows again":        {one, `{"runs":[{"info":{"run_id":"a"}}],"next_page_token":"u"}`},
		"nothing, but more promised": {one, `{"next_page_token":"u"}`},
		"a run without an id":        {`{"runs":[{"info":{}}]}`},
		"a broken second page":       {one, `{"runs":[{"info":{"run_id":"b"`},
		"a page that is no JSON":     {one, `<html>`},
	} {
		n := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, pages[min(n, len(pages)-1)])
			n++
		}))
		runs, err := mlflowtest.Client(t, server.URL).SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{"1"}})
		require.Error(t, err, name)
		assert.ErrorIs(t, err, mlflow.ErrNotJSON, name)
		assert.Nil(t, runs, "%s: no half of a list", name)
		server.Close()
	}
}

func TestRowsThatShiftAreCountedOnce(t *testing.T) {
	pages := []string{
		`{"runs":[{"info":{"run_id":"a"}},{"info":{"run_id":"b"}}],"next_page_token":"t"}`,
		`{"runs":[{"info":{"run_id":"b"}},{"info":{"run_uuid":"c"}}]}`,
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, pages[n]); n++ }))
	t.Cleanup(server.Close)
	runs, err := mlflowtest.Client(t, server.URL).SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{"1"}})
	require.NoError(t, err)
	require.Len(t, runs, 3)
	assert.Equal(t, "c", runs[2].Info.RunID)
}

func TestSearchesThatAreNotSent(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	for name, s := range map[string]mlflow.Search{
		"no experiment":       {},
		"an empty id":         {ExperimentIDs: []string{""}},
		"a page too large":    {ExperimentIDs: []string{"1"}, PageSize: 50_001},
		"a page of less":      {ExperimentIDs: []string{"1"}, PageSize: -1},
		"an unstable order":   {ExperimentIDs: []string{"1"}, OrderBy: "metrics.score DESC"},
		"a lower-case view":   {ExperimentIDs: []string{"1"}, View: "all"},
		"too many conditions": {ExperimentIDs: []string{"1"}, Filter: strings.Repeat("tags.a = '1' and ", 50) + "tags.a = '1'"},
	} {
		_, err := c.SearchRuns(ctx, s)
		require.ErrorIs(t, err, mlflow.ErrInvalid, name)
	}
	assert.Zero(t, fake.Requests(""))
}

func TestFilters(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{"benchbatch.cell", "0123", "tags.`benchbatch.cell` = '0123'"},
		{"a b", "team's", "tags.`a b` = \"team's\""},
		{"k", `say "hi"`, `tags.` + "`k`" + ` = 'say "hi"'`},
		{"k", "100%", "tags.`k` = '100%'"},
		{"k", `both ' and "`, ""},
		{"k", `ends in \`, ""},
		{"k", "two\nlines", ""},
		{"back`tick", "v", ""},
		{"quo'te", "v", ""},
		{"", "v", ""},
	} {
		filter, err := mlflow.TagEquals(test.key, test.value)
		if test.want == "" {
			assert.ErrorIs(t, err, mlflow.ErrInvalid, "%q %q", test.key, test.value)
			assert.Empty(t, filter)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, test.want, filter)
	}
	_, err := mlflow.AttributeEquals("start_time", "1000")
	assert.ErrorIs(t, err, mlflow.ErrInvalid)
	assert.Equal(t, "a AND b", mlflow.And("", "a", "", "b"))
}
