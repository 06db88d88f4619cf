package export

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// invented makes words of the shape of secrets, out of parts: none stands in this file.
func invented(begin string, n int) string { return begin + strings.Repeat("a1B2c3D4e5", n/10+1)[:n] }

func TestShapesOfSecrets(t *testing.T) {
	upper := func(begin string) string { return begin + "A1B2C3D4E5F6G7H8" }
	jwt := invented("eyJ", 30) + "." + invented("eyJ", 900) + "." + invented("", 40)
	for text, want := range map[string]string{
		invented("sk-", 20):                                   "sk- key",
		invented("sk-proj-", 120):                             "sk- key",
		upper("AKIA"):                                         "aws access key",
		upper("ASIA"):                                         "aws access key",
		invented("ghp_", 36):                                  "github token",
		invented("ghs_", 40):                                  "github token",
		invented("github_pat_", 60):                           "github token",
		invented("xoxb-", 24):                                 "slack token",
		invented("AIza", 35):                                  "google api key",
		invented("hf_", 34):                                   "hugging face token",
		invented("glpat-", 20):                                "gitlab token",
		jwt:                                                   "json web token",
		"-----BEGIN " + "PRIVATE KEY-----":                    "private key",
		"-----BEGIN " + "RSA PRIVATE KEY-----":                "private key",
		"-----BEGIN " + "PGP PRIVATE KEY BLOCK-----":          "private key",
		"Authorization: Bearer " + invented("", 24):           "bearer token",
		"authorization: bearer  " + invented("", 24):          "bearer token",
		"sk-learn":                                            "",
		"sk-" + strings.Repeat("a-long-name-", 4):             "",
		invented("task-", 30):                                 "",
		invented("disk-", 30):                                 "",
		invented("sk-", 19):                                   "",
		upper("AKIA") + "9":                                   "",
		upper("XAKIA"):                                        "",
		invented("ghp_", 35):                                  "",
		invented("ghx_", 36):                                  "",
		invented("half_", 34):                                 "",
		invented("eyJ", 30) + "." + invented("", 30) + ".x":   "",
		"-----BEGIN CERTIFICATE-----":                         "",
		"the bearer of very-long-words-without-any-number":    "",
		"Bearer [redacted:GATEWAY_TOKEN]":                     "",
		"{\"task\":\"T-1\",\"score\":0.5,\"output\":\"a/b\"}": "",
	} {
		var found []SecretHit
		if want != "" {
			found = []SecretHit{{"f", want, 1}}
		}
		for _, line := range []string{text, "{\"error\":\"" + text + "\"}\n", "  " + text + "\n", "x " + text, "a\\n" + text + "\\n", "k=" + text + ";"} {
			assert.Equal(t, found, scanBytes([]byte(line), "f"), line)
		}
	}
	key, token := invented("sk-", 48), invented("hf_", 34)
	assert.Equal(t, []SecretHit{{"f", "hugging face token", 1}, {"f", "sk- key", 3}},
		scanBytes([]byte(key+" "+key+"\n"+token+","+key+"-sk-"), "f"))
}

// What is found depends neither on where a piece ends nor on how a reader hands bytes over.
func TestScanAcrossPieces(t *testing.T) {
	key := []byte(" " + invented("ghp_", 36) + " ")
	for _, at := range []int{0, scanPiece - 60, scanPiece - 38, scanPiece - 2, scanPiece - 1, scanPiece, scanPiece + 1, scanPiece + scanAhead - 3,
		scanPiece + scanAhead + scanBack, 2*scanPiece - 7, 3 * scanPiece} {
		data := bytes.Repeat([]byte("task "), (3*scanPiece+200)/5)
		copy(data[at:], key)
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(data), "halves": iotest.HalfReader(bytes.NewReader(data)), "cut": bytes.NewReader(data[:at+len(key)-1])} {
			got, err := scan(r, "f")
			require.NoError(t, err)
			assert.Equal(t, []SecretHit{{"f", "github token", 1}}, got, "%s at %d", name, at)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		n := 0
		var text bytes.Buffer
		for text.Len() < 3*scanPiece {
			text.WriteString(strings.Repeat("x ", rnd.IntN(5000)))
			text.Write(key)
			n++
		}
		assert.Equal(t, []SecretHit{{"f", "github token", n}}, scanBytes(text.Bytes(), "f"))
	}
	_, err := scan(iotest.ErrReader(io.ErrClosedPipe), "f")
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func BenchmarkScan(b *testing.B) {
	line := `{"task":"T-0001","state":"scored","score":0.63,"attempt":1,"tokens":{"input":1200,"cache_read":300,"output":450},"cost_usd":0.0123,"duration_s":41.8,` +
		`"wait_s":3,"tool_calls":12,"tool_errors":1,"served":{"model":"lab/model-1-0811","provider":"lab"},"output":"answers/T-0001.md","transcript":"logs/T-0001.jsonl"}` + "\n"
	data := []byte(strings.Repeat(line, 40_000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		scanBytes(data, "f")
	}
}
