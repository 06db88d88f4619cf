package spec

import (
	"fmt"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// routeID is the id of a model that is named by its route alone: every
// character that an id cannot hold becomes _.
func routeID(route string) string {
	return strings.Map(func(r rune) rune {
		if batch.IDPattern.MatchString(string(r)) {
			return r
		}
		return '_'
	}, route)
}

// proposedID is an id to write instead of one that is not allowed; "" = none.
func proposedID(name string) string {
	id := strings.Trim(routeID(norm.NFC.String(name)), "_.")
	return id[:min(len(id), 64)]
}

// isID says whether s can be an id. The names . and .. mean folders.
func isID(s string) bool {
	return batch.IDPattern.MatchString(s) && strings.Trim(s, ".") != ""
}

const idRule = "not an id: 1 to 64 of A-Z a-z 0-9 . _ - are allowed"

// id checks one id.
func (k *checker) id(field, value string) {
	if value == "" {
		k.missing(field, "write an id: 1 to 64 of A-Z a-z 0-9 . _ -")
		return
	}
	if isID(value) {
		return
	}
	remedy := "give it an id of its own"
	if p := proposedID(value); isID(p) {
		remedy = "write " + p
	}
	k.c.add(field, idRule, remedy)
}

// modelID checks a model's id, or the one derived from its route.
func (k *checker) modelID(field string, m Model) {
	if m.ID == "" {
		k.missing(field, "write its route, such as provider/model, or id: and route:")
		return
	}
	if isID(m.ID) {
		return
	}
	id := proposedID(m.ID)
	if !isID(id) {
		id = "NAME"
	}
	at := field + ".id"
	if !k.given(at) {
		at = field
		if k.given(field + ".route") {
			at = field + ".route"
		}
		k.c.add(at, "no id can be made from this route", fmt.Sprintf("write id: %s and route: %s", id, quote(m.Route)))
		return
	}
	k.c.add(at, idRule, fmt.Sprintf("write id: %s and route: %s", id, quote(m.Route)))
}

// named is one entry of a list of ids.
type named struct {
	id    string // as used
	typed string // as written, where the id was derived from it
	field string
}

// distinct refuses ids of one kind that are the same, or that some file system,
// database or reader could take for the same.
func (k *checker) distinct(kind string, list []named) {
	first := map[string]named{}
	for _, n := range list {
		if n.id == "" {
			continue
		}
		key := cases.Fold().String(norm.NFKC.String(n.id))
		f, taken := first[key]
		if !taken {
			first[key] = n
			continue
		}
		k.c.add(n.field, fmt.Sprintf("%s %s and %s%s %s", kind, quote(f.typed), quote(n.typed), k.lineOf(f.field), collision(f, n)),
			"give one of both another id")
	}
}

// lineOf says where the first of two was written.
func (k *checker) lineOf(field string) string {
	if pos := k.c.at[field]; pos.line > 0 {
		return fmt.Sprintf(" (first on line %d)", pos.line)
	}
	return ""
}

// collision says what makes two ids collide.
func collision(a, b named) string {
	switch {
	case a.typed == b.typed:
		return "are the same id"
	case a.id == b.id:
		return "both give the id " + a.id
	case norm.NFC.String(a.id) == norm.NFC.String(b.id):
		return "differ only in their Unicode form"
	case strings.EqualFold(a.id, b.id):
		return "differ only in upper and lower case"
	}
	return "look alike once they are folded"
}
