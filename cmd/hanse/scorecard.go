package main

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/ownmodel"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// scorecardCommand prints what this node knows of a scorecard.
func scorecardCommand() *cli.Command {
	return &cli.Command{
		Name:      "scorecard",
		Usage:     "print a scorecard: this member's bins, and the points that opened to it",
		ArgsUsage: "JOB",
		Description: `Of a training with algorithm = "glm": what bins this member's columns were cut into, and what
each adds to a row's score where points opened to it. 20 points double the odds of the
event, the class that is named below the card. What the bins of other members are only these know: hanse scorecard
at their nodes lists them, by the same numbers.

   hanse scorecard credit --dir bank-node
   hanse scorecard credit --dir bank-node --out card.csv

No points open unless the job says so: points = "owners" in its parameters opens to each
owner those of its own bins, points = "bank" all to the bank. z_scores = "owners" opens in
the same way how sure they are: z is a bin's coefficient in standard errors, and between
-2 and 2 its points may be chance.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write it to this `FILE` as CSV"},
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			_, job, _, err := namedTraining(c, "JOB")
			if err != nil {
				return err
			}
			m, err := node.ReadModel(filepath.Join(c.String("dir"), "jobs", job.Contract))
			if err != nil {
				return err
			}
			card, err := ownmodel.CardOf(m, job.Self)
			if err != nil {
				return fmt.Errorf("job %q: %w", job.Name, err)
			}
			return printCard(c, m, card)
		}),
	}
}

// printCard prints a scorecard, or writes it to a file.
func printCard(c *cli.Context, m *fdskl.Model, card *ownmodel.Card) error {
	if c.String("out") != "" {
		data, err := card.CSV()
		if err != nil {
			return err
		}
		return writeOut(c, data)
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, card)
	}
	if err := card.Write(c.App.Writer); err != nil {
		return err
	}
	text := fmt.Sprintf("20 points double the odds of %s = %s; a row has the base and the points of its bins.",
		terminal.Printable(card.Label), terminal.Printable(card.Class))
	switch {
	case card.NotConverged != "":
		text = "The training is " + card.NotConverged + "."
	case m.Points == nil:
		text = "No points opened to this member: they stay shared unless a job says points = \"owners\", or names who is " +
			"to learn them."
	}
	if of, unsure := card.Unsure(); of > 0 {
		text += fmt.Sprintf(" z is how many standard errors a bin is from the mean of its column's bins: of %d bins %d "+
			"have a z between -2 and 2, and their points may be chance.", of, unsure)
	}
	_, err := fmt.Fprint(c.App.Writer, "\n", wording.Wrap(80, "", text))
	return err
}
