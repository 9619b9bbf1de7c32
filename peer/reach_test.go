package peer

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/peer/discovery"
)

// TestAnnounced tells nobody an address that means another machine where they are.
func TestAnnounced(t *testing.T) {
	ks := newKeys(t, 2)
	cfg := config(ks[0], signed(t, draft(ks), ks))
	cfg.Listen = []string{"/ip4/0.0.0.0/tcp/0"}
	h := start(t, cfg)
	for reach, never := range map[discovery.Reach][]discovery.Reach{
		discovery.InNetwork: {discovery.OnMachine},
		discovery.Anywhere:  {discovery.OnMachine, discovery.InNetwork},
	} {
		for _, a := range h.announcer.announced(reach) {
			if slices.Contains(never, discovery.ReachOf(a)) {
				t.Errorf("%s is announced to those at reach %d", a, reach)
			}
		}
	}
	onMachine := h.announcer.announced(discovery.OnMachine)
	if !slices.ContainsFunc(h.Addresses(), func(a string) bool { return strings.HasPrefix(a, "/ip4/127.0.0.1/") }) ||
		len(onMachine) != len(h.Addresses()) {
		t.Errorf("to those on this machine only %v of %v is announced", onMachine, h.Addresses())
	}
}

// TestNeverToItself gives a host a charter in which another member is at the host's own address, as a charter of
// loopback addresses on two machines does: it does not dial itself.
func TestNeverToItself(t *testing.T) {
	ks := newKeys(t, 2)
	h := start(t, config(ks[0], signed(t, draft(ks), ks)))
	own := h.Addresses()[0]
	point(t, h, ks[1].ID(), own)
	if got := h.addresses.Candidates(ks[1].ID()); len(got) != 0 {
		t.Errorf("the host would dial itself at %v", got)
	}
}
