package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/report"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// auditor is who makes a report.
type auditor struct {
	id      keys.ID // zero when nothing tells
	keyFile string  // signs; empty: nothing does
	given   bool    // the key file was named on the command line
	columns []string
}

// auditorOf finds out who audits: by the key that is given, or by the node's folder that the first transcript lies in.
func auditorOf(c *cli.Context, in *audit.Input) (*auditor, error) {
	a := &auditor{keyFile: c.String("key")}
	if a.given = a.keyFile != ""; a.given {
		key, err := loadKey(c, a.keyFile)
		if err != nil {
			return nil, err
		}
		a.id = key.Key.ID()
	} else if err := a.fromFolder(nodeFolder(in.Sources[0])); err != nil {
		return nil, err
	}
	in.Auditor = a.id
	a.columns = ownColumns(in, a.id)
	return a, nil
}

// fromFolder reads whose a node's folder is; of a folder that no node has started on nothing.
func (a *auditor) fromFolder(dir string) error {
	who, err := node.ReadIdentity(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	a.keyFile = who.KeyFile
	a.id, err = keys.ParseID(who.ID)
	return err
}

// nodeFolder is the node's folder that a transcript lies in, if it lies in one.
func nodeFolder(s audit.Source) string { return filepath.Dir(filepath.Dir(filepath.Dir(s.Path))) }

// ownColumns names the auditor's own columns: those of its table where it is given, else those of its part of the
// model.
func ownColumns(in *audit.Input, id keys.ID) []string {
	self := slices.IndexFunc(in.Contract.Parties, func(f protocol.Facts) bool { return f.ID == id })
	if self < 0 {
		return nil
	}
	if columns := in.Columns; columns != nil && columns[self] != nil {
		return columns[self].Names
	}
	for _, s := range in.Sources {
		if m, err := node.ReadModel(filepath.Dir(s.Path)); err == nil && m.Owner == id {
			return m.Columns
		}
	}
	return nil
}

// audit runs an audit and fills in who made it.
func (a *auditor) audit(ctx context.Context, in *audit.Input) (*audit.Report, error) {
	begun := time.Now()
	r, err := audit.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(begun).Seconds()
	r.Origin = audit.Origin{Program: programVersion(), At: time.Now().UTC().Format(time.RFC3339), Columns: a.columns}
	if !a.id.IsZero() {
		r.Origin.ID = a.id.String()
		for _, p := range in.Contract.Parties {
			if p.ID == a.id {
				r.Origin.Member = p.Name
			}
		}
	}
	return r, nil
}

// sign signs a report where there is a key. A key that only a node's folder names may be out of reach: then the report
// is not signed, and that is said.
func (a *auditor) sign(c *cli.Context, r *audit.Report) error {
	if a.keyFile == "" {
		return nil
	}
	key, err := loadKey(c, a.keyFile)
	if err == nil && key.Key.ID() != a.id {
		err = fmt.Errorf("%s has the key %s, and the node's was %s", a.keyFile, key.Key.ID().Short(), a.id.Short())
	}
	if err == nil {
		err = report.Sign(r, key.Key)
	}
	if err != nil && !a.given {
		fmt.Fprintln(c.App.ErrWriter,
			printable(fmt.Sprintf("the report is not signed (give the key with --key FILE): %v", err)))
		return nil
	}
	return err
}

// programVersion says which program this is: its version, the revision that it was built from, and Go's version.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "hanse"
	}
	text := "hanse " + cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += ", revision " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			text += ", changed since"
		}
	}
	return text + ", " + info.GoVersion
}

// findCharter finds the charter that a job was agreed under in the nodes' folders that the transcripts lie in, or says
// why there is none.
func findCharter(in *audit.Input) (*keys.SignedCharter, string, error) {
	agreed, seen := in.Contract.Job.Charter, make(map[string]bool)
	var other *keys.SignedCharter
	for _, s := range in.Sources {
		dir := nodeFolder(s)
		if agreed == "" || seen[dir] {
			continue
		}
		seen[dir] = true
		charter, err := node.KeptCharter(dir, agreed)
		if err != nil || charter != nil {
			return charter, "", err
		}
		if other == nil {
			if other, err = node.LatestCharter(dir); err != nil {
				return nil, "", err
			}
		}
	}
	if other != nil {
		return nil, fmt.Sprintf("the job was agreed under the charter with digest %.8s, and the node has version %d of %q "+
			"with digest %s: give that of the job with --charter FILE",
			agreed, other.Version, other.Name, other.Digest().Short()), nil
	}
	return nil, "no charter was given (--charter FILE): that the parties' keys are those of the members was not checked",
		nil
}
