package mlflow

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkSearchRuns reads one page of 2,000 runs with 16 tags, 6 parameters and 15 metrics each: what the client adds to the server's time.
func BenchmarkSearchRuns(b *testing.B) {
	var rows []string
	for i := range 2000 {
		var tags, params, metrics []string
		for k := range 16 {
			tags = append(tags, fmt.Sprintf(`{"key": "benchbatch.some_tag_%d", "value": "0123456789abcdef0123456789abcdef"}`, k))
		}
		for k := range 6 {
			params = append(params, fmt.Sprintf(`{"key": "param_%d", "value": "some value"}`, k))
		}
		for k := range 15 {
			metrics = append(metrics, fmt.Sprintf(`{"key": "metric/%d", "value": 0.12345678901234567, "timestamp": 1700000000000, "step": 0}`, k))
		}
		rows = append(rows, fmt.Sprintf(`{"info": {"run_id": "%032x", "experiment_id": "1", "status": "FINISHED", "start_time": 1700000000000, "end_time": 1700000000001},`+
			`"data": {"metrics": [%s], "params": [%s], "tags": [%s]}, "inputs": {}}`, i, strings.Join(metrics, ","), strings.Join(params, ","), strings.Join(tags, ",")))
	}
	body := `{"runs": [` + strings.Join(rows, ",") + `]}`
	c, err := New(Config{TrackingURI: "http://mlflow.test", Transport: answers(func(r *http.Request) (*http.Response, error) { return answer(r, 200, body), nil })})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		runs, err := c.SearchRuns(context.Background(), Search{ExperimentIDs: []string{"1"}})
		if err != nil || len(runs) != 2000 {
			b.Fatal(len(runs), err)
		}
	}
}
