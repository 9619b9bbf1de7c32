package peer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// TestSkew connects two versions of one charter, for charter calls only, and brings them together.
func TestSkew(t *testing.T) {
	ks := newKeys(t, 3)
	one := signed(t, draft(ks[:2]), ks)
	two := signed(t, one.WithMember(keys.Card{Name: "retailer", ID: ks[2].ID()}), ks)
	insurer, bank := versions(t, ks[1], two, ks[0], one)
	for _, h := range []*Host{bank, insurer} {
		h.Handle(answerHello)
	}
	meetAll(t, bank, insurer)
	ctx := within(t)
	const skew = "insurer is on version 2 of the charter and bank on version 1: no data until both have the same"
	if s := statusOf(t, bank, insurer.Self()); s.Trouble != skew {
		t.Errorf("trouble %q, want %q", s.Trouble, skew)
	}
	if _, err := bank.Call(ctx, insurer.Self(), "charter/latest", nil); err != nil {
		t.Errorf("a charter call between versions: %v", err)
	}
	_, err := bank.Call(ctx, insurer.Self(), "job/propose", nil)
	if gone, ok := errors.AsType[*protocol.GoneError](err); !ok || gone.Reason != skew {
		t.Errorf("a data call between versions gives %v, want %q", err, skew)
	}
	// The other side refuses as well, should the caller not know better.
	l, err := bank.members.awaitLink(ctx, bank.life, insurer.Self(), levelCharter)
	mustDo(t, err)
	_, err = call(ctx, l, "job/propose", nil)
	if remote, ok := errors.AsType[*protocol.RemoteError](err); !ok ||
		!strings.Contains(remote.Fault.String(), "no data until both have the same") {
		t.Errorf("a forced data call between versions gives %v", err)
	}
	mustDo(t, bank.SetCharter(two))
	well := func(s PeerStatus) bool { return s.Connected && s.Trouble == "" }
	until(t, bank, insurer.Self(), "free", well)
	until(t, insurer, bank.Self(), "free", well)
	openAll(t, protocol.SessionID{1}, bank, insurer)
	if names := []string{bank.Status()[0].Name, bank.Status()[1].Name}; !slices.Equal(names,
		[]string{"insurer", "retailer"}) {
		t.Errorf("the members are %q now", names)
	}
}

// TestSetCharterDisconnects removes a member that is connected; a session of the others goes on.
func TestSetCharterDisconnects(t *testing.T) {
	hosts := federation(t, 3)
	bank, insurer, retailer := hosts[0], hosts[1], hosts[2]
	meetAll(t, hosts...)
	meshes := openAll(t, protocol.SessionID{1}, bank, insurer)
	now := bank.cfg.Charter
	next, err := now.WithoutMember("retailer", "sold to a rival")
	mustDo(t, err)
	after := signed(t, next, []*keys.PrivateKey{bank.cfg.Key, insurer.cfg.Key})
	mustDo(t, bank.SetCharter(after))
	reason := "retailer was revoked, as version 2 of its charter says"
	gone := until(t, retailer, bank.Self(), "disconnected", func(s PeerStatus) bool { return !s.Connected })
	if gone.Trouble != reason && !strings.HasSuffix(gone.Trouble, reason) {
		t.Errorf("retailer's reason is %q, want %q", gone.Trouble, reason)
	}
	ctx := within(t)
	mustDo(t, meshes[0].Send(ctx, insurer.Self(), []byte("still here")))
	if got, err := meshes[1].Receive(ctx, bank.Self(), nil); err != nil || string(got) != "still here" {
		t.Errorf("received %q, %v", got, err)
	}
	for _, bad := range []struct {
		c    *keys.SignedCharter
		want string
	}{
		{now, fmt.Sprintf("charter \"credit\" version 1 cannot follow charter \"credit\" version 2 (%s): want the same name and a later version", after.Digest().Short())},
		{mustNew(t, dated(after.Next())), "charter \"credit\" is not in force: bank and insurer have not signed it"},
	} {
		if err := bank.SetCharter(bad.c); err == nil || err.Error() != bad.want {
			t.Errorf("error %v, want %q", err, bad.want)
		}
	}
	out := fmt.Sprintf("charter \"credit\" version 2 leaves this node's key %s out: it ends its membership, so close the host instead", retailer.Self())
	if err := retailer.SetCharter(after); err == nil || err.Error() != out {
		t.Errorf("error %v, want %q", err, out)
	}
}

// mustNew makes a charter that nobody has signed.
func mustNew(t *testing.T, c keys.Charter) *keys.SignedCharter {
	t.Helper()
	s, err := keys.NewCharter(c)
	mustDo(t, err)
	return s
}

// TestNewcomerBecomesMember has a newcomer run under the new charter while a member is on the
// old one: it is a guest there until the member follows.
func TestNewcomerBecomesMember(t *testing.T) {
	ks := newKeys(t, 3)
	one := signed(t, draft(ks[1:]), ks)
	two := signed(t, one.WithMember(keys.Card{Name: "newcomer", ID: ks[0].ID()}), ks)
	cfg := config(ks[1], one)
	cfg.Invited = func(id keys.ID) bool { return id == ks[0].ID() }
	host := start(t, cfg)
	host.Handle(answerHello)
	newcomer, err := New(config(ks[0], two))
	mustDo(t, err)
	introduce(t, newcomer, host)
	run(t, newcomer)
	until(t, newcomer, host.Self(), "connected", connected)
	ctx := within(t)
	if _, err := newcomer.Call(ctx, host.Self(), "join/done", nil); err != nil {
		t.Errorf("a join call: %v", err)
	}
	_, err = newcomer.Call(ctx, host.Self(), "charter/latest", nil)
	if _, ok := errors.AsType[*protocol.RemoteError](err); !ok {
		t.Errorf("a charter call of a newcomer: %v", err)
	}
	mustDo(t, host.SetCharter(two))
	well := func(s PeerStatus) bool { return s.Connected && s.Trouble == "" }
	until(t, newcomer, host.Self(), "at one", well)
	until(t, host, newcomer.Self(), "at one", well)
	openAll(t, protocol.SessionID{1}, newcomer, host)
}
