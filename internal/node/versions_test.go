package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// rewrite changes a state of a job as a program of another version would have written it: in its envelope, all sums
// right. The copy for people changes with the contract.
func rewrite(t *testing.T, dir, name string, change func(string) string) {
	t.Helper()
	var h keys.Hash
	if err := h.UnmarshalText([]byte(filepath.Base(dir))); err != nil {
		t.Fatal(err)
	}
	data, err := vault.ReadFile(filepath.Join(dir, name), h)
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(data))
	if text == string(data) {
		t.Fatalf("%s has nothing to change:\n%s", name, text)
	}
	if err := os.WriteFile(filepath.Join(dir, name), vault.Envelope(h, name, []byte(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if name == contractFile {
		if err := os.WriteFile(filepath.Join(dir, ContractFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// replace is a change of one text for another.
func replace(old, other string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, other, 1) }
}

// alignedNetwork is three members who have aligned their tables, and the job.
func alignedNetwork(t *testing.T) (*testNetwork, keys.Hash) {
	t.Helper()
	return finishedNetwork(t, "aligned for versions", func(t testing.TB) (*testNetwork, keys.Hash) {
		l := newTestNetwork(t, 3, 1)
		customers{50, 3}.write(l, same)
		l.startAll()
		_, h, err := l.propose(l.align("customers", "train", "min_rows = 2"))
		if err != nil {
			t.Fatal(err)
		}
		return l, h
	})
}

// TestAJobOfAnotherVersionIsLost documents what is so today: a job whose contract another version of the program wrote
// is called damaged, its folder is set aside, and the list has nothing of it.
func TestAJobOfAnotherVersionIsLost(t *testing.T) {
	l, h := alignedNetwork(t)
	rewrite(t, filepath.Join(l.dirs[0], "node", jobsDir, h.String()), contractFile,
		replace("hanse-contract-v3", "hanse-contract-v4"))
	l.start(0)
	if all := l.nodes[0].Jobs(); len(all) != 0 {
		t.Errorf("the list has %+v", all)
	}
	if aside, _ := filepath.Glob(filepath.Join(l.dirs[0], "node", jobsDir, "*.damaged-*")); len(aside) != 1 {
		t.Errorf("set aside: %q", aside)
	}
}

// TestAStatusOfAnotherVersionIsLost documents what is so today: who goes back to the program of before loses what it
// knows of a job, where the newer one has written a line that the older does not know.
func TestAStatusOfAnotherVersionIsLost(t *testing.T) {
	l, h := alignedNetwork(t)
	rewrite(t, filepath.Join(l.dirs[0], "node", jobsDir, h.String()), statusFile,
		func(s string) string { return "later = 1\n" + s })
	l.start(0)
	if all := l.nodes[0].Jobs(); len(all) != 1 || all[0].Consent != nil {
		t.Errorf("the list has %+v", all)
	}
}

// TestNoLinkForVersionsIsNoAlert documents what is so today: for a minute nothing is an alert of members that speak
// another wire.
func TestNoLinkForVersionsIsNoAlert(t *testing.T) {
	now := time.Now()
	s := Status{Time: now, Started: now.Add(-time.Second), Members: []MemberStatus{{Name: "telco", Kept: true,
		Trouble: "refused the connection: telco speaks wire version 4 and bank version 3: the older one must be updated"}}}
	if s.alert(); len(s.Alerts) != 0 {
		t.Errorf("alerts: %+v", s.Alerts)
	}
}
