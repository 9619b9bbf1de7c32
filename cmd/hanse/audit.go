package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/report"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// auditCommand audits transcripts.
func auditCommand() *cli.Command {
	return &cli.Command{
		Name:      "audit",
		Usage:     "prove what left the machines in a job, and try to break it",
		ArgsUsage: "JOB|TRANSCRIPT...",
		Description: `Reads the signed transcripts of a job, checks that they are whole and fit the
contract and each other, lists what every party learned, runs real attacks on what
was recorded, and says what could be rebuilt from it and how well. The verdict is

   clean          everything was looked at, and nothing found
   partial        nothing found, and not everything looked at: the report lists what
   disclosed      something can be rebuilt, as the contract had announced
   leak           something was given away that the contract does not announce
   unverifiable   the transcripts are not what an honest run leaves

The exit code is 3 for a leak, 1 for what cannot be verified, 4 where not everything was
looked at, 0 otherwise.

   hanse audit credit --dir bank-node                       # one member's own view
   hanse audit credit --dir bank-node --dir telco-node --report audit.html
   hanse audit bank.transcript --contract contract.toml --charter charter.toml

A node's folder has the charters that its jobs were agreed under, and knows the key of its
owner, which signs --report and --json; of several folders, the first one's. Anyone can
check such a report:

   hanse audit verify audit.html --dir telco-node

The attacks need payloads: a job with record = "full" in its job file keeps them.
Those that aim at a party's columns need that party's table:

   hanse audit credit --dir bank-node --data bank=bank.csv --data telco=telco.csv

In jobs over clients these are the clients' streams; rows beyond those that were learned
show whether the models tell who was:

   hanse audit parks --dir server-node --data park-01=park-01.csv --data park-02=park-02.csv

Each table is to be read as its party's node reads it; what is said without a party
holds for all tables that have such a column:

   hanse audit credit --dir bank-node --data bank=bank.csv --data telco=telco.csv \
       --id customer --categorical telco=tariff --missing telco=mean,level`,
		Subcommands: []*cli.Command{auditVerifyCommand()},
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "key", DefaultText: "the one that the node was started with",
				Usage: "sign the report with this key `FILE`"},
			passphraseFileFlag(),
			&cli.StringSliceFlag{Name: "data", Usage: "a party's table, trained on or scored, or a client's stream: `PARTY=FILE`, to score attacks against"},
			&cli.StringFlag{Name: "contract", Usage: "the counter-signed contract `FILE`", DefaultText: "contract.toml beside the transcript"},
			&cli.StringFlag{Name: "charter", Usage: "the charter `FILE` that the job was agreed under"},
			&cli.StringFlag{Name: "report", Usage: "write the report as one HTML `FILE`, for people and browsers"},
			&cli.IntFlag{Name: "rows", Usage: "attack at most `N` rows", DefaultText: "4096"},
			&cli.IntFlag{Name: "workers", Usage: "`N` goroutines for arithmetic", DefaultText: "all cores"},
			&cli.StringSliceFlag{Name: "dir", Value: cli.NewStringSlice("hanse-node"), Usage: "a node's own `FOLDER`, where its jobs are; several are audited together"},
			jsonFlag(),
		}, readingFlags()...),
		Action: anyOrder(runAudit),
	}
}

// runAudit reads the inputs, audits and prints.
func runAudit(c *cli.Context) error {
	in, err := readAudit(c)
	if err != nil {
		return err
	}
	who, err := auditorOf(c, in)
	if err != nil {
		return err
	}
	r, err := who.audit(c.Context, in)
	if err != nil {
		return err
	}
	if c.String("report") != "" || c.Bool("json") {
		if err := who.sign(c, r); err != nil {
			return err
		}
	}
	if path := c.String("report"); path != "" {
		if err := writeReport(path, r); err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "wrote %s\n", path)
	}
	if c.Bool("json") {
		err = report.JSON(c.App.Writer, r)
	} else {
		err = errors.Join(report.Text(c.App.Writer, r), writeConsents(c, in))
	}
	if err != nil {
		return err
	}
	return verdictOf(r)
}

// writeConsents says who agreed to the job at each node whose own folder was read. Others' transcripts come without.
func writeConsents(c *cli.Context, in *audit.Input) error {
	for _, s := range in.Sources {
		folder := filepath.Dir(s.Path)
		if filepath.Base(folder) != in.Contract.Hash().String() {
			continue
		}
		text, err := os.Open(s.Path)
		if err != nil {
			return err
		}
		defer text.Close()
		t, err := transcript.NewReader(text)
		if err != nil {
			continue // the audit has said so
		}
		by, bound, err := node.ReadConsent(folder, t.Header())
		party := headerParty(in.Contract, t.Header())
		if err != nil || by == nil || party < 0 {
			continue // no node's own folder
		}
		said := "this transcript was begun under that consent"
		if !bound {
			said = "this transcript was not begun under that consent"
		}
		fmt.Fprintln(c.App.Writer)
		writeLine(c, "", fmt.Sprintf("%s: consented to by %s; %s", in.Contract.Parties[party].Name, by, said))
	}
	return nil
}

// writeReport writes the HTML report.
func writeReport(path string, r *audit.Report) error {
	var page bytes.Buffer
	if err := report.HTML(&page, r); err != nil {
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o600)
}

// verdictError carries a verdict that must not pass unseen to the exit code.
type verdictError struct {
	verdict audit.Verdict
	exit    int
}

// Error implements error.
func (e *verdictError) Error() string {
	switch e.verdict {
	case audit.Leak:
		return "the audit found a leak; see its report"
	case audit.Unverifiable:
		return "the audit could not verify the transcripts; see its report"
	}
	return "the audit could not look at everything; its report lists what it did not see"
}

// code returns the exit code of the verdict.
func (e *verdictError) code() int { return e.exit }

// verdictOf returns an error for a report whose exit code is not 0.
func verdictOf(r *audit.Report) error {
	if r.Exit != audit.ExitClean {
		return &verdictError{r.Verdict, r.Exit}
	}
	return nil
}
