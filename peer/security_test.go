package peer

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/sec"
)

// TestHandshakeAtAnyTime makes the TLS handshake between nodes of this year in a bubble where the
// clock says 2000, and in one where it says 2150. The nodes' certificates hold from 1970 on.
func TestHandshakeAtAnyTime(t *testing.T) {
	ks := newKeys(t, 2)
	var sides [2]*security
	for i, k := range ks {
		secret, err := secretKey(k)
		mustDo(t, err)
		if sides[i], err = newSecurity(secret, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, wait := range []time.Duration{0, 150 * 365 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(wait)
			dialler, acceptor := net.Pipe()
			done := make(chan error, 1)
			go func() {
				c, err := sides[1].SecureInbound(t.Context(), acceptor, "")
				if err == nil {
					_, err = c.Write([]byte("hello"))
				}
				done <- err
			}()
			c, err := sides[0].SecureOutbound(t.Context(), dialler, sides[1].self)
			if err != nil {
				t.Fatalf("in %d: %v", time.Now().Year(), err)
			}
			var b [5]byte
			if _, err := c.Read(b[:]); err != nil || c.RemotePeer() != sides[1].self || c.LocalPeer() != sides[0].self {
				t.Errorf("in %d: %v, with %s", time.Now().Year(), err, c.RemotePeer())
			}
			if err := <-done; err != nil {
				t.Errorf("in %d, the acceptor: %v", time.Now().Year(), err)
			}
			dialler.Close()
			acceptor.Close()
		})
	}
	certificate, err := newCertificate()
	mustDo(t, err)
	if certificate.NotBefore.Unix() != 0 || certificate.NotAfter.Year() != 9999 {
		t.Errorf("valid from %v to %v", certificate.NotBefore, certificate.NotAfter)
	}
}

// TestWrongKeyInTheHandshake dials a listener for another key than it has.
func TestWrongKeyInTheHandshake(t *testing.T) {
	ks := newKeys(t, 3)
	var sides [3]*security
	for i, k := range ks {
		secret, err := secretKey(k)
		mustDo(t, err)
		if sides[i], err = newSecurity(secret, nil); err != nil {
			t.Fatal(err)
		}
	}
	dialler, acceptor := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := sides[1].SecureInbound(t.Context(), acceptor, "")
		done <- err
	}()
	_, err := sides[0].SecureOutbound(t.Context(), dialler, sides[2].self)
	if wrong, ok := errors.AsType[sec.ErrPeerIDMismatch](err); !ok || wrong.Actual != sides[1].self {
		t.Errorf("error %v, want another identity", err)
	}
	if err := <-done; err == nil {
		t.Error("the acceptor had no error")
	}
}
