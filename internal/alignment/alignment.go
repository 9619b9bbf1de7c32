// Package alignment keeps which rows parties have in common, in an order that is the same at all of them: what an
// alignment job ends with, and what later jobs take their rows by. A row is kept by its id under a key, so a table may
// hold more rows by then, in any order.
package alignment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/ids"
	"github.com/hanse-project/hanse/keys"
)

// magic begins every alignment's file; its number is the format's version.
const magic = "hanse-alignment-v1\n"

// Limits of what is read back.
const (
	maxHead = 1 << 20 // bytes
	maxRows = 1 << 27
	maxKeys = 16
)

// prefixSize is how much of an id is kept: the first 16 bytes of two ids of one list are never equal.
const prefixSize = 16

// entrySize is the bytes of a row: by which key it was found, and its id.
const entrySize = 1 + prefixSize

// Alignment is the list of rows that all parties of a job have in common.
type Alignment struct {
	Name     string            `cbor:"1,keyasint"`
	Contract keys.Hash         `cbor:"2,keyasint"` // of the job that made it
	Charter  keys.Hash         `cbor:"3,keyasint"` // whose recipes its ids are made by
	Keys     []keys.Identifier `cbor:"4,keyasint"` // those recipes, in the order of the passes; none: the id column
	Digest   keys.Hash         `cbor:"5,keyasint"` // the same at all parties

	entries []byte
}

// Add appends a row, found by the key of that number.
func (a *Alignment) Add(key int, id ids.ID) {
	a.entries = append(append(a.entries, byte(key)), id[:prefixSize]...)
}

// Rows is how many rows are common.
func (a *Alignment) Rows() int { return len(a.entries) / entrySize }

// Encode renders the alignment: magic, length of the head (4 bytes, big endian), head in CBOR, 17 bytes a row.
func (a *Alignment) Encode() ([]byte, error) {
	head, err := cbor.Marshal(a)
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint32([]byte(magic), uint32(len(head)))
	return append(append(b, head...), a.entries...), nil
}

// Decode reads what Encode wrote.
func Decode(b []byte) (*Alignment, error) {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok || len(rest) < 4 {
		return nil, errors.New("alignment: it does not begin as what this program writes")
	}
	size := binary.BigEndian.Uint32(rest)
	if rest = rest[4:]; size > maxHead || int(size) > len(rest) {
		return nil, fmt.Errorf("alignment: a head of %d bytes, and %d follow", size, len(rest))
	}
	a := new(Alignment)
	if err := cbor.Unmarshal(rest[:size], a); err != nil {
		return nil, fmt.Errorf("alignment: %w", err)
	}
	a.entries = rest[size:]
	switch {
	case len(a.entries)%entrySize != 0 || a.Rows() > maxRows:
		return nil, fmt.Errorf("alignment: rows of %d bytes, want a multiple of %d", len(a.entries), entrySize)
	case len(a.Keys) > maxKeys:
		return nil, fmt.Errorf("alignment: %d keys, want at most %d", len(a.Keys), maxKeys)
	}
	for at := 0; at < len(a.entries); at += entrySize {
		if int(a.entries[at]) >= max(1, len(a.Keys)) {
			return nil, fmt.Errorf("alignment: row %d is of key %d, it has %d", at/entrySize+1, a.entries[at], len(a.Keys))
		}
	}
	return a, nil
}

// Columns lists the columns that the ids are made of.
func (a *Alignment) Columns() []string { return Columns(a.Keys) }

// Columns lists the columns that identifiers name, each once.
func Columns(identifiers []keys.Identifier) []string {
	var names []string
	seen := make(map[string]bool)
	for _, id := range identifiers {
		for _, c := range id.Columns {
			if !seen[c.Name] {
				seen[c.Name] = true
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// Source is a table, as its ids are made of it: the row ids, and the cells of named columns with their lines.
type Source interface {
	RowIDs() []string
	Texts(names ...string) (columns [][]string, lines []int, err error)
}

// Lists makes a table's ids under each key, and says what was left out.
func Lists(charter keys.Hash, identifiers []keys.Identifier, t Source) ([]*ids.List, error) {
	if len(identifiers) == 0 {
		own := t.RowIDs()
		lines := make([]int, len(own))
		for i := range lines {
			lines[i] = i + 1
		}
		list, err := ids.Plain(charter).Rows(&ids.Rows{Columns: [][]string{own}, Lines: lines})
		return []*ids.List{list}, err
	}
	var lists []*ids.List
	for pass, id := range identifiers {
		recipe, err := ids.New(charter, id, pass)
		if err != nil {
			return nil, err
		}
		columns, lines, err := t.Texts(Columns([]keys.Identifier{id})...)
		if err != nil {
			return nil, fmt.Errorf("identifier %q: %w", id.Name, err)
		}
		list, err := recipe.Rows(&ids.Rows{Columns: columns, Lines: lines})
		if err != nil {
			return nil, fmt.Errorf("identifier %q: %w", id.Name, err)
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// Find returns where a table has the common rows, in their order. Rows of the alignment that the table does not have
// any more are an error.
func (a *Alignment) Find(t Source) ([]int, error) {
	lists, err := Lists(a.Charter, a.Keys, t)
	if err != nil {
		return nil, err
	}
	places := make([]map[[prefixSize]byte]int, len(lists))
	for key, list := range lists {
		places[key] = make(map[[prefixSize]byte]int, len(list.IDs))
		for row, id := range list.IDs {
			if list.Has[row] {
				places[key][[prefixSize]byte(id[:])] = row
			}
		}
	}
	rows, missing := make([]int, 0, a.Rows()), 0
	for at := 0; at < len(a.entries); at += entrySize {
		row, ok := places[a.entries[at]][[prefixSize]byte(a.entries[at+1:])]
		if !ok {
			missing++
			continue
		}
		rows = append(rows, row)
	}
	if missing > 0 {
		return nil, fmt.Errorf("%d of the %d rows of alignment %q are not in it any more: put them back, or run hanse align "+
			"again", missing, a.Rows(), a.Name)
	}
	return rows, nil
}
