package mlflow_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

func artifactRun(t *testing.T, fake *mlflowtest.Fake) (*mlflow.Client, mlflow.RunInfo) {
	c := mlflowtest.Client(t, fake.URL)
	return c, mustRun(t, c, mlflowtest.Experiment(t, c))
}

func TestMissingArtifactOnAServerThatSays500(t *testing.T) {
	fake := mlflowtest.NewFakeOf(t, mlflowtest.Oldest)
	c, run := artifactRun(t, fake)
	_, _, err := c.GetArtifact(ctx, run, "dir/absent.txt")
	require.ErrorIs(t, err, mlflow.ErrNotFound)
	assert.Equal(t, 1, c.Calls()["artifacts/list"], "the folder is asked for")
	assert.LessOrEqual(t, c.Calls()["artifacts/get"], 1, "a missing file is not tried again and again")

	require.NoError(t, c.PutArtifactBytes(ctx, run, "there.txt", []byte("x")))
	fake.Inject(mlflowtest.Fault{Route: "there.txt", Do: mlflowtest.Answer(500, "bucket on fire")})
	_, _, err = c.GetArtifact(ctx, run, "there.txt")
	require.Error(t, err)
	assert.NotErrorIs(t, err, mlflow.ErrNotFound, "it is there, and can't be read")
	assert.ErrorContains(t, err, "bucket on fire")

	fake.Clear()
	fake.Inject(mlflowtest.Fault{Route: "there.txt", Times: 1, Do: mlflowtest.Answer(500, "hiccup")})
	data, err := c.ReadArtifact(ctx, run, "there.txt", 10)
	require.NoError(t, err)
	assert.Equal(t, "x", string(data))
	fake.Inject(mlflowtest.Fault{Route: "absent.txt", Do: mlflowtest.Answer(500, "hiccup")})
	fake.Inject(mlflowtest.Fault{Route: "artifacts/list", Do: mlflowtest.Answer(403, "no")})
	_, _, err = c.GetArtifact(ctx, run, "absent.txt")
	require.ErrorIs(t, err, mlflow.ErrForbidden, "absence is not guessed")
	assert.NotErrorIs(t, err, mlflow.ErrNotFound)
}

func TestUploadIsRepeatedFromItsBeginning(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c, run := artifactRun(t, fake)
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	opened := 0
	open := func() (io.ReadCloser, error) { opened++; return io.NopCloser(bytes.NewReader(data)), nil }
	fake.Inject(mlflowtest.Fault{Route: "big.bin", Times: 1, Do: mlflowtest.LoseAnswer})
	fake.Inject(mlflowtest.Fault{Route: "big.bin", Times: 1, Do: mlflowtest.Answer(503, "")})
	require.NoError(t, c.PutArtifact(ctx, run, "big.bin", open, int64(len(data))))
	assert.Equal(t, 3, c.Calls()["artifacts/put"])
	assert.GreaterOrEqual(t, opened, 3)
	require.NoError(t, c.CheckArtifacts(ctx, run, map[string]int64{"big.bin": int64(len(data))}))
	got, err := c.ReadArtifact(ctx, run, "big.bin", 1<<30)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got))
}

func TestUploadSaysItsLength(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c, run := artifactRun(t, fake)
	length := int64(-2)
	fake.Inject(mlflowtest.Fault{Route: "f.bin", Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		length = r.ContentLength
		next.ServeHTTP(w, r)
	}})
	for _, size := range []int64{0, 1, 70_000} {
		require.NoError(t, c.PutArtifactBytes(ctx, run, "f.bin", make([]byte, size)))
		assert.Equal(t, size, length)
	}
}

func TestFileThatChangesWhileItIsSent(t *testing.T) {
	for _, version := range []mlflowtest.Version{mlflowtest.Newest, mlflowtest.Oldest} {
		fake := mlflowtest.NewFakeOf(t, version)
		c, run := artifactRun(t, fake)
		for name, text := range map[string]string{"shorter": "123", "longer": "12345678", "empty": ""} {
			err := c.PutArtifact(ctx, run, "f.txt", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }, 5)
			require.Error(t, err, name)
			assert.ErrorContains(t, err, "changed while it was sent", name)
			require.ErrorIs(t, c.CheckArtifacts(ctx, run, map[string]int64{"f.txt": 5}), mlflow.ErrNotStored, name)
		}
		assert.Equal(t, 3, c.Calls()["artifacts/put"], "trying again does not help")
		failing := errors.New("no such file any more")
		err := c.PutArtifact(ctx, run, "f.txt", func() (io.ReadCloser, error) { return nil, failing }, 5)
		require.ErrorIs(t, err, failing)
	}
}

func TestDownloadThatBreaksOff(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c, run := artifactRun(t, fake)
	require.NoError(t, c.PutArtifactBytes(ctx, run, "f.txt", []byte("0123456789")))
	fake.Inject(mlflowtest.Fault{Route: "f.txt", Do: mlflowtest.CutBody(4)})
	body, size, err := c.GetArtifact(ctx, run, "f.txt")
	require.NoError(t, err)
	defer body.Close()
	assert.EqualValues(t, 10, size)
	_, err = io.ReadAll(body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a part is never taken for the whole")
	_, err = c.ReadArtifact(ctx, run, "f.txt", 100)
	require.ErrorIs(t, err, mlflow.ErrUnreachable)
	assert.ErrorContains(t, err, "breaks off")
}

func TestHostileListings(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c, run := artifactRun(t, fake)
	for dir, listed := range map[string][]string{
		"":    {"../x", "/etc/passwd", "a/b", "..", ".", "", `a\b`, "a/../../b", "nul\x00"},
		"raw": {"x", "../raw/x", "raw", "raw/", "raw/../x", "raw/a/b", "rawx/y", "/raw/x", "other/x"},
	} {
		for _, path := range listed {
			body := strings.ReplaceAll(strings.ReplaceAll(path, `\`, `\\`), "\x00", `\u0000`)
			fake.Clear()
			fake.Inject(mlflowtest.Fault{Route: "artifacts/list", Do: mlflowtest.Answer(200, `{"files":[{"path":"`+body+`","is_dir":false,"file_size":"1"}]}`)})
			_, err := c.ListArtifacts(ctx, run, dir)
			assert.Error(t, err, "%q in %q", path, dir)
		}
	}
	fake.Clear()
	fake.Inject(mlflowtest.Fault{Route: "artifacts/list", Do: mlflowtest.Answer(200, `{"files":[{"path":"raw/a b","file_size":"7"}]}`)})
	files, err := c.ListArtifacts(ctx, run, "raw")
	require.NoError(t, err)
	assert.Equal(t, []mlflow.FileInfo{{Path: "raw/a b", Size: 7}}, files, "other people's names can be listed")
}

func TestListingInPages(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c, run := artifactRun(t, fake)
	fake.Inject(mlflowtest.Fault{Route: "artifacts/list", Times: 1, Do: mlflowtest.Answer(200, `{"files":[{"path":"a"}],"next_page_token":"t"}`)})
	fake.Inject(mlflowtest.Fault{Route: "artifacts/list", Times: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		assert.Equal(t, "t", r.URL.Query().Get("page_token"))
		mlflowtest.Answer(200, `{"files":[{"path":"b","is_dir":true}]}`)(w, r, next)
	}})
	files, err := c.ListArtifacts(ctx, run, "")
	require.NoError(t, err)
	assert.Len(t, files, 2)
}

// TestArtifactRoots uses the proxy where the run's artifacts are behind it, and the routes by run where they are not.
func TestArtifactRoots(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c, run := artifactRun(t, fake)
	rest := "/" + run.ExperimentID + "/" + run.RunID + "/artifacts"
	for uri, call := range map[string]string{
		"mlflow-artifacts:" + rest: "artifacts/put",
		"mlflow-artifacts:/" + strings.TrimPrefix(fake.URL, "http:/") + rest: "artifacts/put",
		fake.URL + "/api/2.0/mlflow-artifacts/artifacts" + rest:              "artifacts/put",
		"mlflow-artifacts://other.example.org:5000" + rest:                   "upload-artifact",
		"http://other.example.org/api/2.0/mlflow-artifacts/artifacts" + rest: "upload-artifact",
		"s3://bucket" + rest:        "upload-artifact",
		"/var/mlruns" + rest:        "upload-artifact",
		"file:///var/mlruns" + rest: "upload-artifact",
		"mlflow-artifacts:":         "upload-artifact",
		"%%%":                       "upload-artifact",
	} {
		before := c.Calls()[call]
		run.ArtifactURI = uri
		require.NoError(t, c.PutArtifactBytes(ctx, run, "f.txt", []byte(uri)), uri)
		assert.Equal(t, before+1, c.Calls()[call], uri)
		data, err := c.ReadArtifact(ctx, run, "f.txt", 1000)
		require.NoError(t, err, uri)
		assert.Equal(t, uri, string(data))
	}
	run.ArtifactURI = "s3://bucket" + rest // by the route that has a limit
	err := c.PutArtifact(ctx, run, "f.txt", nil, 11<<20)
	require.ErrorIs(t, err, mlflow.ErrInvalid)
	assert.ErrorContains(t, err, "10485760")
}
