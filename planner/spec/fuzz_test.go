package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// FuzzLoad checks that no spec or panel makes Load or Resolve crash, that what
// is refused names a place and a reason, and that what is accepted has an identity.
func FuzzLoad(f *testing.F) {
	golden, err := os.ReadFile("testdata/golden/spec.yaml")
	require.NoError(f, err)
	for _, spec := range []string{
		smallSpec, string(golden), "\ufeff" + smallSpec, strings.ReplaceAll(smallSpec, "\n", "\r\n"), bomb(8), smallSpec + "---\n", "a: &a [*a]\n",
		strings.Repeat("[", 3000), with("[north/lamp-9b, south/lamp-27b]", "[no, on, 1, \"1\", ~, {id: }, [x]]"), smallSpec + "limits: {time_out: 5}\n",
		smallSpec + "agents:\n  - &a {id: x, settings: {t: 1e9, d: 2026-09-21}}\n  - {<<: *a, id: y}\n  - {<<: [*a, *a]}\n",
		smallSpec + "recipe: {include: [., .., /, 'a\\b', lamps.csv, ask.sh]}\n", "? [a]\n: b\n", "!!binary x\n", "- - -\n", "\x00",
	} {
		f.Add([]byte(spec), []byte(smallPanel))
	}
	f.Add([]byte(with("lamps.csv", "p.jsonl")), []byte(`{"id":"a","input":{"x":[1e5,null,"\u00e9"]},"anchor":true}`))
	f.Fuzz(func(t *testing.T, spec, panel []byte) {
		dir := t.TempDir()
		for name, text := range map[string][]byte{"spec.yaml": spec, "lamps.csv": panel, "p.jsonl": panel, "ask.sh": nil, "grade.sh": nil} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		s, err := Load(filepath.Join(dir, "spec.yaml"), nil)
		if err != nil {
			var ps Problems
			require.True(t, errors.As(err, &ps), "%v", err)
			require.NotEmpty(t, ps)
			for _, p := range ps {
				require.NotEmpty(t, p.File)
				require.NotEmpty(t, p.Message)
				require.NotContains(t, p.String(), "\n")
				require.NotContains(t, p.String(), "\x1b")
			}
			return
		}
		r, err := Resolve(s, nil)
		require.NoError(t, err)
		require.NotEmpty(t, r.Cells)
		require.True(t, r.Key.Valid())
		seen := map[batch.Digest]bool{}
		for _, c := range r.Cells {
			require.True(t, c.Identity.Consistent())
			require.False(t, seen[c.Identity.Cell], "two variants are one cell")
			seen[c.Identity.Cell] = true
		}
	})
}
