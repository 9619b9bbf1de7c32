package jobview

import (
	"fmt"
	"io"
	"time"

	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// Ledger prints what a node's jobs have told: a table by table and member, and below each line what it means.
func Ledger(out io.Writer, l *node.Ledger) error {
	if len(l.Lines) == 0 {
		_, err := fmt.Fprintln(out, ledger.Nothing)
		return err
	}
	t := wording.NewTable(out, "")
	t.Row(ledger.Heading()...)
	for i := range l.Lines {
		cells := l.Lines[i].Cells(time.Local)
		for k := range cells {
			cells[k] = terminal.Printable(cells[k])
		}
		t.Row(cells...)
		t.Note(l.Lines[i].Note())
	}
	return t.Flush()
}
