package report

import (
	"io"

	"github.com/hanse-project/hanse/audit"
)

// Headline writes the verdict and what it rests on, as Text begins. It fails when r is nil or w does.
func Headline(w io.Writer, r *audit.Report) error { return write(w, r, (*printer).headline) }
