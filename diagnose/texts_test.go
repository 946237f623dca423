package diagnose

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/rules/odds"
)

const someKey = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"

// TestEveryText: a key is found in whatever text of a report it stands.
func TestEveryText(t *testing.T) {
	texts := 0
	fill(reflect.ValueOf(&Report{}).Elem(), "Report", func(string, reflect.Value) { texts++ })
	require.Greater(t, texts, 80)
	for i := range texts {
		var r Report
		n, where := 0, ""
		fill(reflect.ValueOf(&r).Elem(), "Report", func(path string, v reflect.Value) {
			v.SetString("a text")
			if n == i {
				where = path
				v.SetString(someKey)
			}
			n++
		})
		assert.True(t, holdsCredentials(&r), where)
		assert.False(t, holdsCredentials(withoutCredentials(&r)), where)
	}
}

// fill makes one of everything in a value, and gives each text to set.
func fill(v reflect.Value, path string, set func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		set(path, v)
	case reflect.Pointer:
		if v.Type() != reflect.TypeFor[*Live]() && v.Type() != reflect.TypeFor[*odds.Heard]() { // the machine's own, and names of ours
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), path, set)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), path+"."+v.Type().Field(i).Name, set)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, set)
	}
}

// TestNothingShared: who changes a report changes no other.
func TestNothingShared(t *testing.T) {
	logs, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		seen := map[string]bool{}
		one, two := Bytes(raw), Bytes(raw)
		places(reflect.ValueOf(one), "Report", func(_, place string) { seen[place] = true })
		places(reflect.ValueOf(two), "Report", func(of, place string) { assert.False(t, seen[place], "%s: %s", path, of) })
	}
}

// places gives where in memory what a value points to lies.
func places(v reflect.Value, path string, yield func(of, place string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*odds.Heard]() {
			yield(path, fmt.Sprint(v.Type(), v.Pointer()))
			places(v.Elem(), path, yield)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			places(v.Field(i), path+"."+v.Type().Field(i).Name, yield)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			yield(path, fmt.Sprint(v.Type(), v.Pointer()))
		}
		for i := range v.Len() {
			places(v.Index(i), path, yield)
		}
	}
}
