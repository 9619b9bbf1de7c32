package consent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// newKey makes a key.
func newKey(t testing.TB) *keys.PrivateKey {
	t.Helper()
	k, err := keys.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// FuzzParseApproval: whatever somebody hands in, what is read is short, names its contract and its member, bears the
// one signature of the key that it names, and is written as it was read.
func FuzzParseApproval(f *testing.F) {
	alice, member := newKey(f), newKey(f).ID()
	h := keys.HashOf("test", []byte("contract"))
	good, err := Approve(alice, "alice", h, member, time.Unix(1e9, 0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Text())
	f.Add(good.Body)
	f.Add([]byte(strings.Replace(string(good.Text()), `"alice"`, `"bob"`, 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := ParseApproval(text, h, member)
		if err != nil {
			return
		}
		if len(text) > MaxApproval || a.Contract != h || a.Member != member || len(a.Signatures) != 1 ||
			!a.ID.Verify(DomainApproval, a.Body, a.Signatures[a.ID]) || string(a.Text()) != string(text) {
			t.Errorf("%+v was read from %q", a, text)
		}
	})
}

// TestApprovalsOfAVandal: a signature of another kind on the same text is none, and one that others signed too is none.
func TestApprovalsOfAVandal(t *testing.T) {
	alice, bob, member := newKey(t), newKey(t), newKey(t).ID()
	h := keys.HashOf("test", []byte("contract"))
	good, err := Approve(alice, "alice", h, member, time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, domain := range []string{contract.DomainContract, contract.DomainEnding, "hanse charter v1"} {
		other := keys.NewDocument(domain, good.Body)
		other.Sign(alice)
		if _, err := ParseApproval(other.Text(), h, member); err == nil {
			t.Errorf("a signature under %q is an approval", domain)
		}
	}
	good.Sign(bob)
	if _, err := ParseApproval(good.Text(), h, member); err == nil {
		t.Error("an approval with two signatures is read")
	}
	if _, err := Approve(alice, "Alice\n", h, member, time.Now()); err == nil {
		t.Error("a name that does not print signs")
	}
}

// TestMistakesOfApprovals: a policy that would let fewer persons approve than it seems to is an error.
func TestMistakesOfApprovals(t *testing.T) {
	a, b := newKey(t).ID(), newKey(t).ID()
	entry := func(name string, id keys.ID) string {
		return fmt.Sprintf("[[approver]]\nname = %q\nid = %q\n", name, id)
	}
	for text, want := range map[string]string{
		"approvals = 2\n" + entry("alice", a) + entry("bob", b):   "",
		"approvals = 2\n" + entry("alice", a):                     "approvals is 2 and 1 approvers are listed",
		"approvals = 0\n" + entry("alice", a):                     "approvals is 0 and 1 approvers are listed",
		"approvals = -1\n" + entry("alice", a):                    "approvals is -1 and 1 approvers are listed",
		entry("alice", a):                                         "add approvals = 2",
		"approvals = 2\n" + entry("alice", a) + entry("bob", a):   "approvers alice and bob have one name or one key",
		"approvals = 2\n" + entry("alice", a) + entry("alice", b): "approvers alice and alice have one name or one key",
		"approvals = 1\n[[approver]]\nname = \"alice\"\n":         "approver 1: the id is missing",
		"approvals = 1\n" + entry("Alice", a):                     "approver 1: malformed name",
		"purpose = []\n":                                          "purpose is an empty list",
		"purpose = [\"retention\"]\n":                             `purpose lacks "text"`,
	} {
		found := parsed(t, text).Mistakes(nil)
		if want == "" && len(found) > 0 || want != "" && !slices.ContainsFunc(found, func(err error) bool {
			return strings.Contains(err.Error(), want)
		}) {
			t.Errorf("of\n%sthe mistakes are %v, want %s", text, found, want)
		}
		if p := parsed(t, text); p.Approvals != nil && p.ApprovalsWanted() < 1 {
			t.Errorf("of\n%snobody has to approve", text)
		}
	}
}
