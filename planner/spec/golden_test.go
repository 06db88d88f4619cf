package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// frozen is what testdata/golden resolves to under scheme 1. THESE VALUES NEVER
// CHANGE: everything that was ever measured is found by such digests. A change of
// the code that makes this test fail orphans all measurements: give a new field a
// default that is left out of the digest, or raise batch.Scheme and add a second table.
var frozen = map[string]batch.Digest{
	"agent deep":                "d0d42f2faeeeba750de5f8796297e32445fc86127e695030f6aeb0c8216eb357",
	"agent plain":               "49f5bd0177810b8ab05e44c8856d688d1191924254d6dd067773f8400b59ff46",
	"brain":                     "a7ec32229e8747d0ef3ed06e7eab0a572d9969a0b5654321f8d1e749d1a5f4d0",
	"cell deep+small":           "1a5ff895e06e5283b1f21751b5acf3a71024d68c5c5a3ab23ec87c3e01e8e042",
	"cell plain+small":          "0a6934608e2ff9ad491a997dfd0efef05d89f2f3232464dd647b70e97e6483dc",
	"cell plain+south_lamp-27b": "7ae785617dfdcbd401251ba8f5acc8651b01c1ffd4b49415e4c819afc28eef4c",
	"execution":                 "c4a09f9cb7e21496aeaff8c3c8d72273169b2884f889ca0efed2f36f0c00d1ca",
	"key":                       "087ca9edca2df4a1eddf2a8861b1682e9f69fc83e522b9f5eefd5dab97cdddd8",
	"model small":               "70a25fded5311e1cc8c361b8c20cdecd2c84622c7633ee04c1446260ab3ab56b",
	"model south_lamp-27b":      "ef8b3e0f8d4061709789a16f1594691a8ce6b4b1cefa7fde1da38b649c0935ab",
	"scoring":                   "d0d43528d490434dba0daa068a4dcc87b27bc21ce929bb5d183c7f43b710f711",
}

// frozenPanel is the digest of the panel in normal form, as stored with a batch.
const frozenPanel batch.Digest = "d3c69d510ae1900e034079ff52241e4f857a7067f0af99f3e3c7106e8b742754"

func TestGoldenDigests(t *testing.T) {
	got := digests(t, golden(t), goldenEnv)
	assert.Equal(t, frozen, got)
}

func TestGoldenPanelAndDecision(t *testing.T) {
	s, err := Load("testdata/golden/spec.yaml", lookupIn(goldenEnv))
	require.NoError(t, err)
	r, err := Resolve(s, lookupIn(goldenEnv))
	require.NoError(t, err)
	assert.Equal(t, `{"anchor":true,"expected":"yes","family":"switch","id":"L-1","input":"Is the lamp on?"}
{"expected":{"lamp":2},"family":"switch","id":"L-2","input":{"lamps":[1,2.5,300],"text":"Which lamp?"}}
{"id":"L-3","input":"Wie hell ist die Lampe? ü中"}
`, string(r.PanelFile))
	assert.Equal(t, frozenPanel, batch.Sum(r.PanelFile))
	assert.Equal(t, `{"advantage":{"cost_usd":0.2},"alpha":0.05,"compare":"reference","margin":0.02,"metric":"passed","pass":"reported","pass_threshold":0.8,"reference":"plain+small","scope":"list"}`,
		string(r.Decision))
}

// Nothing that must stay secret, and nothing free, is in a manifest.
func TestManifestsHoldNoSecrets(t *testing.T) {
	s, err := Load("testdata/golden/spec.yaml", lookupIn(goldenEnv))
	require.NoError(t, err)
	r, err := Resolve(s, lookupIn(goldenEnv))
	require.NoError(t, err)
	b, err := json.Marshal(r)
	require.NoError(t, err)
	manifests, err := json.Marshal([]any{r.Agents, r.Models, r.Brain, r.Execution, r.Scoring, r.Cells})
	require.NoError(t, err)
	assert.NotContains(t, string(b), goldenEnv["TOKEN"])
	for _, word := range []string{"GATEWAY_URL", "TOKEN", goldenEnv["GATEWAY_URL"], `"switch"`, "north\"", "Is the lamp on?", "lamp-bench"} {
		assert.NotContains(t, string(manifests), word)
	}
	assert.Equal(t, batch.Sum([]byte("eu")), r.Execution.Items["env REGION"], "the value itself is not kept")
	assert.Contains(t, r.Execution.Files, "policies/night.md")
	assert.Contains(t, r.Agents["plain"].Files, "agents/plain.py")
	assert.Contains(t, r.Brain.Files, "brain/instructions.md")
}

// One meaning, one identity, however it is written.
func TestSpellingsOfOneSpec(t *testing.T) {
	base := golden(t)
	want := digests(t, base, goldenEnv)
	spec := base["spec.yaml"]
	replace := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			require.Contains(t, spec, pairs[i])
		}
		return strings.NewReplacer(pairs...).Replace(spec)
	}
	head, rest, _ := strings.Cut(spec, "repeats: 3\n")
	for name, text := range map[string]string{
		"byte-order mark": "\ufeff" + spec,
		"CRLF":            strings.ReplaceAll(spec, "\n", "\r\n"),
		"comments":        strings.ReplaceAll(spec, "repeats: 3", "repeats: 3 # three\n# more"),
		"key order":       "repeats: 3\n" + head + rest,
		"defaults written out": replace("{id: deep, version: 2026-09-21", "{brain_placement: brain, version_command: [], id: deep, version: 2026-09-21",
			"{id: facts, kind: code}", "{id: facts, kind: code, samples: 1, aggregate: mean, scale: [0, 1]}", "retry: {provider: 3}", "retry: {provider: 3, harness: 1}"),
		"anchors":    replace("files: [agents/plain.py, lib/]", "files: [agents/plain.py, &lib lib/]", "[agents/deep/, lib/]", "[agents/deep/, *lib]"),
		"merge key":  replace("{id: deep, version: 2026-09-21", "{<<: {version: 2026-09-21}, id: deep"),
		"quotes":     replace("[python3, run.py", `["python3", 'run.py'`, "id: small", `"id": "small"`),
		"numbers":    replace("temperature: 0,", "temperature: 0.0,", "max_tokens: 4096", "max_tokens: 4.096e3", "cpus: 2", "cpus: 2.0"),
		"units":      replace("40m", "2400s", "10m", "0h10m", "4GiB", "4096MiB", "10%", "0.1", "30d", "720h", "cost_usd: 20%", "cost_usd: 0.2"),
		"times":      replace("not_before: 2026-09-01", "not_before: 2026-09-01T02:00:00+02:00"),
		"paths":      replace("[policies/, rules.md]", "[./policies, ./rules.md]", "brain: brain/", "brain: ./brain"),
		"list order": replace("[policies/, rules.md]", "[rules.md, policies/]", "files: [agents/plain.py, lib/]", "files: [lib/, agents/plain.py]"),
		"flow style": replace("repeats: 3\n", "\"repeats\":   3\n"),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, want, digests(t, apply(t, base, edit{"spec.yaml", "", text}), goldenEnv))
		})
	}
	t.Run("order of agents and models", func(t *testing.T) {
		a, b, c := strings.Index(spec, "  - id: plain"), strings.Index(spec, "  - {id: deep"), strings.Index(spec, "models:")
		text := spec[:a] + spec[b:c] + spec[a:b] + spec[c:]
		assert.Equal(t, want, digests(t, apply(t, base, edit{"spec.yaml", "", text}), goldenEnv))
	})
	t.Run("default repeats", func(t *testing.T) {
		five := apply(t, base, y("repeats: 3", "repeats: 5")...)
		none := apply(t, base, y("repeats: 3\n", "")...)
		assert.Equal(t, digests(t, five, goldenEnv), digests(t, none, goldenEnv))
	})
}

// A panel as CSV and the same as JSON lines are one panel.
func TestPanelSpellings(t *testing.T) {
	yes := `{"id":"L-1","input":"Is the lamp on?","expected":"yes","family":"a","anchor":true}`
	no := `{"id":"L-2","input":"Is it, \"well\", off?","expected":"no"}`
	files := map[string]string{"ask.sh": "1", "grade.sh": "1"}
	var want map[string]batch.Digest
	for _, c := range []struct{ name, file, text string }{
		{"json lines", "p.jsonl", yes + "\n" + no + "\n"},
		{"other order, blank lines, CRLF", "p.jsonl", "\ufeff" + no + "\r\n\r\n" + yes},
		{"escapes and key order", "p.jsonl", `{"anchor":true,"family":"a","expected":"y\u0065s","id":"L-1","input":"Is the lamp on\u003f"}` + "\n" + no},
		{"nulls for nothing", "p.jsonl", yes + "\n" + strings.Replace(no, `"expected"`, `"family":null,"expected"`, 1)},
		{"csv", "p.csv", "id,input,expected,family,anchor\nL-1,Is the lamp on?,yes,a,true\nL-2,\"Is it, \"\"well\"\", off?\",no,,\n"},
		{"csv of another column order", "p.csv", "\ufeffanchor,id,expected,family,input\r\nfalse,L-2,no,,\"Is it, \"\"well\"\", off?\"\r\ntrue,L-1,yes,a,Is the lamp on?\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := digests(t, apply(t, files, edit{"spec.yaml", "", strings.Replace(smallSpec, "lamps.csv", c.file, 1)}, edit{c.file, "", c.text}), nil)
			if want == nil {
				want = got
			}
			assert.Equal(t, want, got)
		})
	}
}

// The digest of a folder is what anyone recomputes with sha256sum.
func TestFolderDigestIsInTheManifest(t *testing.T) {
	files := golden(t)
	dir := folder(t, files)
	s, err := Load(filepath.Join(dir, "spec.yaml"), lookupIn(goldenEnv))
	require.NoError(t, err)
	r, err := Resolve(s, lookupIn(goldenEnv))
	require.NoError(t, err)
	line := string(batch.Sum([]byte(files["policies/night.md"]))) + "  night.md\n"
	assert.Equal(t, batch.Sum([]byte(line)), r.Execution.Items["include policies/"])
}

func TestResolveSeesFilesAsTheyAreNow(t *testing.T) {
	dir := folder(t, golden(t))
	env := lookupIn(goldenEnv)
	s, err := Load(filepath.Join(dir, "spec.yaml"), env)
	require.NoError(t, err)
	before, err := Resolve(s, env)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.md"), []byte("Be long."), 0o600))
	after, err := Resolve(s, env)
	require.NoError(t, err)
	assert.Equal(t, []batch.Change{{
		Part: batch.PartExecution, Item: "file rules.md",
		Old: string(batch.Sum([]byte("Be brief.\n"))), New: string(batch.Sum([]byte("Be long."))),
	}}, batch.Explain(batch.PartExecution, before.Execution, after.Execution))

	require.NoError(t, os.Remove(filepath.Join(dir, "rules.md")))
	_, err = Resolve(s, env)
	require.ErrorContains(t, err, "spec.yaml:26:24: recipe.include[1]: \"rules.md\": does not exist")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.md"), []byte("Be long."), 0o600))
	_, err = Resolve(s, nil)
	require.ErrorContains(t, err, "the environment variable is not set")
}
