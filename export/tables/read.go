package tables

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/benchbatch/benchbatch/export"
)

const batchRows = 16_384 // rows decoded at a time

// Read computes the content digests of the tables in dir with arrow-go's
// readers. A table with another schema, or that can't be decoded, is a finding.
func (Output) Read(ctx context.Context, dir string, want []export.Content) ([]export.Content, []export.Finding) {
	var out []export.Content
	var bad []export.Finding
	for _, w := range want {
		table := strings.TrimSuffix(strings.TrimPrefix(w.Path, "tables/"), ".parquet")
		cols := schemaOf(table)
		if cols == nil || w.Path != path(table) {
			bad = append(bad, export.Finding{File: w.Path, Reason: "is not a table of this schema"})
			continue
		}
		c, err := readTable(ctx, filepath.Join(dir, filepath.FromSlash(w.Path)), table, cols)
		if err != nil {
			bad = append(bad, export.Finding{File: w.Path, Reason: err.Error()})
			continue
		}
		out = append(out, c)
	}
	for _, table := range Names {
		if !slices.ContainsFunc(want, func(w export.Content) bool { return w.Path == path(table) }) {
			bad = append(bad, export.Finding{File: path(table), Reason: "has no content digest in manifest.json"})
		}
	}
	return out, bad
}

func schemaOf(table string) []column {
	switch table {
	case "cells":
		return columnsOf(reflect.TypeFor[CellRow]())
	case "evaluations":
		return columnsOf(reflect.TypeFor[EvaluationRow]())
	case "attempts":
		return columnsOf(reflect.TypeFor[AttemptRow]())
	case "outcomes":
		return columnsOf(reflect.TypeFor[OutcomeRow]())
	case "judges":
		return columnsOf(reflect.TypeFor[JudgeRow]())
	case "metrics":
		return columnsOf(reflect.TypeFor[MetricRow]())
	case "tasks":
		return columnsOf(reflect.TypeFor[TaskRow]())
	case "variants":
		return columnsOf(reflect.TypeFor[VariantRow]())
	case "pairs":
		return columnsOf(reflect.TypeFor[PairRow]())
	}
	return nil
}

// readTable digests one file. A decoder that panics on damaged bytes is an error.
func readTable(ctx context.Context, name, table string, cols []column) (c export.Content, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("can't be decoded: %v", p)
		}
	}()
	f, err := file.OpenParquetFile(name, false)
	if err != nil {
		return c, fmt.Errorf("can't be read as Parquet: %w", err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{Parallel: true, BatchSize: batchRows}, memory.DefaultAllocator)
	if err != nil {
		return c, fmt.Errorf("can't be read as Parquet: %w", err)
	}
	schema, err := r.Schema()
	if err != nil {
		return c, fmt.Errorf("schema can't be read: %w", err)
	}
	if err := checkSchema(schema, cols); err != nil {
		return c, err
	}
	d := newDigester(table, cols)
	if f.NumRows() > 0 {
		err = readRows(ctx, r, d)
	}
	return d.content(), err
}

func readRows(ctx context.Context, r *pqarrow.FileReader, d *digester) error {
	records, err := r.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return err
	}
	defer records.Release()
	for records.Next() {
		rec := records.RecordBatch()
		for i := range d.cols {
			if err := d.arrow(i, rec.Column(i)); err != nil {
				return err
			}
		}
		d.rows += rec.NumRows()
	}
	if err := records.Err(); err != nil {
		return fmt.Errorf("can't be decoded: %w", err)
	}
	return nil
}

func checkSchema(s *arrow.Schema, cols []column) error {
	if s.NumFields() != len(cols) {
		return fmt.Errorf("has %d columns, schema %d has %d", s.NumFields(), Schema, len(cols))
	}
	for i, c := range cols {
		f := s.Field(i)
		if f.Name != c.name || f.Nullable != c.nullable || !sameType(f.Type, c.typ) {
			return fmt.Errorf("column %d is %s %s (null: %v), schema %d has %s %s", i+1, f.Name, f.Type, f.Nullable, Schema, c.name, c.fullType())
		}
	}
	return nil
}

func sameType(t arrow.DataType, typ string) bool {
	switch typ {
	case "string":
		return t.ID() == arrow.STRING
	case "int64":
		return t.ID() == arrow.INT64
	case "double":
		return t.ID() == arrow.FLOAT64
	case "bool":
		return t.ID() == arrow.BOOL
	case "timestamp_ms":
		ts, ok := t.(*arrow.TimestampType)
		return ok && ts.Unit == arrow.Millisecond && ts.TimeZone == "UTC"
	}
	return false
}

// arrow digests a piece of column i.
func (d *digester) arrow(i int, a arrow.Array) error {
	b := d.buf[:0]
	switch a := a.(type) {
	case *array.String:
		b = appendArrow(b, a, a.Value, appendString)
	case *array.Int64:
		b = appendArrow(b, a, a.Value, appendInt)
	case *array.Float64:
		b = appendArrow(b, a, a.Value, appendDouble)
	case *array.Boolean:
		b = appendArrow(b, a, a.Value, appendBool)
	case *array.Timestamp:
		b = appendArrow(b, a, func(j int) int64 { return int64(a.Value(j)) }, appendInt)
	default:
		return fmt.Errorf("column %s: %T is not expected", d.cols[i].name, a)
	}
	d.hashes[i].Write(b)
	d.nulls[i] += int64(a.NullN())
	d.buf = b
	return nil
}

func appendArrow[V any](b []byte, a arrow.Array, value func(int) V, add func([]byte, V) []byte) []byte {
	for j := range a.Len() {
		if a.IsNull(j) {
			b = appendNull(b)
		} else {
			b = add(b, value(j))
		}
	}
	return b
}
