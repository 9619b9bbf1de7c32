package keys

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// DecodeError is what DecodeStrict finds wrong: in which text, on which line, and what.
type DecodeError struct {
	What string
	Line int
	Err  error
}

// Error implements error.
func (e *DecodeError) Error() string { return fmt.Sprintf("%s: line %d: %v", e.What, e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *DecodeError) Unwrap() error { return e.Err }

// ValueError is a mistake in a table of a text that was read before the table's values were understood.
type ValueError struct {
	What string // of which table
	Key  string // the value's name; empty if that is not known
	Line int    // in the text; 0 where it is not known
	Err  error
}

// Error implements error.
func (e *ValueError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.What, e.Err)
	}
	return (&DecodeError{e.What, e.Line, e.Err}).Error()
}

// Unwrap returns what is wrong.
func (e *ValueError) Unwrap() error { return e.Err }

// InTable turns an error of DecodeStrict about a table that was written out anew, as text, into a ValueError: the lines
// of that text are nobody's. Other errors stay as they are.
func InTable(text []byte, err error) error {
	bad := (*DecodeError)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	v := &ValueError{What: bad.What, Err: bad.Err}
	if lines := strings.Split(string(text), "\n"); bad.Line <= len(lines) {
		v.Key, _, _ = strings.Cut(strings.TrimSpace(lines[bad.Line-1]), " =")
	}
	return v
}

// FindValue puts into err, where it has a ValueError, the line on which the value stands in the text of the file, which
// was read without a fault; table is the name of the value's table there.
func FindValue(err error, text []byte, table string) error {
	v := (*ValueError)(nil)
	if !errors.As(err, &v) {
		return err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	chunks, scanned := scan(text)
	if scanned != nil {
		return err
	}
	n := sort.Search(len(chunks), func(i int) bool {
		var values map[string]any
		meta, err := toml.Decode(string(text[:chunks[i].end]), &values)
		return err == nil && meta.IsDefined(table, v.Key)
	})
	if n == len(chunks) {
		return err
	}
	before, after, _ := strings.Cut(err.Error(), v.Error())
	found := *v
	found.Line = chunks[n].line
	return fmt.Errorf("%s%w%s", before, &found, after)
}
