package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// IDSize is the length of an ID in bytes.
const IDSize = ed25519.PublicKeySize

// idPrefix starts the text form of every ID; it never changes.
const idPrefix = "hanse-id1"

// checkSize is the number of checksum bytes behind an ID or a secret key in text form.
const checkSize = 4

// text32 is the alphabet of IDs and secret keys: lower-case RFC 4648 base32 without padding.
var text32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ID is a member's identity: its Ed25519 public key.
type ID [IDSize]byte

// String returns the text form: the prefix "hanse-id1" and the key with a checksum in base32.
func (id ID) String() string {
	return idPrefix + text32.EncodeToString(withCheck(idPrefix, id[:]))
}

// Short returns enough of the text form to tell members apart on a screen.
func (id ID) Short() string {
	return id.String()[:len(idPrefix)+8]
}

// Compare orders IDs by their bytes: -1, 0 or +1.
func (id ID) Compare(other ID) int {
	return bytes.Compare(id[:], other[:])
}

// IsZero reports whether id is the zero value, which is nobody's identity.
func (id ID) IsZero() bool {
	return id == ID{}
}

// Verify reports whether sig is the owner's signature on message under domain; see PrivateKey.Sign.
// Nothing is ever signed by one of the weak keys, for which anybody can make a signature.
func (id ID) Verify(domain string, message, sig []byte) bool {
	return id.verifySigned(signedBytes(domain, message), sig)
}

// verifySigned is Verify for the bytes that signedBytes made of domain and message.
func (id ID) verifySigned(signed, sig []byte) bool {
	if len(sig) != ed25519.SignatureSize || id.weak() {
		return false
	}
	return ed25519.Verify(id[:], signed, sig)
}

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) {
	return []byte(id.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler; see ParseID for the errors.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseID reads the text form of an ID. The error quotes the input and tells a wrong prefix
// from a wrong length from a typing error.
func ParseID(s string) (ID, error) {
	raw, err := parseChecked("member id", idPrefix, s, IDSize)
	if err != nil {
		return ID{}, err
	}
	return ID(raw), nil
}

// withCheck appends the first bytes of SHA-256(prefix | raw), so that a mistyped key is noticed.
func withCheck(prefix string, raw []byte) []byte {
	sum := sha256.Sum256(append([]byte(prefix), raw...))
	return append(bytes.Clone(raw), sum[:checkSize]...)
}

// parseChecked undoes prefix + base32(withCheck(prefix, raw)) for a raw of size bytes. The error
// quotes s, so s must be public.
func parseChecked(what, prefix, s string, size int) ([]byte, error) {
	raw, fault := decodeChecked(prefix, s, size)
	if fault != "" {
		return nil, fmt.Errorf("malformed %s %q: %s", what, wording.ClipAt(s, 24), fault)
	}
	return raw, nil
}

// decodeChecked is parseChecked for secrets too: the fault it names quotes nothing of s.
func decodeChecked(prefix, s string, size int) (raw []byte, fault string) {
	body, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return nil, fmt.Sprintf("it must start with %q", prefix)
	}
	want := text32.EncodedLen(size + checkSize)
	if len(body) != want {
		return nil, fmt.Sprintf("want %d characters of base32 after the prefix", want)
	}
	raw, err := text32.DecodeString(body)
	if err != nil || len(raw) != size+checkSize {
		return nil, fmt.Sprintf("want %d characters of base32 after the prefix", want)
	}
	if text32.EncodeToString(raw) != body {
		return nil, "its last character is not canonical"
	}
	if subtle.ConstantTimeCompare(withCheck(prefix, raw[:size]), raw) != 1 {
		return nil, "the checksum does not fit, so a character is mistyped"
	}
	return raw[:size], ""
}

// weakKeys are the encodings, without the sign bit, of the points of order 1, 2, 4 and 8 on the
// curve of Ed25519, the two that are not reduced modulo p = 2^255 - 19 included.
// A key of such an order has at most eight multiples, so that a signature that "fits" is found
// by trying: a member with such a key would be bound to what it never signed.
var weakKeys = [...]ID{
	{0},        // y = 0: order 4
	{0: 1},     // y = 1: the neutral element
	fill(0xec), // y = -1: order 2
	fill(0xed), // y = p, the same as 0
	fill(0xee), // y = p + 1, the same as 1
	{ // order 8
		0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
	},
	{ // order 8, the negative
		0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
	},
}

// fill returns first, thirty bytes of 0xff and 0x7f: a number near 2^255 with its lowest byte first.
func fill(first byte) ID {
	var id ID
	for i := range id {
		id[i] = 0xff
	}
	id[0], id[IDSize-1] = first, 0x7f
	return id
}

// weak reports whether id is a key anybody can sign for. IDs are public: no constant time is needed.
func (id ID) weak() bool {
	id[IDSize-1] &= 0x7f
	for _, w := range weakKeys {
		if id == w {
			return true
		}
	}
	return false
}
