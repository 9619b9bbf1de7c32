package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	libtls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/multiformats/go-multistream"

	"github.com/hanse-project/hanse/keys"
)

// datedNode listens as a node did that gave its certificate the hour of its start, and whose
// clock is wrong by so much.
func datedNode(t *testing.T, k *keys.PrivateKey, by time.Duration) (address string) {
	t.Helper()
	template, err := newCertificate()
	mustDo(t, err)
	template.NotBefore = time.Now().Add(by - time.Hour)
	template.NotAfter = template.NotBefore.Add(2 * time.Hour)
	secret, err := secretKey(k)
	mustDo(t, err)
	identity, err := libtls.NewIdentity(secret, libtls.WithCertTemplate(template))
	mustDo(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	served := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		<-served
	})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mux := multistream.NewMultistreamMuxer[string]()
			mux.AddHandler(libtls.ID, nil)
			conn.SetDeadline(time.Now().Add(patience))
			if _, _, err := mux.Negotiate(conn); err == nil {
				config, _ := identity.ConfigForPeer("")
				tls.Server(conn, config).HandshakeContext(context.Background())
			}
			conn.Close()
		}
	}()
	return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port)
}

// TestDatedCertificate dials nodes of an older program whose clocks are wrong: the error names
// the clocks, and neither key nor invitation.
func TestDatedCertificate(t *testing.T) {
	ks := newKeys(t, 2)
	const cause = "its TLS certificate is not valid at the time that this machine's clock says: the two clocks differ, " +
		"and the program there is older than this one: set the clock that is wrong " +
		"(timedatectl status shows the time and whether it is kept), and update that program"
	for _, by := range []time.Duration{2 * day, -2 * day} {
		address := datedNode(t, ks[1], by)
		h, err := New(config(ks[0], signed(t, draft(ks), ks)))
		mustDo(t, err)
		point(t, h, ks[1].ID(), address)
		run(t, h)
		wantTrouble(t, h, ks[1].ID(), fmt.Sprintf("cannot reach insurer: %s: %s", address, cause))
		_, err = DialJoin(within(t), ks[0], address, nil)
		if want := fmt.Sprintf("cannot learn who answers at %s: %s", address, cause); err == nil || err.Error() != want {
			t.Errorf("a newcomer reads %v, want %s", err, want)
		}
	}
}

// TestRefusedCertificate explains what a node of an older program answers whose clock is wrong.
func TestRefusedCertificate(t *testing.T) {
	server, client := net.Pipe()
	secret, err := secretKey(newKeys(t, 1)[0])
	mustDo(t, err)
	s, err := newSecurity(secret, nil)
	mustDo(t, err)
	go func() {
		config, _ := s.identity.ConfigForPeer("")
		config.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error { return errors.New("the dates") }
		tls.Server(server, config).HandshakeContext(t.Context())
	}()
	c, err := s.SecureOutbound(t.Context(), client, "")
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if err == nil || !refusesCertificate(err) {
		t.Fatalf("error %v, want a refused certificate", err)
	}
	want := "telco refused this node's TLS certificate: its clock may be far off, or its program another version: " +
		"compare the clocks of both machines (timedatectl status shows the time and whether it is kept) " +
		"and the versions of hanse on them"
	if got := (target{name: "telco"}).explainCertificate().Error(); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
