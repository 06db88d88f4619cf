package export

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// SecretScan is what a scan for well-known shapes of secrets found in the folder.
type SecretScan struct {
	Note  string      `json:"note"`
	Found []SecretHit `json:"found"` // by file, then pattern
}

// SecretHit counts what looks like one kind of secret in one file. The text itself is nowhere.
type SecretHit struct {
	File    string `json:"file"`
	Pattern string `json:"pattern"`
	Count   int    `json:"count"`
}

// scanNote stands in the manifest: what the scan is, and what it is not.
const scanNote = "a pattern scan of plan.json, result.json, spec.yaml, the panel, feedback.jsonl, outcomes.jsonl and attempts.jsonl for well-known shapes of keys and tokens; " +
	"bundles are not opened, and a secret of another shape is not found"

func newSecretScan(hits []SecretHit) SecretScan {
	found := append([]SecretHit{}, hits...)
	slices.SortFunc(found, func(a, b SecretHit) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Pattern, b.Pattern))
	})
	return SecretScan{Note: scanNote, Found: found}
}

// shape is how one kind of secret looks.
type shape struct {
	pattern  string
	literals []string // one of them begins it
	rare     int      // where in the literals the three bytes stand that are looked for first
	whole    *regexp.Regexp
	digit    bool // words of the shape without any digit are words
	anywhere bool // may stand behind a letter or digit
}

var shapes = []shape{
	{pattern: "aws access key", literals: []string{"AKIA", "ASIA"}, whole: regexp.MustCompile(`^[A-Z]{4}[0-9A-Z]{16}\b`), digit: true},
	{pattern: "bearer token", literals: []string{"Bearer ", "bearer ", "BEARER "}, whole: regexp.MustCompile(`^\w{6} +[A-Za-z0-9._~+/-]{20,}`), digit: true},
	{pattern: "github token", literals: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, rare: 1, whole: regexp.MustCompile(`^gh[pousr]_[A-Za-z0-9]{36,}`)},
	{pattern: "github token", literals: []string{"github_pat_"}, rare: 5, whole: regexp.MustCompile(`^github_pat_[A-Za-z0-9_]{22,}`)},
	{pattern: "gitlab token", literals: []string{"glpat-"}, whole: regexp.MustCompile(`^glpat-[A-Za-z0-9_-]{20,}`)},
	{pattern: "google api key", literals: []string{"AIza"}, whole: regexp.MustCompile(`^AIza[0-9A-Za-z_-]{35}`)},
	{pattern: "hugging face token", literals: []string{"hf_"}, whole: regexp.MustCompile(`^hf_[A-Za-z0-9]{30,}`)},
	{pattern: "json web token", literals: []string{"eyJ"}, whole: regexp.MustCompile(`^eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
	{pattern: "private key", literals: []string{"-----BEGIN "}, rare: 5, whole: regexp.MustCompile(`^-----BEGIN ([A-Z0-9]+ ){0,4}PRIVATE KEY( BLOCK)?-----`), anywhere: true},
	{pattern: "sk- key", literals: []string{"sk-"}, whole: regexp.MustCompile(`^sk-[A-Za-z0-9_-]{20,}`), digit: true},
	{pattern: "slack token", literals: []string{"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"}, whole: regexp.MustCompile(`^xox[a-z]-[A-Za-z0-9-]{10,}`), digit: true},
}

// probe is a literal to look for, where two bytes of it were seen.
type probe struct {
	shape   int
	literal string
	back    int // from the two bytes to where the literal begins
}

// probes are what to look for at two bytes, by what pairs says of them; 0 = nothing.
// Of three bytes in the middle of each literal, both pairs lead to it: one of them
// begins at an even place, so that a search may look at every second one.
var probes, pairs = func() ([][]probe, *[1 << 16]uint8) {
	list, table := make([][]probe, 1), new([1 << 16]uint8)
	for i, s := range shapes {
		for _, l := range s.literals {
			for back := s.rare; back <= s.rare+1; back++ {
				at := &table[pairOf(l[back], l[back+1])]
				if *at == 0 {
					*at = uint8(len(list))
					list = append(list, nil)
				}
				list[*at] = append(list[*at], probe{i, l, back})
			}
		}
	}
	return list, table
}()

func pairOf(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// A file is read in pieces with some bytes around them, so that what is found
// does not depend on where a piece ends.
const (
	scanPiece = 1 << 20
	scanAhead = 4096 // the longest text that is looked at as one secret
	scanBack  = 16
)

var scanBuffers = sync.Pool{New: func() any { b := make([]byte, scanBack+scanPiece+scanAhead); return &b }}

// scanFile looks for secrets in the file at path, and reports them under name.
func scanFile(path, name string) ([]SecretHit, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return scan(f, name)
}

// scanBytes is scan of what is in memory, which can't fail.
func scanBytes(data []byte, name string) []SecretHit {
	hits, _ := scan(bytes.NewReader(data), name)
	return hits
}

func scan(r io.Reader, name string) ([]SecretHit, error) {
	buf := scanBuffers.Get().(*[]byte)
	defer scanBuffers.Put(buf)
	b := *buf
	s := scanner{count: make([]int, len(shapes)), until: make([]int64, len(shapes))}
	back, held := 0, 0 // bytes before the piece, bytes that are there
	for {
		n, err := io.ReadFull(r, b[held:])
		held += n
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return nil, err
		}
		to := held
		if !end {
			to = back + scanPiece
		}
		s.piece(b[:held], back, to)
		if end {
			return s.hits(name), nil
		}
		keep := to - scanBack
		held = copy(b, b[keep:held])
		s.base += int64(keep)
		back = scanBack
	}
}

// scanner counts what it finds, by shape.
type scanner struct {
	base  int64 // place of the first byte of the piece in the file
	count []int
	until []int64 // where the last secret of a shape ended
}

// piece looks at b for secrets that begin in b[from:to].
func (s *scanner) piece(b []byte, from, to int) {
	i := 0
	for ; i+8 <= len(b); i += 8 { // four pairs at once: hardly any leads to something
		v := binary.BigEndian.Uint64(b[i:])
		if pairs[uint16(v>>48)]|pairs[uint16(v>>32)]|pairs[uint16(v>>16)]|pairs[uint16(v)] != 0 {
			s.pairs(b, i, i+8, from, to)
		}
	}
	s.pairs(b, i, len(b)-1, from, to)
}

// pairs looks at the pairs that begin at every second place from i to end.
func (s *scanner) pairs(b []byte, i, end, from, to int) {
	for ; i < end; i += 2 {
		if which := pairs[pairOf(b[i], b[i+1])]; which != 0 {
			s.look(b, i, which, from, to)
		}
	}
}

func (s *scanner) look(b []byte, i int, which uint8, from, to int) {
	for _, p := range probes[which] {
		start := i - p.back
		if start >= from && start < to && len(b)-start >= len(p.literal) && string(b[start:start+len(p.literal)]) == p.literal {
			s.try(b, start, p.shape)
		}
	}
}

func (s *scanner) try(b []byte, start, which int) {
	is := &shapes[which]
	place := s.base + int64(start)
	if place < s.until[which] || (!is.anywhere && !begins(b, start)) {
		return
	}
	m := is.whole.Find(b[start:min(start+scanAhead, len(b))])
	if m == nil || is.digit && !bytes.ContainsAny(m, "0123456789") {
		return
	}
	s.count[which]++
	s.until[which] = place + int64(len(m))
}

// begins says whether a word may begin at b[i]: nothing of a word stands before
// it, or what does is the letter of a JSON escape such as \n.
func begins(b []byte, i int) bool {
	return i == 0 || !wordByte(b[i-1]) || i > 1 && b[i-2] == '\\'
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_'
}

func (s *scanner) hits(name string) []SecretHit {
	var out []SecretHit
	for i, n := range s.count {
		switch last := len(out) - 1; {
		case n == 0:
		case last >= 0 && out[last].Pattern == shapes[i].pattern:
			out[last].Count += n
		default:
			out = append(out, SecretHit{File: name, Pattern: shapes[i].pattern, Count: n})
		}
	}
	return out
}

// scanDocuments looks at the frozen documents as they stand in the folder. A
// panel without inputs holds ids and digests alone.
func scanDocuments(f *Frozen, b Batch) []SecretHit {
	hits := scanBytes(b.PlanJSON, batch.FilePlan)
	hits = append(hits, scanBytes(b.ResultJSON, batch.FileResult)...)
	hits = append(hits, scanBytes(b.SpecYAML, batch.FileSpec)...)
	if len(f.Withheld) == 0 {
		hits = append(hits, scanBytes(b.PanelJSONL, panelPath)...)
	}
	if f.hasFeedback() {
		hits = append(hits, scanBytes(b.FeedbackJSONL, feedbackPath)...)
	}
	return hits
}
