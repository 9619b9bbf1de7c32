package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/node"
)

// audit audits the training with the transcripts of all parties and all their columns: it sees more
// than any member could, so that every attack can be tried and scored.
func (d *demo) audit(ctx context.Context, dir string) error {
	d.tell.step("audit", "every transcript against the contract and the others, and real attacks on what was recorded")
	in := &audit.Input{Workers: d.c.Int("workers")}
	var tables []string
	for _, name := range d.data.Names {
		source, err := sourceOf(d.league.Path(name, filepath.Join("node", "jobs", d.contract, node.TranscriptFile)))
		if err != nil {
			return err
		}
		in.Sources = append(in.Sources, source)
		tables = append(tables, fmt.Sprintf("%s=%s", name, d.league.Path(name, "train.csv")))
	}
	var err error
	if in.Contract, err = readContract(filepath.Join(filepath.Dir(in.Sources[0].Path), node.ContractFile)); err != nil {
		return err
	}
	if in.Charter, err = readCompleteCharter(d.league.CharterFile()); err != nil {
		return err
	}
	if err := readColumns(in, tables, dataset.Options{Missing: "refuse"}); err != nil {
		return err
	}
	begun := time.Now()
	if d.result.Audit, err = audit.Run(ctx, in); err != nil {
		return err
	}
	d.result.Audit.Seconds = time.Since(begun).Seconds()
	if d.c.String("dir") == "" {
		return nil
	}
	return writeReport(filepath.Join(dir, "audit.html"), d.result.Audit)
}
