package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/trial"
)

// splitCredit writes the generated credit data set as its four parties hold it.
func splitCredit(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("give a table or --people, not both")
	}
	if c.String("out") == "" {
		return usagef("give the folder to write into: hanse split --people %d --out FOLDER", c.Int("people"))
	}
	d := trial.Credit(c.Int("people"), c.Uint64("seed"))
	if err := d.Write(c.String("out")); err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "party\tcolumns\ttraining rows\ttest rows")
	for i, name := range d.Names {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", name, len(d.Train[i].Columns), d.Train[i].Rows(), d.Test[i].Rows())
	}
	return w.Flush()
}
