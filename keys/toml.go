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
	"github.com/hanse-project/hanse/internal/wording"
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
		return &DecodeError{what, line, cmp.Or(first, err)}
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
			return fmt.Errorf("key %q must be in lower case", wording.ClipAt(k, 80))
		}
	}
	for _, key := range meta.Undecoded() {
		if !isFree(reflect.TypeOf(v).Elem(), key) {
			return fmt.Errorf("unknown key %q%s", wording.ClipAt(key.String(), 80),
				wording.DidYouMean(key[len(key)-1], keysBeside(reflect.TypeOf(v).Elem(), key)))
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
	message = wording.ClipAt(strings.TrimSuffix(plainTypes(message), "."), 200)
	if key != "" && !strings.HasPrefix(message, key+" is ") {
		message = wording.ClipAt(key, 80) + ": " + message
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
	if strings.HasPrefix(message, "Key '") && strings.HasSuffix(message, "' has already been defined.") {
		return "it stands there twice"
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

// Limits that hold before a TOML text is parsed: the parser calls itself for every level of
// nesting and copies every part of a dotted key, so a hostile text could exhaust the stack or
// the memory.
const (
	maxDepth    = 16      // brackets inside brackets
	maxKeyParts = 16      // a.b.c has three
	maxItems    = 1 << 18 // values, list entries and headers
)

// chunk is a piece of TOML that parses when everything before it does: a line, or all lines of
// a list.
type chunk struct {
	line int // its first line, from 1
	end  int // the offset behind it
}

// scanner walks over TOML once, aware of strings and comments only. Where it and the parser
// could disagree, the parser has already given up on the text.
type scanner struct {
	text                     []byte
	at, line                 int
	depth, dots, items, from int
	chunks                   []chunk
}

// scan divides text into chunks and holds it against the limits. The error starts with the line.
// Strings over several lines are refused: they hide what they hold from a person who skims.
func scan(text []byte) ([]chunk, error) {
	s := &scanner{text: text, line: 1, from: 1}
	for s.at < len(text) {
		if err := s.step(); err != nil {
			return nil, fmt.Errorf("line %d: %w", s.line, err)
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' || s.depth > 0 {
		s.chunks = append(s.chunks, chunk{s.from, len(text)})
	}
	return s.chunks, nil
}

// step consumes a character, a string or a comment.
func (s *scanner) step() error {
	c := s.text[s.at]
	s.at++
	switch c {
	case '\n':
		s.line++
		s.dots = 0
		if s.depth == 0 { // no list is open: a chunk ends
			s.chunks = append(s.chunks, chunk{s.from, s.at})
			s.from = s.line
		}
	case '#':
		for s.at < len(s.text) && s.text[s.at] != '\n' {
			s.at++
		}
	case '"', '\'':
		// Stops behind the closing quote.
		if s.at+1 < len(s.text) && s.text[s.at] == c && s.text[s.at+1] == c {
			return fmt.Errorf("a string over several lines is not allowed: write it on one line")
		}
		for ; s.at < len(s.text) && s.text[s.at] != '\n'; s.at++ {
			switch {
			case s.text[s.at] == c:
				s.at++
				return nil
			case s.text[s.at] == '\\' && c == '"' && s.at+1 < len(s.text) && s.text[s.at+1] != '\n':
				s.at++
			}
		}
		return fmt.Errorf("a string is not closed before the end of its line")
	case '.':
		s.dots++
	case '[', '{':
		s.depth++
		s.item()
	case ']', '}':
		s.depth = max(0, s.depth-1)
		s.dots = 0
	case ',', '=':
		s.item()
	}
	switch {
	case s.depth > maxDepth:
		return fmt.Errorf("brackets are nested deeper than %d", maxDepth)
	case s.dots >= maxKeyParts:
		return fmt.Errorf("a key has more than %d parts", maxKeyParts)
	case s.items > maxItems:
		return fmt.Errorf("more than %d values", maxItems)
	}
	return nil
}

// item counts something the parser allocates for, and begins a new key or value.
func (s *scanner) item() {
	s.items++
	s.dots = 0
}

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
		table, _ := data.(map[string]any)
		for i := range t.NumField() {
			f := t.Field(i)
			name := fieldName(f)
			var err error
			if value, given := table[name]; given {
				err = tablesIn(f.Type, value, join(key, name))
			} else if f.Anonymous { // its fields are the struct's own
				err = tablesIn(f.Type, data, key)
			}
			if err != nil {
				return err
			}
		}
	case reflect.Map:
		table, ok := data.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: want a table, got %s", key,
				typeWord(strings.ReplaceAll(fmt.Sprintf("%T", data), "interface {}", "any")))
		}
		for name, value := range table {
			if err := tablesIn(t.Elem(), value, join(key, name)); err != nil {
				return err
			}
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

// keysBeside lists the keys that a t knows where the given one is none.
func keysBeside(t reflect.Type, key []string) []string {
	for at := range key {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			var names []string
			var next reflect.Type
			for _, f := range reflect.VisibleFields(t) {
				if name := fieldName(f); f.IsExported() && !f.Anonymous && name != "-" {
					if names = append(names, name); name == key[at] {
						next = f.Type
					}
				}
			}
			if next == nil {
				return names
			}
			t = next
		default:
			return nil
		}
	}
	return nil
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
