package job

import (
	"fmt"
	"time"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Who may consent.
const (
	ByOwner  = "owner"
	ByPolicy = "policy"
	BySeries = "series" // the consent to an earlier job, which holds for several
)

// Consent says who agreed to a job in this member's name. A node signs no contract without one on its disk.
type Consent struct {
	By     string    `toml:"by" json:"by"` // ByOwner, ByPolicy or BySeries
	At     time.Time `toml:"at" json:"at"`
	Rule   string    `toml:"rule,omitempty" json:"rule,omitempty"`     // such as "accept rule 1"; of a series which one
	Policy string    `toml:"policy,omitempty" json:"policy,omitempty"` // SHA-256 of the policy's file
	Person string    `toml:"person,omitempty" json:"person,omitempty"` // the system's user whose command it was
	Salt   string    `toml:"salt,omitempty" json:"salt,omitempty"`     // hides the rest in Digest
	// texts of package consent: who approved, where the policy wants approvals
	Approvals []string `toml:"approvals,omitempty" json:"approvals,omitempty"`
}

// Digest binds a consent to a contract. It tells nothing of the consent to who does not have it.
func (c *Consent) Digest(contract keys.Hash) keys.Hash {
	if c == nil {
		return keys.Hash{}
	}
	parts := [][]byte{contract[:], []byte(c.By), []byte(c.At.UTC().Format(time.RFC3339Nano)), []byte(c.Rule),
		[]byte(c.Policy), []byte(c.Person), []byte(c.Salt)}
	for _, text := range c.Approvals {
		parts = append(parts, []byte(text))
	}
	return keys.HashOf("hanse consent v1", parts...)
}

// String says who consented, and when.
func (c *Consent) String() string {
	who := c.Who()
	if n := len(c.Approvals); n > 0 {
		who += ", with " + wording.Count(n, "approval")
	}
	return fmt.Sprintf("%s, %s", who, wording.Time(c.At))
}

// Who says who consented.
func (c *Consent) Who() string {
	switch {
	case c.By == BySeries:
		return "an earlier consent, " + c.Rule
	case c.By == ByPolicy && c.Rule != "" && len(c.Policy) >= 8:
		return c.Rule + " of the policy " + c.Policy[:8]
	case c.By == ByPolicy && c.Rule != "":
		return c.Rule + " of the policy"
	case c.By == ByPolicy:
		return "the policy"
	case c.Person != "":
		return fmt.Sprintf("the owner (user %s)", c.Person)
	}
	return "the owner"
}

// The numbers of sessions. The coordinator has each on its disk before it sends it, so no other party's is higher
// unless the coordinator's record was damaged; then it comes up to the others' step by step. Sessions begin once all
// have consented, and an honest coordinator makes fewer than sessionRate a second, also with a party that claims more.
// So whoever claims what it likes needs two years to bring a job to the last number.
const (
	claimAhead   = 256     // by which another party's claim moves the coordinator's number, in each session
	sessionsFree = 1 << 16 // at once
	sessionRate  = 64      // a second since this party consented
)

// Claimed is what the coordinator takes another party's last session for, where its own last is own.
func Claimed(own, other uint32) uint32 { return min(other, own+claimAhead) }

// plausible reports whether a job can have come to a session since this party consented to it.
func (c *Consent) plausible(number uint32, now time.Time) bool {
	return float64(number) <= sessionsFree+sessionRate*max(0, now.Sub(c.At).Seconds())
}
