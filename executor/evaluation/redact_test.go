package evaluation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

func redactorOf(secrets map[string]string) *Redactor {
	s := &spec.Spec{Runner: spec.Runner{Secrets: []string{"A", "B", "C"}}}
	return NewRedactor(s, func(name string) (string, bool) { v, ok := secrets[name]; return v, ok }, nil)
}

func TestRedact(t *testing.T) {
	r := redactorOf(map[string]string{"A": "12345678", "B": "12345678-and-more", "C": "short"})
	for in, want := range map[string]string{
		"":                                "",
		"nothing":                         "nothing",
		"short":                           "short",
		"a12345678b":                      "a[redacted:A]b",
		"1234567812345678":                "[redacted:A][redacted:A]",
		"x12345678-and-more":              "x[redacted:B]",
		"1234567":                         "1234567",
		"Basic dXNlcjoxMjM0NTY3OA==":      "Basic dXNlcjo[redacted:A]A==",
		"12345678-and-mor 12345678-and-m": "[redacted:A]-and-mor [redacted:A]-and-m",
	} {
		assert.Equal(t, want, r.Text(in), in)
	}
}

// The same character can be written in many ways, and in JSON within JSON in more.
func TestRedactingEscapes(t *testing.T) {
	r := redactorOf(map[string]string{"A": "sk-abc/def=\u00fcghi\"012345", "B": "plain-secret\\n", "C": "-----BEGIN KEY-----\nabc/def+ghi\n-----END KEY-----\n"})
	for _, in := range []string{
		`sk-abc\/def=\u00fcghi\"012345`, `sk-abc\u002fdef\u003D\u00FCghi\u0022012345`, `sk\u002Dabc\/def\u003d` + "\u00fc" + `ghi\"012345`,
		`sk-abc\\/def=\\u00fcghi\\\"012345`, `\\\u0073\\\u006b-abc\\\/def\\\u003d\\\u00fcghi\\\"012345`,
		`sk-abc%2Fdef%3d%c3%BCghi%22012345`, `sk-abc%252Fdef%253d%25c3%25BCghi%2522012345`,
		`plain-secret\n`, `plain-secret\\n`, `plain\u002dsecret\u005Cn`,
		`-----BEGIN KEY-----\nabc\/def+ghi\n-----END KEY-----\n`, `-----BEGIN KEY-----\u000aabc\/def\u002bghi\n-----END KEY-----`,
		`c2stYWJjL2RlZj3DvGdoaSIwMTIzNDU`, `c2stYWJjL2RlZj3Dv\u0047doaSIwMTIzNDU`,
	} {
		got := r.Text("<" + in + ">")
		assert.Regexp(t, `^<\[redacted:[ABC]\]\w{0,2}(\\n|\\u000a)?>$`, got, in)
	}
	for _, in := range []string{`sk-abc\/de`, `C:\new\table 100%25 %zz \uZZZZ \`, `\ud83d\ude00 \ud83d`, strings.Repeat(`\`, 40)} {
		assert.Equal(t, in, r.Text(in), "the rest is untouched")
	}
}

// However a writer escapes each character, wherever blocks end: it is found.
func TestRedactingAnyEscape(t *testing.T) {
	const secret = "sk-a/b=\u00fc\U0001F600\"0123456789"
	r := redactorOf(map[string]string{"A": secret})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString(strings.Repeat("y", rapid.SampledFrom([]int{0, 1, 65300, 65500, 65530}).Draw(t, "before")))
		before := text.Len()
		for _, c := range secret {
			back := strings.Repeat(`\`, rapid.SampledFrom([]int{1, 3, 7}).Draw(t, "depth"))
			ways := []string{string(c)}
			for _, u := range utf16.Encode([]rune{c}) {
				digits := rapid.SampledFrom([]string{"%04x", "%04X"}).Draw(t, "digits")
				if len(ways) == 1 {
					ways = append(ways, "")
				}
				ways[1] += back + "u" + fmt.Sprintf(digits, u)
			}
			if strings.ContainsRune(`/"`, c) {
				ways = append(ways, back+string(c))
			}
			text.WriteString(rapid.SampledFrom(ways).Draw(t, "way"))
		}
		got := r.Text(text.String() + " end")
		require.Equal(t, text.String()[:before]+"[redacted:A] end", got)
	})
}

func TestCredentialsOfTheTrackingServer(t *testing.T) {
	r := NewRedactor(&spec.Spec{Runner: spec.Runner{PassEnv: []string{"GATEWAY"}}}, func(name string) (string, bool) {
		v, ok := map[string]string{"GATEWAY": "http://u:gate%2Fpassword@gateway/v1", "MLFLOW_TRACKING_URI": "http://bob:of-the-launcher@host"}[name]
		return v, ok
	}, []string{"MLFLOW_TRACKING_URI=https://bob:hunter2-secret@mlflow.example/", "MLFLOW_TRACKING_PASSWORD=password-0123", "MLFLOW_TRACKING_TOKEN=token-0123456",
		"MLFLOW_EXPERIMENT_ID=123456789", "MLFLOW_REGISTRY_URI=https://bob:short@mlflow.example/", "MLFLOW_ARTIFACT_URI=https://ghp-0123456789@host/"})
	for in, want := range map[string]string{
		"https://bob:hunter2-secret@mlflow.example/": "https://[redacted:MLFLOW_TRACKING_URI]@mlflow.example/",
		"hunter2-secret": "[redacted:MLFLOW_TRACKING_URI]", "password-0123": "[redacted:MLFLOW_TRACKING_PASSWORD]", "token-0123456": "[redacted:MLFLOW_TRACKING_TOKEN]",
		"123456789": "123456789", "https://bob:short@x": "https://[redacted:MLFLOW_REGISTRY_URI]@x", "ghp-0123456789": "[redacted:MLFLOW_ARTIFACT_URI]",
		"gate/password gate%2Fpassword": "[redacted:GATEWAY] [redacted:GATEWAY]", "of-the-launcher": "[redacted:MLFLOW_TRACKING_URI]",
	} {
		assert.Equal(t, want, r.Text(in), in)
	}
}

func TestRedactorKnowsAllSecrets(t *testing.T) {
	s := &spec.Spec{
		Judge:     &spec.JudgeStage{Secrets: []string{"JUDGE"}},
		Preflight: &spec.Preflight{Key: "KEY"},
		Models:    []spec.Model{{Preflight: &spec.Preflight{Key: "MODEL"}}},
	}
	r := NewRedactor(s, func(name string) (string, bool) { return "value-of-" + name, true }, nil)
	assert.Equal(t, "[redacted:JUDGE] [redacted:KEY] [redacted:MODEL]", r.Text("value-of-JUDGE value-of-KEY value-of-MODEL"))
}

// Whatever the text and however it arrives: no secret is left, the rest is untouched.
func TestRedactingAStream(t *testing.T) {
	const secret = "s3cr3t-v4lue"
	r := redactorOf(map[string]string{"A": secret})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{secret, secret[:6], secret[6:], "x", " ", strings.Repeat("y", 65500), "\xff"}), 0, 8).Draw(t, "parts")
		text := strings.Join(parts, "")
		var out bytes.Buffer
		src := iotest.HalfReader(strings.NewReader(text))
		if rapid.Bool().Draw(t, "whole") {
			src = strings.NewReader(text)
		}
		n, err := r.Copy(&out, src)
		require.NoError(t, err)
		require.EqualValues(t, out.Len(), n)
		require.Equal(t, strings.ReplaceAll(text, secret, "[redacted:A]"), out.String())
	})
}

func BenchmarkRedact(b *testing.B) {
	r := redactorOf(map[string]string{"A": "sk-0123456789abcdefghijklmnopqrstuvwxyz"})
	text := bytes.Repeat([]byte("an ordinary line of an ordinary log, nothing in it\n"), 20_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = r.Copy(&bytes.Buffer{}, bytes.NewReader(text))
	}
}

func BenchmarkRedactEscapes(b *testing.B) {
	r := redactorOf(map[string]string{"A": "sk-0123456789abcdefghijklmnopqrstuvwxyz"})
	text := bytes.Repeat([]byte(`{"type":"text","text":"an \"ordinary\" line\nof a transcript"}`+"\n"), 20_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = r.Copy(&bytes.Buffer{}, bytes.NewReader(text))
	}
}

// What a person said loses its secrets, and stays JSON whatever it was.
func TestRedactingAssessments(t *testing.T) {
	r := redactorOf(map[string]string{"A": "12345678"})
	for value, want := range map[string]string{`"a 12345678"`: `"a [redacted:A]"`, `12345678`: `"[redacted:A]"`, `["12345678",1]`: `["[redacted:A]",1]`, `0.5`: `0.5`, `"\u003c"`: `"\u003c"`} {
		a := batch.Assessment{Name: "n 12345678", Rationale: "r 12345678", Who: "w 12345678", Value: json.RawMessage(value)}
		r.Assessment(&a)
		assert.Equal(t, want, string(a.Value))
		assert.Equal(t, []string{"n [redacted:A]", "r [redacted:A]", "w [redacted:A]"}, []string{a.Name, a.Rationale, a.Who})
	}
}
