package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// inviting starts a member that invites one key, and answers with who asked.
func inviting(t *testing.T, ks []*keys.PrivateKey, guest keys.ID) *Host {
	t.Helper()
	cfg := config(ks[0], signed(t, draft(ks), ks))
	cfg.Invited = func(id keys.ID) bool { return id == guest }
	h := start(t, cfg)
	h.Handle(func(_ context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
		return fmt.Appendf(nil, "%s %s %s", from, method, request), nil
	})
	return h
}

// TestJoin has an invited newcomer call, with and without the member's identity in the address.
func TestJoin(t *testing.T) {
	ks := newKeys(t, 3)
	guest := ks[2]
	h := inviting(t, ks[:2], guest.ID())
	for _, address := range []string{at(t, h), h.Addresses()[0]} {
		ctx := within(t)
		j, err := DialJoin(ctx, guest, address, nil)
		mustDo(t, err)
		if j.Peer() != h.Self() {
			t.Errorf("connected to %s, want %s", j.Peer(), h.Self())
		}
		got, err := j.Call(ctx, "join/card", []byte("my card"))
		if want := guest.ID().String() + " join/card my card"; err != nil || string(got) != want {
			t.Errorf("answer %q, %v, want %q", got, err, want)
		}
		_, err = j.Call(ctx, "job/propose", nil)
		remote, ok := errors.AsType[*protocol.RemoteError](err)
		if !ok || remote.Fault.Code != fault.CodeInvitee {
			t.Errorf("another method gives %v, want that an invitee may not", err)
		}
		// Nor is there a way around calls.
		s, err := openStream(ctx, j.link.conn, protoSession, make([]byte, 32))
		mustDo(t, err)
		if err := readProtocol(s, protoSession); err == nil {
			var answer [1]byte
			if _, err := s.Read(answer[:]); err == nil && answer[0] == 1 { // in, as doc.go says
				t.Error("a newcomer opened a session")
			}
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if _, err := j.Call(ctx, "join/card", nil); err == nil {
			t.Error("a call after close has no error")
		}
	}
}

// TestJoinRefused dials as somebody who is not invited, or was revoked, and where nobody is.
func TestJoinRefused(t *testing.T) {
	ks := newKeys(t, 3)
	h := inviting(t, ks[:2], keys.ID{})
	empty := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", freePort(t))
	_, identity, _ := strings.Cut(h.Addresses()[0], "/p2p/")
	cutText := fmt.Sprintf("%s closed the connection right after the TLS handshake: it does not know the key %s, or the invitation for it has expired by the clock there; ask a member for an invitation", h.Self().Short(), ks[2].ID())
	for _, test := range []struct{ address, want string }{
		{at(t, h), cutText},
		{h.Addresses()[0], cutText},
		{empty, fmt.Sprintf("cannot learn who answers at %s: connection refused: nothing listens there", empty)},
		{empty + "/p2p/" + identity, fmt.Sprintf("cannot reach %s: %s: connection refused: nothing listens there", h.Self().Short(), empty)},
		{"bank.example:4001", `"bank.example:4001" is no multiaddr: want the like of /ip4/192.0.2.7/tcp/4001`},
		{"/ip4/127.0.0.1/udp/1/quic-v1", "cannot learn who answers at /ip4/127.0.0.1/udp/1/quic-v1: a QUIC address must name the member: add /p2p/ and its identity"},
	} {
		j, err := DialJoin(within(t), ks[2], test.address, nil)
		if err == nil {
			j.Close()
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: error\n%v, want\n%s", test.address, err, test.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, address := range []string{at(t, h), h.Addresses()[0]} {
		if _, err := DialJoin(ended, ks[2], address, nil); err == nil {
			t.Error("an ended context connects")
		}
	}
}
