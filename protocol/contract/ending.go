package contract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// DomainEnding separates signatures on endings from all others.
const DomainEnding = "hanse ending v1"

// EndingFormat is the first field of every ending.
const EndingFormat = "hanse-ending-v1"

// Outcome is how a job ended.
type Outcome string

// The outcomes of a job. All are final.
const (
	OutcomeDone      Outcome = "done"      // every party has stored its part
	OutcomeCancelled Outcome = "cancelled" // a party withdrew or stopped it
	OutcomeRefused   Outcome = "refused"   // a party did not consent
	OutcomeFailed    Outcome = "failed"    // it cannot come right: a party contradicts the others
	OutcomeExpired   Outcome = "expired"   // not all had consented in time, or no session had begun
)

// outcomes lists them, the one that beats all others first.
var outcomes = []Outcome{OutcomeDone, OutcomeCancelled, OutcomeRefused, OutcomeFailed, OutcomeExpired}

// MaxReason is the longest reason of an ending, in bytes.
const MaxReason = 200

// PartDigest commits a party to what it keeps of a finished job.
type PartDigest struct {
	Party  string    `toml:"party"`
	Digest keys.Hash `toml:"digest"` // zero where the party keeps nothing
}

// Ending is how a job ended, for good. Done is signed by all parties, of a job over clients by its proposer, who
// aggregates; any other outcome by the party that ended it.
//
// Evolution: as of Contract.
type Ending struct {
	Format   string       `toml:"format"`
	Contract keys.Hash    `toml:"contract"`
	Outcome  Outcome      `toml:"outcome"`
	By       string       `toml:"by,omitempty"`      // the party that ended it; nobody where it is done
	Reason   string       `toml:"reason,omitempty"`  // refused, cancelled: what a person typed, as PlainReason leaves it
	Fault    *fault.Fault `toml:"fault,omitempty"`   // what the party's node says of why, in place of a reason
	Session  uint32       `toml:"session,omitempty"` // done: the session that ended well
	Parts    []PartDigest `toml:"part,omitempty"`    // done: what the signing parties keep, in their order

	*keys.Document `toml:"-"`
}

// NewEnding renders the unsigned ending of a contract's job. Equal endings give equal bytes.
func NewEnding(c *Contract, e Ending) (*Ending, error) {
	e.Format, e.Contract = EndingFormat, c.Hash()
	if err := e.validate(c); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(e); err != nil {
		return nil, fmt.Errorf("ending of job %q: %w", c.Job.Name, err)
	}
	e.Document = keys.NewDocument(DomainEnding, b.Bytes())
	return &e, nil
}

// ParseEnding reads the ending of a contract's job and the signatures it bears, which must be right but need not be
// complete; see InForce.
func ParseEnding(c *Contract, text []byte) (*Ending, error) {
	_, signers, err := keys.NameOf(DomainEnding, text)
	if err != nil {
		return nil, err
	}
	if most := len(c.Enders()); len(signers) > max(1, most) { // before any is verified
		return nil, fmt.Errorf("ending of job %q: it bears %d signatures, at most %d are wanted",
			c.Job.Name, len(signers), max(1, most))
	}
	doc, err := keys.ParseDocument(DomainEnding, text)
	if err != nil {
		return nil, err
	}
	e := &Ending{}
	if err := keys.DecodeStrict("ending", doc.Body, e); err != nil {
		return nil, err
	}
	if e.Format != EndingFormat {
		return nil, fmt.Errorf("ending: format is %q, want %q", wording.Clip(e.Format), EndingFormat)
	}
	if e.Contract != c.Hash() {
		return nil, fmt.Errorf("ending: it is of contract %s, want %s", e.Contract.Short(), c.Hash().Short())
	}
	e.Document = doc
	if err := e.validate(c); err != nil {
		return nil, err
	}
	for id := range doc.Signatures {
		if !slices.ContainsFunc(c.Parties, func(f Facts) bool { return f.ID == id }) {
			return nil, fmt.Errorf("ending of job %q: it bears a signature of %s, who is no party", c.Job.Name, id.Short())
		}
	}
	again, err := NewEnding(c, *e)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again.Body, doc.Body) { // whoever signs it signs what it says, and nothing beside it
		return nil, fmt.Errorf("ending of job %q: its text is not the one that its fields have", c.Job.Name)
	}
	return e, nil
}

// validate checks the fields against the contract.
func (e *Ending) validate(c *Contract) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("ending of job %q: %s", c.Job.Name, fmt.Sprintf(format, args...))
	}
	if !slices.Contains(outcomes, e.Outcome) {
		return wrong("outcome is %q, want one of %v", wording.Clip(string(e.Outcome)), outcomes)
	}
	if err := e.checkWhy(); err != nil {
		return wrong("%v", err)
	}
	if e.Outcome != OutcomeDone {
		if c.Job.Index(e.By) < 0 || e.Session != 0 || len(e.Parts) > 0 {
			return wrong("it is %s by %q, want by one of its parties, without a session and parts",
				e.Outcome, wording.Clip(e.By))
		}
		return nil
	}
	if e.By != "" || e.Session == 0 {
		return wrong("it is done in session %d by %q, want a session of all", e.Session, wording.Clip(e.By))
	}
	signers := c.Enders()
	if len(e.Parts) != len(signers) {
		return wrong("it lists parts of %d parties, want %d", len(e.Parts), len(signers))
	}
	for i, p := range signers {
		if e.Parts[i].Party != p.Name {
			return wrong("part %d is that of %q, want that of %q", i+1, wording.Clip(e.Parts[i].Party), p.Name)
		}
	}
	return nil
}

// checkWhy checks what is said of why the job ended: a person's words where a person may end it, and else a fault.
func (e *Ending) checkWhy() error {
	switch {
	case e.Reason != PlainReason(e.Reason):
		return fmt.Errorf("its reason is not at most %d bytes of printable text", MaxReason)
	case e.Reason != "" && e.Outcome != OutcomeCancelled && e.Outcome != OutcomeRefused:
		return fmt.Errorf("it is %s and has a reason, which a person gives who refuses or cancels", e.Outcome)
	case e.Fault != nil && (e.Reason != "" || e.Outcome == OutcomeDone || e.Outcome == OutcomeExpired):
		return fmt.Errorf("it is %s and has a fault, which stands for a reason of its own", e.Outcome)
	case e.Fault != nil:
		return e.Fault.Check()
	}
	return nil
}

// Why says for people why the job ended, nothing where the outcome says it all.
func (e *Ending) Why() string {
	if e.Fault != nil {
		return e.Fault.String()
	}
	return e.Reason
}

// Enders are the parties who sign that the contract's job is done, in the order of an ending's parts.
func (c *Contract) Enders() []Party {
	all := c.Members()
	if len(c.Job.Servers) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p Party) bool { return p.Name != c.Job.Proposer })
}

// InForce says whether everybody has signed whose signature the ending needs, naming who has not.
func (e *Ending) InForce(c *Contract) error {
	signers := c.Enders()
	if e.Outcome != OutcomeDone {
		signers = slices.DeleteFunc(c.Members(), func(p Party) bool { return p.Name != e.By })
	}
	var missing []string
	for _, p := range signers {
		if !e.SignedBy(p.ID) {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the end of job %q is not in force: %s must still sign it", c.Job.Name, strings.Join(missing, ", "))
	}
	return nil
}

// Part returns the digest of what a party keeps, zero when it keeps nothing or is not listed.
func (e *Ending) Part(party string) keys.Hash {
	for _, p := range e.Parts {
		if p.Party == party {
			return p.Digest
		}
	}
	return keys.Hash{}
}

// Beats reports whether this ending stands where two are told of one job. The rule is the same everywhere, so that
// all come to stand by the same: done beats all, and of two the later session's; of others the earlier in the list of
// outcomes, then the one whose text has the smaller hash.
func (e *Ending) Beats(other *Ending) bool {
	if e.Session != other.Session {
		return e.Session > other.Session
	}
	if mine, its := slices.Index(outcomes, e.Outcome), slices.Index(outcomes, other.Outcome); mine != its {
		return mine < its
	}
	mine, its := e.Hash(), other.Hash()
	return bytes.Compare(mine[:], its[:]) < 0
}

// PlainReason makes of a text what an ending's reason may be: one line of printable characters, at most MaxReason
// bytes.
func PlainReason(reason string) string { return wording.Line(reason, MaxReason) }
