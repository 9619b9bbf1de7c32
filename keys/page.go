package keys

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hanse-project/hanse/internal/wording"
)

// page builds the readable TOML of a document. Equal calls give equal bytes.
type page struct{ b strings.Builder }

// comment adds lines of comment; an empty one is a bare "#".
func (p *page) comment(lines ...string) {
	for _, l := range lines {
		p.b.WriteString(strings.TrimRight("# "+l, " ") + "\n")
	}
}

// gap adds an empty line.
func (p *page) gap() { p.b.WriteByte('\n') }

// table adds a header: "[rules]", "[[member]]".
func (p *page) table(header string) { p.b.WriteString(header + "\n") }

// text adds a string.
func (p *page) text(key, value string) { fmt.Fprintf(&p.b, "%s = %s\n", key, quote(value)) }

// flag adds a key that is true.
func (p *page) flag(key string) { fmt.Fprintf(&p.b, "%s = true\n", key) }

// number adds an integer.
func (p *page) number(key string, value int) { fmt.Fprintf(&p.b, "%s = %d\n", key, value) }

// list adds strings: on one line when there is at most one, otherwise on a line each, so that a
// comparison of two versions shows what changed.
func (p *page) list(key string, values []string) {
	if len(values) < 2 {
		p.words(key, values)
		return
	}
	fmt.Fprintf(&p.b, "%s = [\n", key)
	for _, v := range values {
		fmt.Fprintf(&p.b, "  %s,\n", quote(v))
	}
	p.b.WriteString("]\n")
}

// words adds short strings on one line.
func (p *page) words(key string, values []string) {
	fmt.Fprintf(&p.b, "%s = %s\n", key, inLine(values))
}

// inLine writes short strings as a list in one line.
func inLine(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// bytes returns the page.
func (p *page) bytes() []byte { return []byte(p.b.String()) }

// quote writes printable text as a TOML basic string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// checkPrintable refuses what a person would not see, or would see in another place than the
// computer does: control characters, invisible ones and those that turn the direction of
// writing. It returns the line, from 1.
func checkPrintable(text []byte) (line int, err error) {
	line = 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '\n':
			line++
		case r == '\r':
			return line, fmt.Errorf("a Windows line end, which changes the signed bytes: ask for the file again, as an " +
				"attachment")
		case r == '\ufeff' && i == 0:
			return line, fmt.Errorf("a byte order mark, as editors of Windows write, which changes the signed bytes: ask for " +
				"the file again, as an attachment")
		case r == utf8.RuneError && size == 1:
			return line, fmt.Errorf("byte 0x%02x is not UTF-8", text[i])
		case r != '\t' && !unicode.IsPrint(r):
			return line, fmt.Errorf("character U+%04X cannot be seen, so it has no place in a text that people sign", r)
		}
		i += size
	}
	return line, nil
}

// stampLayout is how times stand in documents: UTC, whole seconds.
const stampLayout = "2006-01-02T15:04:05Z"

// stamp renders t.
func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// parseStamp reads the one spelling that stamp writes.
func parseStamp(key, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, fmt.Errorf("%s is missing", key)
	}
	t, err := time.Parse(stampLayout, s)
	if err != nil || stamp(t) != s {
		return time.Time{}, fmt.Errorf("malformed %s %q: want UTC and whole seconds, as in %q", key, wording.ClipAt(s, 40),
			stampLayout)
	}
	return t, nil
}

// checkStamp refuses times that stamp would change.
func checkStamp(key string, t time.Time) error {
	if t.IsZero() {
		return fmt.Errorf("%s is missing", key)
	}
	if back, err := time.Parse(stampLayout, stamp(t)); err != nil || !back.Equal(t) {
		return fmt.Errorf("%s %s is not in whole seconds of a year up to 9999", key, t.UTC().Format(time.RFC3339Nano))
	}
	return nil
}
