package peer

import (
	"strings"
	"testing"
)

// TestHeardWhenTheClockIsSet keeps silence apart from the time of day: what was heard last is
// counted by a clock that nobody sets.
func TestHeardWhenTheClockIsSet(t *testing.T) {
	m := newMeter()
	p, err := peerID(newKeys(t, 1)[0].ID())
	mustDo(t, err)
	m.LogRecvMessageStream(1, protoHello, p)
	if last := m.of(p).lastHeard(); !strings.Contains(last.String(), " m=+") {
		t.Errorf("%v has no reading of the monotonic clock", last)
	}
}
