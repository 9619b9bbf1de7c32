package main

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/wording"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/ownmodel"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
)

// modelCommand is about what a training left at this node.
func modelCommand() *cli.Command {
	return &cli.Command{
		Name:  "model",
		Usage: "show or export what a training left at this node, and choose its threshold",
		Description: `A training over columns leaves each party a part, of which "show" prints a card: contract,
who brings what, dates, parameters, what opened, figures, threshold. A job of pofmkl, gfml
or ofmsft leaves each client a model of its own, and each server the one that it has made
with its clients. All are in the node's folder; no node need run.

   hanse model show credit --dir bank-node
   hanse model threshold credit youden --dir bank-node
   hanse model show parks --dir north-park-node
   hanse model export --job parks --out parks-model --dir north-park-node`,
		Subcommands: []*cli.Command{
			{
				Name:      "show",
				Usage:     "say what a model is: its job, parties, figures and parameters, or kernels and weights",
				ArgsUsage: "JOB",
				Description: `   hanse model show credit --dir bank-node                        # a model card
   hanse model show credit --dir bank-node --report credit.html   # with ROC and calibration
   hanse model show parks --dir north-park-node
   hanse model show 3f9a1c2d --dir office-node --json    # model.json, as it is exported`,
				Flags: []cli.Flag{pageFlag(), jsonFlag(), dirFlag()},
				Action: anyOrder(func(c *cli.Context) error {
					_, job, _, err := namedTraining(c, "JOB")
					if err != nil {
						return err
					}
					if len(job.Servers) == 0 {
						return showCard(c, job)
					}
					if c.IsSet("report") {
						return usage.Errorf("--report is of models over columns; %s of %s has no figures", job.Name, job.Algorithm)
					}
					m, err := node.ReadOwnModel(registry.Program(), c.String("dir"), job)
					if err != nil {
						return err
					}
					p := m.Portable()
					files, err := p.Files()
					if err != nil {
						return err
					}
					if c.Bool("json") {
						return terminal.JSON(c.App.Writer, p)
					}
					return ownmodel.Describe(c.App.Writer, p, files)
				}),
			},
			thresholdCommand(),
			{
				Name:  "export",
				Usage: "write a model so that other programs can use it",
				Description: `Writes a folder: model.json says what the model is, safetensors files hold its numbers, the
frequencies of random features too, so that no generator of ours is needed. Networks are files
that a server of ofmsft reads again. docs/model-format.md is the reference, and
examples/read_model.py a whole reader.

   hanse model export --job parks --out parks-model --dir north-park-node
   python3 read_model.py parks-model rows.csv

A client's weights are its own: who gets the folder gets them. A server exports what it has, which
is no client's. The parts of an fdskl model stay where they are.`,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "job", Required: true, Usage: trainingUsage},
					&cli.StringFlag{
						Name: "out", Aliases: []string{"o"}, Required: true, Usage: "write to this `FOLDER`, which is new or empty",
					},
					dirFlag(),
				},
				Action: func(c *cli.Context) error {
					if c.Args().Present() {
						return usage.Errorf("there is an argument %q too many; name the job with --job", c.Args().First())
					}
					m, err := ownModel(c, c.String("job"))
					if err != nil {
						return err
					}
					p, out := m.Portable(), c.String("out")
					files, err := p.Files()
					if err != nil {
						return err
					}
					size, err := ownmodel.Export(out, files)
					if err != nil {
						return err
					}
					fmt.Fprintf(c.App.Writer, "wrote %s: %d files, %s\n", out, len(files), wording.Size(size))
					if p.Private != "" {
						fmt.Fprint(c.App.ErrWriter, wording.Wrap(80, "", p.Private+"; hand the folder to nobody who should not learn it"))
					}
					return nil
				},
			},
		},
	}
}

// ownModel finds a training and reads what it left at this node.
func ownModel(c *cli.Context, which string) (*clients.Model, error) {
	_, job, _, err := training(c, which)
	if err != nil {
		return nil, err
	}
	if len(job.Servers) == 0 {
		return nil, fmt.Errorf("job %q is of %s: each party keeps its part of the model, and no part leaves its node: "+
			"alone it predicts nothing, and whoever had all parts could score any row without asking anybody; hanse "+
			"predict scores rows together", job.Name, job.Algorithm)
	}
	return node.ReadOwnModel(registry.Program(), c.String("dir"), job)
}
