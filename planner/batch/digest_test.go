package batch

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// frozenFolder is what the shell command in the comment of DirDigest prints for
// the folder of TestDirDigest. It never changes.
const frozenFolder Digest = "58a9162618ade2497fffe8d86e586254057f066ec90bc43ee9f4b80e7706ce82"

func testFolder() fstest.MapFS {
	return fstest.MapFS{
		"f/a/b/1":    {Data: []byte("x")},
		"f/a.b/2":    {Data: []byte("y")},
		"f/a-b/3":    {Data: []byte("z")},
		"f/ü n.txt":  {Data: []byte("é")},
		"f/zero":     {},
		"other/file": {Data: []byte("not in the folder")},
	}
}

func TestDirDigest(t *testing.T) {
	d, files, err := DirDigest(testFolder(), "f")
	require.NoError(t, err)
	assert.Equal(t, frozenFolder, d)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"a-b/3", "a.b/2", "a/b/1", "zero", "ü n.txt"}, paths, "bytewise by whole path")
	assert.Equal(t, File{Path: "a-b/3", Digest: Sum([]byte("z")), Size: 1}, files[0])
}

func TestDirDigestIgnoresWhatTheSchemeIgnores(t *testing.T) {
	fsys := testFolder()
	for _, name := range []string{"f/.git/config", "f/a/__pycache__/m.py", "f/a/m.pyc", "f/.DS_Store", "f/sub/.git"} {
		fsys[name] = &fstest.MapFile{Data: []byte("x")}
	}
	d, _, err := DirDigest(fsys, "f")
	require.NoError(t, err)
	assert.Equal(t, frozenFolder, d)
}

func TestDirDigestSeesEveryChange(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"content": func(m fstest.MapFS) { m["f/zero"].Data = []byte("0") },
		"added":   func(m fstest.MapFS) { m["f/.hidden"] = &fstest.MapFile{} },
		"gone":    func(m fstest.MapFS) { delete(m, "f/zero") },
		"renamed": func(m fstest.MapFS) { m["f/null"] = m["f/zero"]; delete(m, "f/zero") },
		"moved":   func(m fstest.MapFS) { m["f/a/3"] = m["f/a-b/3"]; delete(m, "f/a-b/3") },
	} {
		t.Run(name, func(t *testing.T) {
			fsys := testFolder()
			change(fsys)
			d, _, err := DirDigest(fsys, "f")
			require.NoError(t, err)
			assert.NotEqual(t, frozenFolder, d)
		})
	}
}

func TestDirDigestOfTheRoot(t *testing.T) {
	d, files, err := DirDigest(fstest.MapFS{"zero": {}}, ".")
	require.NoError(t, err)
	assert.Equal(t, "zero", files[0].Path)
	assert.Equal(t, Sum([]byte(string(Sum(nil))+"  zero\n")), d)
}

func TestEmptyFolderIsNoBrain(t *testing.T) {
	d, files, err := DirDigest(os.DirFS(t.TempDir()), ".")
	require.NoError(t, err)
	assert.Empty(t, files)
	assert.Equal(t, NoBrain, d)
	assert.Equal(t, Digest("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"), NoBrain)
}

func TestDirDigestRefuses(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	_, _, err := DirDigest(os.DirFS(dir), ".")
	require.ErrorContains(t, err, "link is a symbolic link: only regular files can be hashed")

	for name, want := range map[string]string{"a\\b": `holds '\\'`, "a\nb": `holds '\n'`, "a\x7fb": `holds '\x7f'`, "a\x1b[31m": `holds '\x1b'`} {
		_, _, err := DirDigest(fstest.MapFS{"f/" + name: {}}, "f")
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "\x1b", "safe to print")
	}
	require.ErrorContains(t, CheckFileName("caf\xe9"), "not valid UTF-8")
	_, _, err = DirDigest(fstest.MapFS{}, "none")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestFileDigest(t *testing.T) {
	f, err := FileDigest(fstest.MapFS{"a": {Data: []byte("abc")}}, "a")
	require.NoError(t, err)
	assert.Equal(t, File{"a", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 3}, f)
	d, n, err := SumReader(strings.NewReader("abc"))
	require.NoError(t, err)
	assert.Equal(t, f.Digest, d)
	assert.Equal(t, int64(3), n)
}

func TestDigestForm(t *testing.T) {
	d := Sum([]byte("abc"))
	assert.True(t, d.Valid())
	assert.Equal(t, "ba7816bf8f01cfea", d.Short())
	assert.Equal(t, "ba", Digest("ba").Short())
	for _, bad := range []Digest{"", "ba", Digest(strings.ToUpper(string(d))), Digest(strings.Repeat("g", 64)), d + "0"} {
		assert.False(t, bad.Valid(), string(bad))
	}
}

func TestCanonical(t *testing.T) {
	b, err := Canonical(map[string]any{"b": 1.0, "a": []any{1e21, 1e-7, "é\u2028<", nil, true}, "ä": map[string]any{}})
	require.NoError(t, err)
	assert.Equal(t, `{"a":[1e+21,1e-7,"é`+"\u2028"+`<",null,true],"b":1,"ä":{}}`, string(b))
	_, err = Canonical(math.NaN())
	require.Error(t, err)

	whole, err := SumValue(1)
	require.NoError(t, err)
	float, err := SumValue(1.0)
	require.NoError(t, err)
	assert.Equal(t, whole, float, "numbers count by value")
}
