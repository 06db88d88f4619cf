package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProblemsOfPanels(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             []string
	}{
		{"unknown column", "p.csv", "id,input,famly\nL-1,x,y\n", []string{
			"p.csv:1:3: famly: unknown column; did you mean family? known here: id, input, expected, family, anchor",
		}},
		{"semicolons", "p.csv", "id;input\nL-1;x\n", []string{
			"p.csv:1: id: the column is missing; the first line names the columns: id,input,expected,family,anchor",
			"p.csv:1: input: the column is missing; the first line names the columns: id,input,expected,family,anchor",
			`p.csv:1:1: "id;input": unknown column; separate columns with commas`,
		}},
		{"column twice", "p.csv", "id,input,id\nL-1,x,L-2\n", []string{"p.csv:1:3: id: the column stands twice; keep one of both"}},
		{"rows", "p.csv", "id,input,anchor,family\nL 1,x,,\nL-2,,,\nL-2,x,yes,\n,z,,\n..,z,,\nL-3,\"two\nlines\",true,\nL-4,x\nL-5,x,,\"a\tb\"\n", []string{
			`p.csv:2: id: "L 1": not an id: 1 to 64 of A-Z a-z 0-9 . _ - are allowed; write L_1`,
			"p.csv:3: input: missing; write what the agent is asked",
			`p.csv:4: anchor: "yes": not a flag; write true or false`,
			`p.csv:4: id: "L-2": the id stands twice: first on line 3; give one of both another id`,
			"p.csv:5: id: missing; give each task an id",
			`p.csv:6: id: "..": not an id: 1 to 64 of A-Z a-z 0-9 . _ - are allowed`,
			"p.csv:9:1: not readable as CSV: wrong number of fields; put values that hold commas in quotes",
			`p.csv:10: family: "a\tb": not a name: one line of at most 128 characters is`,
		}},
		{"quotes", "p.csv", "id,input\nL-1,say \"x\"\n", []string{
			"p.csv:2:9: not readable as CSV: bare \" in non-quoted-field; write \"\" for a quote inside a quoted value",
		}},
		{"empty", "p.csv", "", []string{"p.csv: the panel holds no task; write one task a line"}},
		{"header alone", "p.csv", "id,input\n", []string{"p.csv: the panel holds no task; write one task a line"}},
		{"Latin-1", "p.csv", "id,input\nL-1,caf\xe9\n", []string{"p.csv:2: not valid UTF-8: byte 0xe9; save the file as UTF-8"}},
		{"blank lines alone", "p.jsonl", "\n \n", []string{"p.jsonl: the panel holds no task; write one task a line"}},
		{"lines", "p.jsonl", `{"id":1,"input":"x"}
{"id":"1","input":"x"}
{"id":"a","id":"b","input":1}
foo
{"id":"c","Input":3}
{"id":"d","input":9007199254740993}
{"id":"e","input":[1.0,1e400]}
{"id":"f","input":1}{}
{"id":"g","input":"\ud800"}
[1]
{"id":"h"
{"id":"i","input":null,"anchor":1,"family":2}
{"id":true,"input":1}
{"id":"k","input":0.1000000000000000055}
`, []string{
			`p.jsonl:2: id: "1": the id stands twice: first on line 1; give one of both another id`,
			`p.jsonl:3: not one JSON object: duplicate object member name after byte 10; write {"id": ..., "input": ...} on one line`,
			`p.jsonl:4: not one JSON object: invalid character 'o' in literal false (expecting 'a') after byte 1; write {"id": ..., "input": ...} on one line`,
			"p.jsonl:5: Input: unknown key; did you mean input? known here: id, input, expected, family, anchor",
			"p.jsonl:5: input: missing; write what the agent is asked",
			`p.jsonl:6: input: "9007199254740993": the number 9007199254740993 is not kept exactly by every JSON reader; write it in quotes`,
			`p.jsonl:7: input: "[1.0,1e400]": the number 1e400 is not kept exactly by every JSON reader; write it in quotes`,
			`p.jsonl:8: not one JSON object: text after the object; write {"id": ..., "input": ...} on one line`,
			"p.jsonl:9: not one JSON object: \"invalid surrogate pair `\\\\ud800\\\"}` in string\" after byte 19; write {\"id\": ..., \"input\": ...} on one line",
			`p.jsonl:10: not one JSON object: another kind of value; write {"id": ..., "input": ...} on one line`,
			`p.jsonl:11: not one JSON object: unexpected EOF after byte 9; write {"id": ..., "input": ...} on one line`,
			`p.jsonl:12: anchor: "1": not a flag; write true or false`,
			`p.jsonl:12: family: "2": a family is text; write it in quotes`,
			"p.jsonl:12: input: missing; write what the agent is asked",
			`p.jsonl:13: id: "true": an id is text; write "id": "T-001"`,
			`p.jsonl:14: input: "0.1000000000000000055": the number 0.1000000000000000055 is not kept exactly by every JSON reader; write it in quotes`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, lines(t, small(t, with("lamps.csv", c.file), map[string]string{c.file: c.text}), nil))
		})
	}
}

func TestProblemsOfPanelPaths(t *testing.T) {
	for panel, want := range map[string]string{
		"none.csv":      `panel: "none.csv": does not exist`,
		"folder/x":      `panel: "folder/x": neither a .jsonl nor a .csv file`,
		"folder/":       `panel: "folder/": a folder, not a file`,
		"../lamps.csv":  `panel: "../lamps.csv": leads out of the spec's folder`,
		"folder/../x/.": `panel: "folder/../x/.": does not exist`,
	} {
		got := lines(t, small(t, with("lamps.csv", panel), map[string]string{"folder/x": ""}), nil)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], want)
	}
}

// Task ids that differ only in case are two tasks.
func TestLanguageCodesAreTasks(t *testing.T) {
	s, err := Load(small(t, smallSpec, map[string]string{"lamps.csv": "id,input\nno,a\nNO,a\non,a\noff,a\ny,a\nn,a\nyes,a\n"}), nil)
	require.NoError(t, err)
	var ids []string
	for _, task := range s.Tasks {
		ids = append(ids, task.ID)
	}
	assert.Equal(t, []string{"NO", "n", "no", "off", "on", "y", "yes"}, ids)
}

func TestPrices(t *testing.T) {
	s, err := Load(small(t, smallSpec+"prices: p.yaml\n", map[string]string{"p.yaml": "north_lamp-9b: {input: 0.25, output: 0}\n"}), nil)
	require.NoError(t, err)
	p := s.PriceList["north_lamp-9b"]
	assert.Equal(t, 0.25, *p.Input)
	assert.Equal(t, 0.0, *p.Output, "free of charge is not unknown")
	assert.Nil(t, p.CacheRead)
	assert.NotContains(t, s.PriceList, "south_lamp-27b", "unknown")

	got := lines(t, small(t, smallSpec+"prices: p.yaml\n", map[string]string{"p.yaml": "north_lamp-9b: {input: -1, outptu: 2}\nsouth_lamp-28b: {output: 2}\n"}), nil)
	assert.Equal(t, []string{
		`p.yaml:1:24: north_lamp-9b.input: "-1": out of range: 0 to 1e+06 is allowed`,
		"p.yaml:1:28: north_lamp-9b.outptu: unknown key; did you mean output? known here: input, cache_read, cache_write, output",
		"p.yaml:2:17: south_lamp-28b: no such model; did you mean south_lamp-27b?",
	}, got)
}

func TestKeepsDigits(t *testing.T) {
	for number, want := range map[string]bool{
		"0": true, "-0": true, "0.0": true, "1": true, "1.0": true, "-1.50": true, "1e3": true, "1E+3": true, "0.1": true, "123456789012345": true,
		"9007199254740992": true, "9007199254740993": false, "0.1000000000000000055": false, "1e400": false, "1e-400": false, "5e-324": true,
		"100000000000000000000": true, "100000000000000000001": false, "0.30000000000000004": true, "1e99999999999": false,
	} {
		assert.Equal(t, want, keepsDigits(number), number)
	}
}

func TestPanelFileIsSorted(t *testing.T) {
	s, err := Load(small(t, smallSpec, map[string]string{"lamps.csv": "id,input\nb,2\na10,<3>\na9,1\nB,4\n"}), nil)
	require.NoError(t, err)
	b, err := PanelFile(s.Tasks)
	require.NoError(t, err)
	assert.Equal(t, strings.Join([]string{`{"id":"B","input":"4"}`, `{"id":"a10","input":"<3>"}`, `{"id":"a9","input":"1"}`, `{"id":"b","input":"2"}`, ""}, "\n"), string(b))
}
