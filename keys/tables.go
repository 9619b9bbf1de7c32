package keys

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// checkTables sees that what is to become a Go map is a table. The parser passes over any other
// value in that place without an error and without a result.
func checkTables(text []byte, t reflect.Type) error {
	if !hasMap(t, map[reflect.Type]bool{}) {
		return nil
	}
	var data map[string]any
	if _, err := toml.Decode(string(text), &data); err != nil {
		return plainError(err)
	}
	return tablesIn(t, data, "")
}

// hasMap reports whether there is a map anywhere in t.
func hasMap(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hasMap(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasMap(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// tablesIn walks data as far as it and t go together.
func tablesIn(t reflect.Type, data any, key string) error {
	switch t.Kind() {
	case reflect.Pointer:
		return tablesIn(t.Elem(), data, key)
	case reflect.Slice, reflect.Array:
		list := reflect.ValueOf(data)
		for i := 0; list.Kind() == reflect.Slice && i < list.Len(); i++ {
			if err := tablesIn(t.Elem(), list.Index(i).Interface(), key); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return tablesInFields(t, data, key)
	case reflect.Map:
		return tablesInMap(t, data, key)
	}
	return nil
}

// tablesInMap wants a table and looks into its values.
func tablesInMap(t reflect.Type, data any, key string) error {
	table, ok := data.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: want a table, got %s", key, typeWord(strings.ReplaceAll(fmt.Sprintf("%T", data), "interface {}", "any")))
	}
	for name, value := range table {
		if err := tablesIn(t.Elem(), value, join(key, name)); err != nil {
			return err
		}
	}
	return nil
}

// tablesInFields looks into the fields of a struct; those of an embedded one are its own.
func tablesInFields(t reflect.Type, data any, key string) error {
	table, _ := data.(map[string]any)
	for i := range t.NumField() {
		f := t.Field(i)
		name := fieldName(f)
		var err error
		if value, given := table[name]; given {
			err = tablesIn(f.Type, value, join(key, name))
		} else if f.Anonymous {
			err = tablesIn(f.Type, data, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// join writes a dotted key.
func join(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// fieldName is how a document names a field.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return cmp.Or(name, strings.ToLower(f.Name))
}

// isFree reports whether a key lies in a table that may hold anything. The parser takes keys of tables in lists there
// for unknown.
func isFree(t reflect.Type, key []string) bool {
	for _, name := range key {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch {
		case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Interface:
			return true
		case t.Kind() == reflect.Map:
			t = t.Elem()
		case t.Kind() == reflect.Struct:
			f, ok := t.FieldByNameFunc(func(field string) bool {
				f, _ := t.FieldByName(field)
				return fieldName(f) == name
			})
			if !ok {
				return false
			}
			t = f.Type
		default:
			return false
		}
	}
	return false
}
