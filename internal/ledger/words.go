package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/wording"
)

// Nothing says that a node has told nothing yet.
const Nothing = "nothing has been told yet: no job has opened anything of this node's tables"

// Meaning says what the numbers of a line are. It is as wide as a help text.
const Meaning = `Bits are of one row: the most that one row's openings have, over all jobs. They stand
against how many bits the columns of this node have of a row, about. A job counts from
its consent on, and for good: hanse remove takes nothing back that was told.`

// Heading names the columns of a table of lines.
func Heading() []string {
	return []string{"table", "told to", "jobs", "models", "rows", "bits a row", "of about", "numbers", "last"}
}

// Cells is the line in a table under Heading, with the date as in zone. Names in it are as others wrote them.
func (x *Line) Cells(zone *time.Location) []string {
	of := "-"
	if x.Entropy > 0 {
		of = fmt.Sprintf("%.0f", x.Entropy)
	}
	return []string{x.Table, x.Name, strconv.Itoa(x.Jobs), strconv.Itoa(x.Models), strconv.Itoa(x.Rows),
		strconv.FormatInt(x.Bits, 10), of, strconv.FormatInt(x.Numbers, 10), x.Last.In(zone).Format(time.DateOnly)}
}

// Note says what the line means; it is empty where the numbers say it all.
func (x *Line) Note() string {
	var notes []string
	switch {
	case x.Bits == 0 || x.Entropy == 0:
	case float64(x.Bits) >= x.Entropy:
		notes = append(notes, "enough to tell all cells of a row")
	default:
		notes = append(notes, fmt.Sprintf("at most %.0f %% of what the cells of a row say", 100*float64(x.Bits)/x.Entropy))
	}
	if x.Unknown {
		notes = append(notes, "of some jobs the rows are not known, and count for all")
	}
	if x.Alignments > 0 {
		notes = append(notes, wording.Count(x.Alignments, "alignment"))
	}
	return strings.Join(notes, "; ")
}
