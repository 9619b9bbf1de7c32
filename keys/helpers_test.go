package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew; look at the difference before keeping it")

// keyNamed returns the same key for the same name, always.
func keyNamed(name string) *PrivateKey {
	seed := sha256.Sum256([]byte("test key of " + name))
	return &PrivateKey{key: ed25519.NewKeyFromSeed(seed[:])}
}

// memberNamed returns a member with the key of that name.
func memberNamed(name string, addresses ...string) Member {
	return Member{Name: name, ID: keyNamed(name).ID(), Addresses: addresses}
}

// noon is when the tests' charters are made.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// threeMembers is a charter of three that breaks no rule.
func threeMembers() Charter {
	return Charter{
		Name: "credit", Version: 1, Created: noon,
		Rules: Rules{Discovery: []string{"addresses", "mdns"}},
		Members: []Member{
			memberNamed("bank", "/ip4/10.0.0.7/tcp/4001", "/dns4/bank.example/udp/4001/quic-v1"),
			memberNamed("insurer", "/ip6/2001:db8::7/tcp/4001"),
			memberNamed("telco"),
		},
	}
}

// mustCharter makes a charter signed by the members named.
func mustCharter(t testing.TB, c Charter, signers ...string) *SignedCharter {
	t.Helper()
	s, err := NewCharter(c)
	must(t, err)
	for _, name := range signers {
		must(t, s.Sign(keyNamed(name)))
	}
	return s
}

// wantError compares the whole message.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	if err.Error() != want {
		t.Fatalf("error\n got %q\nwant %q", err, want)
	}
}

// golden compares text with a file in testdata.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, text, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(text, want) {
		t.Fatalf("%s differs from the golden text; got:\n%s", name, text)
	}
}

// resigned returns a document of the domain with the body, signed by the keys named.
func resigned(domain, body string, signers ...string) []byte {
	d := NewDocument(domain, []byte(body))
	for _, name := range signers {
		d.Sign(keyNamed(name))
	}
	return d.Text()
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
