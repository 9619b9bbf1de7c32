// Package standin makes up tables of the shape that a contract or a schema states: as many rows and columns, the label
// where it belongs, the same people at all parties. It is given numbers and names alone, never a table.
package standin

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// Numbers of rows and columns are other members' word. MaxCells is the most cells that the tables of one rehearsal have
// together, some two gigabytes of text.
const (
	MaxCells   = 1 << 28
	maxRows    = 1 << 24
	maxColumns = 1 << 16 // of all parties together
)

// The kinds of made-up columns.
const (
	Number   = "number"   // uniform from 0 to 1: a job puts every column on one scale
	Category = "category" // texts, each as often
	Constant = "constant" // one value
	Empty    = "empty"    // no cell
)

// Column is one feature column.
type Column struct {
	Name    string
	Kind    string
	Levels  int       // of a category
	Missing float64   // the share of its cells that are missing
	Edges   []float64 // of numbers, ascending: as many rows between any two of them, and beyond
}

// Label is the label's column.
type Label struct {
	Name      string
	Classes   int    // 0: numbers from Low to High
	Event     string // what the job says that the last class is called; empty: nothing
	Low, High float64
}

// Table is a table to be made up.
type Table struct {
	Owner   string // begins the ids of rows that no other party has
	Rows    int
	Common  int // the first so many rows are the same people at all parties
	First   int // number of the first row that no other party has: persons are numbered over all parties
	Columns []Column
	Label   *Label          // nil: it has none
	People  []keys.IDColumn // columns that say whose a row is
	Holes   map[string]int  // by column of People: how many rows have cells, where not all have
	Scale   float64         // of a stream: numbers are divided by it; 0: 1
	Stream  bool            // rows without ids, for jobs over clients
}

// cells is how many the table has.
func (t *Table) cells() int64 {
	return int64(t.Rows) * int64(len(t.Columns)+len(t.People)+2)
}

// CheckSize refuses tables that are together too large to be made up.
func CheckSize(all ...*Table) error {
	var total int64
	for _, t := range all {
		total += t.cells()
	}
	if total > MaxCells {
		return fmt.Errorf("the tables have %d cells together, and at most %d are made up", total, int64(MaxCells))
	}
	return nil
}

// idName is the header of the id column.
const idName = "row_id"

// Write writes the table as a CSV file, and beside it the file that says how it is read. The same table gives the same
// bytes.
func (t *Table) Write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(f, 1<<20)
	out := csv.NewWriter(buffered)
	header, categorical := t.header()
	if err := out.Write(header); err != nil {
		return err
	}
	people := rand.New(rand.NewPCG(1, 1)) // the same at all parties: columns of several tables say something of one label
	own := rand.New(rand.NewPCG(2, seedOf(t.Owner)))
	decks := make([]deck, len(t.Columns))
	record := make([]string, 0, len(header))
	for row := range t.Rows {
		record = t.record(record[:0], row, people.Float64(), own, decks)
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	if err := errors.Join(out.Error(), buffered.Flush()); err != nil || t.Stream {
		return err
	}
	text, err := dataset.Options{ID: idName, Categorical: categorical, Missing: dataset.Level}.TOML()
	if err != nil {
		return err
	}
	return os.WriteFile(path+".toml", text, 0o600)
}

// header names the columns, and those that are categories.
func (t *Table) header() (names, categorical []string) {
	if !t.Stream {
		names = append(names, idName)
	}
	for _, c := range t.People {
		names = append(names, c.Name)
	}
	for _, c := range t.Columns {
		names = append(names, c.Name)
		if c.Kind == Category {
			categorical = append(categorical, c.Name)
		}
	}
	if t.Label != nil {
		names = append(names, t.Label.Name)
	}
	return names, categorical
}

// record makes one row. person is what all parties know of whose row it is, from 0 to 1.
func (t *Table) record(record []string, row int, person float64, own *rand.Rand, decks []deck) []string {
	number := row
	if row >= t.Common {
		number = t.First + row - t.Common
	}
	switch {
	case t.Stream:
	case row < t.Common:
		record = append(record, fmt.Sprintf("p%09d", number))
	default:
		record = append(record, fmt.Sprintf("%s-%09d", t.Owner, number))
	}
	for _, c := range t.People {
		cell := ""
		if holders, some := t.Holes[c.Name]; !some || row < holders {
			cell = personCell(c, number)
		}
		record = append(record, cell)
	}
	for i := range t.Columns {
		record = append(record, t.cell(i, row, person, own, decks))
	}
	if l := t.Label; l != nil {
		record = append(record, l.cell(row, min(1, max(0, person+0.2*(own.Float64()-0.5)))))
	}
	return record
}

// cell makes a cell of a feature column. Every column has two values and no missing one in the first rows.
func (t *Table) cell(i, row int, person float64, own *rand.Rand, decks []deck) string {
	c := &t.Columns[i]
	value := (own.Float64() + person) / 2
	gap := own.Float64() < c.Missing && row > max(1, c.Levels)
	switch {
	case c.Kind == Empty || gap:
		return ""
	case c.Kind == Constant:
		return "1"
	case c.Kind == Category:
		return fmt.Sprintf("level-%03d", decks[i].draw(c.Levels, own))
	case len(c.Edges) > 0:
		value = between(c.Edges, decks[i].draw(len(c.Edges)+1, own))
	default:
		if t.Scale > 0 {
			value /= t.Scale
		}
	}
	return strconv.FormatFloat(value, 'g', 7, 64)
}

// between returns a number of the i-th interval that edges make: the first ends before the first edge.
func between(edges []float64, i int) float64 {
	switch {
	case i == 0:
		return edges[0] - 1 - math.Abs(edges[0])
	case i == len(edges):
		return edges[i-1] + 1 + math.Abs(edges[i-1])
	}
	return edges[i-1]/2 + edges[i]/2
}

// cell makes a label. All classes occur in the first rows.
func (l *Label) cell(row int, share float64) string {
	if l.Classes == 0 {
		return strconv.FormatFloat(l.Low+share*(l.High-l.Low), 'g', 7, 64)
	}
	class := row
	if row >= l.Classes {
		class = min(l.Classes-1, int(share*float64(l.Classes)))
	}
	switch {
	case l.Event == "":
		return fmt.Sprintf("class-%02d", class+1)
	case class == l.Classes-1:
		return l.Event
	}
	if v, err := strconv.ParseFloat(l.Event, 64); err == nil { // a column of numbers
		return strconv.FormatFloat(v-1, 'g', -1, 64)
	}
	return "not " + l.Event
}

// deck deals numbers below n, each as often as the others.
type deck []int

// draw takes the next one.
func (d *deck) draw(n int, from *rand.Rand) int {
	if len(*d) == 0 {
		*d = from.Perm(n)
	}
	next := (*d)[0]
	*d = (*d)[1:]
	return next
}

// personCell makes a cell by which a person is known, another for each number and the same at all parties.
func personCell(c keys.IDColumn, number int) string {
	switch {
	case c.Number:
		return strconv.Itoa(number)
	case c.Digits:
		return fmt.Sprintf("%012d", number)
	case c.E164 != "":
		return fmt.Sprintf("+4915%08d", number)
	case c.Date != "":
		return time.Date(1, 1, 1+number, 0, 0, 0, 0, time.UTC).Format(c.Date)
	}
	return fmt.Sprintf("person %d", number)
}

// seedOf makes a seed of a name.
func seedOf(name string) uint64 {
	h := keys.HashOf("hanse stand-in v1", []byte(name))
	seed := uint64(0)
	for _, b := range h[:8] {
		seed = seed<<8 | uint64(b)
	}
	return seed
}
