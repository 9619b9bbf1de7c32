package consent

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// DomainApproval separates signatures on approvals from all others.
const DomainApproval = "hanse approval v1"

// approvalFormat is the first field of every approval.
const approvalFormat = "hanse-approval-v1"

// Limits of approvals.
const (
	MaxApproval  = 4 << 10 // bytes of one approval's text
	maxApprovers = 64
)

// Approver is a person of the node's organisation whose key approves jobs.
type Approver struct {
	Name string  `toml:"name"` // as a member's name
	ID   keys.ID `toml:"id"`   // hanse keys show prints it
}

// Approval is one person's word for one contract in the name of one member, signed by the person's own key.
type Approval struct {
	Format   string    `toml:"format"`
	Contract keys.Hash `toml:"contract"`
	Member   keys.ID   `toml:"member"` // the party for which it speaks
	Name     string    `toml:"name"`   // of the approver
	ID       keys.ID   `toml:"id"`
	At       time.Time `toml:"at"`

	*keys.Document `toml:"-"`
}

// Approve signs an approval of a contract in the name of a member.
func Approve(key *keys.PrivateKey, name string, contract keys.Hash, member keys.ID, at time.Time) (*Approval, error) {
	if err := keys.CheckName(name); err != nil {
		return nil, err
	}
	a := &Approval{Format: approvalFormat, Contract: contract, Member: member, Name: name, ID: key.ID(),
		At: at.UTC().Truncate(time.Second)}
	body, err := a.body()
	if err != nil {
		return nil, err
	}
	a.Document = keys.NewDocument(DomainApproval, body)
	a.Document.Sign(key)
	return a, nil
}

// body is the text that is signed. Equal approvals give equal bytes.
func (a *Approval) body() ([]byte, error) {
	var b bytes.Buffer
	err := toml.NewEncoder(&b).Encode(a)
	return b.Bytes(), err
}

// ParseApproval reads an approval of a contract in the name of a member, which bears the signature of the key that it
// names and no other.
func ParseApproval(text []byte, contract keys.Hash, member keys.ID) (*Approval, error) {
	if len(text) > MaxApproval {
		return nil, fmt.Errorf("approval: %d bytes, at most %d are read", len(text), MaxApproval)
	}
	doc, err := keys.ParseDocument(DomainApproval, text)
	if err != nil {
		return nil, err
	}
	a := &Approval{Document: doc}
	if err := keys.DecodeStrict("approval", doc.Body, a); err != nil {
		return nil, err
	}
	body, err := a.body()
	switch {
	case err != nil:
		return nil, err
	case a.Format != approvalFormat:
		return nil, fmt.Errorf("approval: format is %q, want %q", wording.Clip(a.Format), approvalFormat)
	case keys.CheckName(a.Name) != nil:
		return nil, fmt.Errorf("approval: %w", keys.CheckName(a.Name))
	case !bytes.Equal(body, doc.Body):
		return nil, fmt.Errorf("approval of %s: its text is not the one that its fields have", a.Name)
	case len(doc.Signatures) != 1 || !doc.SignedBy(a.ID):
		return nil, fmt.Errorf("approval of %s: it bears other signatures than that of %s", a.Name, a.ID.Short())
	case a.Contract != contract:
		return nil, fmt.Errorf("approval of %s: it is of contract %s, want %s", a.Name, a.Contract.Short(), contract.Short())
	case a.Member != member:
		return nil, fmt.Errorf("approval of %s: it speaks for the member with key %s, want %s", a.Name, a.Member.Short(),
			member.Short())
	}
	return a, nil
}

// ApprovalsWanted is how many persons must approve a job that no rule decides on; 0: whoever commands the node decides.
func (p *Policy) ApprovalsWanted() int {
	if p == nil || p.Approvals == nil {
		return 0
	}
	return int(min(max(*p.Approvals, 1), maxApprovers+1)) // a wrong number is never none
}

// ApproverNames lists who may approve, as a sentence does.
func (p *Policy) ApproverNames() string {
	var names []string
	for _, a := range p.Approvers {
		names = append(names, a.Name)
	}
	return list(names)
}

// Listed refuses an approval of somebody whom the policy does not list under that name and key.
func (p *Policy) Listed(a *Approval) error {
	i := slices.IndexFunc(p.Approvers, func(b Approver) bool { return b.ID == a.ID })
	switch {
	case i < 0:
		return fmt.Errorf("the key %s of %s is not among the approvers that policy %s lists, which are %s", a.ID.Short(),
			a.Name, p.file, p.ApproverNames())
	case p.Approvers[i].Name != a.Name:
		return fmt.Errorf("the key %s is that of %s in policy %s, not of %s: use --as %[2]s", a.ID.Short(),
			p.Approvers[i].Name, p.file, a.Name)
	}
	return nil
}

// Approvals reads approvals of a contract in the name of a member, of keys that are all different. With a policy it
// takes those alone that the policy lists, and leaves the others out.
func Approvals(p *Policy, texts []string, contract keys.Hash, member keys.ID) ([]*Approval, error) {
	var all []*Approval
	for _, text := range texts {
		a, err := ParseApproval([]byte(text), contract, member)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(b *Approval) bool { return b.ID == a.ID }) {
			return nil, fmt.Errorf("approval of %s: its key %s has approved before", a.Name, a.ID.Short())
		}
		if p == nil || p.Listed(a) == nil {
			all = append(all, a)
		}
	}
	return all, nil
}

// approvalMistakes lists what is wrong with what a policy says of approvals.
func (p *Policy) approvalMistakes() []string {
	var found []string
	switch n := len(p.Approvers); {
	case p.Approvals == nil && n > 0:
		return []string{"it lists approvers and not how many must approve: add approvals = 2"}
	case p.Approvals == nil:
		return nil
	case *p.Approvals < 1 || *p.Approvals > int64(n) || n > maxApprovers:
		found = append(found, fmt.Sprintf("approvals is %d and %d approvers are listed; want 1 or more, and at least as "+
			"many [[approver]], at most %d, each with the name and the id that hanse keys show prints", *p.Approvals, n,
			maxApprovers))
	}
	for i, a := range p.Approvers {
		if err := keys.CheckName(a.Name); err != nil {
			found = append(found, fmt.Sprintf("approver %d: %v", i+1, err))
		}
		if a.ID.IsZero() {
			found = append(found, fmt.Sprintf("approver %d: the id is missing: hanse keys show prints it", i+1))
		}
		for _, b := range p.Approvers[:i] {
			if a.Name == b.Name || a.ID == b.ID {
				found = append(found, fmt.Sprintf("approvers %s and %s have one name or one key: each person has a key of "+
					"their own", clip(b.Name), clip(a.Name)))
			}
		}
	}
	return found
}
