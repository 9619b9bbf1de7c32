package contract

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/keys"
)

// maxPurpose is the longest text of a purpose's field, in bytes.
const maxPurpose = 500

// Purpose says in people's words what a job is for. It is part of what all parties sign.
type Purpose struct {
	Text       string `toml:"text" json:"text"`                                   // what the result will be used for
	LegalBasis string `toml:"legal_basis,omitempty" json:"legal_basis,omitempty"` // on which the parties process data
	Retention  string `toml:"retention,omitempty" json:"retention,omitempty"`     // what is kept, and until when
	Contact    string `toml:"contact,omitempty" json:"contact,omitempty"`         // whom to ask
}

// PurposeField is one field of a purpose: its key in the job file, what people call it, and what it says.
type PurposeField struct{ Key, Name, Text string }

// Fields lists all fields in their order, those too that say nothing. A job without a purpose has four of these.
func (p *Purpose) Fields() []PurposeField {
	if p == nil {
		p = new(Purpose)
	}
	return []PurposeField{
		{"text", "purpose", p.Text}, {"legal_basis", "legal basis", p.LegalBasis},
		{"retention", "retention", p.Retention}, {"contact", "contact", p.Contact},
	}
}

// ParsePurpose reads a text that has the table [purpose] and nothing else; file names it in errors.
func ParsePurpose(file string, text []byte) (*Purpose, error) {
	var in struct {
		Purpose *Purpose `toml:"purpose"`
	}
	if err := keys.DecodeStrict(file, text, &in); err != nil {
		return nil, err
	}
	if in.Purpose == nil {
		return nil, fmt.Errorf("%s: [purpose] is missing", file)
	}
	if err := in.Purpose.check(); err != nil {
		return nil, fmt.Errorf("%s: purpose: %w", file, err)
	}
	return in.Purpose, nil
}

// check checks that a purpose can be shown to people as it stands: it is signed, and nobody cleans it afterwards.
func (p *Purpose) check() error {
	if p == nil {
		return nil
	}
	for _, f := range p.Fields() {
		if len(f.Text) > maxPurpose || f.Text != strings.TrimSpace(f.Text) ||
			strings.ContainsFunc(f.Text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("%s has %d bytes, want one line of at most %d that prints, without blanks around it", f.Key,
				len(f.Text), maxPurpose)
		}
	}
	if p.Text == "" {
		return errors.New("text is missing: say what the result will be used for")
	}
	return nil
}
