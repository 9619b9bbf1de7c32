package jobview

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// Ledger prints what a node's jobs have told: a table by table and member, and below each line what it means.
func Ledger(out io.Writer, l *node.Ledger) error {
	if len(l.Lines) == 0 {
		_, err := fmt.Fprintf(out, "no job has told anything of %s's tables yet\n", terminal.Printable(l.Self))
		return err
	}
	t := wording.NewTable(out, "")
	t.Row("table", "told to", "jobs", "models", "rows", "bits a row", "of about", "numbers", "last")
	for i := range l.Lines {
		x := &l.Lines[i]
		of := "-"
		if x.Entropy > 0 {
			of = fmt.Sprintf("%.0f", x.Entropy)
		}
		t.Row(terminal.Printable(x.Table), terminal.Printable(x.Name), strconv.Itoa(x.Jobs), strconv.Itoa(x.Models),
			strconv.Itoa(x.Rows), strconv.FormatInt(x.Bits, 10), of, strconv.FormatInt(x.Numbers, 10),
			x.Last.Local().Format(time.DateOnly))
		t.Note(noteOf(x))
	}
	return t.Flush()
}

// noteOf says what a line of the ledger means.
func noteOf(x *ledger.Line) string {
	note := ""
	switch {
	case x.Bits == 0:
	case x.Entropy > 0 && float64(x.Bits) >= x.Entropy:
		note = "enough to tell all cells of a row"
	case x.Entropy > 0:
		note = fmt.Sprintf("at most %.0f %% of what the cells of a row say", 100*float64(x.Bits)/x.Entropy)
	}
	if x.Unknown {
		note += "; of some jobs the rows are not known, and count for all"
	}
	if x.Alignments > 0 {
		note += fmt.Sprintf("; %s", wording.Count(x.Alignments, "alignment"))
	}
	if len(note) > 2 && note[0] == ';' {
		note = note[2:]
	}
	return note
}
