package keys

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// DecodeStrict reads TOML into v, a pointer to a struct, which may hold defaults. It refuses keys
// that v does not know, keys in upper case, strings over several lines, deep nesting and texts
// longer than MaxDocument. Errors name what is read, the line and the key; v is then unchanged.
func DecodeStrict(what string, text []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("%s: cannot decode into %T, want a pointer to a struct", what, v)
	}
	if len(text) > MaxDocument {
		return fmt.Errorf("%s: %d bytes, at most %d are allowed", what, len(text), MaxDocument)
	}
	if !utf8.Valid(text) {
		return fmt.Errorf("%s: the text is not UTF-8", what)
	}
	chunks, err := scan(text)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fresh := reflect.New(target.Elem().Type())
	fresh.Elem().Set(target.Elem())
	if err := decodeExact(text, fresh.Interface()); err != nil {
		line, first := locate(text, chunks, fresh.Elem().Type())
		return fmt.Errorf("%s: line %d: %w", what, line, cmp.Or(first, err))
	}
	target.Elem().Set(fresh.Elem())
	return nil
}

// decodeExact is DecodeStrict without limits and lines.
func decodeExact(text []byte, v any) error {
	meta, err := toml.Decode(string(text), v)
	if err != nil {
		return plainError(err)
	}
	for _, key := range meta.Keys() {
		// The parser takes NAME for name, and so could take two keys for one.
		if k := key.String(); k != strings.ToLower(k) {
			return fmt.Errorf("key %q must be in lower case", clipAt(k, 80))
		}
	}
	for _, key := range meta.Undecoded() {
		if !isFree(reflect.TypeOf(v).Elem(), key) {
			return fmt.Errorf("unknown key %q", clipAt(key.String(), 80))
		}
	}
	return checkTables(text, reflect.TypeOf(v).Elem())
}

// locate finds the first line that does not decode into a t, and its error. The parser knows one
// position for each key only, however many tables of a list hold it; but a text that is right up
// to some chunk decodes up to there, so the chunk is found by bisection.
func locate(text []byte, chunks []chunk, t reflect.Type) (line int, first error) {
	n := sort.Search(len(chunks), func(i int) bool {
		return decodeExact(text[:chunks[i].end], reflect.New(t).Interface()) != nil
	})
	if n == len(chunks) {
		return 1, nil
	}
	return chunks[n].line, decodeExact(text[:chunks[n].end], reflect.New(t).Interface())
}

// plainError rewords the parser's error: without its own position, in our words. It quotes the
// text, so that whatever a terminal would obey is left out.
func plainError(err error) error {
	key, message := "", ""
	if pe := (toml.ParseError{}); errors.As(err, &pe) {
		key, message = pe.LastKey, pe.Message
	} else {
		message = strings.TrimPrefix(err.Error(), "toml: ")
		if _, rest, ok := strings.Cut(message, "(last key "); ok {
			key, message, _ = strings.Cut(rest, "): ")
			if plain, err := strconv.Unquote(key); err == nil {
				key = plain
			}
		}
	}
	message = clipAt(strings.TrimSuffix(plainTypes(message), "."), 200)
	if key != "" {
		message = clipAt(key, 80) + ": " + message
	}
	return errors.New(strings.Map(visible, message))
}

// visible replaces what cannot be seen.
func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// plainTypes turns the parser's type errors into "want a, got b".
func plainTypes(message string) string {
	if rest, ok := strings.CutPrefix(message, "incompatible types: TOML value has type "); ok {
		if got, want, ok := strings.Cut(rest, "; destination has type "); ok {
			return fmt.Sprintf("want %s, got %s", typeWord(want), typeWord(got))
		}
	}
	if _, got, ok := strings.Cut(message, ": expected table but found "); ok {
		return "want a table, got " + typeWord(got)
	}
	return message
}

// typeWord says a type of Go, or of the parser, in words of TOML.
func typeWord(t string) string {
	switch t {
	case "string", "primitive (string-like)":
		return "a string"
	case "int64", "integer":
		return "an integer"
	case "float64", "float":
		return "a number"
	case "bool", "boolean":
		return "true or false"
	case "time.Time":
		return "a date without quotes"
	case "map[string]any", "map":
		return "a table"
	case "[]any", "[]map[string]any", "slice":
		return "a list"
	}
	return t
}
