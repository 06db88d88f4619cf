package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Rows gives back what the tables of a folder hold. Errors are of tables that
// can't be read, or that do not agree with result.json.
type Rows interface {
	// Fill gives one evaluation its Outcomes, Attempts and Unreadable, and the sum
	// of what judges cost, which the votes in the tables do not hold in full, in
	// Measures.Spent.Judges. It is called for every evaluation of the result, in
	// its order.
	Fill(e *Evidence) error
	// Finish is called after the last evaluation: no row may be left over.
	Finish() error
	Close() error
}

// RowsReader is an Output whose files can be read back: export/tables.
type RowsReader interface {
	Output
	// Tasks are the panel's, in its order.
	Tasks(ctx context.Context, dir string) ([]Task, error)
	// Feedback is what people said, in the order of feedback.jsonl.
	Feedback(ctx context.Context, dir string) ([]batch.Assessment, error)
	// Rows starts to read the evidence. reported says that passing is what runners reported.
	Rows(ctx context.Context, dir string, reported bool) (Rows, error)
}

// Folder is a dated folder read back from its documents and tables, without its
// raw evidence, which may be withheld.
type Folder struct {
	Dir      string
	Manifest *Manifest
	Frozen   *Frozen

	tables   RowsReader
	reported bool // passing is what runners reported, as the plan was frozen
}

// OpenFolder reads the folder at dir, whose bytes must match its checksums. A
// folder whose files do not is an *IntegrityError, one of a format that tables
// does not read a *SchemaError. Verify proves more: that the tables follow from
// the evidence.
func OpenFolder(ctx context.Context, dir string, tables RowsReader) (*Folder, error) {
	report, err := Verify(ctx, dir, VerifyOptions{DigestsOnly: true})
	if err != nil {
		return nil, err
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	m := report.Manifest
	name, version := tables.Format()
	if found := m.Formats[name]; found != version {
		return nil, &SchemaError{File: name, Found: found, Known: version}
	}
	f := &Folder{Dir: dir, Manifest: m, tables: tables}
	if f.Frozen, err = f.documents(); err != nil {
		return nil, err
	}
	f.reported = f.Frozen.Plan.PassReported
	tasks, err := tables.Tasks(ctx, dir)
	if err == nil && len(tasks) != f.Frozen.Plan.Panel.Tasks {
		err = fmt.Errorf("the table of tasks has %d rows, plan.json %d tasks", len(tasks), f.Frozen.Plan.Panel.Tasks)
	}
	if err == nil {
		err = f.Frozen.setTasks(tasks)
	}
	if err == nil {
		var said []batch.Assessment
		if said, err = tables.Feedback(ctx, dir); err == nil {
			err = f.Frozen.setSaid(said)
		}
	}
	if err != nil {
		return nil, f.damaged(err)
	}
	return f, nil
}

// documents decodes plan and result, against each other.
func (f *Folder) documents() (*Frozen, error) {
	var b Batch
	for _, d := range []struct {
		name string
		data *[]byte
	}{{batch.FilePlan, &b.PlanJSON}, {batch.FileResult, &b.ResultJSON}, {batch.FileSpec, &b.SpecYAML}} {
		data, err := os.ReadFile(filepath.Join(f.Dir, d.name))
		if err != nil {
			return nil, err
		}
		*d.data = data
	}
	return decodeFrozen(b, f.Manifest.options(), true)
}

func (f *Folder) open(ctx context.Context) (Rows, error) {
	rows, err := f.tables.Rows(ctx, f.Dir, f.reported)
	if err != nil {
		return nil, f.damaged(err)
	}
	return rows, nil
}

// Redecide replaces the frozen decision rule, see Frozen.Redecide. What runners
// reported of passing is in the tables only where the frozen rule went by it.
func (f *Folder) Redecide(decision []byte) error {
	if err := f.Frozen.Redecide(decision); err != nil {
		return err
	}
	if f.Frozen.Plan.PassReported && !f.reported {
		return errors.New("decision.pass \"reported\": the tables do not hold what runners reported, since the frozen rule goes by the threshold; leave it out")
	}
	return nil
}

// damaged is the error of a folder that agrees with its checksums and yet can't be read back.
func (f *Folder) damaged(err error) error {
	return &IntegrityError{f.Dir, []Finding{{File: "tables", Reason: err.Error() + "; `benchbatch verify` says what else does not hold"}}}
}

// Each calls use with the evidence of every evaluation, in the order of the
// result, as far as the tables hold it. It may be called again.
func (f *Folder) Each(ctx context.Context, use func(*Evidence) error) error {
	rows, err := f.open(ctx)
	if err != nil {
		return err
	}
	err = f.each(ctx, rows, use)
	return errors.Join(err, rows.Close())
}

func (f *Folder) each(ctx context.Context, rows Rows, use func(*Evidence) error) error {
	missing := f.Manifest.unread()
	for _, ev := range f.Frozen.Result.Evaluations {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := &Evidence{Evaluation: ev, Planned: f.Frozen.Cell(ev.Cell), Missing: missing[ev.RunID]}
		if err := rows.Fill(e); err != nil {
			return f.damaged(err)
		}
		judges := e.Measures.Spent.Judges
		e.follow(f.Frozen)
		e.Measures.Spent.Judges = judges
		if err := use(e); err != nil {
			return err
		}
	}
	if err := rows.Finish(); err != nil {
		return f.damaged(err)
	}
	return nil
}

// Render makes outputs from the tables: below dir, or their digests alone where dir is "".
// The same version of an output gives the bytes that the folder has; see Same.
func (f *Folder) Render(ctx context.Context, dir string, outputs []Output) (*Summary, []Content, error) {
	made, err := startAll(f.Frozen, dir, outputs)
	if err != nil {
		return nil, nil, err
	}
	defer made.abandon()
	if err := f.Each(ctx, made.add); err != nil {
		return nil, nil, err
	}
	made.sum.sum.Secrets = slices.Clone(f.Manifest.Secrets.Found)
	return made.finish()
}

// Same compares contents that were rendered with those of the folder, and lists
// the files that differ; a file that only one side has is one of them.
func (f *Folder) Same(made []Content, outputs []Output) []string {
	var differ []string
	for _, o := range outputs {
		name, _ := o.Format()
		got, want := contentsOf(made, name), contentsOf(f.Manifest.Contents, name)
		for _, c := range got {
			if !slices.ContainsFunc(want, func(w Content) bool { return w.Path == c.Path && w.Digest == c.Digest }) {
				differ = append(differ, c.Path)
			}
		}
		for _, w := range want {
			if !slices.ContainsFunc(got, func(c Content) bool { return c.Path == w.Path }) {
				differ = append(differ, w.Path)
			}
		}
	}
	slices.Sort(differ)
	return slices.Compact(differ)
}
