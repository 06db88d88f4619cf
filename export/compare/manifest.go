package compare

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Kind stands in the manifest of a comparison's folder, and tells it from a batch's.
const Kind = "comparison"

// ManifestSchema is the version of the manifest and of the folder's layout, Format
// that of its texts.
const (
	ManifestSchema = 1
	Format         = 1
)

// Manifest is manifest.json of a comparison's folder.
type Manifest struct {
	Schema int            `json:"schema"`
	Kind   string         `json:"kind"`
	Tool   string         `json:"tool,omitempty"` // version that wrote the folder
	Format map[string]int `json:"formats"`        // texts and tables
	Name   string         `json:"name"`
	A      Batch          `json:"a"`
	B      Batch          `json:"b"`

	Mode Mode `json:"mode"`
	// Decision is the rule that was used, PostHoc why it is not the frozen one of both.
	Decision  json.RawMessage `json:"decision"`
	Digest    batch.Digest    `json:"decision_sha256"`
	PostHoc   string          `json:"post_hoc,omitempty"`
	Asked     bool            `json:"decision_given"` // it was given, not frozen
	Reference string          `json:"reference_given,omitempty"`
	Counts    Counts          `json:"counts"`

	Contents []export.Content   `json:"contents"`
	Files    []export.FileEntry `json:"files"` // every file but manifest.json and SHA256SUMS
}

// Counts say what was compared: Both = Compared + not compared.
type Counts struct {
	Both     int `json:"variants_in_both"`
	Compared int `json:"variants_compared"`
	OnlyA    int `json:"variants_only_in_a"`
	OnlyB    int `json:"variants_only_in_b"`
	Tasks    int `json:"tasks"`
	Shared   int `json:"shared_runs"`
}

func (c *Comparison) manifest(contents []export.Content) *Manifest {
	m := &Manifest{Schema: ManifestSchema, Kind: Kind, Tool: c.asked.Tool, Format: map[string]int{"texts": Format, "tables": Schema}, Name: c.Name, A: c.A, B: c.B, Mode: c.Mode,
		Decision: c.Rule.Decision, Digest: c.Rule.Digest, PostHoc: c.Rule.PostHoc, Asked: c.asked.Decision != nil, Reference: c.asked.Reference, Contents: contents,
		Counts: Counts{Both: len(c.Variants), OnlyA: len(c.OnlyA), OnlyB: len(c.OnlyB), Tasks: len(c.Tasks), Shared: len(c.Shared)}}
	for i := range c.Variants {
		if c.Variants[i].Pair != nil || c.Variants[i].Bridge != nil {
			m.Counts.Compared++
		}
	}
	return m
}

func (m *Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(m)
	return b.Bytes(), err
}

// IsComparison says whether a manifest.json is that of a comparison.
func IsComparison(manifest []byte) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(manifest, &head) == nil && head.Kind == Kind
}

func decodeManifest(data []byte) (*Manifest, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("not a manifest: %w", err)
	}
	if head.Schema != ManifestSchema {
		return nil, &export.SchemaError{File: "manifest.json", Found: head.Schema, Known: ManifestSchema}
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("not the manifest of a comparison: %w", err)
	}
	return &m, nil
}
