package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// recompute makes everything again from the raw evidence and compares it.
func (v *verifying) recompute(ctx context.Context, outputs []Output) error {
	docs, bare := v.batch()
	f, err := decodeFrozen(docs, v.r.Manifest.options(), bare)
	if err != nil {
		return v.refuseDocuments(err)
	}
	v.compareFrozen(f)
	if f.Withholds(WithholdRaw) {
		v.withoutEvidence(f)
		return nil
	}
	made, err := startAll(f, "", outputs)
	if err != nil {
		return err
	}
	defer made.abandon()
	bad := len(v.r.Findings)
	if err := v.evidence(ctx, f, made); err != nil {
		return err
	}
	if len(v.r.Findings) > bad {
		v.note("tables, report and counts could not be recomputed: evidence could not be read")
		return nil
	}
	summary, contents, err := made.finish()
	if err != nil {
		return err
	}
	v.judge(f, summary, contents, outputs)
	return nil
}

// withoutEvidence checks what the documents alone say of a folder whose raw
// evidence is withheld.
func (v *verifying) withoutEvidence(f *Frozen) {
	v.note("tables, report and counts of outcomes could not be recomputed: the raw evidence is withheld")
	sum := newSummarizer(f)
	missing := v.r.Manifest.unread()
	for _, e := range f.Result.Evaluations {
		sum.add(&Evidence{Evaluation: e, Missing: missing[e.RunID]})
	}
	have := v.r.Manifest
	v.unexplained(f, nil)
	again := newManifest(f, &sum.sum, nil)
	again.Outcomes = have.Outcomes
	v.compareManifest(again)
	for _, c := range have.Contents {
		if !slices.Contains(v.r.Unproven, c.Path) {
			v.r.Unproven = append(v.r.Unproven, c.Path)
		}
	}
}

// unexplained finds files that neither the result nor an output accounts for:
// made are the contents that follow from the evidence.
func (v *verifying) unexplained(f *Frozen, made []Content) {
	known := map[string]bool{fileManifest: true, fileSums: true, batch.FilePlan: true, batch.FileResult: true, batch.FileSpec: true}
	switch {
	case f.Withholds(WithholdRaw):
	case f.Withholds(WithholdInputs):
		known[barePanel] = true
	default:
		known[panelPath] = true
	}
	if f.hasFeedback() {
		known[feedbackPath] = true
	}
	for _, e := range f.Result.Evaluations {
		for _, a := range e.Artifacts {
			if slices.Contains(exported, a.Path) && !f.leavesOut(a.Path) {
				known[rawPath(e.RunID, a.Path)] = true
			}
		}
	}
	for _, c := range made {
		known[c.Path] = true
	}
	for _, p := range v.r.Unproven {
		known[p] = true
	}
	if f.Withholds(WithholdRaw) {
		for _, c := range v.r.Manifest.Contents {
			known[c.Path] = true
		}
	}
	for _, name := range sortedKeys(v.files) {
		if !known[name] && !v.bad[name] {
			v.find(name, "follows from nothing in the folder: neither %s nor an output in %s accounts for it", batch.FileResult, fileManifest)
		}
	}
}

// refuseDocuments turns what decodeFrozen refused into findings.
func (v *verifying) refuseDocuments(err error) error {
	var schema *SchemaError
	var integrity *IntegrityError
	var input *InputError
	switch {
	case errors.As(err, &schema) && !v.bad[schema.File]:
		return schema
	case errors.As(err, &integrity):
		v.r.Findings = append(v.r.Findings, integrity.Findings...)
	case errors.As(err, &input):
		v.find(input.File, "%v", input.Reason)
	default:
		v.find(fileManifest, "%v", err)
	}
	v.note("tables, report and counts could not be recomputed: the documents of the batch do not hold")
	return nil
}

// compareFrozen compares the evidence that is there with what the result froze.
func (v *verifying) compareFrozen(f *Frozen) {
	absent := map[string]bool{}
	for _, m := range v.r.Manifest.Missing {
		absent[m.File] = true
	}
	for _, e := range f.Result.Evaluations {
		for _, a := range e.Artifacts {
			path := rawPath(e.RunID, a.Path)
			got, ok := v.files[path]
			switch {
			case !slices.Contains(exported, a.Path) || v.bad[path]:
			case ok && (got.Digest != a.Digest || got.Size != a.Size):
				v.find(path, "SHA-256 is %s, %s froze %s", got.Digest, batch.FileResult, a.Digest)
			case !ok && !f.leavesOut(a.Path) && !(absent[path] && f.Provisional):
				v.find(path, "was frozen in %s, but is neither in the folder nor listed as missing", batch.FileResult)
			}
		}
	}
}

// evidence reads every evaluation from raw/ and hands it to the outputs.
func (v *verifying) evidence(ctx context.Context, f *Frozen, made *making) error {
	missing := v.r.Manifest.unread()
	evals := f.Result.Evaluations
	load := func(_ context.Context, i int) (loaded, error) {
		l := loaded{evidence: &Evidence{Evaluation: evals[i], Planned: f.Cell(evals[i].Cell), Missing: missing[evals[i].RunID]}}
		l.bad = l.evidence.read(f, v.dir)
		return l, nil
	}
	return inOrder(ctx, len(evals), workers(v.o.Workers), load, func(_ int, l loaded) error {
		v.r.Findings = append(v.r.Findings, l.bad...)
		return made.add(l.evidence)
	})
}

// judge compares what was made again with the manifest.
func (v *verifying) judge(f *Frozen, s *Summary, contents []Content, outputs []Output) {
	have := v.r.Manifest
	for _, o := range outputs {
		name, _ := o.Format()
		before := len(v.r.Findings)
		got, want := contentsOf(contents, name), contentsOf(have.Contents, name)
		v.match(got, want, "follows from the evidence with")
		for _, w := range want {
			if !slices.ContainsFunc(got, func(g Content) bool { return g.Path == w.Path }) {
				v.find(w.Path, "does not follow from the evidence")
			}
		}
		if len(v.r.Findings) == before {
			for _, g := range got {
				v.r.Recomputed = append(v.r.Recomputed, g.Path)
			}
		}
	}
	v.unexplained(f, contents)
	v.compareManifest(newManifest(f, s, nil))
}

// compareManifest compares the manifest that is there with one made again, bytes
// and all. Formats, contents and files were compared before; what arranged the
// bytes is what the writer says it was.
func (v *verifying) compareManifest(again *Manifest) {
	have := v.r.Manifest
	again.Formats, again.Writers, again.Contents, again.Files = have.Formats, have.Writers, have.Contents, have.Files
	want, err := again.encode()
	if err != nil {
		v.find(fileManifest, "%v", err)
		return
	}
	got, err := os.ReadFile(filepath.Join(v.dir, fileManifest))
	if err != nil || v.bad[fileManifest] {
		return // said before
	}
	if bytes.Equal(got, want) {
		if !slices.Contains(again.Withheld, WithholdRaw) {
			v.r.Recomputed = append(v.r.Recomputed, fileManifest)
		}
		return
	}
	var a, b map[string]json.RawMessage
	if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil {
		return
	}
	before := len(v.r.Findings)
	for _, k := range sortedKeys(b) {
		if !bytes.Equal(a[k], b[k]) {
			v.find(fileManifest, "%q does not follow from the evidence: %s, not %s", k, brief(a[k]), brief(b[k]))
		}
	}
	if len(v.r.Findings) == before {
		v.find(fileManifest, "is not written as this format writes it")
	}
}

func brief(b []byte) string {
	var c bytes.Buffer
	if json.Compact(&c, b) == nil {
		b = c.Bytes()
	}
	if len(b) > 200 {
		return string(bytes.ToValidUTF8(b[:200], nil)) + "…"
	}
	return string(b)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
