package peer

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/peer/discovery"
)

// awaitStatus waits until a host's first member is as wanted.
func awaitStatus(t *testing.T, h *Host, what string, wanted func(PeerStatus) bool) PeerStatus {
	t.Helper()
	ctx := within(t)
	for {
		change := h.Watch()
		if s := h.Status(); len(s) > 0 && wanted(s[0]) {
			return s[0]
		}
		select {
		case <-change:
		case <-ctx.Done():
			t.Fatalf("%s never came: %+v", what, h.Status())
		}
	}
}

// TestProgramIsTold: members hear which version each other's program is, cut where it is too long, and how each came
// to the other.
func TestProgramIsTold(t *testing.T) {
	long := strings.Repeat("v", 2*maxProgram)
	programs := []string{"v1.2.3", long}
	hosts := federation(t, 2, func(c *Config) { c.Program, programs = programs[0], programs[1:] })
	said := func(s PeerStatus) bool { return s.Program != "" }
	first := awaitStatus(t, hosts[0], "the second's version", said)
	second := awaitStatus(t, hosts[1], "the first's version", said)
	if first.Program != long[:maxProgram] || second.Program != "v1.2.3" {
		t.Errorf("the versions that came are %q and %q", first.Program, second.Program)
	}
	if first.Links < 1 || second.Links < 1 || !first.Kept || first.Since.IsZero() {
		t.Errorf("%+v\n%+v", first, second)
	}
	for _, s := range []PeerStatus{first, second} {
		if s.Source != discovery.SourceFound && s.Source != SourceDialled {
			t.Errorf("the address %s is said to come from %q", s.Address, s.Source)
		}
	}
}
