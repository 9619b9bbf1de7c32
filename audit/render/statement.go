package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Domains of what is signed and hashed.
const (
	statementDomain = "hanse audit v2"
	pageDomain      = "hanse audit page v1"
	jsonDomain      = "hanse audit json v1"
)

// statementFormat is the first field of every statement.
const statementFormat = "hanse-audit-v2"

// maxReport is the longest report that is read, in bytes.
const maxReport = 64 << 20

// The element of a page that holds the statement. Nothing else on a page can look like it: what others wrote is
// escaped. A page's digest covers every byte but those between the two.
const (
	statementOpens  = `<pre id="statement">`
	statementCloses = `</pre>`
)

// Statement is what the signer of a report states. It stands in the report's page and in its JSON, as TOML with the
// signature below: a keys.Document.
//
// Evolution: readers refuse keys they do not know, so that a new key is a new format and a new domain.
type Statement struct {
	Format      string       `toml:"format"`
	Verdict     string       `toml:"verdict"`
	Exit        int          `toml:"exit_code"`
	Job         string       `toml:"job"`
	Contract    string       `toml:"contract"`         // hash
	Charter     string       `toml:"charter"`          // digest of the one that the job was agreed under
	Member      string       `toml:"member,omitempty"` // the signer's name in the contract
	ID          string       `toml:"id"`               // the signer's key
	Program     string       `toml:"program"`
	At          string       `toml:"at"`     // RFC 3339, UTC
	Page        keys.Hash    `toml:"page"`   // of the page without the statement
	JSON        keys.Hash    `toml:"report"` // of the JSON without the statement
	Transcripts []Transcript `toml:"transcript"`
	Tables      []Table      `toml:"table,omitempty"` // that attacks were scored against
}

// Transcript names a file that was audited.
type Transcript struct {
	Party  string `toml:"party"`
	SHA256 string `toml:"sha256"` // in hexadecimal
}

// Table names the file with a party's own data that attacks were scored against.
type Table struct {
	Party     string `toml:"party"`
	SHA256    string `toml:"sha256"`    // in hexadecimal
	Confirmed bool   `toml:"confirmed"` // the party's own record of its consent names this file
}

// Limits of a statement.
const (
	maxLine  = 300                 // bytes of one of its texts
	maxFiles = 2 * keys.MaxMembers // transcripts, and tables
)

// check refuses a statement with texts that a terminal or a page should not show, or that are not what they are called.
func (s *Statement) check() error {
	type field struct{ name, text string }
	for _, f := range []field{
		{"verdict", s.Verdict}, {"job", s.Job}, {"member", s.Member}, {"program", s.Program}, {"time", s.At},
	} {
		if len(f.text) > maxLine || f.text != wording.Line(f.text, maxLine) {
			return fmt.Errorf("its %s is not one line of at most %d printable characters", f.name, maxLine)
		}
	}
	digests := []field{{"contract", s.Contract}}
	if s.Charter != "" {
		digests = append(digests, field{"charter", s.Charter})
	}
	if len(s.Transcripts) > maxFiles || len(s.Tables) > maxFiles {
		return fmt.Errorf("it names %d transcripts and %d tables, at most %d are read",
			len(s.Transcripts), len(s.Tables), maxFiles)
	}
	for _, t := range s.Transcripts {
		digests = append(digests, field{"transcript", t.SHA256})
		if t.Party != "" && keys.CheckName(t.Party) != nil {
			return errors.New("a transcript in it is of a party whose name is no name")
		}
	}
	for _, t := range s.Tables {
		if t.SHA256 != "" {
			digests = append(digests, field{"table", t.SHA256})
		}
		if keys.CheckName(t.Party) != nil {
			return errors.New("a table in it is of a party whose name is no name")
		}
	}
	for _, d := range digests {
		var h keys.Hash
		if h.UnmarshalText([]byte(d.text)) != nil || h.String() != d.text {
			return fmt.Errorf("its digest of a %s is none: want %d hexadecimal digits", d.name, 2*len(h))
		}
	}
	return nil
}

// Sign has a report signed by who made it: it sets r.Signed, after which r must not change. r.Origin must be filled in.
func Sign(r *finding.Report, key *keys.PrivateKey) error {
	if r == nil {
		return errNone
	}
	if id := key.ID().String(); r.Origin.ID != id {
		return fmt.Errorf("report: it says that %q made it, and the key is that of %q", r.Origin.ID, id)
	}
	r.Signed = ""
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report: json: %w", err)
	}
	front, back, err := pageParts(r, true)
	if err != nil {
		return err
	}
	s := Statement{
		Format: statementFormat, Verdict: string(r.Verdict), Exit: r.Exit,
		Job: r.Job.Name, Contract: r.Job.Contract, Charter: r.Job.Charter,
		Member: r.Origin.Member, ID: r.Origin.ID, Program: r.Origin.Program, At: r.Origin.At,
		Page: keys.HashOf(pageDomain, front, back), JSON: keys.HashOf(jsonDomain, text),
	}
	for _, t := range r.Transcripts {
		s.Transcripts = append(s.Transcripts, Transcript{t.Party, t.SHA256})
	}
	for _, t := range r.Tables {
		s.Tables = append(s.Tables, Table(t))
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("report: it cannot be signed: %w", err)
	}
	body, err := toml.Marshal(s)
	if err != nil {
		return fmt.Errorf("report: statement: %w", err)
	}
	if bytes.ContainsAny(body, "<>&") {
		return errors.New("report: a name in it has a character that a page cannot show, and it cannot be signed")
	}
	d := keys.NewDocument(statementDomain, body)
	d.Sign(key)
	r.Signed = string(d.Text())
	return nil
}

// pageParts renders a page in two parts, between which the statement stands; of a page without one back is empty.
func pageParts(r *finding.Report, signed bool) (front, back []byte, err error) {
	page, err := renderPage(r, signed)
	if err != nil || !signed {
		return page, nil, err
	}
	at := bytes.Index(page, []byte(statementOpens)) + len(statementOpens)
	return page[:at], page[at:], nil
}

// Read checks a signed report, its page or its JSON, and returns what its signer states. Any byte that is not as it
// was signed is an error. Whether the signer is a member of a charter is for the caller to ask.
func Read(file []byte) (*Statement, error) {
	if len(file) > maxReport {
		return nil, fmt.Errorf("the report has %d bytes, at most %d are read", len(file), maxReport)
	}
	if bytes.HasPrefix(bytes.TrimSpace(file), []byte("{")) {
		var r finding.Report
		d := json.NewDecoder(bytes.NewReader(file))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("it is no report: %w", err)
		}
		if r.Signed == "" {
			return nil, errors.New("it has no signed statement: it was not signed")
		}
		var again bytes.Buffer
		if err := JSON(&again, &r); err != nil || !bytes.Equal(again.Bytes(), file) {
			return nil, errors.New("the report is not as it was written: it was changed afterwards")
		}
		s, err := readStatement([]byte(r.Signed))
		if err != nil {
			return nil, err
		}
		r.Signed = ""
		body, err := json.Marshal(&r)
		if err != nil || keys.HashOf(jsonDomain, body) != s.JSON {
			return nil, errors.New("the report is not the one that was signed: it was changed afterwards")
		}
		return s, nil
	}
	if n := bytes.Count(file, []byte(statementOpens)); n != 1 {
		return nil, fmt.Errorf("it has %d signed statements, want one: it was not signed, or it was changed, "+
			"or it is no audit report", n)
	}
	at := bytes.Index(file, []byte(statementOpens)) + len(statementOpens)
	length := bytes.Index(file[at:], []byte(statementCloses))
	if length < 0 {
		return nil, errors.New("its signed statement has no end: it was changed or cut")
	}
	s, err := readStatement(file[at : at+length])
	if err != nil {
		return nil, err
	}
	if keys.HashOf(pageDomain, file[:at], file[at+length:]) != s.Page {
		return nil, errors.New("the page is not the one that was signed: it was changed afterwards")
	}
	return s, nil
}

// readStatement checks a statement and its one signature.
func readStatement(text []byte) (*Statement, error) {
	d, err := keys.ParseDocument(statementDomain, text)
	if err != nil {
		return nil, fmt.Errorf("the signed statement: %w", err)
	}
	var s Statement
	if err := keys.DecodeStrict("statement", d.Body, &s); err != nil {
		return nil, fmt.Errorf("the signed statement: %w", err)
	}
	if s.Format == statementFormat {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("the signed statement: %w", err)
		}
	}
	id, err := keys.ParseID(s.ID)
	switch {
	case s.Format != statementFormat:
		return nil, fmt.Errorf("the signed statement: format is %q, want %q", clip(s.Format, 40), statementFormat)
	case err != nil:
		return nil, fmt.Errorf("the signed statement: %w", err)
	case len(d.Signatures) != 1 || !d.SignedBy(id):
		return nil, fmt.Errorf("the signed statement: it is not signed by %s alone, who is said to have made it", id.Short())
	}
	return &s, nil
}

// JSON writes a report as one line that Read reads. It fails when r is nil or w does.
func JSON(w io.Writer, r *finding.Report) error {
	if r == nil {
		return errNone
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report: json: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("report: json: %w", err)
	}
	return nil
}

// statementOf returns the statement of a report that can stand on a page; nothing of one that cannot.
func statementOf(r *finding.Report) string {
	if _, err := readStatement([]byte(r.Signed)); err != nil || strings.ContainsAny(r.Signed, "<>&") {
		return ""
	}
	return r.Signed
}
