package tables

import (
	"context"
	"path/filepath"
	"reflect"

	"github.com/benchbatch/benchbatch/export"
)

// Write writes rows of any struct of columns as a table below dir/tables, or digests
// them alone where dir is "". schema is the version of whoever owns the columns; their
// values must be finite.
func Write[T any](dir, table string, schema int, rows []T) (export.Content, error) {
	s, err := newSink[T](table, dir, schema)
	if err != nil {
		return export.Content{}, err
	}
	for i := range rows {
		r, err := s.next()
		if err != nil {
			s.abandon()
			return export.Content{}, err
		}
		*r = rows[i]
	}
	return s.finish()
}

// Digest reads a table of such a struct below dir/tables. A table with other columns,
// or that can't be decoded, is an error.
func Digest[T any](ctx context.Context, dir, table string) (export.Content, error) {
	return readTable(ctx, filepath.Join(dir, filepath.FromSlash(path(table))), table, columnsOf(reflect.TypeFor[T]()))
}

// Finite is v, or null where no column may hold it.
func Finite(v *float64) *float64 { return finite(v) }
