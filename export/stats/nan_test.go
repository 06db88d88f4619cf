package stats

import (
	"fmt"
	"math"
	"reflect"

	"github.com/stretchr/testify/assert"
)

// assertNoNaN walks a result and fails on NaN and on infinities.
func assertNoNaN(t tester, x any) {
	t.Helper()
	walk(t, reflect.ValueOf(x), "result")
}

func walk(t tester, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(t, v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(t, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Float64:
		assert.False(t, math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0), "%s is %v", path, v.Float())
	default:
	}
}
