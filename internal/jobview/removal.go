package jobview

import (
	"fmt"
	"io"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/wording"
)

// Removal prints what goes and what stays of a job.
func Removal(out io.Writer, r *node.Removal) {
	for _, part := range []struct {
		head  string
		piles []node.Pile
	}{{"goes", r.Goes}, {"stays", r.Stays}} {
		fmt.Fprintln(out, part.head)
		if len(part.piles) == 0 {
			fmt.Fprintln(out, "            nothing")
		}
		for _, p := range part.piles {
			fmt.Fprintf(out, "  %8s  %s\n", wording.Size(p.Bytes), p.What)
		}
	}
}
