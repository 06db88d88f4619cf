package export

import (
	"context"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Output makes one kind of file of the folder (the tables, the report).
type Output interface {
	// Format is the version of the text or schema that this output makes. Verify
	// leaves files of another format unrecomputed, and says so.
	Format() (name string, version int)
	// Start begins the files of one batch. They are written below dir, or only
	// their content digests are computed where dir is "".
	Start(f *Frozen, dir string) (Making, error)
	// Read computes what the files in dir hold, by a decoder of its own. want
	// names the files; findings say what could not be read or has another schema.
	Read(ctx context.Context, dir string, want []Content) ([]Content, []Finding)
}

// Making is an output being made.
type Making interface {
	// Add is called for every evaluation of the result, in its order. The
	// evidence may be kept no longer than the call.
	Add(e *Evidence) error
	// Finish is called once, after the last Add, and closes everything.
	Finish(s *Summary) ([]Content, error)
	// Abandon closes everything without finishing. After Finish it does nothing.
	Abandon()
}

// Content says what one file holds, apart from how its bytes are arranged.
type Content struct {
	Output string       `json:"output"`         // name of the output that makes it
	Path   string       `json:"path"`           // in the folder
	Rows   int64        `json:"rows"`           // of a table; 0 for text
	Digest batch.Digest `json:"content_sha256"` // for text the same as that of the bytes
	// Columns are the digests of a table's columns, in order. They let Verify
	// name the column that differs.
	Columns []Column `json:"columns,omitempty"`
}

// Column is one column of a table.
type Column struct {
	Name   string       `json:"name"`
	Type   string       `json:"type"` // string, int64, double, bool or timestamp_ms; "?" behind it: may be null
	Nulls  int64        `json:"nulls"`
	Digest batch.Digest `json:"content_sha256"`
}
