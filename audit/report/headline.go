package report

import (
	"fmt"
	"io"

	"github.com/hanse-project/hanse/audit"
)

// Headline writes the verdict and what it rests on, as Text begins. It fails when r is nil or w does.
func Headline(w io.Writer, r *audit.Report) error {
	if r == nil {
		return errNone
	}
	p := printer{r: printable(r)}
	p.headline()
	if _, err := w.Write(p.b.Bytes()); err != nil {
		return fmt.Errorf("report: text: %w", err)
	}
	return nil
}
