package outcome

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var shapes = []string{
	`{"task":"T-007","score":0.82,"passed":true,"judges":[{"name":"tone","score":0.9,"kind":"model","model":"m","samples":[0.9,0.8],"cost_usd":0.1,"rationale":"a \"b\" \u00fc\n","error":"x"}],"tokens":{"input":1,"cache_read":null,"cache_write":3,"output":4},"cost_usd":1e-3,"duration_s":41.8,"wait_s":3,"tool_calls":12,"tool_errors":1,"served":{"model":"a","provider":"b"},"output":"o","transcript":"t","flags":[{"audit":"a","evidence":"e"}],"error":null}`,
	`{"accepted":true,"task":"a","state":"agent","score":0,"attempt":2,"error":{"class":"agent","message":"no"},"repaired":true}`,
	` { "task" : "a" , "judges" : [ ] , "flags" : null , "tokens" : { } , "score" : -0 } `,
	`{"task":"a","judges":[{"name":"x","samples":[]},{"name":"y","samples":null}]}`,
}

func TestUsualLinesAreReadFast(t *testing.T) {
	for _, line := range shapes {
		var o Outcome
		require.True(t, o.fast(&scanner{}, []byte(line)), line)
		want, err := strict([]byte(line))
		require.NoError(t, err)
		assert.Equal(t, want, o)
	}
}

func TestUnusualLinesAreNot(t *testing.T) {
	for _, line := range []string{
		``, `{`, `{}x`, `[]`, `{"task":"a",}`, `{"task":"a" "score":1}`, `{"task":"a","task":"b"}`, `{"t\u0061sk":"a"}`, `{"Task":"a"}`, `{"other":1}`,
		`{"score":01}`, `{"score":1.}`, `{"score":.5}`, `{"score":+1}`, `{"score":1e}`, `{"score":NaN}`, `{"score":1e999}`, `{"score":"1"}`, `{"score":--1}`,
		`{"attempt":1.0}`, `{"attempt":null}`, `{"tool_calls":1e3}`, `{"tool_calls":9223372036854775808}`, `{"task":null}`, `{"task":"\ud800"}`, "{\"task\":\"a\nb\"}",
		`{"judges":[{"name":"a","scale":[0,5]}]}`, `{"judges":[1]}`, `{"passed":1}`, `{"error":{"class":"agent","x":1}}`, `{"task":"a`, `{"task":"a\`,
	} {
		var o Outcome
		assert.False(t, o.fast(&scanner{}, []byte(line)), line)
	}
}

// A scanner that reads many lines mixes none of them up.
func TestManyLines(t *testing.T) {
	s := manyLines()
	var got, want []Outcome
	for round := range 400 {
		line := []byte(shapes[round%len(shapes)])
		o, err := parseLine(s, line)
		require.NoError(t, err)
		clear(line) // the caller's bytes are used again
		got = append(got, o)
		o, err = strict([]byte(shapes[round%len(shapes)]))
		require.NoError(t, err)
		want = append(want, o)
	}
	assert.Equal(t, want, got)
}

// What is read fast is what the strict decoder reads.
func FuzzFastAgreesWithStrict(f *testing.F) {
	for _, line := range shapes {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if !utf8.Valid(line) {
			return // repaired before
		}
		var got Outcome
		if !got.fast(&scanner{}, line) {
			return
		}
		want, err := strict(line)
		require.NoError(t, err, "%q", line)
		require.Equal(t, want, got, "%q", line)
	})
}

func BenchmarkStrict(b *testing.B) { benchmark(b, func(l []byte) { _, _ = strict(l) }) }

func BenchmarkFast(b *testing.B) {
	benchmark(b, func(l []byte) {
		var o Outcome
		o.fast(&scanner{}, l)
	})
}

func benchmark(b *testing.B, read func([]byte)) {
	line := []byte(shapes[0])
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		read(line)
	}
}
