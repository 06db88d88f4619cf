package tables

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"
)

// column is a column of a row struct: where its value stands in the struct.
type column struct {
	name     string
	typ      string // string, int64, double, bool or timestamp_ms
	nullable bool
	offset   uintptr
}

func (c column) fullType() string {
	if c.nullable {
		return c.typ + "?"
	}
	return c.typ
}

// columnsOf lists the columns of a row struct in the order in which they are written.
func columnsOf(t reflect.Type) []column { return appendColumns(nil, t, 0) }

func appendColumns(cols []column, t reflect.Type, base uintptr) []column {
	for f := range t.Fields() {
		if f.Anonymous {
			cols = appendColumns(cols, f.Type, base+f.Offset)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		c := column{name: name, offset: base + f.Offset, nullable: f.Type.Kind() == reflect.Pointer}
		ft := f.Type
		if c.nullable {
			ft = ft.Elem()
		}
		switch ft.Kind() {
		case reflect.String:
			c.typ = "string"
		case reflect.Float64:
			c.typ = "double"
		case reflect.Bool:
			c.typ = "bool"
		case reflect.Int64:
			c.typ = "int64"
			if strings.HasPrefix(options, "timestamp") {
				c.typ = "timestamp_ms"
			}
		default:
			panic(fmt.Sprintf("tables: column %s has no type: %v", name, f.Type))
		}
		cols = append(cols, c)
	}
	return cols
}

// Values are encoded as the manifest says: a byte 0 for null, else a byte 1 and the value.

func appendNull(b []byte) []byte { return append(b, 0) }

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, 1), uint64(len(s)))
	return append(b, s...)
}

func appendInt(b []byte, v int64) []byte {
	return binary.LittleEndian.AppendUint64(append(b, 1), uint64(v))
}

func appendDouble(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(v))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1, 1)
	}
	return append(b, 1, 0)
}

// appendRows encodes one column of n rows of the given size that start at rows,
// and counts the nulls.
func (c column) appendRows(b []byte, rows unsafe.Pointer, n int, size uintptr) ([]byte, int64) {
	nulls := int64(0)
	for i := range n {
		p := unsafe.Add(rows, uintptr(i)*size+c.offset)
		if c.nullable {
			if p = *(*unsafe.Pointer)(p); p == nil {
				b = appendNull(b)
				nulls++
				continue
			}
		}
		switch c.typ {
		case "string":
			b = appendString(b, *(*string)(p))
		case "double":
			b = appendDouble(b, *(*float64)(p))
		case "bool":
			b = appendBool(b, *(*bool)(p))
		default:
			b = appendInt(b, *(*int64)(p))
		}
	}
	return b, nulls
}
