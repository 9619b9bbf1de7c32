package keys

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hanse-project/hanse/internal/wording"
)

const (
	// MaxIdentifiers is the largest number of identifiers of a charter.
	MaxIdentifiers = 16
	// MaxIDColumns is the largest number of columns of an identifier.
	MaxIDColumns = 8
	// maxColumnName is the longest name of a column, and the longest layout of a date, in bytes.
	maxColumnName = 200
)

// Identifier says by which columns of a table the members know the same row: all of them together.
type Identifier struct {
	Name    string     // see CheckName
	Columns []IDColumn // 1 to MaxIDColumns, in the order of the text, with different names
}

// IDColumn is a column of a table and how its cells are made alike: in the order of the fields, what is
// false or empty left out. At most one of Number, Digits, E164 and Date is set.
type IDColumn struct {
	Name     string // printable, at most 200 bytes
	NFKC     bool   // Unicode normalization form KC
	Trim     bool   // white space at both ends is cut off
	Casefold bool   // full Unicode case folding
	Digits   bool   // all but decimal digits is left out
	E164     string // a phone number; the calling code, as "+31", of those written without one
	Date     string // a date in this layout of Go, as "02.01.2006"; the normal form is "2006-01-02"
	// Number has a whole number, however a program wrote it, in plain digits. It is left out of what is encoded where it
	// is false, so that alignments made without it have the bytes that they had.
	Number bool `cbor:",omitempty"`
}

// Identifier returns the identifier with the given name.
func (c *Charter) Identifier(name string) (Identifier, bool) {
	return found(c.Identifiers, func(id Identifier) bool { return id.Name == name })
}

// identifierText is a table [ids.NAME] in a charter. Its evolution is that of charterText.
type identifierText struct {
	Columns []idColumnText `toml:"columns"`
}

// idColumnText is an entry of identifierText.
type idColumnText struct {
	Name     string `toml:"name"`
	NFKC     bool   `toml:"nfkc"`
	Trim     bool   `toml:"trim"`
	Casefold bool   `toml:"casefold"`
	Digits   bool   `toml:"digits"`
	E164     string `toml:"e164"`
	Date     string `toml:"date"`
	Number   bool   `toml:"number"`
}

// parseIdentifiers lists the identifiers in the order of their names; check must follow.
func parseIdentifiers(text map[string]identifierText) []Identifier {
	var list []Identifier
	for _, name := range slices.Sorted(maps.Keys(text)) {
		id := Identifier{Name: name}
		for _, column := range text[name].Columns {
			id.Columns = append(id.Columns, IDColumn(column))
		}
		list = append(list, id)
	}
	return list
}

// checkIdentifiers holds the identifiers against the limits and each other.
func (c *Charter) checkIdentifiers() error {
	if n := len(c.Identifiers); n > MaxIdentifiers {
		return fmt.Errorf("%d identifiers, at most %d are allowed", n, MaxIdentifiers)
	}
	for i, id := range c.Identifiers {
		if err := CheckName(id.Name); err != nil {
			return fmt.Errorf("ids: %w", err)
		}
		if i > 0 && c.Identifiers[i-1].Name >= id.Name {
			return fmt.Errorf("ids.%s: it stands behind ids.%s, want each once and in the order of their names", id.Name,
				c.Identifiers[i-1].Name)
		}
		if err := id.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Check holds the columns against the limits, and their recipes against what can be done.
func (id Identifier) Check() error {
	if n := len(id.Columns); n < 1 || n > MaxIDColumns {
		return fmt.Errorf("ids.%s: %d columns, want 1 to %d", id.Name, n, MaxIDColumns)
	}
	seen := make(map[string]bool, len(id.Columns))
	for i, column := range id.Columns {
		if err := column.check(); err != nil {
			return fmt.Errorf("ids.%s: column %d: %w", id.Name, i+1, err)
		}
		if seen[column.Name] {
			return fmt.Errorf("ids.%s: column %d: %q is named twice", id.Name, i+1, column.Name)
		}
		seen[column.Name] = true
	}
	return nil
}

// check holds a column against the rules that concern it alone.
func (c IDColumn) check() error {
	for _, text := range []struct{ what, value string }{{"name", c.Name}, {"date", c.Date}} {
		if len(text.value) > maxColumnName {
			return fmt.Errorf("the %s has %d bytes, at most %d are allowed", text.what, len(text.value), maxColumnName)
		}
		for _, r := range text.value {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return fmt.Errorf("the %s has the character U+%04X, which cannot be seen", text.what, r)
			}
		}
	}
	if c.Name == "" {
		return fmt.Errorf("the name is missing")
	}
	last := 0
	for _, set := range []bool{c.Number, c.Digits, c.E164 != "", c.Date != ""} {
		if set {
			last++
		}
	}
	if last > 1 {
		return fmt.Errorf("%q has %d of number, digits, e164 and date, want at most one", c.Name, last)
	}
	if c.E164 != "" && !isCallingCode(c.E164) {
		return fmt.Errorf("%q: e164 is %q, want \"+\" and a calling code of 1 to 3 digits, as in \"+31\"", c.Name,
			wording.ClipAt(c.E164, 20))
	}
	if c.Date == "" {
		return nil
	}
	// A layout that leaves out a part of the date, or the century, makes other dates of these.
	for _, day := range []time.Time{
		time.Date(1931, 11, 25, 0, 0, 0, 0, time.UTC), time.Date(2012, 2, 3, 0, 0, 0, 0, time.UTC),
	} {
		back, err := time.Parse(c.Date, day.Format(c.Date))
		if err != nil || back.Format(time.DateOnly) != day.Format(time.DateOnly) {
			return fmt.Errorf("%q: the date layout %q does not tell all dates apart: write 2 January 2006 as the cells would, "+
				"as in \"02.01.2006\"", c.Name, wording.ClipAt(c.Date, 40))
		}
	}
	return nil
}

// isCallingCode reports whether s is "+" and 1 to 3 digits, the first not zero.
func isCallingCode(s string) bool {
	ok := len(s) >= 2 && len(s) <= 4 && s[0] == '+' && s[1] != '0'
	for _, r := range strings.TrimPrefix(s, "+") {
		ok = ok && '0' <= r && r <= '9'
	}
	return ok
}

// String writes a column as it stands in a charter.
func (c IDColumn) String() string {
	parts := []string{"name = " + quote(c.Name)}
	for _, flag := range []struct {
		key string
		set bool
	}{{"nfkc", c.NFKC}, {"trim", c.Trim}, {"casefold", c.Casefold}, {"number", c.Number}, {"digits", c.Digits}} {
		if flag.set {
			parts = append(parts, flag.key+" = true")
		}
	}
	for _, text := range []struct{ key, value string }{{"e164", c.E164}, {"date", c.Date}} {
		if text.value != "" {
			parts = append(parts, text.key+" = "+quote(text.value))
		}
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// writeIdentifiers renders the identifiers; none give nothing.
func writeIdentifiers(p *page, list []Identifier) {
	if len(list) == 0 {
		return
	}
	last := "digits, e164 or date."
	if hasNumber(list) { // a text without one is what it always was
		last = "number, digits, e164 or date."
	}
	p.comment("What identifies a row, so that tables of several members can be aligned: these columns,",
		"made alike in the order nfkc, trim, casefold, and then "+last)
	for _, id := range list {
		p.table("[ids." + id.Name + "]")
		p.b.WriteString("columns = [\n")
		for _, column := range id.Columns {
			fmt.Fprintf(&p.b, "  %s,\n", column)
		}
		p.b.WriteString("]\n")
		p.gap()
	}
}

// hasNumber reports whether the recipe of a column has number.
func hasNumber(list []Identifier) bool {
	return slices.ContainsFunc(list, func(id Identifier) bool {
		return slices.ContainsFunc(id.Columns, func(c IDColumn) bool { return c.Number })
	})
}

// cloneIdentifiers shares no memory with list; nil stands for none, so that equal charters are deeply equal.
func cloneIdentifiers(list []Identifier) []Identifier {
	var clone []Identifier
	for _, id := range list {
		id.Columns = slices.Clone(id.Columns)
		clone = append(clone, id)
	}
	return clone
}

// changedIdentifiers adds lines about the identifiers that differ.
func (d *difference) changedIdentifiers(before, after *Charter) {
	names := make(map[string]bool)
	for _, id := range slices.Concat(before.Identifiers, after.Identifiers) {
		names[id.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var recipes [2]string
		for i, c := range []*Charter{before, after} {
			var columns []string
			id, _ := c.Identifier(name)
			for _, column := range id.Columns {
				columns = append(columns, column.String())
			}
			recipes[i] = words(columns)
		}
		d.changed("ids."+name, recipes[0], recipes[1])
	}
}
