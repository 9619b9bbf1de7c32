package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/figures/page"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
)

// labelsFlag names labels that are not in the table.
func labelsFlag() cli.Flag {
	return &cli.StringFlag{Name: "labels", Usage: "labels of the rows are in this `FILE`, with the table's id column " +
		"and the label's (default: in the table, if it has them)"}
}

// pageFlag asks for a page of figures.
func pageFlag() cli.Flag {
	return &cli.StringFlag{Name: "report", Usage: "write the figures with their curves to this `FILE.html`, a page that " +
		"needs no other file"}
}

// thresholdCommand chooses the threshold of a model.
func thresholdCommand() *cli.Command {
	return &cli.Command{
		Name:      "threshold",
		Usage:     "choose above which score a row is said to be of the class that is the event",
		ArgsUsage: "JOB RULE",
		Description: `The threshold is 0, the model's own decision, until another is chosen, from the scores and
labels that this node has: of the training rows after a masked training, else of the first
rows with labels that it had scored. It stays on this machine and opens nothing; the column
"class" of scores files goes by it from then on.

   hanse model threshold credit youden --dir bank-node      # recall less false alarms
   hanse model threshold credit rate=0.1 --dir bank-node    # at most a tenth of the rows
   hanse model threshold credit cost=5 --dir bank-node      # a missed one costs 5 false alarms
   hanse model threshold credit at=-0.3 --dir bank-node
   hanse model threshold credit zero --dir bank-node        # the model's own again`,
		Flags: []cli.Flag{jsonFlag(), dirFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usage.Errorf("give a training and a rule: hanse model threshold JOB youden; see hanse model threshold " +
					"--help")
			}
			rule, err := figures.ParseRule(c.Args().Get(1))
			if err != nil {
				return &usage.Error{Err: err}
			}
			client, job, _, err := training(c, c.Args().First())
			if err != nil {
				return err
			}
			d, err := client.Threshold(c.Context, job.Contract, rule)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, d)
			}
			said := fmt.Sprintf("threshold %.6g: %s, chosen by %d scores of %s", d.Threshold, rule.Sentence(), d.Rows,
				terminal.Printable(d.Of))
			if rule.Chosen() {
				said += "; figures of these rows flatter it"
			}
			fmt.Fprint(c.App.Writer, wording.Wrap(80, "", said))
			return nil
		}),
	}
}

// showCard prints what a party can say of a model in parts, and writes its page where one is asked for.
func showCard(c *cli.Context, job *node.JobInfo) error {
	card, err := node.ReadCard(registry.Program(), c.String("dir"), job)
	if err == nil {
		err = writeCardPage(c, card)
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, card)
	}
	return jobview.Card(c.App.Writer, card)
}

// writeCardPage writes the page of a model in parts to where --report says.
func writeCardPage(c *cli.Context, card *node.Card) error {
	p := page.Page{Title: "Model " + card.Job, Figures: card.Figures, Missing: jobview.NoFigures(card)}
	if s := jobview.OtherThreshold(card); s != "" {
		p.Note = s
	}
	for _, f := range jobview.CardFacts(card) {
		p.Facts = append(p.Facts, page.Fact{Name: f[0], Value: f[1]})
	}
	return writePage(c, p)
}

// scored are the rows of a table that a model has scored.
type scored struct {
	training string // the contract of the model's training
	model    string // what that is called
	table    string
	file     []byte // the scores
}

// showScored makes the figures of scored rows where they are asked for, prints them beside the scores, and writes
// their page. r are those that the node made, if any.
func showScored(c *cli.Context, client *node.Client, s scored, r *figures.Report) (*figures.Report, error) {
	if file := c.String("labels"); file != "" {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		if r, err = figuresOf(c.Context, client, s, path); err != nil {
			return nil, err
		}
	}
	if r == nil {
		if c.String("report") != "" {
			return nil, fmt.Errorf("there are no figures to report: table %q has no labels; name a file of ids and labels "+
				"with --labels FILE", s.table)
		}
		return nil, nil
	}
	title := fmt.Sprintf("Scores of table %s by %s", s.table, s.model)
	if err := writePage(c, page.Page{Title: title, Figures: r}); err != nil {
		return nil, err
	}
	if c.Bool("json") {
		return r, nil
	}
	return r, r.Write(c.App.ErrWriter)
}

// figuresOf asks the node for the figures of a table's scores, with the labels in a file where one is named.
func figuresOf(ctx context.Context, client *node.Client, s scored, labels string) (*figures.Report, error) {
	asked := node.ScoredRows{Table: s.table, Labels: labels, Scores: s.file}
	if err := asked.Training.UnmarshalText([]byte(s.training)); err != nil {
		return nil, err
	}
	return client.Figures(ctx, asked)
}

// writePage writes a page to where --report says.
func writePage(c *cli.Context, p page.Page) error {
	out := c.String("report")
	if out == "" {
		return nil
	}
	text, err := page.Render(p)
	if err == nil {
		err = durable.WriteFile(out, text)
	}
	if err == nil {
		fmt.Fprintf(c.App.ErrWriter, "wrote %s (%s)\n", out, wording.Size(int64(len(text))))
	}
	return err
}
