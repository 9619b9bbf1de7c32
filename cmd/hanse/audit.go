package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit/render"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/keys"
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

Where a node of yours runs in the folder that a transcript lies in, it keeps a note of the
verdict: hanse jobs and the page show it until that transcript is another.

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

Each table is to be read as its party's node read it, which the part of the model in the
node's folder says. Where that is not here, the table says so itself, behind a question
mark or in a file beside it as for hanse node, or flags do; what is said without a party
holds for all tables that say nothing and have such a column:

   hanse audit credit --dir bank-node --data bank=bank.csv \
       --data 'telco=telco.csv?id=line&categorical=tariff' --id customer`,
		Subcommands: []*cli.Command{auditVerifyCommand()},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", DefaultText: "the one that the node was started with",
				Usage: "sign the report with this key `FILE`"},
			passphraseFileFlag(),
			&cli.GenericFlag{Name: "data", Value: new(words), Usage: "a party's table, trained on or scored, or a client's " +
				"stream: `PARTY=FILE[?KEY=VALUE&...]`, to score attacks against"},
			&cli.StringFlag{Name: "contract", Usage: "the counter-signed contract `FILE`",
				DefaultText: "contract.toml beside the transcript"},
			&cli.StringFlag{Name: "charter", Usage: "the charter `FILE` that the job was agreed under"},
			&cli.StringFlag{Name: "report", Usage: "write the report as one HTML `FILE`, for people and browsers"},
			&cli.IntFlag{Name: "rows", Usage: "attack at most `N` rows", DefaultText: "4096", Action: atLeast("rows", 1, 0)},
			&cli.IntFlag{Name: "workers", Usage: "`N` goroutines for arithmetic", DefaultText: "all cores",
				Action: atLeast("workers", 0, 0)},
			&cli.StringSliceFlag{Name: "dir", Value: cli.NewStringSlice("hanse-node"),
				Usage: "a node's own `FOLDER`, where its jobs are; several are audited together"},
			jsonFlag(),

			// How the tables are read: for one party, or for all to whose table a word applies.
			&cli.GenericFlag{
				Name: "id", Value: new(words), DefaultText: "the one called id",
				Usage: "the id column of CSV files, `[PARTY=]COLUMN`; without a party, of all tables that have it",
			},
			&cli.GenericFlag{
				Name: "categorical", Value: new(words), DefaultText: "none",
				Usage: "`[PARTY=]COLUMN` that holds codes though it looks like numbers; without a party, in all tables " +
					"that have it",
			},
			&cli.GenericFlag{
				Name: "missing", Value: new(words), DefaultText: "level",
				Usage: "what missing cells became, `[PARTY=]HOW`: level, mean or median (numbers), both as mean,level, or " +
					"refuse; without a party, in all other tables",
			},
		},
		Action: anyOrder(runAudit),
	}
}

// runAudit reads the inputs, audits and prints.
func runAudit(c *cli.Context) error {
	if !c.Args().Present() {
		return usage.Errorf("give a job, or transcripts: hanse audit JOB|TRANSCRIPT...; see hanse audit --help")
	}
	in, err := auditing.Read(auditing.Request{
		Given: c.Args().Slice(), Dirs: c.StringSlice("dir"), Contract: c.String("contract"), Charter: c.String("charter"),
		Data: *c.Generic("data").(*words), Rows: c.Int("rows"), Workers: c.Int("workers"), Told: c.App.ErrWriter,
		Readings: auditing.Words{
			ID: *c.Generic("id").(*words), Categorical: *c.Generic("categorical").(*words),
			Missing: *c.Generic("missing").(*words),
		},
	})
	if err != nil {
		return err
	}
	load := func(path string) (*keys.KeyFile, error) { return loadKey(c, path) }
	who, err := auditing.NewAuditor(c.String("key"), load, in)
	if err != nil {
		return err
	}
	screen := terminal.NewScreen(c.App.ErrWriter)
	if terminal.IsTerminal(c.App.ErrWriter) { // a log has no need of it
		in.Told = screen.Work
	}
	r, err := who.Audit(c.Context, in)
	screen.End()
	if err != nil {
		return err
	}
	if c.String("report") != "" || c.Bool("json") {
		if err := who.Sign(c.App.ErrWriter, r); err != nil {
			return err
		}
	}
	if path := c.String("report"); path != "" {
		if err := auditing.WritePage(path, r); err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "wrote %s\n", path)
	}
	if c.Bool("json") {
		err = render.JSON(c.App.Writer, r)
	} else if err = render.Text(terminal.Painted(c.App.Writer), r); err == nil {
		auditing.WriteConsents(c.App.Writer, in)
	}
	if err != nil {
		return err
	}
	for _, said := range auditing.Note(c.Context, in, r) {
		terminal.Sentence(c.App.ErrWriter, "", said)
	}
	if terminal.IsTerminal(c.App.Writer) { // what stood first has scrolled away
		terminal.Sentence(terminal.Painted(c.App.Writer), "", fmt.Sprintf("%s: %s", strings.ToUpper(string(r.Verdict)),
			r.Summary))
	}
	return auditing.Verdict(r)
}

// words is the value of a flag that may be given several times and is not cut at commas.
type words []string

// Set implements flag.Value. A command that reads its flags twice, for those that stand behind arguments, keeps each
// once.
func (w *words) Set(s string) error {
	if !slices.Contains(*w, s) {
		*w = append(*w, s)
	}
	return nil
}

// String implements flag.Value.
func (w *words) String() string { return strings.Join(*w, " ") }

// auditVerifyCommand verifies a signed report.
func auditVerifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check who signed a report, that nothing of it was changed, and which files it is about",
		ArgsUsage: "REPORT [TRANSCRIPT...]",
		Description: `Reads a report of hanse audit, its page or its JSON. The signature covers every byte.
The job's contract, from a node's folder or from --contract, says under which charter it was
agreed and by whom; whether the signer is a member says that charter, from a node's folder or
from --charter. Transcripts that are given, or lie in a node's folder, are compared with the
fingerprints in the report, and must be of that job and of the parties that the report names.

   hanse audit verify audit.html --dir telco-node
   hanse audit verify audit.html --contract contract.toml --charter charter.toml bank.transcript telco.transcript

The exit code is 1 when the report is not what was signed, says otherwise than the contract,
its signer is no member, or a transcript is another than the audited one; 4 when there is no
contract or no charter, or not all transcripts are there, to tell, or when a newer charter in
a folder does not have the signer's key; 0 otherwise. It says nothing of the audit's verdict.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contract", DefaultText: "the one in a node's folder",
				Usage: "the job's counter-signed contract `FILE`"},
			&cli.StringFlag{Name: "charter", DefaultText: "the one in a node's folder",
				Usage: "the charter `FILE` that the job was agreed under"},
			&cli.StringSliceFlag{Name: "dir", Value: cli.NewStringSlice("hanse-node"),
				Usage: "a node's own `FOLDER`, where its jobs are; several can be given"},
		},
		Action: anyOrder(func(c *cli.Context) error {
			if !c.Args().Present() {
				return usage.Errorf("give a report: hanse audit verify REPORT [TRANSCRIPT...]; see hanse audit verify --help")
			}
			return auditing.Verify(auditing.Comparison{
				Report: c.Args().First(), Transcripts: c.Args().Tail(), Dirs: c.StringSlice("dir"),
				Contract: c.String("contract"), Charter: c.String("charter"), Out: c.App.Writer,
			})
		}),
	}
}
