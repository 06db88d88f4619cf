package spec

import (
	"reflect"
	"slices"
	"strings"
)

// keysOf lists the YAML keys of a struct type in the order of its fields.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			keys = append(keys, keysOf(f.Type)...)
		} else if k := keyOf(f); k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// keyOf is the YAML key of a field: its yaml tag, or else its json tag; "" for
// a field that is not written in a spec.
func keyOf(f reflect.StructField) string {
	tag := f.Tag.Get("yaml")
	if tag == "" {
		tag, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	}
	if tag == "-" {
		return ""
	}
	return tag
}

// fieldOf finds the field of v with a YAML key.
func fieldOf(v reflect.Value, key string) (reflect.Value, reflect.StructField, bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			if in, sf, ok := fieldOf(v.Field(i), key); ok {
				return in, sf, true
			}
		} else if keyOf(f) == key {
			return v.Field(i), f, true
		}
	}
	return reflect.Value{}, reflect.StructField{}, false
}

// remedyForKey says which key was probably meant.
func remedyForKey(key string, known []string) string {
	var parts []string
	if near := nearest(key, known); near != "" {
		parts = append(parts, "did you mean "+near+"?")
	} else if places := keyPlaces(key); len(places) > 0 {
		parts = append(parts, "it belongs in "+strings.Join(places, " or "))
	}
	if len(known) <= 12 {
		return strings.Join(append(parts, "known here: "+strings.Join(known, ", ")), " ")
	}
	if len(parts) == 0 {
		parts = append(parts, "the nearest known keys are "+strings.Join(closest(key, known, 3), ", "))
	}
	return parts[0]
}

// keyPlaces lists where in a spec a key is known.
func keyPlaces(key string) []string {
	var out []string
	var walk func(t reflect.Type, at string)
	walk = func(t reflect.Type, at string) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			k := keyOf(f)
			if k == "" {
				continue
			}
			if k == key && at != "" {
				out = append(out, at)
			}
			walk(f.Type, strings.TrimPrefix(at+"."+k, "."))
		}
	}
	walk(reflect.TypeFor[Spec](), "")
	slices.Sort(out)
	return slices.Compact(out)
}

// nearest is the known word with the smallest edit distance to word, or "" when
// none is near: case and separators cost nothing.
func nearest(word string, known []string) string {
	best, bestDistance := "", 0
	for _, k := range known {
		a, b := folded(word), folded(k)
		d := distance(a, b)
		if d > 1+max(len(a), len(b))/3 {
			continue
		}
		if best == "" || d < bestDistance || (d == bestDistance && strings.HasPrefix(b, a)) {
			best, bestDistance = k, d
		}
	}
	return best
}

// closest lists the n known words with the smallest edit distances.
func closest(word string, known []string, n int) []string {
	sorted := slices.Clone(known)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return distance(folded(word), folded(a)) - distance(folded(word), folded(b))
	})
	return sorted[:min(n, len(sorted))]
}

func folded(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance is the edit distance with swaps of neighbours (optimal string
// alignment), over bytes, of words cut to 64 bytes.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

// keysAnywhere lists the keys of the mapping that a key names anywhere in a
// spec, or nil: limits at the wrong depth still has known keys inside.
func keysAnywhere(key string) []string {
	var out []string
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			k := keyOf(f)
			if k == key && f.Type.Kind() == reflect.Struct {
				out = append(out, keysOf(f.Type)...)
			}
			if k != "" {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Spec]())
	return out
}
