package batch

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Part names one of the five things that make a cell.
type Part string

// The parts of a cell's identity. Execution and scoring together are the recipe.
const (
	PartAgent     Part = "agent"
	PartModel     Part = "model"
	PartBrain     Part = "brain"
	PartExecution Part = "execution"
	PartScoring   Part = "scoring"
)

// Manifest is what a part holds, in a form that can be compared item by item.
type Manifest struct {
	// Items is what is hashed: a name such as "command", "settings.temperature",
	// "file run.sh", "include policies/" or "task T-001", with its JSON value or
	// the hex digest of the content. Fields at their default are left out.
	Items map[string]any `json:"items"`
	// Files names every file behind the digests of Items, by path relative to
	// the spec. It explains a change and is not hashed itself.
	Files map[string]Digest `json:"files,omitempty"`
}

// Digest is the digest of the part: canonical JSON of scheme, part and items.
// The brain's digest is that of its folder instead (see BrainDigest).
func (m Manifest) Digest(p Part) (Digest, error) {
	items := m.Items
	if items == nil {
		items = map[string]any{}
	}
	return SumValue(map[string]any{"scheme": Scheme, "part": p, "items": items})
}

// NoBrain is the digest of a batch without a brain: that of an empty folder.
var NoBrain = Sum(nil)

// Change is one difference between two manifests of the same part. An empty
// Old or New means that the item is absent on that side.
type Change struct {
	Part Part   `json:"part"`
	Item string `json:"item"`
	Old  string `json:"old"` // digest or JSON value
	New  string `json:"new"`
}

// Explain lists what differs between two manifests of a part: files by path
// first, then items that are not explained by a file.
func Explain(p Part, before, after Manifest) []Change {
	var out []Change
	for _, k := range unionKeys(before.Files, after.Files) {
		if a, b := before.Files[k], after.Files[k]; a != b {
			out = append(out, Change{p, "file " + k, string(a), string(b)})
		}
	}
	byFile, listed := len(out) > 0, map[string]bool{}
	for _, c := range out {
		listed[c.Item] = true
	}
	for _, k := range unionKeys(before.Items, after.Items) {
		a, b := itemText(before.Items, k), itemText(after.Items, k)
		if a == b || listed[k] || (byFile && isFileItem(k) && a != "" && b != "") {
			continue
		}
		out = append(out, Change{p, k, a, b})
	}
	return out
}

func isFileItem(k string) bool {
	for _, prefix := range []string{"file ", "files ", "include ", "folder"} {
		if len(k) >= len(prefix) && k[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}

func itemText(m map[string]any, k string) string {
	v, ok := m[k]
	if !ok {
		return ""
	}
	// Canonical form, so that a stored manifest and a fresh one compare by value.
	b, err := Canonical(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	var text string
	if json.Unmarshal(b, &text) == nil {
		return text
	}
	return string(b)
}

func unionKeys[V any](a, b map[string]V) []string {
	var keys []string
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// Identity is the full identity of a cell under one scheme. Its canonical JSON
// is the value of the tag benchbatch.identity.
type Identity struct {
	Scheme    int    `json:"scheme"`
	Agent     Digest `json:"agent"`
	Model     Digest `json:"model"`
	Brain     Digest `json:"brain"`
	Execution Digest `json:"execution"`
	Scoring   Digest `json:"scoring"`
	Recipe    Digest `json:"recipe"` // of execution and scoring
	Cell      Digest `json:"cell"`   // of agent, model, brain and recipe
}

// NewIdentity derives recipe and cell from the five part digests.
func NewIdentity(agent, model, brain, execution, scoring Digest) Identity {
	id := Identity{Scheme: Scheme, Agent: agent, Model: model, Brain: brain, Execution: execution, Scoring: scoring}
	id.Recipe = mustSum(map[string]any{"scheme": Scheme, "execution": execution, "scoring": scoring})
	id.Cell = mustSum(map[string]any{"scheme": Scheme, "agent": agent, "model": model, "brain": brain, "recipe": id.Recipe})
	return id
}

// Consistent says whether recipe and cell follow from the parts.
func (id Identity) Consistent() bool {
	return id.Scheme == Scheme && id == NewIdentity(id.Agent, id.Model, id.Brain, id.Execution, id.Scoring)
}

// mustSum hashes a map of strings and integers, which always marshals.
func mustSum(v map[string]any) Digest {
	d, err := SumValue(v)
	if err != nil {
		panic("batch: " + err.Error())
	}
	return d
}
