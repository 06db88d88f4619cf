package tables

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// cursor reads some columns of one table row by row, by arrow-go's readers:
// parquet-go's own lose nulls where they read a part of the columns.
type cursor[T any] struct {
	name    string // path in the folder
	cols    []column
	file    *pqarrow.FileReader
	records pqarrow.RecordReader
	rows    []T
	at      int
	seen    int64 // rows read
}

// newCursor opens a table whose schema was checked. T names the columns, in the
// order of the table.
func newCursor[T any](ctx context.Context, file, table string) (*cursor[T], error) {
	c := &cursor[T]{name: path(table), cols: columnsOf(reflect.TypeFor[T]())}
	all := schemaOf(table)
	var at []int
	for _, col := range c.cols {
		at = append(at, slices.IndexFunc(all, func(o column) bool { return o.name == col.name && o.fullType() == col.fullType() }))
	}
	var err error
	if c.file, err = openReader(file); err != nil {
		return nil, err
	}
	if c.file.ParquetReader().NumRows() == 0 {
		return c, nil
	}
	if c.records, err = c.file.GetRecordReader(ctx, at, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("can't be decoded: %w", err), c.close())
	}
	return c, nil
}

// peek is the row at hand; nil behind the last one. It is good until next.
func (c *cursor[T]) peek() (*T, error) {
	for c.at == len(c.rows) {
		if c.records == nil || !c.records.Next() {
			return nil, c.ended()
		}
		rec := c.records.RecordBatch()
		n := int(rec.NumRows())
		c.rows, c.at, c.seen = make([]T, n), 0, c.seen+int64(n)
		for i, col := range c.cols {
			if err := col.restore(unsafe.Pointer(unsafe.SliceData(c.rows)), unsafe.Sizeof(*new(T)), rec.Column(i)); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return &c.rows[c.at], nil
}

// ended is the error of a table that ends before its end.
func (c *cursor[T]) ended() error {
	if c.records != nil {
		if err := c.records.Err(); err != nil {
			return fmt.Errorf("%s: can't be decoded: %w", c.name, err)
		}
	}
	if n := c.file.ParquetReader().NumRows(); n != c.seen {
		return fmt.Errorf("%s: holds %d rows where its footer says %d", c.name, c.seen, n)
	}
	return nil
}

func (c *cursor[T]) next() { c.at++ }

// end is nil behind the last row.
func (c *cursor[T]) end() error {
	if r, err := c.peek(); err != nil || r == nil {
		return err
	}
	return fmt.Errorf("%s: a row belongs to no evaluation of result.json, or stands out of order", c.name)
}

func (c *cursor[T]) close() error {
	if c.records != nil {
		c.records.Release()
	}
	return c.file.ParquetReader().Close()
}

// restore writes one column into rows of the given size that start at rows.
func (c column) restore(rows unsafe.Pointer, size uintptr, a arrow.Array) error {
	at := func(j int) unsafe.Pointer { return unsafe.Add(rows, uintptr(j)*size+c.offset) }
	switch a := a.(type) {
	case *array.String:
		return restoreValues(c, a, texts(a), at)
	case *array.Int64:
		return restoreValues(c, a, a.Value, at)
	case *array.Float64:
		return restoreValues(c, a, a.Value, at)
	case *array.Boolean:
		return restoreValues(c, a, a.Value, at)
	case *array.Timestamp:
		return restoreValues(c, a, func(j int) int64 { return int64(a.Value(j)) }, at)
	}
	return fmt.Errorf("column %s: %T is not expected", c.name, a)
}

// restoreValues writes values of one type; null stays nil.
func restoreValues[V any](c column, a arrow.Array, value func(int) V, at func(int) unsafe.Pointer) error {
	if !c.nullable {
		if a.NullN() > 0 {
			return fmt.Errorf("column %s: null where there must be a value", c.name)
		}
		for j := range a.Len() {
			*(*V)(at(j)) = value(j)
		}
		return nil
	}
	values := make([]V, a.Len()-a.NullN())
	n := 0
	for j := range a.Len() {
		if a.IsNull(j) {
			continue
		}
		values[n] = value(j)
		*(**V)(at(j)) = &values[n]
		n++
	}
	return nil
}

// texts gives strings of their own; a text that repeats is kept once.
func texts(a *array.String) func(int) string {
	last := ""
	return func(j int) string {
		if v := a.Value(j); v != last {
			last = strings.Clone(v)
		}
		return last
	}
}
