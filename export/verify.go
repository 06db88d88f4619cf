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

// VerifyOptions of Verify.
type VerifyOptions struct {
	DigestsOnly bool // compare bytes with the checksums, and no more
	Workers     int  // files or evaluations read at once; 0 = as many as there are processors, at least 4
	// Outputs recompute what the folder holds. A folder with files of any other
	// output is refused with a *SchemaError, unless DigestsOnly is set.
	Outputs []Output
}

// Report is what Verify found.
type Report struct {
	Dir      string    `json:"dir"`
	Name     string    `json:"name"`
	Manifest *Manifest `json:"-"`     // nil where it can't be read
	Files    int       `json:"files"` // whose bytes were compared
	Bytes    int64     `json:"bytes"` // of these files
	// DigestsOnly says that nothing but bytes was compared.
	DigestsOnly bool `json:"digests_only"`

	// Result is the digest of result.json, the one anchor outside of the folder:
	// the parent run Batch has it as its tag benchbatch.result. "" = not readable.
	Result batch.Digest `json:"result_sha256"`
	Batch  string       `json:"batch"` // run id of the parent, as the manifest says; "" = not readable

	Recomputed []string  `json:"recomputed"` // files whose content follows from the raw evidence
	Unproven   []string  `json:"unproven"`   // files made from evidence that could not be recomputed; the notes say why
	Findings   []Finding `json:"findings"`   // what does not hold
	Notes      []string  `json:"notes"`      // what could not be checked, or was missing from the start
}

// Err is an *IntegrityError where something does not hold, else nil.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	return &IntegrityError{r.Dir, r.Findings}
}

// Verify checks a folder with nothing but the folder, and writes nothing. It
// returns a *SchemaError for a format that this version does not know, and an
// error of the file system where dir can't be read at all; everything else is in
// the Report.
//
// What is proven is that the folder agrees with itself: every file is one that
// result.json or an output accounts for, and follows from the evidence that
// result.json froze. Whoever replaces evidence and result.json together is found
// by Report.Result alone.
func Verify(ctx context.Context, dir string, o VerifyOptions) (*Report, error) {
	v := &verifying{dir: dir, o: o, r: &Report{Dir: dir, Name: filepath.Base(dir), DigestsOnly: o.DigestsOnly}}
	if err := v.bytes(ctx); err != nil {
		return nil, err
	}
	if v.r.Manifest != nil && !o.DigestsOnly {
		v.mentionMissing()
		if err := v.contents(ctx); err != nil {
			return nil, err
		}
	}
	return v.r, nil
}

// CheckBytes compares the files of a folder with its SHA256SUMS, both ways, whatever
// kind of folder it is. 0 workers are as many as there are processors, at least 4.
func CheckBytes(ctx context.Context, dir string, workers int) (*Report, error) {
	v := &verifying{dir: dir, o: VerifyOptions{Workers: workers}, r: &Report{Dir: dir, Name: filepath.Base(dir), DigestsOnly: true}}
	_, err := v.sums(ctx)
	return v.r, err
}

type verifying struct {
	dir   string
	o     VerifyOptions
	r     *Report
	files map[string]FileEntry // what is there
	bad   map[string]bool      // files whose bytes do not match
}

func (v *verifying) find(file, format string, args ...any) {
	v.r.Findings = append(v.r.Findings, Finding{File: file, Reason: fmt.Sprintf(format, args...)})
}

func (v *verifying) note(format string, args ...any) {
	v.r.Notes = append(v.r.Notes, fmt.Sprintf(format, args...))
}

// bytes compares every file with SHA256SUMS, both ways, and with the manifest.
func (v *verifying) bytes(ctx context.Context) error {
	names, err := v.sums(ctx)
	if err != nil {
		return err
	}
	return v.manifest(names)
}

// sums compares every file with SHA256SUMS, both ways, and lists the files.
func (v *verifying) sums(ctx context.Context) ([]string, error) {
	names, bad, err := listFiles(v.dir)
	if err != nil {
		return nil, err
	}
	v.r.Findings = append(v.r.Findings, bad...)
	there, bad, err := hashFiles(ctx, v.dir, names, v.o.Workers)
	if err != nil {
		return nil, err
	}
	v.r.Findings = append(v.r.Findings, bad...)
	v.files, v.bad = map[string]FileEntry{}, map[string]bool{}
	for _, b := range bad {
		v.bad[b.File] = true
	}
	for _, f := range there {
		if !v.bad[f.Path] {
			v.files[f.Path] = f
			v.r.Files++
			v.r.Bytes += f.Size
		}
	}
	v.r.Result = v.files[batch.FileResult].Digest
	v.compareSums(names)
	return names, nil
}

func (v *verifying) compareSums(names []string) {
	data, err := os.ReadFile(filepath.Join(v.dir, fileSums))
	if err != nil {
		v.find(fileSums, "can't be read: %v", err)
		return
	}
	sums, err := decodeSums(data)
	if err != nil {
		v.find(fileSums, "%v", err)
		return
	}
	listed := map[string]bool{fileSums: true}
	for _, s := range sums {
		listed[s.Path] = true
		v.compare(s, fileSums)
	}
	for _, n := range names {
		if !listed[n] {
			v.find(n, "is not in %s", fileSums)
			v.bad[n] = true
		}
	}
}

// compare compares a file that is there with what a list says of it.
func (v *verifying) compare(want FileEntry, list string) {
	got, ok := v.files[want.Path]
	switch {
	case v.bad[want.Path]:
		return // said before
	case !ok:
		v.find(want.Path, "is in %s, but not in the folder", list)
	case got.Digest != want.Digest:
		v.find(want.Path, "SHA-256 is %s, %s says %s", got.Digest, list, want.Digest)
	default:
		return
	}
	v.bad[want.Path] = true
}

// manifest decodes the manifest and compares its list of files with the folder.
func (v *verifying) manifest(names []string) error {
	data, err := os.ReadFile(filepath.Join(v.dir, fileManifest))
	if err != nil {
		if !v.bad[fileManifest] {
			v.find(fileManifest, "can't be read: %v", err)
		}
		return nil
	}
	m, err := decodeManifest(data)
	var schema *SchemaError
	switch {
	case errors.As(err, &schema) && !v.bad[fileManifest]:
		return schema
	case err != nil:
		v.find(fileManifest, "%v", err)
		return nil
	}
	v.r.Manifest, v.r.Name, v.r.Batch = m, m.Name, m.Batch
	listed := map[string]bool{fileSums: true, fileManifest: true}
	for _, f := range m.Files {
		listed[f.Path] = true
		v.compare(f, fileManifest)
	}
	for _, n := range names {
		if !listed[n] && !v.bad[n] {
			v.find(n, "is not in %s", fileManifest)
		}
	}
	return nil
}

// mentionMissing repeats what the folder said of itself when it was written.
func (v *verifying) mentionMissing() {
	m := v.r.Manifest
	withheld := 0
	for _, f := range m.Missing {
		switch f.Reason {
		case ReasonWithheld:
			withheld++
		case ReasonNotKept, ReasonNotFolder:
		default:
			if !m.Provisional {
				v.find(f.File, "%s lists it as missing because %q: nothing of a frozen batch can be missing for that reason", fileManifest, f.Reason)
				continue
			}
			v.note("%s was missing when the folder was written: %s", f.File, f.Reason)
		}
	}
	if withheld > 0 {
		v.note("%d %s withheld (%v): their digests are in manifest.json and could not be compared", withheld, plural(withheld, "file"), m.Withheld)
	}
	if f := m.again(); f != nil {
		v.note("what people said was read again on %s, after the freeze: its digest is this folder's own, and the SHA-256 of result.json does not cover it", f.AsOf.UTC().Format(stamp))
	}
	if m.Provisional {
		v.note("the batch was not frozen: this folder is provisional")
	}
}

// contents reads what the files hold, and recomputes it from the evidence.
func (v *verifying) contents(ctx context.Context) error {
	outputs, err := v.outputs()
	if err != nil {
		return err
	}
	for _, o := range outputs {
		v.read(ctx, o)
	}
	return v.recompute(ctx, outputs)
}

// outputs are those whose format the folder has. A newer format is refused: what
// it holds is not known here. An older one is left unproven, and said. No other
// reason keeps a file from being recomputed.
func (v *verifying) outputs() ([]Output, error) {
	var same []Output
	m := v.r.Manifest
	known := map[string]int{}
	for _, o := range v.o.Outputs {
		name, version := o.Format()
		known[name] = version
		switch found, ok := m.Formats[name]; {
		case !ok:
			v.note("the folder holds no %s", name)
		case found == version:
			same = append(same, o)
		case found < 1:
			v.find(fileManifest, "format %d of %s never was", found, name)
		case found < version:
			v.note("%s of format %d could not be recomputed: this version makes format %d; their bytes were compared", name, found, version)
			v.unproven(name)
		}
	}
	for _, name := range sortedKeys(m.Formats) {
		if m.Formats[name] > known[name] && !v.bad[fileManifest] {
			return nil, &SchemaError{File: name, Found: m.Formats[name], Known: known[name]}
		}
	}
	for _, c := range m.Contents {
		if m.Formats[c.Output] == 0 {
			v.find(c.Path, "is of an output %q whose format %s does not name", c.Output, fileManifest)
		}
	}
	return same, nil
}

func (v *verifying) unproven(output string) {
	for _, c := range contentsOf(v.r.Manifest.Contents, output) {
		v.r.Unproven = append(v.r.Unproven, c.Path)
	}
}

// read compares what one output's files hold with the manifest.
func (v *verifying) read(ctx context.Context, o Output) {
	name, _ := o.Format()
	want := contentsOf(v.r.Manifest.Contents, name)
	got, bad := o.Read(ctx, v.dir, want)
	v.r.Findings = append(v.r.Findings, bad...)
	v.match(got, want, "holds")
}

// match compares contents with those of the manifest.
func (v *verifying) match(got, want []Content, verb string) {
	for _, g := range got {
		i := slices.IndexFunc(want, func(w Content) bool { return w.Path == g.Path })
		if i < 0 {
			v.find(g.Path, "has no content digest in %s", fileManifest)
			continue
		}
		if reason := difference(g, want[i]); reason != "" {
			v.find(g.Path, "%s other content than %s says: %s", verb, fileManifest, reason)
		}
	}
}

// difference says in what two contents differ; "" = in nothing.
func difference(got, want Content) string {
	if got.Rows != want.Rows {
		return fmt.Sprintf("%d rows, not %d", got.Rows, want.Rows)
	}
	if len(got.Columns) != len(want.Columns) {
		return fmt.Sprintf("%d columns, not %d", len(got.Columns), len(want.Columns))
	}
	for i, g := range got.Columns {
		w := want.Columns[i]
		switch {
		case g.Name != w.Name || g.Type != w.Type:
			return fmt.Sprintf("column %d is %s (%s), not %s (%s)", i+1, g.Name, g.Type, w.Name, w.Type)
		case g.Nulls != w.Nulls:
			return fmt.Sprintf("column %s has %d nulls, not %d", g.Name, g.Nulls, w.Nulls)
		case g.Digest != w.Digest:
			return fmt.Sprintf("column %s", g.Name)
		}
	}
	if got.Digest != want.Digest {
		return fmt.Sprintf("content digest %s, not %s", got.Digest, want.Digest)
	}
	return ""
}

func contentsOf(all []Content, output string) []Content {
	var out []Content
	for _, c := range all {
		if c.Output == output {
			out = append(out, c)
		}
	}
	return out
}

func (v *verifying) document(name string) []byte {
	data, err := os.ReadFile(filepath.Join(v.dir, name))
	if err != nil && !v.bad[name] {
		v.find(name, "can't be read: %v", err)
	}
	return data
}

// batch is the documents as they stand in the folder; bare says that the panel is
// not the frozen one: without inputs, or withheld with all that is raw.
func (v *verifying) batch() (b Batch, bare bool) {
	b = Batch{PlanJSON: v.document(batch.FilePlan), ResultJSON: v.document(batch.FileResult), SpecYAML: v.document(batch.FileSpec)}
	withheld := v.r.Manifest.Withheld
	if f := v.r.Manifest.Feedback; f != nil && f.Rows > 0 && !slices.Contains(withheld, WithholdRaw) {
		b.FeedbackJSONL = v.document(feedbackPath)
	}
	switch {
	case slices.Contains(withheld, WithholdRaw):
		return b, true
	case slices.Contains(withheld, WithholdInputs):
		b.PanelJSONL = v.document(barePanel)
		return b, true
	}
	b.PanelJSONL = v.document(panelPath)
	return b, false
}
