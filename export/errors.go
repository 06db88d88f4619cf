package export

import (
	"fmt"
	"strings"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	File   string `json:"file"`          // path in the folder, or of the artifact
	Run    string `json:"run,omitempty"` // MLflow run id, where one is concerned
	Reason string `json:"reason"`
}

func (f Finding) String() string {
	if f.Run != "" && !strings.Contains(f.File, f.Run) {
		return fmt.Sprintf("run %s: %s: %s", f.Run, f.File, f.Reason)
	}
	return f.File + ": " + f.Reason
}

// IntegrityError says that bytes are not those that were frozen. The command
// line turns it into exit code 5.
type IntegrityError struct {
	What     string // the batch or folder
	Findings []Finding
}

func (e *IntegrityError) Error() string {
	return fmt.Sprintf("%s: %d integrity %s:%s", e.What, len(e.Findings), plural(len(e.Findings), "error"), list(e.Findings))
}

// IncompleteError says that a provisional folder was written although evidence
// is missing. The rows are there and marked.
type IncompleteError struct {
	Path     string // of the folder
	Findings []Finding
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%s was written, but %d %s missing:%s", e.Path, len(e.Findings), plural(len(e.Findings), "artifact"), list(e.Findings))
}

// Unavailable is the error of a Batch.Fetch that could not ask for an artifact, or of an
// answer that broke off again and again: nothing is told of the artifact.
type Unavailable struct {
	Err error

	broke bool // the answer broke off
}

func (e *Unavailable) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// InputError says that a document of the batch can't be exported as it is.
type InputError struct {
	File   string
	Reason error
}

func (e *InputError) Error() string { return e.File + ": " + e.Reason.Error() }

func (e *InputError) Unwrap() error { return e.Reason }

// ExistsError says that the dated folder is there with other content. It was left as it is.
type ExistsError struct {
	Path   string
	Reason string
	Tool   string // the folder is of the same batch, written by this version of benchbatch; "" = it differs by more
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s exists and %s; it was left as it is: move it away or choose another folder", e.Path, e.Reason)
}

// SchemaError says that a folder has a format that this version does not know.
type SchemaError struct {
	File  string // or the name of an output
	Found int
	Known int // 0 = none of this name
}

func (e *SchemaError) Error() string {
	if e.Known == 0 {
		return fmt.Sprintf("%s is not known here: use the benchbatch version that wrote the folder, or a newer one; --digests compares the hashes alone", e.File)
	}
	return fmt.Sprintf("%s: schema %d is not known here (this version reads schema %d): use the benchbatch version that wrote the folder, or a newer one", e.File, e.Found, e.Known)
}

func list(fs []Finding) string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString("\n  ")
		b.WriteString(f.String())
	}
	return b.String()
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
