// Package ids turns the cells that identify a row into an id of fixed length, alike for all members of a charter. It
// knows no network and no files.
package ids

import (
	"cmp"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/keys"
	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	// MaxCell is the longest cell that is read, in bytes; a longer one is unreadable.
	MaxCell = 4096
	// Shown is how many lines are kept of each kind of row that is left out or refused.
	Shown = 5

	domain = "hanse id v1"
)

// ID is 256 bits that stand for a row under one key.
type ID = [32]byte

// Recipe makes ids from the cells of one identifier. It does not change: many may use it at the same time.
type Recipe struct {
	columns []keys.IDColumn
	regions []string // of each column with E164, as the phone library names them
	prefix  []byte   // what is hashed before the fields
}

// New returns the recipe of an identifier of a charter in a pass, from 0. It refuses identifiers that no charter may
// have, and calling codes of no country.
func New(charter keys.Hash, id keys.Identifier, pass int) (*Recipe, error) {
	if pass < 0 {
		return nil, fmt.Errorf("ids.%s: pass %d, want 0 or more", id.Name, pass)
	}
	if err := keys.CheckName(id.Name); err != nil {
		return nil, fmt.Errorf("ids: %w", err)
	}
	if err := id.Check(); err != nil {
		return nil, err
	}
	r := &Recipe{columns: id.Columns, regions: make([]string, len(id.Columns))}
	for i, column := range id.Columns {
		if column.E164 == "" {
			continue
		}
		code, err := strconv.Atoi(column.E164[1:])
		if err != nil {
			return nil, fmt.Errorf("ids.%s: %q: malformed calling code %q", id.Name, column.Name, column.E164)
		}
		r.regions[i] = phonenumbers.GetRegionCodeForCountryCode(code)
		if len(r.regions[i]) != 2 || r.regions[i] == "ZZ" {
			return nil, fmt.Errorf("ids.%s: %q: %s is the calling code of no country", id.Name, column.Name, column.E164)
		}
	}
	r.begin(charter, id.Name, pass)
	return r, nil
}

// Plain is the recipe of a charter without identifiers: one cell, the id column's, as it stands.
func Plain(charter keys.Hash) *Recipe {
	r := &Recipe{columns: make([]keys.IDColumn, 1), regions: make([]string, 1)}
	r.begin(charter, "", 0)
	return r
}

// begin lays down what precedes the fields. No identifier has the name of Plain, the empty one.
func (r *Recipe) begin(charter keys.Hash, name string, pass int) {
	for _, part := range [][]byte{
		[]byte(domain), charter[:], []byte(name), binary.BigEndian.AppendUint64(nil, uint64(pass)),
	} {
		r.prefix = appendPart(r.prefix, part)
	}
}

// appendPart adds the length of p as 8 bytes, big endian, and then p.
func appendPart[P []byte | string](b []byte, p P) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
}

// Of returns the id of the row with these cells, in the order of the identifier's columns: SHA-512 over the domain, the
// charter's digest, the identifier's name, the pass and the normal forms, each preceded by its length, cut to 32 bytes.
// ok is false when a normal form is empty; err says why a cell has none. A row with both has an empty id.
func (r *Recipe) Of(cells []string) (id ID, ok bool, err error) {
	if len(cells) != len(r.columns) {
		return ID{}, false, fmt.Errorf("%d cells, want %d", len(cells), len(r.columns))
	}
	var space [512]byte
	b := append(space[:0], r.prefix...)
	for i, cell := range cells {
		normal, cellErr := r.Normal(i, cell)
		if cellErr == nil && normal == "" {
			return ID{}, false, nil
		}
		err = cmp.Or(err, cellErr)
		b = appendPart(b, normal)
	}
	if err != nil {
		return ID{}, false, err
	}
	sum := sha512.Sum512(b)
	return ID(sum[:len(id)]), true, nil
}

// Normal returns the normal form of a cell of column i. An error quotes nothing of the cell.
func (r *Recipe) Normal(i int, cell string) (string, error) {
	if len(cell) > MaxCell {
		return "", fmt.Errorf("the cell has %d bytes, at most %d are read", len(cell), MaxCell)
	}
	if !utf8.ValidString(cell) {
		return "", errors.New("the cell is not UTF-8")
	}
	column := r.columns[i]
	if column.Number || column.Digits || column.E164 != "" {
		if err := noOtherNumbers(cell); err != nil {
			return "", err
		}
	}
	if column.NFKC {
		cell = norm.NFKC.String(cell)
	}
	if column.Trim {
		cell = strings.TrimSpace(cell)
	}
	if column.Casefold {
		cell = cases.Fold().String(cell)
	}
	switch {
	case cell == "":
		return "", nil
	case column.Number:
		return number(cell)
	case column.Digits:
		if err := onlyDigits(cell); err != nil {
			return "", err
		}
		return strings.Map(func(c rune) rune {
			if '0' <= c && c <= '9' {
				return c
			}
			return -1
		}, cell), nil
	case column.E164 != "":
		if err := notANumber(cell); err != nil {
			return "", err
		}
		number, err := phonenumbers.Parse(cell, r.regions[i])
		if err != nil || !phonenumbers.IsPossibleNumber(number) {
			return "", errors.New("the cell is no phone number")
		}
		if number.GetExtension() != "" {
			return "", errors.New("the phone number has an extension, which E.164 cannot express")
		}
		normal := phonenumbers.Format(number, phonenumbers.E164)
		// Of zeros alone another is dropped each time: a member that keeps normal forms would have another id.
		again, err := phonenumbers.Parse(normal, r.regions[i])
		if err != nil || phonenumbers.Format(again, phonenumbers.E164) != normal {
			return "", errors.New("the cell is no phone number")
		}
		return normal, nil
	case column.Date != "":
		day, err := time.Parse(column.Date, cell)
		if err != nil {
			return "", fmt.Errorf("the cell is no date as in %q", column.Date)
		}
		return day.Format(time.DateOnly), nil
	}
	return cell, nil
}

// Rows are the cells of a table that identify its rows.
type Rows struct {
	Columns [][]string // those of the recipe, in its order, all of one length
	Lines   []int      // of each row, its line in the file
}

// Left counts rows that have no id, with the first of their lines.
type Left struct {
	Count int
	Lines []int // at most Shown
}

// add counts one more.
func (l *Left) add(line int) {
	l.Count++
	if len(l.Lines) < Shown {
		l.Lines = append(l.Lines, line)
	}
}

// List holds the ids of a table's rows under one recipe. Rows without one take no part in an alignment.
type List struct {
	IDs        []ID   // one for each row, zero where it has none
	Has        []bool // whether the row has one
	Empty      Left   // rows with an empty cell
	Unreadable Left   // rows with a cell that has no normal form
}

// DuplicateError says that rows of one table have the same id, or ids with the same first 16 bytes.
type DuplicateError struct {
	Count int      // rows whose id an earlier row has
	Lines [][2]int // of the first of them: the earlier row's line and its own; at most Shown
}

// Error names the first two lines.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%d rows have the id of an earlier row, the first in line %d that of line %d: "+
		"leave one row for each id", e.Count, e.Lines[0][1], e.Lines[0][0])
}

// Rows computes the ids of all rows. Empty and unreadable rows are counted; duplicates are a *DuplicateError, and the
// list comes with it.
func (r *Recipe) Rows(t *Rows) (*List, error) {
	n := len(t.Lines)
	if len(t.Columns) != len(r.columns) {
		return nil, fmt.Errorf("%d columns of cells, want %d", len(t.Columns), len(r.columns))
	}
	for i, column := range t.Columns {
		if len(column) != n {
			return nil, fmt.Errorf("column %d has %d cells for %d rows", i+1, len(column), n)
		}
	}
	const share = 1024
	list := &List{IDs: make([]ID, n), Has: make([]bool, n)}
	unreadable := make([]bool, n)
	parallel.All(runtime.GOMAXPROCS(0), (n+share-1)/share, func(part int) {
		cells := make([]string, len(t.Columns))
		for row := part * share; row < min(n, (part+1)*share); row++ {
			for i := range cells {
				cells[i] = t.Columns[i][row]
			}
			var err error
			list.IDs[row], list.Has[row], err = r.Of(cells)
			unreadable[row] = err != nil
		}
	})
	for row, line := range t.Lines {
		switch {
		case unreadable[row]:
			list.Unreadable.add(line)
		case !list.Has[row]:
			list.Empty.add(line)
		}
	}
	return list, list.unique(t.Lines)
}

// unique finds the rows whose id begins with the same 16 bytes as that of an earlier one: a *DuplicateError.
func (l *List) unique(lines []int) error {
	var twice DuplicateError
	seen := make(map[[16]byte]int, len(lines))
	for row, id := range l.IDs {
		if !l.Has[row] {
			continue
		}
		half := [16]byte(id[:16])
		first, is := seen[half]
		if !is {
			seen[half] = lines[row]
			continue
		}
		twice.Count++
		if len(twice.Lines) < Shown {
			twice.Lines = append(twice.Lines, [2]int{first, lines[row]})
		}
	}
	if twice.Count > 0 {
		return &twice
	}
	return nil
}
