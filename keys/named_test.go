package keys

import "testing"

// TestNamed: a document without its text has the name of the whole, and bears no signature.
func TestNamed(t *testing.T) {
	d := NewDocument(testDomain, []byte("a = 1\n"))
	k, err := GenerateKey()
	must(t, err)
	d.Sign(k)
	short := d.Named()
	if short.Hash() != d.Hash() || short.Named().Hash() != d.Hash() || short.SignedBy(k.ID()) || len(short.Body) > 0 {
		t.Errorf("the short document is %+v, of %s", short, d.Hash().Short())
	}
	if _, err := ParseDocument(testDomain, short.Text()); err == nil {
		t.Error("the text of a document that has none is read")
	}
}
