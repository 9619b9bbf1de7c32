package node

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// rewrite changes a state of a job as a program of another version would have written it: in its envelope, all sums
// right. The copy for people changes with the contract.
func rewrite(t *testing.T, dir, name string, change func(string) string) {
	t.Helper()
	var h keys.Hash
	must(t, h.UnmarshalText([]byte(filepath.Base(dir))))
	data, err := vault.ReadFile(filepath.Join(dir, name), h)
	must(t, err)
	text := change(string(data))
	if text == string(data) {
		t.Fatalf("%s has nothing to change:\n%s", name, text)
	}
	must(t, os.WriteFile(filepath.Join(dir, name), vault.Envelope(h, name, []byte(text)), 0o600))
	if name == job.ContractFile {
		must(t, os.WriteFile(filepath.Join(dir, job.ContractCopy), []byte(text), 0o600))
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
		must(t, err)
		return l, h
	})
}

// TestAJobOfAnotherVersionIsListed: what another version of the program wrote is no damage. The job is in the list and
// its folder stays as it is; every command about it says which program reads it, and nobody has it proposed again in
// its place. The program that wrote it has it back as it was.
func TestAJobOfAnotherVersionIsListed(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		change func(string) string
		why    string
	}{
		"contract": {job.ContractFile, replace("hanse-contract-v3", "hanse-contract-v4"),
			`it is in format "hanse-contract-v4", this program reads "hanse-contract-v3"`},
		"job": {job.ContractFile, func(s string) string {
			body, _, _ := strings.Cut(s, "# --- signatures") // nobody has signed the change, which is no damage
			body = replace(`table = \"train\"`, `table = \"train\"\nlater = true`)(body)
			return string(keys.NewDocument(contract.DomainContract, []byte(body)).Text())
		}, `unknown key "later"`},
		"end": {job.EndingFile, replace("hanse-ending-v1", "hanse-ending-v2"),
			`it is in format "hanse-ending-v2", this program reads "hanse-ending-v1"`},
		"status": {job.RecordFile, func(s string) string { return "later = 1\n" + s }, `unknown key "later"`},
	} {
		t.Run(name, func(t *testing.T) {
			l, h := alignedNetwork(t)
			dir := filepath.Join(l.dirs[0], "node", jobsDir, h.String())
			before := read(t, dir)
			rewrite(t, dir, job.RecordFile, replace("\n", "\nprogram = \"v0.4.0\"\n"))
			rewrite(t, dir, c.file, c.change)
			written := read(t, dir)
			l.start(0)
			n := l.nodes[0]
			all := n.Jobs()
			if len(all) != 1 || all[0].Contract != h.String() || all[0].Name != "customers" || all[0].Task != "align" ||
				all[0].Proposer != "bank" || all[0].State != job.Unread || all[0].Standing != "made by v0.4.0" {
				t.Fatalf("the list has %+v", all)
			}
			if !strings.HasPrefix(all[0].Reason, "job customers cannot be read: "+dir) ||
				!strings.Contains(all[0].Reason, " was made by version v0.4.0: that program reads it (") ||
				!strings.Contains(all[0].Reason, c.why) {
				t.Errorf("it says: %s", all[0].Reason)
			}
			for _, which := range []string{"customers", h.String(), h.String()[:8]} {
				if _, err := n.find(which, job.State.Final); err == nil || err.Error() != all[0].Reason {
					t.Errorf("a command about %s: %v", which, err)
				}
			}
			whole, err := contract.ParseContract(before[job.ContractCopy])
			must(t, err)
			if _, err := n.openJob(whole, job.Record{}); err == nil || !strings.Contains(err.Error(), all[0].Reason) {
				t.Errorf("it is made anew: %v", err)
			}
			if after := read(t, dir); !maps.EqualFunc(after, written, bytes.Equal) {
				t.Error("its folder has changed")
			}
			l.stops[0]()
			write(t, dir, before)
			l.start(0)
			if all := l.nodes[0].Jobs(); len(all) != 1 || all[0].State != job.Done || all[0].Consent == nil {
				t.Errorf("the program that wrote it has %+v", all)
			}
		})
	}
}

// TestWhatAnotherVersionSaysOfItselfIsBounded: the folder of an unread job may say anything.
func TestWhatAnotherVersionSaysOfItselfIsBounded(t *testing.T) {
	dir := t.TempDir()
	for said, want := range map[string]string{
		"v1.2.3": "v1.2.3", "": "", "v1\x1b[2J": "", "v1\u2028": "", "a b": "",
		strings.Repeat("v", 4096): strings.Repeat("v", 40),
	} {
		write(t, dir, map[string][]byte{job.RecordFile: []byte("\x00head\nprogram = \"" + said + "\"\nstate = 1\n"),
			job.ContractCopy: []byte("job = \"name = \\\"a\\\\u001b[2J\\\"\\nparties = [\\\"b\\\", \\\"\\\\u001b\\\"]\"\n")})
		if got := job.WrittenBy(dir); got != want {
			t.Errorf("%q is shown as %q, want %q", said, got, want)
		}
		j := unreadJob(dir, keys.Hash{1}, &vault.VersionError{Path: dir, Why: "why"})
		if j.Name != "01000000" || len(j.Parties) != 1 || j.Parties[0] != "b" {
			t.Errorf("the job is %+v", j)
		}
	}
}

// TestNoLinkForVersionsIsAnAlert at once, and one; a member that is away for another reason has its minute.
func TestNoLinkForVersionsIsAnAlert(t *testing.T) {
	now := time.Now()
	why := "bank speaks wire version 3, telco speaks wire version 4: hanse at bank must be updated"
	for _, started := range []time.Time{now, now.Add(-time.Hour)} {
		s := Status{Time: now, Started: started, Members: []MemberStatus{{Name: "telco", Kept: true, OtherWire: true,
			Trouble: why}}}
		if s.alert(); len(s.Alerts) != 1 || s.Alerts[0].Code != CodeVersion || s.Alerts[0].Level != AlertCritical ||
			s.Alerts[0].Text != why || s.Alerts[0].About != "telco" {
			t.Errorf("alerts: %+v", s.Alerts)
		}
	}
	s := Status{Time: now, Started: now, Members: []MemberStatus{{Name: "telco", Kept: true, Trouble: "nobody is there"}}}
	if s.alert(); len(s.Alerts) != 0 {
		t.Errorf("alerts of one that is away: %+v", s.Alerts)
	}
}
