package peer

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"
)

// newCertificate returns the template of a node's TLS certificate. It is valid at all times, so
// that a node whose clock is wrong is let in and told so, rather than cut without a word. Its
// dates prove nothing: what names the node is the signature of its long-lived key on the
// certificate's own key, which is drawn when the node starts and dies with it.
func newCertificate() (*x509.Certificate, error) {
	limit := big.NewInt(1 << 62)
	serial, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	subject, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{SerialNumber: subject.String()}, // RFC 5280 wants an issuer with a name
		NotBefore:    time.Unix(0, 0).UTC(),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // what RFC 5280 gives for "never"
	}, nil
}
