package evaluation

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/benchbatch/benchbatch/planner/spec"
)

func redactorOf(secrets map[string]string) *Redactor {
	s := &spec.Spec{Runner: spec.Runner{Secrets: []string{"A", "B", "C"}}}
	return NewRedactor(s, func(name string) (string, bool) { v, ok := secrets[name]; return v, ok })
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

func TestRedactorKnowsAllSecrets(t *testing.T) {
	s := &spec.Spec{
		Judge:     &spec.JudgeStage{Secrets: []string{"JUDGE"}},
		Preflight: &spec.Preflight{Key: "KEY"},
		Models:    []spec.Model{{Preflight: &spec.Preflight{Key: "MODEL"}}},
	}
	r := NewRedactor(s, func(name string) (string, bool) { return "value-of-" + name, true })
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
