package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/build"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/rehearsal"
	"github.com/hanse-project/hanse/internal/rehearsal/stage"
	"github.com/hanse-project/hanse/internal/rehearsal/standin"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// rehearseCommand runs a job on made-up data before anybody is asked.
func rehearseCommand() *cli.Command {
	return &cli.Command{
		Name:      "rehearse",
		Usage:     "run a job on made-up data of the same shape, before anybody consents, and measure it",
		ArgsUsage: "JOB.toml|JOB",
		Description: `Runs the whole job on this machine: a node for each party, each a process with a key of
its own and a made-up table of as many rows and columns as that party states, TLS links
between them, consent, transcripts, and the audit of all of them. It tells how long each
step takes, what every party sends, and the audit's verdict. Nobody consents to anything,
no other member has to do anything, and nothing of anybody's table is in it.

   hanse rehearse credit.toml --dir bank-node
   hanse rehearse credit.toml --dir bank-node --schema telco=telco.json --keep rehearsal

Your node asks the others what they bring, as hanse train does before it asks for consent,
and makes the contract that train would propose. The stand-ins agree on a contract of their
own, which must be the same but for keys, nonce, expiry and digests of data: the likeness
that is printed. From then on the summary before consent, at your node, says what was
measured of a contract of that likeness.

Whoever is asked for consent can rehearse just that contract, by its name or first digits:

   hanse rehearse credit --dir telco-node

Without more all made-up columns are numbers. A schema, which its owner writes with
"hanse table check FILE --json" and may hand over, tells categories and missing cells
(with --label the classes' names and numbers of rows, too, of which only how many there
are is read):

   hanse table check telco.csv --json > telco.json

With a schema of each party that has data no node is needed: --from-schemas makes the
contract of them alone.

   hanse rehearse credit.toml --from-schemas --schema bank=bank.json --schema telco=telco.json

An alignment is rehearsed with --common of the smallest table's rows at all parties. Two
jobs cannot be rehearsed: ofmsft, which starts from a server's own networks, and a
prediction that answers rows one by one. docs/rehearsal.md says what a rehearsal is not.

The exit code is that of the audit: 0, 3 for a leak, 4 when not everything was looked at
though the contract keeps all payloads.`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "schema", Usage: "`PARTY=FILE`: what hanse table check --json says of a party's table"},
			&cli.BoolFlag{Name: "from-schemas", Usage: "ask no node: a party is what its schema says, or brings no data"},
			&cli.Float64Flag{Name: "common", Value: 0.6, Usage: "of an alignment, and with --from-schemas of the rows of one: " +
				"the `SHARE` of the smallest table that all parties have"},
			&cli.StringFlag{Name: "keep", Usage: "work in this `FOLDER` and keep it (default: a temporary one, removed)"},
			&cli.IntFlag{Name: "workers", Usage: "`N` goroutines of each node", DefaultText: "all cores"},
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(rehearse),
	}
}

// rehearse drafts the contract at the owner's node, rehearses it, and has the node keep what came of it.
func rehearse(c *cli.Context) error {
	which, err := oneArgument(c, "job file, or job that waits here", "JOB.toml")
	if err != nil {
		return err
	}
	if share := c.Float64("common"); !(share > 0 && share <= 1) {
		return usage.Errorf("--common is %g, want the share of the smallest table that all parties have, above 0 and at "+
			"most 1", share)
	}
	ctx, gone := context.WithCancelCause(c.Context)
	defer gone(nil)
	out, errOut := terminal.Watched(c.App.Writer, gone), terminal.Watched(c.App.ErrWriter, gone)
	o := &stage.Options{Common: c.Float64("common"), Dir: c.String("keep"), Workers: c.Int("workers"),
		Version: build.Version(), Err: errOut}
	if o.Schemas, err = schemas(c.StringSlice("schema")); err != nil {
		return err
	}
	var job *contract.Job
	var client *node.Client // nil: no node is asked
	if c.Bool("from-schemas") {
		job, err = jobOf(which)
		o.Job = job
	} else if client, err = node.NewClient(c.String("dir")); err == nil {
		if err = draft(ctx, client, which, typedFolder(c), o); err == nil {
			job = o.Contract.Job
		}
	}
	if err != nil {
		return err
	}
	for name := range o.Schemas {
		if job.Index(name) < 0 {
			return usage.Errorf("--schema %s=...: want one of the parties %s", name, strings.Join(job.Parties, ", "))
		}
	}
	result, report, err := stage.Run(ctx, o)
	if cause := context.Cause(ctx); errors.Is(cause, syscall.EPIPE) {
		return cause
	}
	if err != nil {
		return err
	}
	if client != nil {
		if err := client.KeepRehearsal(ctx, result); err != nil {
			return fmt.Errorf("it was rehearsed, and the node does not keep what was measured: %w", err)
		}
	}
	if c.Bool("json") {
		err = terminal.JSON(out, result)
	} else {
		err = stage.Print(out, result, remarks(o, result)...)
	}
	if err != nil {
		return err
	}
	if report.Exit == audit.ExitPartial && o.Contract.Job.Record != contract.RecordFull {
		return nil // the contract keeps no payloads, and the report lists the attacks that want them
	}
	return auditing.Verdict(report)
}

// remarks says what one can do with a rehearsal.
func remarks(o *stage.Options, r *rehearsal.Result) []string {
	list := []string{"kept: this node's summary of such a contract says so from now on."}
	if o.Job != nil {
		list[0] = "no node was asked: the contract is what these schemas come to. Nothing is kept; rehearse it at a node " +
			"that has links to the parties, and that node's summary says what was measured."
	}
	if len(r.Audit.NotLookedAt) > 0 && o.Contract.Job.Record != contract.RecordFull {
		list = append(list, "hint: the contract keeps digests of messages, on which few attacks can be tried; rehearse a "+
			`copy of the job file with record = "full", and all are.`)
	}
	if o.Dir != "" {
		list = append(list, "the audit's report: "+filepath.Join(o.Dir, "audit.html"))
	} else if r.Audit.Exit != audit.ExitClean {
		list = append(list, "hint: --keep FOLDER keeps tables, logs, transcripts and the audit's report, audit.html.")
	}
	return list
}

// draft has the node in dir draft the contract of a job file, or finds that of one of its jobs, and takes over what it
// says.
func draft(ctx context.Context, client *node.Client, which, dir string, o *stage.Options) error {
	var d *node.Draft
	if info, err := os.Stat(which); !strings.HasSuffix(which, ".toml") && (err != nil || info.IsDir()) {
		if d, err = client.DraftOf(ctx, which); err != nil {
			return err
		}
	} else {
		text, err := textfile.Read(which, node.MaxJob)
		if err != nil {
			return err
		}
		screen := terminal.NewScreen(o.Err)
		d, err = client.Draft(ctx, text, shownBy(dir, screen))
		screen.End()
		if err != nil {
			return maskedHint(text, err)
		}
	}
	charter, err := keys.ParseCharter([]byte(d.Charter))
	if err != nil {
		return err
	}
	o.Charter = &charter.Charter
	if o.Contract, err = contract.ParseContract([]byte(d.Contract)); err != nil {
		return err
	}
	for _, text := range d.Takes {
		taken, err := contract.ParseContract([]byte(text))
		if err != nil {
			return err
		}
		o.Takes = append(o.Takes, taken)
	}
	return nil
}

// jobOf reads a job file.
func jobOf(path string) (*contract.Job, error) {
	text, err := textfile.Read(path, node.MaxJob)
	if err != nil {
		return nil, err
	}
	return contract.ParseJob(text)
}

// maxSchema is the longest schema that is read, in bytes.
const maxSchema = 16 << 20

// schemas reads schemas, each PARTY=FILE.
func schemas(given []string) (map[string]*standin.Schema, error) {
	all := make(map[string]*standin.Schema)
	for _, v := range given {
		name, path, ok := strings.Cut(v, "=")
		if !ok || all[name] != nil {
			return nil, usage.Errorf("--schema %s: want PARTY=FILE, once for each party", v)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		s := new(standin.Schema)
		err = errors.Join(json.NewDecoder(io.LimitReader(f, maxSchema)).Decode(s), f.Close())
		if err != nil {
			return nil, fmt.Errorf("%s: %w: want what hanse table check --json writes", path, err)
		}
		all[name] = s
	}
	return all, nil
}
