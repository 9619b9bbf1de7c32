package sets

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// UJIColumns are the access points of the uji set.
	UJIColumns = 520
	// WECColumns are the inputs of the wec set: two coordinates and the power of 16 converters.
	WECColumns = 48
)

// maxRows is how many rows of a table may be asked for.
const maxRows = 1 << 20

// Table holds rows of numbers with a number to predict.
type Table struct {
	Columns []string
	Rows    [][]float64 // [n][columns]
	Target  []float64   // [n]
}

// UJI returns the first rows of UJIIndoorLoc's files, one after another: the signals of 520 access points as they
// are written, 100 where there is none, with the latitude as target. Fewer rows than asked for are an error.
func UJI(paths []string, rows int) (*Table, error) {
	if rows < 1 || rows > maxRows {
		return nil, fmt.Errorf("%d rows are asked for, want 1 to %d", rows, maxRows)
	}
	t := &Table{}
	for i := range UJIColumns {
		t.Columns = append(t.Columns, fmt.Sprintf("WAP%03d", i+1))
	}
	for _, path := range paths {
		if len(t.Rows) == rows {
			break
		}
		if err := Read(path, func(r io.Reader) error { return t.addUJI(r, rows) }); err != nil {
			return nil, err
		}
	}
	return t, t.enough(paths, rows)
}

// addUJI appends the rows of a file until there are as many as asked for.
func (t *Table) addUJI(r io.Reader, rows int) error {
	var head []string
	var places []int // of the access points in a line, then of the target
	err := eachLine(r, func(_ int, line string) error {
		cells := strings.Split(line, ",")
		if head == nil {
			head = unquoted(cells)
			for _, name := range append(slices.Clone(t.Columns), "LATITUDE") {
				at := slices.Index(head, name)
				if at < 0 {
					return fmt.Errorf("the head has no column %s, want WAP001 to WAP%d and LATITUDE", name,
						UJIColumns)
				}
				places = append(places, at)
			}
			return nil
		}
		if len(cells) != len(head) {
			return fmt.Errorf("it has %d cells, want %d as the head", len(cells), len(head))
		}
		return t.add(cells, head, places, rows)
	})
	if err == nil && head == nil {
		return fmt.Errorf("the file is empty, want a head with WAP001 to WAP%d and LATITUDE", UJIColumns)
	}
	return err
}

// WEC returns the first rows of a site of wave energy converters: 48 inputs with the total power, the last cell,
// as target. The published files have no head. The papers' reader takes the first line for one all the same and
// so loses a row; here it is left out too, whatever it holds, so that clients get the papers' rows. Fewer rows
// than asked for are an error.
func WEC(path string, rows int) (*Table, error) {
	if rows < 1 || rows > maxRows {
		return nil, fmt.Errorf("%d rows are asked for, want 1 to %d", rows, maxRows)
	}
	t := &Table{}
	for _, name := range []string{"X", "Y", "P"} {
		for i := range WECColumns / 3 {
			t.Columns = append(t.Columns, fmt.Sprintf("%s%d", name, i+1))
		}
	}
	head := append(slices.Clone(t.Columns), "Powerall")
	places := make([]int, len(head))
	for i := range places {
		places[i] = i
	}
	err := Read(path, func(r io.Reader) error {
		first := true
		return eachLine(r, func(_ int, line string) error {
			cells := strings.Split(line, ",")
			if len(cells) != len(head) {
				return fmt.Errorf("it has %d cells, want %d: %d inputs and the total power", len(cells), len(head),
					WECColumns)
			}
			if first {
				first = false
				return nil
			}
			return t.add(cells, head, places, rows)
		})
	})
	if err != nil {
		return nil, err
	}
	return t, t.enough([]string{path}, rows)
}

// add appends a row whose cells are at the given places, the target last, and says when there are enough.
func (t *Table) add(cells, head []string, places []int, rows int) error {
	row := make([]float64, len(places))
	for i, at := range places {
		v, err := number(strings.TrimSpace(cells[at]))
		if err != nil {
			return fmt.Errorf("column %s: %w", head[at], err)
		}
		row[i] = v
	}
	last := len(row) - 1
	t.Rows, t.Target = append(t.Rows, row[:last:last]), append(t.Target, row[last])
	if len(t.Rows) == rows {
		return errEnough
	}
	return nil
}

// enough refuses a table with fewer rows than asked for.
func (t *Table) enough(paths []string, rows int) error {
	if len(t.Rows) < rows {
		return fmt.Errorf("%s: there are %d rows, want %d", strings.Join(paths, " and "), len(t.Rows), rows)
	}
	return nil
}

// unquoted takes blanks and quotes off the names in a head.
func unquoted(cells []string) []string {
	names := make([]string, len(cells))
	for i, c := range cells {
		names[i] = strings.Trim(strings.TrimSpace(strings.TrimPrefix(c, "\ufeff")), `"`)
	}
	return names
}
