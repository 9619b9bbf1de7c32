package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// contributionsCommand says what each party brought to a model, by training again without it.
func contributionsCommand() *cli.Command {
	return &cli.Command{
		Name:      "contributions",
		Usage:     "say what each party's columns brought to a model, by training again without them",
		ArgsUsage: "MODEL",
		Description: `For each party but the label holder it proposes the same training without that party, has
a table of rows with labels scored by it, and holds that against the model of all: how much
larger the error is without the party, on the same rows, with 95 % intervals.

   hanse contributions credit --table test --dir bank-node
   hanse contributions credit --table test --without telco --dir bank-node

Each training and each prediction is a job of its own, called NAME-without-PARTY, with a
contract that its parties consent to; the one that is left out is asked nothing. It costs
as much as the first training, once for each party, and opens another model's scores of
the table's rows to this node: of sealed models up to 10 bits a row each. Run it where the
labels are. The table must have the same row ids at all parties: rows of an alignment are not
scored. At least three parties must be left in each job. It asks before each job; without a
terminal --yes consents to all.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "table", Value: "test", Usage: "`NAME` of the table to score, which has labels here"},
			&cli.StringSliceFlag{Name: "without", Usage: "leave out this `PARTY` alone; may be repeated (default: each but " +
				"the label holder, one at a time)"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent to all these jobs without asking"},
			wholeFlag(),
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(contributions),
	}
}

// contributions trains and scores without each party in turn.
func contributions(c *cli.Context) error {
	client, model, running, err := namedTraining(c, "MODEL")
	if err != nil {
		return err
	}
	if len(model.Servers) > 0 {
		return usage.Errorf("%s of %s is over clients' streams: each client has a model of its own, and none is in parts",
			model.Name, model.Algorithm)
	}
	if err := inParts(c, model, running); err != nil {
		return err
	}
	job, err := node.ReadJob(c.String("dir"), model)
	if err != nil {
		return err
	}
	if holders, _ := job.Parameters["active"].([]any); !slices.Contains(holders, any(model.Self)) {
		return usage.Errorf("%s has no labels of %s, by which its predictions are judged: run hanse contributions where "+
			"they are, at %v", model.Self, model.Name, holders[0])
	}
	left, err := leftOut(c, model, job)
	if err != nil {
		return err
	}
	n := len(left)
	fmt.Fprint(c.App.ErrWriter, wording.Wrap(80, "", fmt.Sprintf("%s and as many predictions of table %q follow, beside "+
		"the one of the whole model: each costs about what the first one did. Table %[2]q must have the same row ids at all "+
		"parties: no alignment's rows are scored here.", wording.Count(n, "training"), c.String("table"))))
	if _, ok := person(c).Terminal(); !ok && !c.Bool("yes") { // before anybody is asked anything
		return fmt.Errorf("%w: nothing was proposed; add --yes to consent to all these jobs", terminal.ErrNobody)
	}
	all, err := scoresOf(c, client, job, model.Contract)
	if err != nil {
		return err
	}
	asked := node.ScoredRows{Table: c.String("table"), Scores: all, Others: make(map[string][]byte)}
	if err := asked.Training.UnmarshalText([]byte(model.Contract)); err != nil {
		return err
	}
	models := make(map[string]string) // contracts, by who was left out
	for _, party := range left {
		text, err := without(job, party).Text()
		if err == nil {
			models[party], err = agreedAndRun(c, client, text, 1)
		}
		if err != nil {
			return fmt.Errorf("without %s: %w", party, err)
		}
	}
	for _, party := range left {
		if asked.Others["without "+party], err = scoresOf(c, client, without(job, party), models[party]); err != nil {
			return fmt.Errorf("without %s: %w", party, err)
		}
	}
	r, err := client.Figures(c.Context, asked)
	if err != nil {
		return err
	}
	r.Against = slices.DeleteFunc(r.Against, func(rival figures.Rival) bool { return asked.Others[rival.Name] == nil })
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, r)
	}
	return writeContributions(c.App.Writer, model.Name, r)
}

// leftOut lists the parties that are left out, one at a time.
func leftOut(c *cli.Context, model *node.JobInfo, job *contract.Job) ([]string, error) {
	holders, _ := job.Parameters["active"].([]any)
	holds := func(party string) bool { return slices.Contains(holders, any(party)) }
	left := c.StringSlice("without")
	if len(left) == 0 {
		left = slices.DeleteFunc(slices.Clone(job.Parties), holds)
	}
	for _, party := range left {
		switch {
		case !slices.Contains(job.Parties, party):
			return nil, usage.Errorf("--without %s: %s's parties are %s", party, model.Name, wording.Several(job.Parties))
		case holds(party):
			return nil, usage.Errorf("--without %s: it holds the labels, without which nobody can train", party)
		}
	}
	if len(job.Parties) < 4 && job.Privacy != keys.PrivacyPublished {
		return nil, fmt.Errorf("%s has %d parties, and %s jobs want three: none can be left out; name a member of the "+
			"charter without data as one more party", model.Name, len(job.Parties), job.Privacy)
	}
	return left, nil
}

// without is a training without one of its parties. Who takes its part among those that hold shares is chosen anew.
func without(job *contract.Job, party string) *contract.Job {
	reduced := *job
	reduced.Name, reduced.Proposer, reduced.Expires = job.Name+"-without-"+party, "", ""
	reduced.Parties = slices.DeleteFunc(slices.Clone(job.Parties), func(p string) bool { return p == party })
	reduced.Parameters = make(map[string]any)
	for key, value := range job.Parameters {
		if (key == "keeper" || key == "helper") && value == party {
			continue
		}
		reduced.Parameters[key] = value
	}
	return &reduced
}

// Parties hear of a training's end a moment after its proposer: a prediction with its model is proposed so often, with
// so long between.
const (
	proposals   = 5
	betweenThem = 2 * time.Second
)

// agreedAndRun proposes a job, up to so many times, runs it to its end and returns its contract's hash.
func agreedAndRun(c *cli.Context, client *node.Client, text []byte, times int) (string, error) {
	screen := terminal.NewScreen(c.App.ErrWriter)
	defer screen.End()
	agreed, err := agreeOn(c, client, screen, text)
	for ; err != nil && !errors.Is(err, errNotAgreed) && times > 1; times-- {
		select {
		case <-c.Context.Done():
			return "", c.Context.Err()
		case <-time.After(betweenThem):
		}
		agreed, err = agreeOn(c, client, screen, text)
	}
	if err != nil {
		return "", err
	}
	_, err = client.Launch(c.Context, agreed, shownBy(typedFolder(c), screen))
	return agreed, err
}

// scoresOf returns the scores of the table's rows by a model: those that this node keeps of a sealed one, else those of
// a new prediction.
func scoresOf(c *cli.Context, client *node.Client, trained *contract.Job, model string) ([]byte, error) {
	job := contract.Job{
		Format: trained.Format, Name: trained.Name + "-scores", Algorithm: trained.Algorithm, Task: contract.TaskPredict,
		Parties: trained.Parties, Privacy: trained.Privacy, Topology: trained.Topology, Table: c.String("table"),
		Model: model, OpenTo: trained.Parties[0],
	}
	if holders, _ := trained.Parameters["active"].([]any); len(holders) > 0 {
		job.OpenTo, _ = holders[0].(string)
	}
	if job.Privacy == keys.PrivacySealed {
		if known, err := client.Known(c.Context, &job); err != nil || len(known.Scores) > 0 {
			return known.Scores, err
		}
	}
	text, err := job.Text()
	if err != nil {
		return nil, err
	}
	agreed, err := agreedAndRun(c, client, text, proposals)
	if err != nil {
		return nil, err
	}
	return readScores(c.Context, client, agreed)
}

// readScores reads the scores of a prediction that is done.
func readScores(ctx context.Context, client *node.Client, job string) ([]byte, error) {
	body, err := client.Scores(ctx, job)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// writeContributions prints how much worse a model is without each party.
func writeContributions(out io.Writer, model string, r *figures.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: what is worse without a party, of %d rows with labels\n", model, r.Rows())
	w := wording.NewTable(&b, "")
	measure := "error"
	if r.Numbers != nil {
		measure = "RMSE"
	}
	fmt.Fprintf(w, "%s of all\t%s\n", measure, overall(r))
	fmt.Fprintf(w, "\n\t%s larger by (95 %%)\tAUC lower by (95 %%)\n", measure)
	for _, rival := range r.Against {
		auc := "-"
		if rival.AUCGain != nil {
			auc = rival.AUCGain.Text()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", rival.Name, rival.Gain.Text(), auc)
	}
	w.Flush()
	for _, s := range r.Warnings {
		b.WriteString(wording.Wrap(80, "  ", s))
	}
	b.WriteString("\nAn interval that holds 0 says that such rows could show as much by chance.\n")
	_, err := b.WriteTo(out)
	return err
}

// overall is the error, or the RMSE, of the model of all parties.
func overall(r *figures.Report) string {
	switch {
	case r.Numbers != nil:
		return r.Numbers.RMSE.Text()
	case r.Several != nil:
		return r.Several.Error.Text()
	}
	return r.Binary.Error.Text()
}
