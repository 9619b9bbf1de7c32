package report

import (
	"errors"
	"reflect"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/audit"
)

// maxString is the longest string, in characters, that a report quotes.
const maxString = 2000

// errNone is the only fault a caller can make.
var errNone = errors.New("report: there is no report to write, want one")

// printable returns a copy of a report whose strings hold nothing but printable characters: no
// line breaks, terminal sequences or marks that reverse the direction of writing.
func printable(r *audit.Report) *audit.Report {
	out := printableCopy(reflect.ValueOf(*r)).Interface().(audit.Report)
	return &out
}

// printableCopy copies a value of the report's types, and cleans the strings in it. Slices of
// numbers are shared: nothing changes them.
func printableCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(clean(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(printableCopy(v.Field(i)))
		}
	case reflect.Slice:
		out.Set(printableSlice(v))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(printableCopy(v.Elem()))
		}
	default:
		out.Set(v)
	}
	return out
}

// printableSlice copies a slice when its elements can hold strings.
func printableSlice(v reflect.Value) reflect.Value {
	if kind := v.Type().Elem().Kind(); kind != reflect.Struct && kind != reflect.String {
		return v
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(printableCopy(v.Index(i)))
	}
	return out
}

// clean replaces what is no printable character, and cuts what is too long.
func clean(s string) string {
	s = clip(s, maxString)
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case c == unicode.ReplacementChar || !unicode.IsPrint(c):
			return '?'
		}
		return c
	}, s)
	return strings.TrimSpace(s)
}

// clip cuts a string to n characters, the last three being dots when something was cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	seen, cut := 0, 0
	for i := range s {
		if seen == n-3 {
			cut = i
		}
		if seen == n {
			return s[:cut] + "..."
		}
		seen++
	}
	return s
}
