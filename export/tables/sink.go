package tables

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/benchbatch/benchbatch/export"
)

// How the bytes are arranged. A change of any of these moves every file's bytes
// (not its content digest).
const (
	rowGroup  = 122_880 // rows; as DuckDB's own, so that it scans several at once
	chunkRows = 1024    // rows handed to the writer at a time
	createdBy = "benchbatch"
)

// codec compresses all tables, so that they share its buffers.
var codec = &zstd.Codec{Level: zstd.SpeedFastest}

// sink takes the rows of one table, digests them and (where it has a file)
// writes them. Full chunks are worked off while the next one fills.
type sink[T any] struct {
	digest *digester
	chunk  []T
	spare  []T
	busy   chan error // of the chunk being worked off; nil = none

	file *os.File
	buf  *bufio.Writer
	w    *parquet.GenericWriter[T]
}

func newSink[T any](table, dir string, schema int) (*sink[T], error) {
	s := &sink[T]{digest: newDigester(table, columnsOf(reflect.TypeFor[T]())),
		chunk: make([]T, 0, chunkRows), spare: make([]T, 0, chunkRows)}
	if dir == "" {
		return s, nil
	}
	name := filepath.Join(dir, filepath.FromSlash(path(table)))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	s.file, s.buf = f, bufio.NewWriterSize(f, 128<<10)
	s.w = parquet.NewGenericWriter[T](s.buf,
		parquet.SchemaOf(new(T)),
		parquet.DataPageVersion(1),
		parquet.MaxRowsPerRowGroup(rowGroup),
		parquet.Compression(codec),
		parquet.CreatedBy(createdBy, fmt.Sprint(schema), "parquet-go"),
		parquet.KeyValueMetadata("benchbatch.table", table),
		parquet.KeyValueMetadata("benchbatch.schema", fmt.Sprint(schema)),
	)
	return s, nil
}

// next returns the next row, to be filled. It is empty.
func (s *sink[T]) next() (*T, error) {
	if len(s.chunk) == cap(s.chunk) {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	s.chunk = s.chunk[:len(s.chunk)+1]
	return &s.chunk[len(s.chunk)-1], nil
}

// flush starts to work off the full chunk, after the one before is done.
func (s *sink[T]) flush() error {
	if err := s.wait(); err != nil {
		return err
	}
	full := s.chunk
	s.chunk, s.spare = s.spare[:0], full
	s.busy = make(chan error, 1)
	go func(busy chan<- error) { busy <- s.work(full) }(s.busy)
	return nil
}

func (s *sink[T]) wait() error {
	if s.busy == nil {
		return nil
	}
	err := <-s.busy
	s.busy = nil
	return err
}

func (s *sink[T]) work(rows []T) error {
	written := make(chan error, 1)
	go func() {
		if s.w == nil {
			written <- nil
			return
		}
		_, err := s.w.Write(rows)
		written <- err
	}()
	d := s.digest
	if len(rows) > 0 {
		for i, c := range d.cols {
			var nulls int64
			d.buf, nulls = c.appendRows(d.buf[:0], unsafe.Pointer(&rows[0]), len(rows), unsafe.Sizeof(rows[0]))
			d.hashes[i].Write(d.buf)
			d.nulls[i] += nulls
		}
	}
	d.rows += int64(len(rows))
	err := <-written
	clear(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", path(d.table), err)
	}
	return nil
}

// finish writes what is left and closes the file, synced.
func (s *sink[T]) finish() (export.Content, error) {
	if err := s.flush(); err != nil {
		return export.Content{}, err
	}
	if err := s.wait(); err != nil {
		return export.Content{}, err
	}
	if s.w != nil {
		err := s.w.Close()
		if err == nil {
			err = s.buf.Flush()
		}
		if err == nil {
			err = s.file.Sync()
		}
		if err = errors.Join(err, s.file.Close()); err != nil {
			return export.Content{}, fmt.Errorf("%s: %w", path(s.digest.table), err)
		}
		s.file = nil
	}
	return s.digest.content(), nil
}

// abandon closes the file unfinished.
func (s *sink[T]) abandon() {
	_ = s.wait() // why it is abandoned is said already
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}
