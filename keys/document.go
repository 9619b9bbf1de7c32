package keys

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxDocument is the longest text of a document, in bytes.
const MaxDocument = 4 << 20

// Document is a text and its signatures: what cards, invitations, charters, jobs and contracts
// have in common. Its text form is TOML as a whole:
//
//	<body>
//	# --- signatures over every byte above this line ---
//	[signatures]
//	"hanse-id1…" = "base64 of the 64-byte Ed25519 signature"
//
// A signature is PrivateKey.Sign(Domain, Body). The domain names kind and version, so that a
// signature on one kind of text never counts for another.
//
// Evolution: the line between body and signatures, the way signatures are written and what they
// cover never change. Everything else belongs to the body and its format name.
type Document struct {
	Domain     string // "hanse charter v1"
	Body       []byte // UTF-8, printable, ends in a line end; never changed once signed
	Signatures map[ID][]byte

	name Hash // of a document without its text; see Named
}

// NewDocument returns an unsigned document. A line end is added to a body without one. The body
// must be printable and must not contain the line that ends it: ParseDocument refuses both.
func NewDocument(domain string, body []byte) *Document {
	body = bytes.Clone(body)
	if !bytes.HasSuffix(body, []byte("\n")) {
		body = append(body, '\n')
	}
	return &Document{Domain: domain, Body: body, Signatures: map[ID][]byte{}}
}

// Text returns the canonical text form: the signatures are in the order of the IDs.
func (d *Document) Text() []byte {
	var b bytes.Buffer
	b.Write(d.Body)
	b.WriteString(separator + signaturesHeader)
	for _, id := range slices.SortedFunc(maps.Keys(d.Signatures), ID.Compare) {
		fmt.Fprintf(&b, "%q = %q\n", id, base64.StdEncoding.EncodeToString(d.Signatures[id]))
	}
	return b.Bytes()
}

// Hash names the body. Signatures are not part of it: a text has one name while they come in.
func (d *Document) Hash() Hash {
	if d.Body == nil {
		return d.name
	}
	return HashOf(d.Domain, d.Body)
}

// Named returns a document that has the name of this one, and neither its text nor signatures: it proves nothing.
func (d *Document) Named() *Document { return &Document{Domain: d.Domain, name: d.Hash()} }

// Sign adds the signature of k. Signing again changes nothing.
func (d *Document) Sign(k *PrivateKey) { d.put(k.ID(), k.Sign(d.Domain, d.Body)) }

// AddSignature adds a signature made elsewhere, after verifying it.
func (d *Document) AddSignature(id ID, sig []byte) error {
	if !id.Verify(d.Domain, d.Body, sig) {
		return d.misfit(id.Short())
	}
	d.put(id, bytes.Clone(sig))
	return nil
}

// put keeps a signature known to be good.
func (d *Document) put(id ID, sig []byte) {
	if d.Signatures == nil {
		d.Signatures = map[ID][]byte{}
	}
	d.Signatures[id] = sig
}

// SignedBy reports whether there is a signature of id. Those that ParseDocument, Sign and
// AddSignature put there are good.
func (d *Document) SignedBy(id ID) bool { return len(d.Signatures[id]) == ed25519.SignatureSize }

// Missing returns those of want that have not signed, in the order of want.
func (d *Document) Missing(want []ID) []ID {
	var missing []ID
	for _, id := range want {
		if !d.SignedBy(id) {
			missing = append(missing, id)
		}
	}
	return missing
}

// verify holds every signature against the body; who names a signer in the error.
func (d *Document) verify(who func(ID) string) error {
	signed := signedBytes(d.Domain, d.Body)
	for _, id := range slices.SortedFunc(maps.Keys(d.Signatures), ID.Compare) {
		if !id.verifySigned(signed, d.Signatures[id]) {
			return d.misfit(who(id))
		}
	}
	return nil
}

// misfit is the error for a signature that does not verify.
func (d *Document) misfit(who string) error {
	return fmt.Errorf("%s: the signature of %s does not fit the text above it: one of the two was changed, or it was "+
		"made for another text", kindOf(d.Domain), who)
}

// kindOf gets the word "charter" out of the domain "hanse charter v1".
func kindOf(domain string) string {
	kind := strings.TrimPrefix(domain, "hanse ")
	if i := strings.LastIndex(kind, " v"); i > 0 {
		kind = kind[:i]
	}
	return kind
}
