package spec

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// decoder fills a struct from a YAML tree, notes where every field stands, and
// notes every problem instead of stopping at the first.
type decoder struct {
	c *collector
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	modelType    = reflect.TypeFor[Model]()
	agentType    = reflect.TypeFor[Agent]()
	choiceType   = reflect.TypeFor[TaskChoice]()
)

// standardTags are the tags a plain file can have without writing one.
var standardTags = map[string]bool{
	"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true,
	"!!timestamp": true, "!!map": true, "!!seq": true, "!!merge": true,
}

// decode reads n into v. form is the written form of a number: "share" or "size".
func (d *decoder) decode(n *yaml.Node, v reflect.Value, field, form string) {
	at := n
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	pos := position{line: at.Line, column: at.Column, value: n.Value}
	d.c.at[field] = pos
	switch {
	case !standardTags[n.ShortTag()]:
		d.c.addUnread(pos, field, "unknown tag "+plain(n.ShortTag()), "remove the tag")
		return
	case isNull(n):
		d.noValue(pos, field)
		return
	}
	switch {
	case v.Type() == durationType:
		d.scalar(n, pos, field, func(s string) error {
			got, err := parseDuration(s)
			v.SetInt(int64(got))
			return err
		}, "write it as 90s, 10m, 1h30m or 30d")
		return
	case v.Type() == modelType && n.Kind == yaml.ScalarNode:
		d.decode(n, v.FieldByName("Route"), field, "")
		return
	case v.Type() == agentType && n.Kind == yaml.ScalarNode:
		d.decode(n, v.FieldByName("ID"), field, "")
		return
	case v.Type() == choiceType && n.Kind == yaml.SequenceNode:
		d.decode(n, v.FieldByName("IDs"), field, "")
		return
	case v.Type() == choiceType:
		d.value(n, v.FieldByName("PerFamily"), pos, field, "")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.decode(n, p.Elem(), field, form)
		v.Set(p)
	case reflect.Struct:
		d.mapping(n, v, field)
	case reflect.Slice:
		d.list(n, v, field)
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Interface {
			d.settings(n, v, field)
		} else {
			d.table(n, v, field, form)
		}
	default:
		d.value(n, v, pos, field, form)
	}
}

// value reads a scalar field.
func (d *decoder) value(n *yaml.Node, v reflect.Value, pos position, field, form string) {
	switch v.Kind() {
	case reflect.String:
		d.scalar(n, pos, field, func(s string) error {
			if strings.ContainsRune(s, 0) {
				return fmt.Errorf("holds a NUL character")
			}
			v.SetString(s)
			return nil
		}, "write text")
	case reflect.Bool:
		d.scalar(n, pos, field, func(s string) error {
			if n.Style != 0 || (s != "true" && s != "false") {
				return fmt.Errorf("not a flag")
			}
			v.SetBool(s == "true")
			return nil
		}, "write true or false")
	case reflect.Int, reflect.Int64:
		parse, remedy := parseInt, "write a whole number such as 5"
		if form == "size" {
			parse, remedy = parseSize, "write it as 512MiB or 4GiB"
		}
		d.scalar(n, pos, field, func(s string) error {
			got, err := parse(s)
			v.SetInt(got)
			return unlessQuoted(n, form, err)
		}, remedy)
	case reflect.Float64:
		parse, remedy := parseFloat, "write a number such as 0.5"
		if form == "share" {
			parse, remedy = parseShare, "write it as 5% or 0.05"
		}
		d.scalar(n, pos, field, func(s string) error {
			got, err := parse(s)
			v.SetFloat(got)
			return unlessQuoted(n, form, err)
		}, remedy)
	default:
		panic("spec: no way to read a field of type " + v.Type().String())
	}
}

// unlessQuoted refuses a number in quotes: it is text.
func unlessQuoted(n *yaml.Node, form string, err error) error {
	if err == nil && form == "" && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return fmt.Errorf("text, not a number: remove the quotes")
	}
	return err
}

// scalar hands the text of a scalar to read.
func (d *decoder) scalar(n *yaml.Node, pos position, field string, read func(string) error, remedy string) {
	if n.Kind != yaml.ScalarNode {
		d.c.addUnread(pos, field, "one value expected, found a "+kindOf(n), remedy)
		return
	}
	if err := read(n.Value); err != nil {
		d.c.addUnread(pos, field, err.Error(), remedy)
	}
}

// list reads a sequence; an empty entry is a problem, never dropped.
func (d *decoder) list(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.SequenceNode {
		remedy := "write one entry a line, each after \"- \""
		if n.Kind == yaml.ScalarNode && !strings.ContainsAny(n.Value, "\n\x1b") {
			remedy = "write [" + plain(n.Value) + "]"
		}
		d.c.addUnread(d.c.at[field], field, "a list expected, found "+withArticle(n), remedy)
		return
	}
	if len(n.Content) > maxList {
		d.c.addUnread(d.c.at[field], field, fmt.Sprintf("%d entries: at most %d are allowed", len(n.Content), maxList), "")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.decode(item, v.Index(i), fmt.Sprintf("%s[%d]", field, i), "")
	}
}

// mapping reads a struct; a key that the struct does not know is a problem.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, field string) {
	for _, kv := range d.pairs(n, field) {
		name := join(field, kv.key.Value)
		target, sf, ok := fieldOf(v, kv.key.Value)
		if !ok {
			d.unknown(kv, keysOf(v.Type()), name)
			continue
		}
		d.decode(kv.value, target, name, sf.Tag.Get("form"))
	}
}

// unknown notes a key that is not known here, and the unknown keys inside it.
func (d *decoder) unknown(kv pair, known []string, name string) {
	pos := position{line: kv.key.Line, column: kv.key.Column}
	d.c.addAt(pos, name, "unknown key", remedyForKey(kv.key.Value, known))
	if kv.value.Kind != yaml.MappingNode {
		return
	}
	inside := keysAnywhere(kv.key.Value)
	if inside == nil {
		return
	}
	for _, in := range d.pairs(kv.value, name) {
		if k := in.key.Value; !slices.Contains(inside, k) {
			d.unknown(in, inside, join(name, k))
		}
	}
}

// table reads a map of names to values of one type.
func (d *decoder) table(n *yaml.Node, v reflect.Value, field, form string) {
	v.Set(reflect.MakeMap(v.Type()))
	for _, kv := range d.pairs(n, field) {
		name := join(field, kv.key.Value)
		item := reflect.New(v.Type().Elem()).Elem()
		d.decode(kv.value, item, name, form)
		v.SetMapIndex(reflect.ValueOf(kv.key.Value), item)
	}
}

type pair struct{ key, value *yaml.Node }

// pairs lists the keys of a mapping with their values: merge keys (<<) written
// out, doubled keys refused.
func (d *decoder) pairs(n *yaml.Node, field string) []pair {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		d.c.addUnread(d.c.at[field], field, "keys with values expected, found "+withArticle(n), "write key: value")
		return nil
	}
	var own, merged []pair
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		pos := position{line: key.Line, column: key.Column}
		switch {
		case key.ShortTag() == "!!merge":
			merged = append(merged, d.merge(value, field)...)
		case key.Kind != yaml.ScalarNode || isNull(key):
			d.c.addAt(pos, field, "a key must be a word, found "+withArticle(key), "write key: value")
		case seen[key.Value] > 0:
			d.c.addAt(pos, join(field, key.Value), fmt.Sprintf("the key stands twice: first on line %d", seen[key.Value]), "keep one of both")
		default:
			seen[key.Value] = key.Line
			own = append(own, pair{key, value})
		}
	}
	for _, kv := range merged {
		if seen[kv.key.Value] == 0 {
			seen[kv.key.Value] = kv.key.Line
			own = append(own, kv)
		}
	}
	return own
}

// merge lists what a merge key brings in, nearest first.
func (d *decoder) merge(n *yaml.Node, field string) []pair {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.SequenceNode {
		return d.pairs(n, field)
	}
	var out []pair
	for _, item := range n.Content {
		out = append(out, d.pairs(item, field)...)
	}
	return out
}

func (d *decoder) noValue(pos position, field string) {
	if strings.HasSuffix(field, "]") {
		d.c.addUnread(pos, field, "the entry is empty", "remove it, or write its text in quotes")
		return
	}
	d.c.addUnread(pos, field, "the key has no value", "give one, or remove the key to get the default")
}

var wordPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// join is the name of a field inside another.
func join(field, key string) string {
	if !wordPattern.MatchString(key) {
		key = quote(key)
	}
	if field == "" {
		return key
	}
	return field + "." + key
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "list"
	case yaml.MappingNode:
		return "mapping"
	}
	return "single value"
}

func withArticle(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return strconv.Quote(short(n.Value))
	}
	return "a " + kindOf(n)
}

func short(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
