package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/node"
)

// modelCommand is about what a job over clients left at this node.
func modelCommand() *cli.Command {
	return &cli.Command{
		Name:  "model",
		Usage: "show or export what a job over clients' streams left at this node",
		Description: `A job of pofmkl, gfml or ofmsft leaves each client a model of its own, and each server the one
that it has made with its clients. Both are in the node's folder; no node need run.

   hanse model show parks --dir north-park-node
   hanse model export --job parks --out parks-model --dir north-park-node`,
		Subcommands: []*cli.Command{
			{
				Name:      "show",
				Usage:     "say what a model is: its job, kernels or networks, inputs and weights",
				ArgsUsage: "JOB",
				Description: `   hanse model show parks --dir north-park-node
   hanse model show 3f9a1c2d --dir office-node --json    # model.json, as it is exported`,
				Flags:  []cli.Flag{jsonFlag(), dirFlag()},
				Action: anyOrder(showModel),
			},
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
				Action: exportModel,
			},
		},
	}
}

// ownModel finds a training and reads what it left at this node.
func ownModel(c *cli.Context, which string) (*node.OwnModel, error) {
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return nil, err
	}
	job, _, err := training(c, client, which)
	if err != nil {
		return nil, err
	}
	if len(job.Servers) == 0 {
		return nil, fmt.Errorf("job %q is of %s: each party keeps its part of the model, and no part leaves its node: "+
			"alone it predicts nothing, and whoever had all parts could score any row without asking anybody; hanse "+
			"predict scores rows together", job.Name, job.Algorithm)
	}
	return node.ReadOwnModel(c.String("dir"), job)
}

// exportModel writes a model's folder.
func exportModel(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("there is an argument %q too many; name the job with --job", c.Args().First())
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
	if err := newFolder(out); err != nil {
		return err
	}
	size := 0
	for _, f := range files {
		if err := durable.WriteFile(filepath.Join(out, f.Name), f.Content); err != nil {
			return err
		}
		size += len(f.Content)
	}
	fmt.Fprintf(c.App.Writer, "wrote %s: %d files, %s\n", out, len(files), node.Size(int64(size)))
	if p.Private != "" {
		fmt.Fprint(c.App.ErrWriter, node.Wrapped(80, "", p.Private+"; hand the folder to nobody who should not learn it"))
	}
	return nil
}

// newFolder makes a folder, or takes an empty one. What stands in another is not mixed with a model.
func newFolder(path string) error {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(path, 0o700)
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name a new folder with --out", path)
	}
	return nil
}

// showModel says what a model is.
func showModel(c *cli.Context) error {
	which, err := oneArgument(c, "training's name or the first digits of its contract", "JOB; hanse jobs lists them")
	if err != nil {
		return err
	}
	m, err := ownModel(c, which)
	if err != nil {
		return err
	}
	p := m.Portable()
	files, err := p.Files()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, p)
	}
	return describeModel(c.App.Writer, p, files)
}

// describeModel prints a model for people.
func describeModel(w io.Writer, p *portable.Model, files []portable.Named) error {
	size := 0
	for _, f := range files {
		size += len(f.Content)
	}
	t := newTable(w)
	t.row("job", fmt.Sprintf("%s, contract %.8s", p.Job, p.Contract))
	t.row("algorithm", p.Algorithm)
	t.row("party", fmt.Sprintf("%s, %s", p.Party, p.Role))
	t.row("rounds", fmt.Sprintf("%d of %d", p.Round, p.Rounds))
	inputs := fmt.Sprintf("%d, whose names the clients know", p.Inputs.Count)
	if p.Inputs.Columns != nil {
		inputs = shortList(p.Inputs.Columns, 40)
	}
	if p.Inputs.DivideBy != 1 {
		inputs += fmt.Sprintf(", over %.4g", p.Inputs.DivideBy)
	}
	t.row("inputs", printable(inputs))
	switch {
	case p.Label.Classes > 0:
		t.row("label", fmt.Sprintf("%s, one of %d classes", printable(p.Label.Column), p.Label.Classes))
	case p.Label.Low == 0 && p.Label.High == 1:
		t.row("label", printable(p.Label.Column))
	default:
		t.row("label", fmt.Sprintf("%s, from %g to %g", printable(p.Label.Column), p.Label.Low, p.Label.High))
	}
	if p.Kernels != nil {
		describeKernels(t, p.Kernels)
	}
	if p.Networks != nil {
		describeNetworks(t, p.Networks)
	}
	t.row("exported", fmt.Sprintf("%d files, %s", len(files), node.Size(int64(size))))
	return t.flush()
}

// mostShown is how many kernels are shown with their weights.
const mostShown = 4

// describeKernels adds lines about kernels.
func describeKernels(t table, k *portable.Kernels) {
	low, high := k.List[0].Variance, k.List[0].Variance
	for _, one := range k.List {
		low, high = min(low, one.Variance), max(high, one.Variance)
	}
	variances := fmt.Sprintf("variance %g", low)
	if low < high {
		variances = fmt.Sprintf("variances from %.3g to %.3g", low, high)
	}
	t.row("kernels", fmt.Sprintf("%d, gaussian, %s", len(k.List), variances))
	t.row("features", fmt.Sprintf("%d frequencies a kernel, %s, %d weights", k.Count, k.Features, len(k.Theta)))
	if k.List[0].Weight == nil {
		t.row("trust", "each client has its own, and this is the server's: none")
		return
	}
	if len(k.List) == 1 {
		return
	}
	best := slices.Clone(k.List)
	slices.SortStableFunc(best, func(a, b portable.Kernel) int { return cmp.Compare(*b.Weight, *a.Weight) })
	var shown []string
	for _, one := range best[:min(len(best), mostShown)] {
		shown = append(shown, fmt.Sprintf("%.3g: %s", one.Variance, percent(*one.Weight)))
	}
	t.row("trust, by variance", strings.Join(shown, ", "))
}

// describeNetworks adds a line for each network.
func describeNetworks(t table, networks []portable.Network) {
	for i, n := range networks {
		name := ""
		if i == 0 {
			name = "networks"
		}
		says := printable(n.Name)
		if n.Share != nil {
			says += ", trust " + percent(*n.Share)
		}
		switch {
		case n.Weight != nil:
			says += ", held, weight " + percent(*n.Weight)
		case n.Content == nil:
			says += ", not held"
		}
		t.row(name, says)
	}
}

// shortList joins names up to so many bytes, and says how many more there are.
func shortList(names []string, most int) string {
	text := names[0]
	for i, name := range names[1:] {
		if len(text)+len(", ")+len(name) > most {
			return fmt.Sprintf("%s and %d more", text, len(names)-1-i)
		}
		text += ", " + name
	}
	return text
}
