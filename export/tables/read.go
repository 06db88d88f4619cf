package tables

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"golang.org/x/sync/errgroup"

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

// rowTypes are the structs of the tables.
var rowTypes = map[string]reflect.Type{
	"cells": reflect.TypeFor[CellRow](), "evaluations": reflect.TypeFor[EvaluationRow](), "attempts": reflect.TypeFor[AttemptRow](),
	"outcomes": reflect.TypeFor[OutcomeRow](), "judges": reflect.TypeFor[JudgeRow](), "metrics": reflect.TypeFor[MetricRow](),
	"tasks": reflect.TypeFor[TaskRow](), "variants": reflect.TypeFor[VariantRow](), "pairs": reflect.TypeFor[PairRow](),
	"batch": reflect.TypeFor[BatchRow](), "task_variants": reflect.TypeFor[TaskVariantRow](), "families": reflect.TypeFor[FamilyRow](),
	"family_pairs": reflect.TypeFor[FamilyPairRow](), "passes": reflect.TypeFor[PassRow](), "reliability": reflect.TypeFor[ReliabilityRow](),
	"flags": reflect.TypeFor[FlagRow](), "judging": reflect.TypeFor[JudgingRow](), "judge_pairs": reflect.TypeFor[JudgePairRow](), "feedback": reflect.TypeFor[FeedbackRow](),
}

// schemaOf lists the columns of a table; nil = there is no such table.
func schemaOf(table string) []column {
	if t, ok := rowTypes[table]; ok {
		return columnsOf(t)
	}
	return nil
}

// readTable digests one file. Its columns are shared out among some goroutines.
func readTable(ctx context.Context, name, table string, cols []column) (export.Content, error) {
	d := newDigester(table, cols)
	if err := safely(func() error { return d.open(name) }); err != nil {
		return export.Content{}, err
	}
	if d.rows == 0 {
		return d.content(), nil
	}
	g, ctx := errgroup.WithContext(ctx)
	shares := min(runtime.GOMAXPROCS(0), len(cols))
	for share := range shares {
		var mine []int
		for c := share; c < len(cols); c += shares {
			mine = append(mine, c)
		}
		g.Go(func() error {
			return safely(func() error { return d.readColumns(ctx, name, mine) })
		})
	}
	if err := g.Wait(); err != nil {
		return export.Content{}, err
	}
	return d.content(), nil
}

// safely turns a panic of the decoder, which damaged bytes can cause, into an
// error. For its sake arrow-go must start no goroutines of its own.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("can't be decoded: %v", p)
		}
	}()
	return f()
}

func openReader(name string) (*pqarrow.FileReader, error) {
	f, err := file.OpenParquetFile(name, false)
	if err != nil {
		return nil, fmt.Errorf("can't be read as Parquet: %w", err)
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: batchRows}, memory.DefaultAllocator)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("can't be read as Parquet: %w", err), f.Close())
	}
	return r, nil
}

// open compares the schema and takes the number of rows.
func (d *digester) open(name string) error {
	r, err := openReader(name)
	if err != nil {
		return err
	}
	defer r.ParquetReader().Close()
	schema, err := r.Schema()
	if err != nil {
		return fmt.Errorf("schema can't be read: %w", err)
	}
	d.rows = r.ParquetReader().NumRows()
	return checkSchema(schema, d.cols)
}

// readColumns digests some of the columns.
func (d *digester) readColumns(ctx context.Context, name string, cols []int) error {
	r, err := openReader(name)
	if err != nil {
		return err
	}
	defer r.ParquetReader().Close()
	records, err := r.GetRecordReader(ctx, cols, nil)
	if err != nil {
		return fmt.Errorf("can't be decoded: %w", err)
	}
	defer records.Release()
	var buf []byte
	rows := int64(0)
	for records.Next() {
		rec := records.RecordBatch()
		for i, c := range cols {
			if buf, err = d.arrow(c, rec.Column(i), buf[:0]); err != nil {
				return err
			}
		}
		rows += rec.NumRows()
	}
	if err := records.Err(); err != nil {
		return fmt.Errorf("can't be decoded: %w", err)
	}
	if rows != d.rows {
		return fmt.Errorf("holds %d rows where its footer says %d", rows, d.rows)
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

// arrow digests a piece of column i. It returns buf, grown.
func (d *digester) arrow(i int, a arrow.Array, buf []byte) ([]byte, error) {
	switch a := a.(type) {
	case *array.String:
		buf = appendArrow(buf, a, a.Value, appendString)
	case *array.Int64:
		buf = appendArrow(buf, a, a.Value, appendInt)
	case *array.Float64:
		buf = appendArrow(buf, a, a.Value, appendDouble)
	case *array.Boolean:
		buf = appendArrow(buf, a, a.Value, appendBool)
	case *array.Timestamp:
		buf = appendArrow(buf, a, func(j int) int64 { return int64(a.Value(j)) }, appendInt)
	default:
		return buf, fmt.Errorf("column %s: %T is not expected", d.cols[i].name, a)
	}
	d.hashes[i].Write(buf)
	d.nulls[i] += int64(a.NullN())
	return buf, nil
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
