package protocol_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// grouped is party 0 of three with groups 1 and 2 over its links, and what the two others send with: their links
// within group 1, group 2 and a group 3 that party 0 is not in, and without a group.
type grouped struct {
	*testNetwork
	groups *protocol.Groups
	own    [3]*protocol.Links    // by group
	others [3][4]*protocol.Links // by party and group
}

// newGrouped opens a session for three.
func newGrouped(t *testing.T) *grouped {
	t.Helper()
	g := &grouped{testNetwork: newTestNetwork(t, "bank", "shop", "port")}
	g.meshes = make([]protocol.Mesh, 3)
	base := make([]*protocol.Links, 3)
	g.Must(t, func(i int) (err error) {
		var config protocol.SessionConfig
		if g.meshes[i], config, err = g.Join(t.Context(), testnet.Meeting{}, i); err != nil {
			return err
		}
		base[i], err = protocol.NewLinks(g.meshes[i], config, nil)
		return err
	})
	box := inbox.New(g.meshes[0], g.IDs[1:])
	t.Cleanup(func() { box.Close() })
	g.groups = base[0].NewGroups(box)
	within := func(l *protocol.Links, groups *protocol.Groups, number uint16) *protocol.Links {
		links, err := groups.Links(number)
		must(t, err)
		return links
	}
	for number := range uint16(3) {
		if number > 0 {
			g.own[number] = within(base[0], g.groups, number)
		}
	}
	for i := 1; i < 3; i++ {
		groups := base[i].NewGroups(nil) // they only send
		g.others[i] = [4]*protocol.Links{base[i], within(base[i], groups, 1), within(base[i], groups, 2),
			within(base[i], groups, 3)}
	}
	return g
}

// send has a party send a message in a group.
func (g *grouped) send(t *testing.T, from, group int, kind string, operation uint64) {
	t.Helper()
	m := protocol.Message{Kind: kind, Class: contract.ClassControl, Operation: operation}
	must(t, g.others[from][group].Send(t.Context(), 0, m))
}

// TestMessagesAreSortedByGroup: what a party has sent in one group waits while another is served, and numbers are those
// of the group.
func TestMessagesAreSortedByGroup(t *testing.T) {
	g := newGrouped(t)
	g.send(t, 1, 2, "early", 7)
	g.send(t, 1, 1, "first", 1)
	g.send(t, 1, 2, "later", 8)
	g.send(t, 2, 1, "second", 2)
	for _, c := range []struct {
		group, from int
		kind        string
		operation   uint64
	}{{1, 2, "second", 2}, {1, 1, "first", 1}, {2, 1, "early", 7}, {2, 1, "later", 8}} {
		m, err := g.own[c.group].Receive(t.Context(), c.from, c.kind, nil)
		if err != nil || m.Kind != c.kind || m.Operation != c.operation || int(m.Group) != c.group {
			t.Errorf("group %d gives %+v, error %v, want %s", c.group, m, err, c.kind)
		}
	}
	g.send(t, 2, 1, "third", 3)
	if a, err := g.groups.Arrivals(1).Next(t.Context()); err != nil || a.From != g.IDs[2] || a.Message.Kind != "third" {
		t.Errorf("group 1 gives %+v, error %v, want third", a, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.own[2].Receive(ended, 1, "more", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that the wait was ended", err)
	}
}

// TestDeviationsInGroups end a party's part in all of them.
func TestDeviationsInGroups(t *testing.T) {
	for name, c := range map[string]struct {
		send func(g *grouped)
		want string
	}{
		"group of others": {func(g *grouped) { g.send(t, 1, 3, "x", 1) },
			"it is of group 3 of the servers, of which this one is not"},
		"no group": {func(g *grouped) { g.send(t, 1, 0, "x", 1) }, "it is of no group of the servers, and all messages between these are"},
		"flood": {func(g *grouped) {
			var sending sync.WaitGroup
			sending.Go(func() {
				m := protocol.Message{Kind: "x", Class: contract.ClassControl}
				for g.others[1][2].Send(t.Context(), 0, m) == nil { // nobody takes all of it
				}
			})
			t.Cleanup(sending.Wait)
		}, "it sends ahead of its turn: 256 messages of group 2 were not asked for yet"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrouped(t)
			c.send(g)
			g.send(t, 2, 1, "honest", 1)
			for _, group := range []int{1, 2} {
				_, err := g.own[group].Receive(t.Context(), 1, "y", nil)
				for group == 2 && err == nil { // what came before it deviated
					_, err = g.own[group].Receive(t.Context(), 1, "y", nil)
				}
				if !errors.Is(err, contract.ErrDeviation) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("group %d: error is %v, want %s", group, err, c.want)
				}
			}
			if m, err := g.own[1].Receive(t.Context(), 2, "honest", nil); err != nil || m.Kind != "honest" {
				t.Errorf("the honest party's message is %+v, error %v", m, err)
			}
		})
	}
}

// TestMessagesOfGroupsHaveNoPlaceElsewhere: a party that is in no group refuses them.
func TestMessagesOfGroupsHaveNoPlaceElsewhere(t *testing.T) {
	g := newGrouped(t)
	m := protocol.Message{Kind: "x", Class: contract.ClassControl, Operation: 1}
	must(t, g.others[1][1].Send(t.Context(), 2, m))
	_, err := g.others[2][0].Receive(t.Context(), 1, "x", nil)
	if !errors.Is(err, contract.ErrDeviation) || !strings.Contains(err.Error(), "it is of group 1 of the servers, in which it has no place here") {
		t.Errorf("error is %v", err)
	}
}

// TestAPartyThatIsGoneIsGoneInAllGroups.
func TestAPartyThatIsGoneIsGoneInAllGroups(t *testing.T) {
	g := newGrouped(t)
	g.meshes[1].Close()
	for _, group := range []int{2, 1} {
		if _, err := g.own[group].Receive(t.Context(), 1, "x", nil); err == nil || errors.Is(err, contract.ErrDeviation) {
			t.Errorf("group %d: error is %v, want that the link is broken", group, err)
		}
	}
	if a, err := g.groups.Arrivals(1).Next(t.Context()); err != nil || a.Err == nil || a.From != g.IDs[1] {
		t.Errorf("the server of group 1 hears %+v, error %v", a, err)
	}
}

// TestAFailedSendEndsAPartysPartInAllGroups: its number is spent, so that whatever followed would come out of order,
// and an honest party would be blamed for it.
func TestAFailedSendEndsAPartysPartInAllGroups(t *testing.T) {
	g := newGrouped(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	m := protocol.Message{Kind: "x", Class: contract.ClassControl, Operation: 1}
	if err := g.others[1][1].Send(ended, 0, m); err == nil {
		t.Fatal("a send whose time is over has succeeded")
	}
	if err := g.others[1][2].Send(t.Context(), 0, m); err == nil || errors.Is(err, contract.ErrDeviation) {
		t.Errorf("a send in another group gives error %v, want that the link is given up", err)
	}
	g.send(t, 2, 1, "y", 1)
	if m, err := g.own[1].Receive(t.Context(), 2, "y", nil); err != nil || m.Kind != "y" {
		t.Errorf("the other party's message is %+v, error %v", m, err)
	}
}
