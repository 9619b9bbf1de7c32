package enrol

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// propose puts a version into a member's folder, as hanse charter propose does.
func (l *testNetwork) propose(name string, c *keys.SignedCharter) {
	l.t.Helper()
	must(Propose(l.nodes[name].dir, c))(l.t)
}

// A member's node that was off while the others agreed takes the version over when it is back.
func TestMissedVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"})
		l.propose("bank", l.next("bank", "telco"))
		settle()
		l.kill("telco")
		l.signOnDisk("insurer")
		settle()
		l.wantVersion(2, "bank", "insurer")
		l.wantVersion(1, "telco")
		l.restart("telco")
		time.Sleep(askEvery)
		settle()
		l.wantVersion(2, "telco")
	})
}

// A member's node takes over two versions that it has missed, after all have been restarted.
func TestMissedVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"})
		l.kill("telco")
		second := l.next(l.names...)
		draft := second.Next()
		draft.Created = time.Now()
		third := must(keys.NewCharter(draft))(t)
		l.sign(third, l.names...)
		for _, c := range []*keys.SignedCharter{second, third} {
			l.propose("bank", c)
			settle()
		}
		l.wantVersion(3, "bank", "insurer")
		for _, name := range []string{"bank", "insurer"} {
			l.kill(name)
			l.restart(name)
		}
		l.restart("telco")
		time.Sleep(askEvery)
		settle()
		l.wantVersion(3, "telco")
		l.wantLine("telco", "charter version 2 is in force: min_contributors: 3 -> 2")
		l.wantLine("telco", "charter version 3 is in force: changes nothing")
	})
}

// A member that was cut off hears of a proposal, and of the signatures, when it is back.
func TestCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"})
		bank, insurer, telco := l.keys["bank"].ID(), l.keys["insurer"].ID(), l.keys["telco"].ID()
		l.net.Cut(bank, telco)
		l.net.Cut(insurer, telco)
		l.propose("bank", l.next("bank"))
		settle()
		l.signOnDisk("insurer")
		settle()
		if files := l.nodes["telco"].proposalFiles(t); len(files) > 0 {
			t.Fatalf("telco has %v through a cut", files)
		}
		l.net.Heal(insurer, telco) // bank's way stays cut: the text comes by the insurer
		settle()
		l.signOnDisk("telco")
		settle()
		l.wantVersion(2, l.names...)
	})
}

// Two members propose at once. A signature counts on one of them, so that no two versions 2 come
// into force; when one proposal is withdrawn the other goes on.
func TestRivalProposals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"})
		first := l.next("bank")
		draft := l.first.Next()
		draft.Created = time.Now()
		draft.Rules.MinPrivacy = keys.PrivacySealed
		second := must(keys.NewCharter(draft))(t)
		l.sign(second, "insurer")
		l.propose("bank", first)
		l.propose("insurer", second)
		settle()
		for _, name := range l.names { // all sign both, as if they had not noticed
			for _, file := range l.nodes[name].proposalFiles(t) {
				c := must(readCharter(file))(t)
				l.sign(c, name)
				l.write(file, c)
				settle()
			}
		}
		l.wantVersion(1, l.names...)
		mine, other := l.path("bank", first), l.path("bank", second)
		l.wantLine("bank", fmt.Sprintf("your signature on %s is held back: you have signed another version 2, %s, and two of them cannot both come into force; delete that file first if the others have given it up", other, mine))

		mustDo(t, os.Remove(mine))
		settle()
		l.wantLine("bank", mine+" is gone: the proposal is withdrawn here")
		l.signAt("bank", second)
		settle()
		if l.inForce("telco").Version == 1 { // telco had signed bank's
			mustDo(t, os.Remove(l.path("telco", first)))
			settle()
			l.signAt("telco", second)
			settle()
		}
		l.wantVersion(2, l.names...)
		for _, name := range l.names {
			if c := l.inForce(name); c.Digest() != second.Digest() {
				t.Errorf("%s has the other version 2", name)
			}
		}
	})
}

// path is where a member's node keeps a proposal.
func (l *testNetwork) path(name string, c *keys.SignedCharter) string {
	return filepath.Join(l.nodes[name].dir, proposalsDir, proposalFile(c))
}

// signAt signs a certain proposal on a member's disk.
func (l *testNetwork) signAt(name string, c *keys.SignedCharter) {
	l.t.Helper()
	there := must(readCharter(l.path(name, c)))(l.t)
	l.sign(there, name)
	l.write(l.path(name, c), there)
}

// A version that came by mail is put in the place of the charter file, and goes round from there.
func TestCharterFileReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"})
		l.write(filepath.Join(l.nodes["bank"].dir, "charter.toml"), l.next("bank", "insurer"))
		settle()
		l.wantVersion(2, "bank", "insurer")
		l.wantSettled("bank")
		l.wantSettled("insurer")
	})
}

// What an owner puts in the place of the charter by mistake is not used.
func TestCharterFileSpoilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"})
		path := filepath.Join(l.nodes["bank"].dir, "charter.toml")
		for _, c := range []struct{ text, want string }{
			{string(l.next("bank").Text()), path + ` is not used, version 1 stays in force: charter "credit" is not in force: insurer has not signed it`},
			{"", path + ` is not used, version 1 stays in force: charter: the file is empty`},
		} {
			mustDo(t, os.WriteFile(path, []byte(c.text), 0o600))
			settle()
			l.wantLine("bank", c.want)
		}
		if got := l.nodes["bank"].told(); len(got) > 0 {
			t.Errorf("changed to %v", got)
		}
	})
}

// A version that cannot be stored is not in force; it is as soon as it can.
func TestStorageFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"})
		kept := filepath.Join(l.nodes["bank"].dir, "charter-v1.toml")
		blocked := filepath.Join(l.nodes["bank"].dir, fmt.Sprintf("charter-v1-%s.toml", l.first.Digest().Short()))
		for _, dir := range []string{kept, blocked + "/x"} { // both names are taken by folders
			mustDo(t, os.MkdirAll(dir, 0o700))
		}
		l.propose("bank", l.next("bank", "insurer"))
		settle()
		l.wantVersion(2, "insurer")
		l.wantVersion(1, "bank")
		if len(l.nodes["bank"].told()) > 0 {
			t.Error("a version that is not stored is in force")
		}
		mustDo(t, os.RemoveAll(blocked))
		settle()
		l.wantVersion(2, "bank")
		if c := must(readCharter(blocked))(t); c.Digest() != l.first.Digest() {
			t.Error("version 1 is not kept")
		}
	})
}

// Who is left out is not asked, and the others go on.
func TestRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"})
		draft := must(l.first.WithoutMember("telco", "the key was lost"))(t)
		draft.Created = time.Now()
		c := must(keys.NewCharter(draft))(t)
		l.sign(c, "bank")
		l.propose("bank", c)
		settle()
		if files := l.nodes["telco"].proposalFiles(t); len(files) > 0 {
			t.Errorf("telco was asked to sign: %v", files)
		}
		l.signOnDisk("insurer")
		settle()
		l.wantVersion(2, "bank", "insurer")
		l.wantVersion(1, "telco")
	})
}

// A file that is no proposal is left where it is.
func TestStrayFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"})
		dir := filepath.Join(l.nodes["bank"].dir, proposalsDir)
		stray, unsigned := filepath.Join(dir, "notes.toml"), filepath.Join(dir, "draft.toml")
		mustDo(t, os.WriteFile(stray, []byte("x = 1\n"), 0o600))
		c := l.next()
		l.write(unsigned, c)
		settle()
		l.wantLine("bank", stray+` is left alone: charter: the line "# --- signatures over every byte above this line ---", with which signatures begin, is not there: is it the right file?`)
		l.wantLine("bank", fmt.Sprintf(`%s is left alone: charter "credit": no member has signed version 2 with the hash %s: whoever proposes it signs first`, unsigned, c.Digest().Short()))
		l.sign(c, "bank")
		l.write(unsigned, c)
		settle()
		l.signOnDisk("insurer")
		settle()
		l.wantVersion(2, "bank", "insurer")
		if files := l.nodes["bank"].proposalFiles(t); len(files) != 1 || files[0] != stray {
			t.Errorf("left over: %v", files)
		}
	})
}

// A node that dies right after it has stored a version removes what is left of the proposal.
func TestCrashAfterStoring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"})
		l.kill("bank")
		c := l.next("bank", "insurer")
		l.propose("bank", c)
		l.write(filepath.Join(l.nodes["bank"].dir, "charter.toml"), c)
		l.restart("bank")
		settle()
		l.wantVersion(2, "bank")
		if files := l.nodes["bank"].proposalFiles(t); len(files) > 0 {
			t.Errorf("left over: %v", files)
		}
	})
}
