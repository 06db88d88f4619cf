package mlflowtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// object is a JSON object in the order in which it was written: the server keeps what stands before something it can't read.
type object []member

type member struct {
	name  string
	value any // nil, bool, json.Number, string, []any, object or bareToken
}

// bareToken is NaN, Infinity or -Infinity outside quotation marks: Python reads them, protobuf's JSON refuses them.
type bareToken string

var errConversion = errors.New("not convertible")

const bareMark = "\x00bare:"

var bareTokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)

// parseLenient reads a body as Python does. What is no JSON object counts as an empty one.
func parseLenient(body []byte) object {
	body = bareTokens.ReplaceAllFunc(body, func(m []byte) []byte {
		if m[0] == '"' {
			return m
		}
		quoted, _ := json.Marshal(bareMark + string(m))
		return quoted
	})
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	v, err := parseValue(dec)
	o, ok := v.(object)
	if err != nil || !ok || dec.More() {
		return nil
	}
	return o
}

func parseValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return parseObject(dec)
		}
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	case string:
		if bare, ok := strings.CutPrefix(t, bareMark); ok {
			return bareToken(bare), nil
		}
	}
	return token, nil
}

func parseObject(dec *json.Decoder) (any, error) {
	o := object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := parseValue(dec)
		if err != nil {
			return nil, err
		}
		o = append(o, member{name.(string), v})
	}
	_, err := dec.Token()
	return o, err
}

// setter stores a value that it can convert.
type setter func(v any) error

// fields are those of one message; others are ignored.
type fields map[string]setter

// fill converts members in their order and stops at the first that can't be: what follows it stays unset, here and in all messages around.
func (f fields) fill(o object) error {
	for _, m := range o {
		set, known := f[m.name]
		if !known || m.value == nil {
			continue
		}
		if err := set(m.value); err != nil {
			return err
		}
	}
	return nil
}

func text(dst *string) setter {
	return func(v any) error {
		s, ok := v.(string)
		if !ok {
			return errConversion
		}
		*dst = s
		return nil
	}
}

func integer(dst *int64) setter {
	return func(v any) error {
		s, ok := v.(string)
		if n, isNumber := v.(json.Number); isNumber {
			s, ok = n.String(), true
		}
		if !ok {
			return errConversion
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			*dst = n
			return nil
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f != math.Trunc(f) {
			return errConversion
		}
		*dst = int64(f)
		return nil
	}
}

func double(dst *float64) setter {
	return func(v any) error {
		var s string
		switch t := v.(type) {
		case json.Number:
			s = t.String()
		case string:
			s = t
		default:
			return errConversion
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return errConversion
		}
		*dst = f
		return nil
	}
}

// word takes a word of an enumeration; any other is passed over.
func word(dst *string, words ...string) setter {
	return func(v any) error {
		for _, w := range words {
			if v == w {
				*dst = w
			}
		}
		return nil
	}
}

func texts(dst *[]string) setter {
	return list(dst, text)
}

// list converts an array; an element that can't be converted is kept as far as it got.
func list[T any](dst *[]T, element func(*T) setter) setter {
	return func(v any) error {
		values, ok := v.([]any)
		if !ok {
			return errConversion
		}
		for _, value := range values {
			var item T
			err := element(&item)(value)
			*dst = append(*dst, item)
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func message[T any](of func(*T) fields) func(*T) setter {
	return func(dst *T) setter {
		return func(v any) error {
			o, ok := v.(object)
			if !ok {
				return errConversion
			}
			return of(dst).fill(o)
		}
	}
}
