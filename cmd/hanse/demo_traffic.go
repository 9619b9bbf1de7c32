package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/protocol"
)

// printTraffic prints what each party was, sent and learned in the training.
func (d *demo) printTraffic() error {
	r := &d.result
	w := tabwriter.NewWriter(d.c.App.Writer, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nparty\trole\tsent\tlearned in training\n")
	for _, name := range r.Parties {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, r.role(name), node.Size(r.BytesOut[name]), r.learned(name))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(d.c.App.Writer, "each, too, that every party holds the same row ids"); err != nil ||
		r.Privacy != fdskl.Sealed {
		return err
	}
	return d.printSealed()
}

// role says what a party was in the training.
func (r *demoResult) role(name string) string {
	switch name {
	case r.Parties[0]:
		return "label holder"
	case r.Keeper:
		return "keeper"
	case r.Helper:
		return "helper"
	}
	return "passive"
}

// learned lists what a party learned in the training, but for what the comparing of row ids tells all.
func (r *demoResult) learned(name string) string {
	var all []string
	for _, o := range r.Openings {
		if o.Party == name && o.Kind != protocol.KindRowset {
			all = append(all, openedWords(o))
		}
	}
	if len(all) == 0 {
		all = []string{"nothing but sizes and timing"}
	}
	return strings.Join(all, ", ")
}

// openedWords says in words what a training opened.
func openedWords(o node.Opened) string {
	words := map[string]string{
		"distances": "a mean distance of rows", "width": "the kernel's width", "bound": "how alike rows are", "reach": "how alike rows are, by its order of magnitude",
	}
	if w, ok := words[o.Kind]; ok && o.Count == 1 {
		return w
	}
	if o.Kind == "check" {
		return fmt.Sprintf("%d numbers that check the steps", o.Count)
	}
	if o.Kind == "scores" {
		return fmt.Sprintf("%d scores of training rows", o.Count)
	}
	return fmt.Sprintf("%d %s", o.Count, o.Kind)
}

// printSealed says what a sealed training and its scores told the label holder, and what masks would have.
func (d *demo) printSealed() error {
	r := &d.result
	_, err := fmt.Fprintf(d.c.App.Writer, `
%s learned the scores of the %d rows that it asked for, %d bits behind the point, and of the
training what stands above: no angle, no feature, no column. In masked mode (--privacy masked)
%d x %d angles would have opened to it, which give the others' columns away.
`, r.Parties[0], r.RowsTest, d.params.ScoreBits, r.RowsTrain, r.Features)
	return err
}

// opensRows reports whether a sealed training opens scores of its rows.
func opensRows(p fdskl.Params) bool { return p.Loss != kernel.Square.String() }
