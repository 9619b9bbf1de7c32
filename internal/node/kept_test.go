package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// chartered is a charter of two members, with as many versions as wanted, each signed by all.
func chartered(t *testing.T, versions int) []*keys.SignedCharter {
	t.Helper()
	var ids []*keys.PrivateKey
	c := keys.Charter{Name: "kept", Version: 1, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Rules: keys.Rules{MinPrivacy: keys.PrivacyMasked, MinContributors: 2,
			Transports: []string{"tcp"}, Discovery: []string{"addresses"}}}
	for _, name := range []string{"bank", "telco"} {
		k, err := keys.GenerateKey()
		must(t, err)
		ids = append(ids, k)
		c.Members = append(c.Members, keys.Member{Name: name, ID: k.ID()})
	}
	var list []*keys.SignedCharter
	for v := range versions {
		if v > 0 {
			c.Version, c.Parent = v+1, list[v-1].Digest()
		}
		signed, err := keys.NewCharter(c)
		must(t, err)
		for _, k := range ids {
			must(t, signed.Sign(k))
		}
		list = append(list, signed)
	}
	return list
}

func TestChartersThatWereInForceAreKept(t *testing.T) {
	dir, versions := t.TempDir(), chartered(t, 3)
	if c, err := LatestCharter(dir); c != nil || err != nil {
		t.Errorf("in an empty folder: %v, %v", c, err)
	}
	for _, c := range versions {
		must(t, keepCharter(dir, c))
	}
	for _, want := range versions {
		got, err := KeptCharter(dir, want.Digest().String())
		if err != nil || got == nil || got.Digest() != want.Digest() || got.Version != want.Version {
			t.Errorf("version %d: %v, %v", want.Version, got, err)
		}
	}
	if latest, err := LatestCharter(dir); err != nil || latest == nil || latest.Version != 3 {
		t.Errorf("the latest is %v, %v", latest, err)
	}
	if c, err := KeptCharter(dir, keys.HashOf("another").String()); c != nil || err != nil {
		t.Errorf("of another digest: %v, %v", c, err)
	}
	if _, err := KeptCharter(dir, "../identity"); err == nil {
		t.Error("a digest that is a path was taken")
	}
}

// TestSwappedChartersAreRefused: what stands under a digest's name must have that digest, and all signatures.
func TestSwappedChartersAreRefused(t *testing.T) {
	dir, versions := t.TempDir(), chartered(t, 2)
	path := func(c *keys.SignedCharter) string {
		return filepath.Join(dir, chartersDir, c.Digest().String()+charterSuffix)
	}
	must(t, keepCharter(dir, versions[0]))
	text := string(versions[0].Text())
	for name, c := range map[string]struct{ text, want string }{
		"another version":         {string(versions[1].Text()), "its digest is"},
		"a signature less":        {text[:strings.LastIndex(strings.TrimSpace(text), "\n")+1], "has not signed"},
		"a changed name":          {strings.Replace(text, "kept", "swap", 1), "does not fit"},
		"something else entirely": {"nothing", ""},
	} {
		must(t, os.WriteFile(path(versions[0]), []byte(c.text), 0o600))
		got, err := KeptCharter(dir, versions[0].Digest().String())
		if err == nil || got != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestAFolderSaysWhoseItIs(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadIdentity(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in an empty folder: %v", err)
	}
	key, err := keys.GenerateKey()
	must(t, err)
	odd := filepath.Join(dir, "a \"key\" file")
	must(t, keepIdentity(dir, key.ID(), odd))
	if got, err := ReadIdentity(dir); err != nil || got.ID != key.ID().String() || got.KeyFile != odd {
		t.Errorf("%+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"another format": "format = \"hanse-identity-v2\"\nid = \"" + key.ID().String() + "\"\n",
		"no id":          "format = \"hanse-identity-v1\"\n",
		"an unknown key": "format = \"hanse-identity-v1\"\nid = \"" + key.ID().String() + "\"\nmore = 1\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, identityFile), []byte(text), 0o600))
		if got, err := ReadIdentity(dir); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestNodesKeepTheCharterOfTheirJobs, those before and after a change of it.
func TestNodesKeepTheCharterOfTheirJobs(t *testing.T) {
	l := newTestNetwork(t, 2, 20)
	l.start(0)
	dir := l.nodes[0].config.Dir
	if c, err := KeptCharter(dir, l.charter.Digest().String()); err != nil || c == nil {
		t.Fatalf("at the start: %v, %v", c, err)
	}
	next := chartered(t, 1)[0]
	l.nodes[0].SetCharter(inForce(t, next))
	for _, want := range []*keys.SignedCharter{l.charter, next} {
		if c, err := KeptCharter(dir, want.Digest().String()); err != nil || c == nil {
			t.Errorf("charter %q: %v, %v", want.Name, c, err)
		}
	}
	if who, err := ReadIdentity(dir); err != nil || who.ID != l.nodes[0].config.Key.ID().String() {
		t.Errorf("%+v, %v", who, err)
	}
}
