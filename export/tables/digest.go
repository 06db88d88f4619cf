package tables

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// digester computes the content digest of one table, column by column.
type digester struct {
	table  string
	cols   []column
	hashes []hash.Hash
	nulls  []int64
	rows   int64
	buf    []byte
}

func newDigester(table string, cols []column) *digester {
	d := &digester{table: table, cols: cols, hashes: make([]hash.Hash, len(cols)), nulls: make([]int64, len(cols))}
	for i := range cols {
		d.hashes[i] = sha256.New()
	}
	return d
}

// content is the digest of all rows so far.
func (d *digester) content() export.Content {
	c := export.Content{Output: Name, Path: path(d.table), Rows: d.rows}
	all := sha256.New()
	fmt.Fprintf(all, "benchbatch-table 1 %s %d\n", d.table, d.rows)
	for i, col := range d.cols {
		sum := batch.Digest(hex.EncodeToString(d.hashes[i].Sum(nil)))
		fmt.Fprintf(all, "%s %s %s\n", col.name, col.fullType(), sum)
		c.Columns = append(c.Columns, export.Column{Name: col.name, Type: col.fullType(), Nulls: d.nulls[i], Digest: sum})
	}
	c.Digest = batch.Digest(hex.EncodeToString(all.Sum(nil)))
	return c
}
