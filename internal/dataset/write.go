package dataset

import (
	"encoding/csv"
	"io"
	"math"
)

// WriteCSV writes the table with a header and the id column first. Numbers read back as the same
// float64, and empty label cells stay empty. Categorical columns whose levels all look like
// numbers must be listed in Options.Categorical when the file is read again.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(append([]string{t.IDName}, t.Names()...)); err != nil {
		return err
	}
	cells := make([]string, 1+len(t.Columns))
	for row, id := range t.IDs {
		cells[0] = id
		for i := range t.Columns {
			cells[1+i] = t.Columns[i].cell(row)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// TextColumn returns a column of texts as they are, one a row, however many are different.
func TextColumn(name string, texts []string) Column {
	c := Column{Name: name, Kind: Categorical, Listed: true, Codes: make([]int32, len(texts))}
	codes := make(map[string]int32)
	for row, text := range texts {
		code, known := codes[text]
		if !known {
			code = int32(len(c.Levels))
			codes[text], c.Levels = code, append(c.Levels, text)
		}
		c.Codes[row] = code
	}
	c.sortLevels()
	return c
}

// cell returns the text of one row's cell.
func (c *Column) cell(row int) string {
	if c.Kind == Categorical {
		if c.Codes[row] < 0 {
			return ""
		}
		return c.Levels[c.Codes[row]]
	}
	if math.IsNaN(c.Values[row]) {
		return ""
	}
	return formatNumber(c.Values[row])
}
