package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit/report"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// maxReport is the longest report that is verified, in bytes.
const maxReport = 64 << 20

// auditVerifyCommand verifies a signed report.
func auditVerifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check who signed a report, that nothing of it was changed, and which files it is about",
		ArgsUsage: "REPORT [TRANSCRIPT...]",
		Description: `Reads a report of hanse audit, its page or its JSON. The signature covers every byte.
Whether the signer is a member says the charter that the job was agreed under, from a
node's folder or from --charter. Transcripts that are given, or lie in a node's folder,
are compared with the fingerprints in the report.

   hanse audit verify audit.html --dir telco-node
   hanse audit verify audit.html --charter charter.toml bank.transcript telco.transcript

The exit code is 1 when the report is not what was signed, its signer is no member, or a
transcript is another than the audited one; 4 when there is no charter, or not all
transcripts are there, to tell; 0 otherwise. It says nothing of the audit's verdict.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "charter", DefaultText: "the one in a node's folder",
				Usage: "the charter `FILE` that the job was agreed under"},
			&cli.StringSliceFlag{Name: "dir", Value: cli.NewStringSlice("hanse-node"),
				Usage: "a node's own `FOLDER`, where its jobs are; several can be given"},
		},
		Action: anyOrder(verifyReport),
	}
}

// errUnseen says that a report is genuine, as far as could be seen.
var errUnseen = errors.New("the report is as it was signed, and not everything that it says could be compared")

// verifyReport verifies a report and says what it found.
func verifyReport(c *cli.Context) error {
	path := c.Args().First()
	if path == "" {
		return usagef("give a report: hanse audit verify REPORT [TRANSCRIPT...]; see hanse audit verify --help")
	}
	text, err := textfile.Read(path, maxReport)
	if err != nil {
		return err
	}
	s, err := report.Read(text)
	if err != nil {
		return fmt.Errorf("%s is refused: %w", path, err)
	}
	v := &verification{c: c, statement: s}
	v.describe()
	if err := errors.Join(v.member(), v.transcripts(c.Args().Tail())); err != nil {
		return err
	}
	if v.unseen {
		return errUnseen
	}
	return nil
}

// verification is a report's statement under comparison.
type verification struct {
	c         *cli.Context
	statement *report.Statement
	unseen    bool // something could not be compared
}

// say prints a line, and add one that belongs to the line before.
func (v *verification) say(format string, args ...any) {
	writeLine(v.c, "", fmt.Sprintf(format, args...))
}
func (v *verification) add(format string, args ...any) {
	writeLine(v.c, "  ", fmt.Sprintf(format, args...))
}

// describe says what the statement says.
func (v *verification) describe() {
	s := v.statement
	v.say("the report is as it was signed, every byte of it")
	at := s.At
	if t, err := time.Parse(time.RFC3339, s.At); err == nil {
		at = t.UTC().Format("2 January 2006, 15:04:05 UTC")
	}
	v.say("signed by %s", firstOf(s.Member, "an outsider of the job"))
	v.add("with the key %s", s.ID)
	v.add("on %s, by %s", at, s.Program)
	v.say("verdict %s, exit code %d, on the job %s", strings.ToUpper(s.Verdict), s.Exit, s.Job)
	v.add("contract %s", s.Contract)
}

// member says whether the signer is a member of the charter that the job was agreed under.
func (v *verification) member() error {
	s := v.statement
	charter, err := v.charter()
	if err != nil {
		return err
	}
	if charter == nil {
		v.unseen = true
		v.say("there is no charter with digest %.8s to say whether the signer is a member: give it with --charter FILE",
			s.Charter)
		return nil
	}
	id, err := keys.ParseID(s.ID)
	if err != nil {
		return err
	}
	switch m, ok := charter.Member(id); {
	case !ok:
		return fmt.Errorf("the key %s, which signed the report, is no member's in charter %q, version %d",
			id.Short(), charter.Name, charter.Version)
	case m.Name != s.Member && s.Member != "":
		return fmt.Errorf("the report says that %s signed it, and in charter %q, version %d, its key is that of %s",
			s.Member, charter.Name, charter.Version, m.Name)
	default:
		v.say("the signer is %s, a member of charter %q, version %d", m.Name, charter.Name, charter.Version)
	}
	return nil
}

// charter finds the charter that the job was agreed under, nil when it is nowhere.
func (v *verification) charter() (*keys.SignedCharter, error) {
	s := v.statement
	if path := v.c.String("charter"); path != "" {
		charter, err := readCompleteCharter(path)
		if err == nil && charter.Digest().String() != s.Charter {
			err = fmt.Errorf("%s has digest %s, and the job was agreed under the charter with digest %.8s",
				path, charter.Digest().Short(), s.Charter)
		}
		return charter, err
	}
	for _, dir := range v.c.StringSlice("dir") {
		if s.Charter == "" {
			break
		}
		charter, err := node.KeptCharter(dir, s.Charter)
		if err != nil || charter != nil {
			return charter, err
		}
	}
	return nil, nil
}

// transcripts compares files with the fingerprints in the statement: those given, which must be among the audited, and
// those of the audited parties that the nodes' folders have of the job.
func (v *verification) transcripts(given []string) error {
	var faults []error
	found := make(map[string]string) // path by digest
	for _, path := range slices.Concat(given, v.kept()) {
		sum, err := fileDigest(path)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(v.statement.Transcripts, func(t report.Transcript) bool { return t.SHA256 == sum }) {
			faults = append(faults, fmt.Errorf("%s is none of the transcripts that were audited: it was changed "+
				"or has grown since, or is another", path))
		}
		found[sum] = path
	}
	for _, t := range v.statement.Transcripts {
		if path := found[t.SHA256]; path != "" {
			v.say("transcript of %s: %s is the one that was audited", t.Party, path)
			continue
		}
		v.unseen = true
		v.say("transcript of %s: the one that was audited is not here; its SHA-256 is %s", t.Party, t.SHA256)
	}
	return errors.Join(faults...)
}

// kept lists the transcripts of the audited parties in the nodes' folders.
func (v *verification) kept() []string {
	var paths []string
	for _, dir := range v.c.StringSlice("dir") {
		folder := filepath.Join(dir, "jobs", v.statement.Contract)
		source, err := sourceOf(filepath.Join(folder, node.TranscriptFile))
		if err != nil {
			continue
		}
		contract, err := readContract(filepath.Join(folder, node.ContractFile))
		if err != nil {
			continue // no node's folder, or one without the job
		}
		self, err := sourceParty(source)
		unreadable := err != nil || self >= len(contract.Parties)
		audited := func(t report.Transcript) bool { return t.Party == contract.Parties[self].Name }
		if unreadable || slices.ContainsFunc(v.statement.Transcripts, audited) {
			paths = append(paths, source.Path)
		}
	}
	return paths
}

// fileDigest returns the SHA-256 of a file, in hexadecimal.
func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
