package peer

import (
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
)

// TestExamineKnowsCauses: a closed port, another member's port and a port of no node are told apart.
func TestExamineKnowsCauses(t *testing.T) {
	ks := newKeys(t, 4)
	closed := freePort(t)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	defer mute.Close()
	go func() { // nothing that speaks as a node does
		for {
			conn, err := mute.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	c := draft(ks)
	other, err := New(config(ks[1], signed(t, draft(ks), ks)))
	mustDo(t, err)
	run(t, other)
	at := func(port int) []string { return []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port)} }
	c.Members[2].Addresses = at(closed)
	c.Members[3].Addresses = at(mute.Addr().(*net.TCPAddr).Port)
	var port int
	if _, err := fmt.Sscanf(other.Addresses()[0], "/ip4/127.0.0.1/tcp/%d/", &port); err != nil {
		t.Fatal(err)
	}
	c.Members[1].Addresses = at(port)
	c.Members[1].ID, c.Members[0].ID = ks[0].ID(), ks[1].ID() // the first's address leads to the second's node
	c.Members[0], c.Members[1] = c.Members[1], c.Members[0]
	self, err := keys.GenerateKey()
	mustDo(t, err)
	c.Members = append(c.Members, keys.Member{Name: "self", ID: self.ID()})
	h := start(t, config(self, signed(t, c, append(ks, self))))
	for id, want := range map[keys.ID]Cause{ks[0].ID(): CauseOtherKey, ks[2].ID(): CauseRefused, ks[3].ID(): CauseClosed} {
		e, err := h.Examine(within(t), id)
		if err != nil || len(e.Attempts) != 1 || e.Attempts[0].Cause != want || e.Full ||
			len(e.Addresses) != 1 || e.Addresses[0].Source != "the charter" || !e.Addresses[0].Dialled {
			t.Errorf("want %q: %+v, %v", want, e, err)
		}
		if want == CauseOtherKey && e.Attempts[0].Found != ks[1].ID() {
			t.Errorf("the key that was found is %v", e.Attempts[0].Found)
		}
	}
	if _, err := h.Examine(within(t), keys.ID{1}); err == nil {
		t.Error("one who is no member is examined")
	}
	reached, err := h.Reaches(within(t), ks[0].ID())
	if err != nil || len(reached) != 1 || reached[0].Cause != "" {
		t.Errorf("an open port: %+v, %v", reached, err)
	}
	if reached, _ = h.Reaches(within(t), ks[2].ID()); len(reached) != 1 || reached[0].Cause != CauseRefused {
		t.Errorf("a closed port: %+v", reached)
	}
}

// TestReachesAround: a member whose name in the charter leads to a machine around this one learns nothing of it,
// whether its port is open or closed; a member of this machine does.
func TestReachesAround(t *testing.T) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	defer open.Close()
	ks := newKeys(t, 2)
	c := draft(ks)
	for _, port := range []int{open.Addr().(*net.TCPAddr).Port, freePort(t)} {
		c.Members[0].Addresses = append(c.Members[0].Addresses, fmt.Sprintf("/dns4/localhost/tcp/%d", port))
	}
	for listen, want := range map[string][]Cause{"/ip4/0.0.0.0/tcp/0": {CauseAround, CauseAround},
		"/ip4/127.0.0.1/tcp/0": {"", CauseRefused}} {
		config := config(ks[1], signed(t, c, ks))
		config.Listen = []string{listen}
		h, err := New(config)
		mustDo(t, err)
		tried, err := h.Reaches(within(t), ks[0].ID())
		if err != nil || len(tried) != 2 || tried[0].Cause != want[0] || tried[1].Cause != want[1] {
			t.Errorf("of a node at %s: %+v, %v; want %q", listen, tried, err, want)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	for address, far := range map[string]discovery.Reach{
		"127.0.0.1:1": discovery.OnMachine, "0.0.0.0:1": discovery.Nowhere, "192.0.2.1:1": discovery.Anywhere,
		"[::ffff:10.0.0.7]:1": discovery.InNetwork, "[fe80::1%lo]:1": discovery.InNetwork,
	} {
		for _, over := range []discovery.Reach{discovery.OnMachine, discovery.InNetwork, discovery.Anywhere} {
			if err := reachesAsFar(address, over); (err == nil) != (over <= far) {
				t.Errorf("%s over a connection of reach %d: %v", address, over, err)
			}
		}
	}
}

// TestSegments: the system's counts of a link are found, and forgotten with it.
func TestSegments(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not count segments for us")
	}
	hosts := federation(t, 2)
	meetAll(t, hosts[0], hosts[1])
	for i, h := range hosts {
		s, ok := h.Segments(hosts[1-i].Self())
		if !ok || s.Sent == 0 {
			t.Errorf("host %d: %+v, %v", i, s, ok)
		}
	}
	if _, ok := hosts[0].Segments(keys.ID{}); ok {
		t.Error("there is a connection to nobody")
	}
	hosts[1].Close()
	awaitStatus(t, hosts[0], "the loss", func(s PeerStatus) bool { return !s.Connected })
	if _, ok := hosts[0].Segments(hosts[1].Self()); ok {
		t.Error("a lost link has segments")
	}
}
