package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/protocol"
)

// audit audits the training with the transcripts of all parties and all their columns: it sees more
// than any member could, so that every attack can be tried and scored.
func (d *demo) audit(ctx context.Context, dir string) error {
	d.tell.step("audit", "every transcript against the contract and the others, and real attacks on what was recorded")
	in, err := leagueAudit(d.league, d.data.Names, d.contract)
	if err != nil {
		return err
	}
	var tables []string
	for _, name := range d.data.Names {
		tables = append(tables, fmt.Sprintf("%s=%s", name, d.league.Path(name, "train.csv")))
	}
	how := func(party int, _ string) (dataset.Options, error) { return d.data.Options(party), nil }
	if err := readColumns(in, tables, how); err != nil {
		return err
	}
	d.result.Audit, err = auditDemo(ctx, d.c, in, dir)
	return err
}

// auditDemo runs a demo's audit, and writes its report into a folder that is kept.
func auditDemo(ctx context.Context, c *cli.Context, in *audit.Input, dir string) (*audit.Report, error) {
	in.Workers = c.Int("workers")
	who, err := auditorOf(c, in)
	if err != nil {
		return nil, err
	}
	r, err := who.audit(ctx, in)
	if err != nil || c.String("dir") == "" {
		return r, err
	}
	return r, errors.Join(who.sign(c, r), writeReport(filepath.Join(dir, "audit.html"), r))
}

// demoVerdict is verdictOf for a demo: whoever asked it to keep no payloads has left attacks out on purpose, and the
// report lists them.
func demoVerdict(record string, r *audit.Report) error {
	if r.Exit == audit.ExitPartial && record != protocol.RecordFull {
		return nil
	}
	return verdictOf(r)
}

// leagueAudit is the audit of a job with the transcripts of all its parties.
func leagueAudit(l *trial.League, names []string, contract string) (*audit.Input, error) {
	in := new(audit.Input)
	for _, name := range names {
		source, err := sourceOf(l.Path(name, filepath.Join("node", "jobs", contract, node.TranscriptFile)))
		if err != nil {
			return nil, err
		}
		in.Sources = append(in.Sources, source)
	}
	var err error
	if in.Contract, err = readContract(filepath.Join(filepath.Dir(in.Sources[0].Path), node.ContractFile)); err != nil {
		return nil, err
	}
	in.Charter, err = readCompleteCharter(l.CharterFile())
	return in, err
}
