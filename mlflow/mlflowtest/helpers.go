package mlflowtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// Client makes a client that does not wait long between tries.
func Client(t testing.TB, address string, change ...func(*mlflow.Config)) *mlflow.Client {
	t.Helper()
	cfg := mlflow.Config{TrackingURI: address, BackoffMin: time.Millisecond, BackoffMax: 20 * time.Millisecond, Patience: 20 * time.Second}
	for _, c := range change {
		c(&cfg)
	}
	client, err := mlflow.New(cfg)
	require.NoError(t, err)
	return client
}

// Experiment makes an experiment for one test and returns its id.
func Experiment(t testing.TB, c *mlflow.Client) string {
	t.Helper()
	id, err := c.CreateExperiment(context.Background(), t.Name()+" "+uuid.NewString(), nil)
	require.NoError(t, err)
	return id
}

// Post sends a body as it is to a call below /api/2.0/mlflow/, as "runs/delete", past the client and its checks. body is a string, or anything
// that becomes JSON. The answer is nil if it is no JSON object.
func Post(t testing.TB, address, call string, body any) (status int, answer map[string]any) {
	t.Helper()
	text, ok := body.(string)
	if !ok {
		data, err := json.Marshal(body)
		require.NoError(t, err)
		text = string(data)
	}
	resp, err := http.Post(address+"/api/2.0/mlflow/"+call, "application/json", strings.NewReader(text))
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	_ = json.Unmarshal(data, &answer)
	return resp.StatusCode, answer
}
