package claim

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Kinds of keys: the first part of a parameter's name.
const (
	kindClaim  = "claim"
	kindQuota  = "quota"
	kindBudget = "budget"
	kindBatch  = "batch"
)

const (
	beatPrefix = "beat/"
	endPrefix  = "end/"
)

// timeLayout is how times stand in values: UTC, milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// key names what is claimed, without its generation.
type key string

func repeatKey(cell batch.Digest, slot int) key {
	return key(fmt.Sprintf("%s/%s/%d", kindClaim, cell.Short(), slot))
}

func quotaKey(quota string, number int) key {
	return key(fmt.Sprintf("%s/%s/%d", kindQuota, quota, number))
}

func budgetKey(batchRun string, number int) key {
	return key(fmt.Sprintf("%s/%.16s/%d", kindBudget, batchRun, number))
}

func batchKey(k batch.Digest) key { return key(kindBatch + "/" + k.Short()) }

// at is the parameter of a generation.
func (k key) at(generation int) string { return fmt.Sprintf("%s/%d", k, generation) }

// end is the tag that ends a generation.
func (k key) end(generation int) string { return endPrefix + k.at(generation) }

// parseKey takes a parameter's name apart; false for what is none of ours.
func parseKey(name string) (key, int, bool) {
	i := strings.LastIndexByte(name, '/')
	kind, _, ok := strings.Cut(name, "/")
	if !ok || kind != kindClaim && kind != kindQuota && kind != kindBudget && kind != kindBatch {
		return "", 0, false
	}
	generation, err := strconv.Atoi(name[i+1:])
	return key(name[:i]), generation, err == nil && generation > 0
}

// hold is one generation of a key.
type hold struct {
	generation int
	session    string
	since      time.Time
	usd        micro // of a tranche
}

func (h hold) value() string {
	v := h.session + " " + h.since.Format(timeLayout)
	if h.usd != 0 {
		v += " " + h.usd.String()
	}
	return v
}

// parseHold reads a parameter's value. One that is none of ours holds its key for
// nobody, since ever.
func parseHold(generation int, value string) hold {
	h := hold{generation: generation}
	fields := strings.Fields(value)
	if len(fields) < 2 {
		return h
	}
	since, err := time.Parse(timeLayout, fields[1])
	if err != nil {
		return h
	}
	h.session, h.since = printable(fields[0]), since
	if len(fields) > 2 {
		h.usd, _ = parseMicro(fields[2])
	}
	return h
}

// Words of an end.
const (
	endDone     = "done"     // what follows is the run
	endReleased = "released" // the reason
	endSpent    = "spent"    // USD
)

// end is how a generation ended.
type end struct {
	word string
	at   time.Time
	what string
}

func (e end) value() string { return e.word + " " + e.at.Format(timeLayout) + " " + e.what }

func parseEnd(value string) (end, bool) {
	word, at, what, err := parseTimed(value)
	return end{word, at, what}, err == nil && (word == endDone || word == endReleased || word == endSpent)
}

// Words of a beat.
const (
	beatUntil = "until"
	beatLeft  = "left"
)

// beat is a session's heartbeat.
type beat struct {
	left     bool
	at       time.Time // till when the lease holds, or when it left
	launcher string
}

func (b beat) value() string {
	word := beatUntil
	if b.left {
		word = beatLeft
	}
	return word + " " + b.at.Format(timeLayout) + " " + b.launcher
}

func parseBeat(value string) (beat, bool) {
	word, at, launcher, err := parseTimed(value)
	return beat{word == beatLeft, at, launcher}, err == nil && (word == beatLeft || word == beatUntil)
}

// parseTimed reads "word time rest". The rest can be anybody's: it is kept to what can be printed.
func parseTimed(value string) (word string, at time.Time, rest string, err error) {
	word, value, _ = strings.Cut(value, " ")
	when, rest, _ := strings.Cut(value, " ")
	at, err = time.Parse(timeLayout, when)
	return word, at, printable(rest), err
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}
