package spec

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// csv reads a panel with a header line. Inputs and expected answers are text.
func (p *panelReader) csv(raw []byte) {
	r := csv.NewReader(bytes.NewReader(raw))
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return
	}
	if err != nil {
		p.csvProblem(err)
		return
	}
	columns, ok := p.columns(header)
	if !ok {
		return
	}
	for len(p.tasks) <= maxTasks {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			p.csvProblem(err)
			if !errors.Is(err, csv.ErrFieldCount) {
				return
			}
			continue
		}
		line, _ := r.FieldPos(0)
		p.row(line, columns, record)
	}
}

// columns finds the column of each key; -1 = none.
func (p *panelReader) columns(header []string) (map[string]int, bool) {
	columns := map[string]int{}
	for i, name := range header {
		_, twice := columns[name]
		switch {
		case twice:
			p.problem(1, i+1, join("", name), "", "the column stands twice", "keep one of both")
		case !slices.Contains(panelKeys, name):
			remedy := remedyForKey(name, panelKeys)
			if len(header) == 1 && strings.ContainsAny(name, ";\t") {
				remedy = "separate columns with commas"
			}
			p.problem(1, i+1, join("", name), "", "unknown column", remedy)
		}
		columns[name] = i
	}
	for _, need := range []string{"id", "input"} {
		if _, ok := columns[need]; !ok {
			p.problem(1, 0, need, "", "the column is missing", "the first line names the columns: id,input,expected,family,anchor")
		}
	}
	return columns, !p.failed
}

func (p *panelReader) row(line int, columns map[string]int, record []string) {
	cell := func(name string) string {
		if i, ok := columns[name]; ok {
			return record[i]
		}
		return ""
	}
	t := batch.Task{ID: cell("id"), Family: cell("family")}
	if s := cell("input"); s != "" {
		t.Input = jsonText(s)
	}
	if s := cell("expected"); s != "" {
		t.Expected = jsonText(s)
	}
	switch a := cell("anchor"); a {
	case "true":
		t.Anchor = true
	case "", "false":
	default:
		p.problem(line, 0, "anchor", a, "not a flag", "write true or false")
	}
	p.add(line, t)
}

func (p *panelReader) csvProblem(err error) {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		p.problem(0, 0, "", "", "not readable as CSV: "+plain(err.Error()), "")
		return
	}
	remedy := "write \"\" for a quote inside a quoted value"
	if errors.Is(err, csv.ErrFieldCount) {
		remedy = "put values that hold commas in quotes"
	}
	p.problem(pe.Line, pe.Column, "", "", fmt.Sprintf("not readable as CSV: %s", pe.Err), remedy)
}

// jsonText is s as a JSON string, as typed.
func jsonText(s string) json.RawMessage {
	b, err := batch.Canonical(s)
	if err != nil {
		panic("spec: text does not marshal: " + err.Error())
	}
	return b
}
