package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// jobCommand groups what is done with job files.
func jobCommand() *cli.Command {
	return &cli.Command{
		Name:  "job",
		Usage: "write a job file",
		Description: `A job file says what is trained on which rows of whom; hanse train proposes it.

   hanse job new credit.toml --dir bank-node`,
		Subcommands: []*cli.Command{jobNewCommand()},
	}
}

// jobNewCommand writes the file of a training.
func jobNewCommand() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "ask what a training needs, and write its job file",
		ArgsUsage: "FILE",
		Description: `Asks which column is the label, who takes part, on which rows, and what for; flags answer
beforehand, and without a terminal the answers in brackets are taken. The node must run:
the answers are held against its table, its members and its alignments. The job is called
as the file.

   hanse job new credit.toml --dir bank-node
   hanse job new credit.toml --label default --purpose "new loans" --dir bank-node

The training is sealed. What else a job file can say stands in docs/sealed.md and in hanse
train --help; it is a text, to be edited.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "label", Usage: "the label's `COLUMN` in this node's table"},
			&cli.StringFlag{Name: "parties", Usage: "the `MEMBERS` that take part, with commas"},
			&cli.StringFlag{Name: "rows", Usage: "train on the rows of this `ALIGNMENT`, none: all have the same rows"},
			&cli.StringFlag{Name: "purpose", Usage: "what it is for, a `TEXT` that all parties sign"},
			&cli.StringFlag{Name: "table", Value: "train", Usage: "the `TABLE` of all parties"},
			dirFlag(),
		},
		Action: anyOrder(newJob),
	}
}

// The answers that no alignment says which rows a job is of, and that nothing says what it is for.
const (
	withoutAlignment = "none"
	withoutPurpose   = "not stated"
)

// newJob asks, writes the file, and says what comes next.
func newJob(c *cli.Context) error {
	path, err := oneArgument(c, "file", "FILE.toml")
	if err != nil {
		return err
	}
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return err
	}
	status, err := client.Status(c.Context)
	if err != nil {
		return err
	}
	job := &contract.Job{
		Format: "hanse-job-v1", Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)),
		Algorithm: contract.FDSKL, Task: contract.TaskTrain, Privacy: keys.PrivacySealed, Table: c.String("table"),
	}
	label, err := labelFor(c, client, job.Table)
	if err != nil {
		return err
	}
	job.Parameters = map[string]any{"active": []any{status.Member}, "label": label}

	members := []string{status.Member}
	for i := range status.Members {
		members = append(members, status.Members[i].Name)
	}
	done, err := client.Jobs(c.Context)
	if err != nil {
		return err
	}
	aligned := newestAlignment(done, job.Table)
	usual := members
	if aligned != nil {
		usual = aligned.Parties
	}
	parties, err := answer(c, "parties", "who takes part", strings.Join(usual, ","))
	if err != nil {
		return err
	}
	for party := range strings.SplitSeq(parties, ",") {
		party = strings.TrimSpace(party)
		if !slices.Contains(members, party) {
			return usage.Errorf("%q is no member of the charter; members are %s%s", party, wording.List(members, "and"),
				wording.DidYouMean(party, members))
		}
		job.Parties = append(job.Parties, party)
	}
	rows := withoutAlignment
	if aligned != nil && slices.Equal(aligned.Parties, job.Parties) {
		rows = aligned.Name
	}
	if rows, err = answer(c, "rows", "on the rows of which alignment", rows); err != nil {
		return err
	}
	if rows != withoutAlignment {
		job.Rows = rows
	}
	purpose, err := answer(c, "purpose", "what is it for", withoutPurpose)
	if err != nil {
		return err
	}
	if purpose != withoutPurpose {
		job.Purpose = &contract.Purpose{Text: purpose}
	}
	text, err := job.Text()
	if err != nil {
		return err
	}
	if _, err := contract.ParseJob(text); err != nil {
		return err
	}
	if err := textfile.Create(path, text); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s", text)
	fmt.Fprintf(c.App.ErrWriter, "\n%s is written; propose it with\n    hanse train %s%s\n", path, wording.Quoted(path),
		jobview.InFolder(typedFolder(c)))
	return nil
}

// answer is what a flag says, else a person at the terminal, else the usual.
func answer(c *cli.Context, flag, question, usual string) (string, error) {
	if c.IsSet(flag) {
		return c.String(flag), nil
	}
	if usual != "" {
		question += " [" + usual + "]"
	}
	said, err := person(c).Line(c.Context, question+": ")
	switch {
	case errors.Is(err, terminal.ErrNobody) && usual == "":
		return "", usage.Errorf("there is no terminal to ask on: say it with --%s", flag)
	case errors.Is(err, terminal.ErrNobody):
		return usual, nil
	case err == nil && said == "" && usual == "":
		return "", usage.Errorf("nothing was typed, and --%s has no usual value: nothing is written", flag)
	case said == "":
		return usual, err
	}
	return said, err
}

// labelFor asks for the label's column, and holds it against those of the node's table where they can be read.
func labelFor(c *cli.Context, client *node.Client, table string) (string, error) {
	path, err := client.TablePath(c.Context, table)
	if err != nil {
		return "", err
	}
	var columns []string
	if at, o, err := dataset.Locate(path, dataset.Options{}); err == nil {
		columns, _ = dataset.Header(at, o) // without names there is nothing to hold the answer against
	}
	if len(columns) > 0 && !c.IsSet("label") {
		terminal.Sentence(c.App.ErrWriter, "", fmt.Sprintf("columns of table %s: %s", table, strings.Join(columns, ", ")))
	}
	label, err := answer(c, "label", "the label's column", "")
	if err == nil && len(columns) > 0 && !slices.Contains(columns, label) {
		return "", usage.Errorf("table %s has no column %q%s", table, label, wording.DidYouMean(label, columns))
	}
	return label, err
}

// newestAlignment returns the newest alignment of a table that jobs may use, nil where there is none.
func newestAlignment(all []node.JobInfo, table string) (newest *node.JobInfo) {
	for i := range all {
		j := &all[i]
		if j.AlignsNow(table, time.Now()) && (newest == nil || newest.Ended.Before(j.Ended)) {
			newest = j
		}
	}
	return newest
}
