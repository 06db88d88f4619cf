package mlflowtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

func conformArtifacts(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	files, err := s.client.ListArtifacts(ctx, run, "")
	require.NoError(t, err)
	assert.Empty(t, files)

	big := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // 3.2 MB
	require.NoError(t, s.client.PutArtifactBytes(ctx, run, "outcomes.jsonl", []byte("{}\n")))
	require.NoError(t, s.client.PutArtifactBytes(ctx, run, "empty.txt", nil))
	require.NoError(t, s.client.PutArtifact(ctx, run, "raw/deep/bundle.tar.zst", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(big)), nil }, int64(len(big))))
	require.NoError(t, s.client.CheckArtifacts(ctx, run, map[string]int64{"outcomes.jsonl": 3, "empty.txt": 0, "raw/deep/bundle.tar.zst": int64(len(big))}))
	require.ErrorIs(t, s.client.CheckArtifacts(ctx, run, map[string]int64{"outcomes.jsonl": 4}), mlflow.ErrNotStored)
	require.ErrorIs(t, s.client.CheckArtifacts(ctx, run, map[string]int64{"raw/absent": 4}), mlflow.ErrNotStored)

	files, err = s.client.ListArtifacts(ctx, run, "")
	require.NoError(t, err)
	assert.ElementsMatch(t, []mlflow.FileInfo{{Path: "empty.txt", Size: -1}, {Path: "outcomes.jsonl", Size: 3}, {Path: "raw", IsDir: true, Size: -1}}, files)
	files, err = s.client.ListArtifacts(ctx, run, "raw/deep")
	require.NoError(t, err)
	assert.Equal(t, []mlflow.FileInfo{{Path: "raw/deep/bundle.tar.zst", Size: int64(len(big))}}, files)
	files, err = s.client.ListArtifacts(ctx, run, "no/such")
	require.NoError(t, err)
	assert.Empty(t, files)

	data, err := s.client.ReadArtifact(ctx, run, "raw/deep/bundle.tar.zst", 10<<20)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(big, data))
	data, err = s.client.ReadArtifact(ctx, run, "empty.txt", 10)
	require.NoError(t, err)
	assert.Empty(t, data)
	_, err = s.client.ReadArtifact(ctx, run, "raw/deep/bundle.tar.zst", 10)
	require.Error(t, err, "longer than the caller reads")
	require.NoError(t, s.client.PutArtifactBytes(ctx, run, "outcomes.jsonl", []byte("other\n")))
	data, err = s.client.ReadArtifact(ctx, run, "outcomes.jsonl", 10)
	require.NoError(t, err)
	assert.Equal(t, "other\n", string(data), "a file is replaced")

	for _, absent := range []string{"absent.txt", "raw/absent.txt", "no/such/absent.txt"} {
		_, _, err = s.client.GetArtifact(ctx, run, absent)
		require.ErrorIs(t, err, mlflow.ErrNotFound, absent)
	}
	status, _ := s.proxied(t, http.MethodGet, run, "absent.txt", "")
	assert.Equal(t, expect[int](t, s.version, "missing artifact: status"), status)
	status, body := s.proxied(t, http.MethodPut, run, "a%2520b.txt", "decoded twice")
	assert.Equal(t, 200, status)
	assert.Equal(t, expect[string](t, s.version, "artifact put: body"), strings.TrimSpace(body))
	files, err = s.client.ListArtifacts(ctx, run, "")
	require.NoError(t, err)
	assert.Contains(t, files, mlflow.FileInfo{Path: "a b.txt", Size: 13}, "percent signs do not survive")
	status, _ = s.proxied(t, http.MethodPut, run, "a%23b.txt", "x")
	assert.Equal(t, 400, status)
	for _, name := range []string{"a b.txt", "a%20b.txt", "a#b", "../x", "/x", "a//b", ".", "é", strings.Repeat("n", 256)} {
		require.ErrorIs(t, s.client.PutArtifactBytes(ctx, run, name, []byte("x")), mlflow.ErrInvalid, name)
	}
}

// proxied talks to the artifact proxy past the client. name is percent-encoded already.
func (s *suite) proxied(t *testing.T, method string, run mlflow.RunInfo, name, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, s.url+proxyPrefix+run.ExperimentID+"/"+run.RunID+"/artifacts/"+name, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(answer)
}

// conformRunArtifacts uses the routes that work for any artifact root, by pretending that the run's is elsewhere.
func conformRunArtifacts(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	elsewhere := run
	elsewhere.ArtifactURI = "s3://bucket/" + run.RunID
	require.NoError(t, s.client.PutArtifactBytes(ctx, elsewhere, "dir/by-run.txt", []byte("by run")))
	require.NoError(t, s.client.CheckArtifacts(ctx, elsewhere, map[string]int64{"dir/by-run.txt": 6}))
	for _, r := range []mlflow.RunInfo{run, elsewhere} {
		data, err := s.client.ReadArtifact(ctx, r, "dir/by-run.txt", 100)
		require.NoError(t, err)
		assert.Equal(t, "by run", string(data))
		_, _, err = s.client.GetArtifact(ctx, r, "dir/absent.txt")
		require.ErrorIs(t, err, mlflow.ErrNotFound)
	}
	require.ErrorIs(t, s.client.PutArtifactBytes(ctx, elsewhere, "empty", nil), mlflow.ErrInvalid, "the server refuses it")
}

func conformCutUpload(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	u, err := url.Parse(s.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	out := bufio.NewWriter(conn)
	fmt.Fprintf(out, "PUT %s%s/%s/artifacts/cut.txt HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\nonly this", proxyPrefix, run.ExperimentID, run.RunID, u.Host)
	require.NoError(t, out.Flush())
	require.NoError(t, conn.Close())

	kept := expect[bool](t, s.version, "cut-off upload: kept")
	listed := func() bool {
		files, err := s.client.ListArtifacts(ctx, run, "")
		require.NoError(t, err)
		return len(files) > 0
	}
	if kept {
		require.Eventually(t, listed, 10*time.Second, 20*time.Millisecond)
	} else {
		// A second upload through the same server, to be sure that it has dealt with the first.
		require.NoError(t, s.client.PutArtifactBytes(ctx, s.run(t), "after.txt", []byte("x")))
		assert.False(t, listed())
	}
	require.ErrorIs(t, s.client.CheckArtifacts(ctx, run, map[string]int64{"cut.txt": 1000}), mlflow.ErrNotStored)
}
