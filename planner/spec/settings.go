package spec

import (
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// settings reads free keys with values of any kind. Numbers become int64 or
// float64, dates stay the text that was typed.
func (d *decoder) settings(n *yaml.Node, v reflect.Value, field string) {
	if got, ok := d.anything(n, field).(map[string]any); ok {
		v.Set(reflect.ValueOf(got))
	} else if n.Kind != yaml.MappingNode {
		d.c.add(field, "keys with values expected, found "+withArticle(n), "write key: value")
	}
}

// anything reads a value whose type only its writer knows.
func (d *decoder) anything(n *yaml.Node, field string) any {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	pos := position{line: n.Line, column: n.Column, value: n.Value}
	d.c.at[field] = pos
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for _, kv := range d.pairs(n, field) {
			out[kv.key.Value] = d.anything(kv.value, join(field, kv.key.Value))
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = d.anything(item, fmt.Sprintf("%s[%d]", field, i))
		}
		return out
	}
	got, err := settingValue(n)
	switch {
	case err != nil:
		d.c.addAt(pos, field, err.Error(), "write it plainly, or in quotes to keep the text as typed")
	case got == nil:
		d.noValue(pos, field)
	}
	return got
}

func settingValue(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!int", "!!float":
		if v, err := parseInt(n.Value); err == nil {
			return v, nil
		} else if intPattern.MatchString(n.Value) || n.ShortTag() == "!!int" {
			return nil, err
		}
		return parseFloat(n.Value)
	case "!!bool":
		if n.Value != "true" && n.Value != "false" {
			return nil, fmt.Errorf("not a flag: only true and false are")
		}
		return n.Value == "true", nil
	case "!!str", "!!timestamp":
		return n.Value, nil
	}
	return nil, fmt.Errorf("unknown tag %s", plain(n.ShortTag()))
}
