package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// alignCommand finds which rows all parties have.
func alignCommand() *cli.Command {
	return &cli.Command{
		Name:  "align",
		Usage: "find the rows that all parties have, and show nobody another",
		Description: `Tables of several organisations hold different people, in different orders. An alignment
finds those that are in all of them, without showing anybody who else is in a table:

   hanse align --name customers --parties bank,insurer,telco --dir bank-node

Every party must hold a table of the same name (hanse node --data train=FILE). A row is its
id column or, with --keys, what the charter's [ids.NAME] make of other columns. Keys are
tried one after the other, each on the rows that none before it found:

   hanse align --name customers --parties bank,insurer --keys customer,phone --dir bank-node

hanse ids check TABLE shows beforehand what they make of a table. All parties learn how many
rows are common, and then which; where they are fewer than --min-rows, only that they are,
and not how many. A table of fewer rows than that is refused.

A name that an alignment at this node has, done or under way, is refused to another until
its days (--keep-days) are over or hanse remove has removed it. A job file of a training
then says rows = "customers", or the first digits of the alignment's contract. To score,
align the rows to be scored; those of this node that another party lacks come back as
"no match":

   hanse align --for predict --name march --parties bank,insurer,telco --dir bank-node
   hanse predict --model credit --rows march --dir bank-node --out scores.csv

Where one of the parties has no table, it counts codes for the others (--mode helper), and
nobody else hears a number that is too small. It must not join with any of the others:

   hanse align --name customers --parties bank,insurer,notary --dir bank-node

Where all have tables, this node (the asker) and one other party (the keeper) count (--mode
dh). Each of the two, with a changed program, could learn of an alignment that opens nothing
whether one person of its choice is common; together they could test any id they guess
against every list. So choose a keeper that would not.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Required: true, Usage: "the alignment's `NAME`, by which jobs take their rows"},
			&cli.StringSliceFlag{Name: "parties", Required: true,
				Usage: "its `PARTIES`, this one among them: bank,insurer,telco"},
			&cli.StringFlag{Name: "table", Usage: "`NAME` of the table", DefaultText: "train; with --for predict: test"},
			&cli.StringFlag{Name: "for", Value: contract.TaskTrain, Usage: "what the rows are `FOR`: train or predict"},
			&cli.StringSliceFlag{Name: "keys", Usage: "`IDS` of the charter, the first tried first: customer,phone",
				DefaultText: "the id column"},
			&cli.StringFlag{Name: "mode", Usage: "`MODE`: helper, or dh",
				DefaultText: "helper where a party has no table, else dh"},
			&cli.StringFlag{Name: "keeper", Usage: "the `PARTY` that does the work with this one (default: the first that may)"},
			&cli.StringFlag{Name: "helper", Usage: "with --mode helper: the `PARTY` that counts; it needs no table",
				DefaultText: "the party without a table"},
			&cli.IntFlag{Name: "min-rows", Usage: "open nothing where fewer than `N` rows are common",
				DefaultText: fmt.Sprintf("the charter's, or %d", keys.DefaultMinRows)},
			&cli.IntFlag{Name: "keep-days", Usage: "jobs may use the alignment for `N` days", DefaultText: "365"},
			&cli.IntFlag{Name: "buckets", Usage: "work on large tables in `N` parts, each in a share of the memory",
				DefaultText: fmt.Sprintf("one for each %d rows of the largest table", psi.BucketIDs)},
			&cli.StringFlag{Name: "record", Value: contract.RecordDigests, Usage: "what transcripts keep, `WHAT`: digests, or " +
				"full, on which hanse audit tries ids; keys, coins and stores are never kept"},
			&cli.StringFlag{Name: "purpose", Usage: "a `FILE` with [purpose] as job files have it: what the rows are for"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without asking"},
			wholeFlag(),
			jsonFlag(),
			dirFlag(),
		},
		Action: align,
	}
}

// align proposes an alignment and follows it.
func align(c *cli.Context) error {
	table := c.String("table")
	switch c.String("for") {
	case contract.TaskTrain, contract.TaskPredict:
		if table == "" && c.String("for") == contract.TaskPredict {
			table = "test"
		}
	default:
		return usage.Errorf("--for is %q, want train or predict", c.String("for"))
	}
	job := contract.Job{
		Format: "hanse-job-v1", Name: c.String("name"), Algorithm: contract.PSI, Task: contract.TaskAlign,
		Parties: c.StringSlice("parties"), Privacy: keys.PrivacySealed, Table: table,
		Record: c.String("record"),
	}
	if path := c.String("purpose"); path != "" {
		text, err := textfile.Read(path, keys.MaxDocument)
		if err != nil {
			return err
		}
		if job.Purpose, err = contract.ParsePurpose(path, text); err != nil {
			return err
		}
	}
	if err := job.SetParameters(psi.Params{
		Keys: c.StringSlice("keys"), Mode: c.String("mode"), Keeper: c.String("keeper"), Helper: c.String("helper"),
		MinRows: c.Int("min-rows"), KeepDays: c.Int("keep-days"), Buckets: c.Int("buckets"),
	}); err != nil {
		return err
	}
	text, err := job.Text()
	if err != nil {
		return err
	}
	return propose(c, text)
}
