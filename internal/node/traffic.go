package node

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// traffic counts the payloads of all jobs by member and class.
type traffic struct {
	mu sync.Mutex
	by map[flow]*TrafficStatus
}

// flow is what passes between this node and one member in one class.
type flow struct {
	peer  keys.ID
	class contract.Class
}

// add counts what one entry of a transcript says.
func (t *traffic) add(peer keys.ID, e protocol.Entry, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = make(map[flow]*TrafficStatus)
	}
	f := flow{peer, e.Class}
	if t.by[f] == nil {
		t.by[f] = &TrafficStatus{Class: e.Class.String()}
	}
	if e.Event == protocol.EventSent {
		t.by[f].Sent += bytes
	} else {
		t.by[f].Read += bytes
	}
}

// status lists what was counted, by member and class.
func (t *traffic) status(name func(keys.ID) string) []TrafficStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []TrafficStatus
	for f, s := range t.by {
		all = append(all, TrafficStatus{Peer: name(f.peer), Class: s.Class, Sent: s.Sent, Read: s.Read})
	}
	slices.SortFunc(all, func(a, b TrafficStatus) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Class, b.Class))
	})
	return all
}

// sessionMeter counts what a session sends, against what its contract lets this party send.
type sessionMeter struct {
	mu   sync.Mutex
	by   map[outflow]*EgressStatus
	name []string // of the parties
}

// outflow is what goes to one party in one class.
type outflow struct {
	to    int
	class contract.Class
}

// newSessionMeter reads what a party may send.
func newSessionMeter(c *contract.Contract, self int) (*sessionMeter, error) {
	lines, err := c.Egress(self)
	if err != nil {
		return nil, err
	}
	m := &sessionMeter{by: make(map[outflow]*EgressStatus), name: c.Job.Parties}
	inShards, err := c.ShardEgress(self)
	if err != nil {
		return nil, err
	}
	for _, e := range append(lines, inShards...) {
		m.at(outflow{e.To, e.Class}).Agreed += e.MaxBytes
	}
	return m, nil
}

// at returns the count of a outflow. The lock is held, or the meter is not shared yet.
func (m *sessionMeter) at(l outflow) *EgressStatus {
	if m.by[l] == nil {
		m.by[l] = &EgressStatus{Peer: m.name[l.to], Class: l.class.String()}
	}
	return m.by[l]
}

// add counts what one entry of a transcript says.
func (m *sessionMeter) add(e protocol.Entry, bytes int64) {
	if e.Event != protocol.EventSent {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at(outflow{e.Peer, e.Class}).Bytes += bytes
}

// status lists what was sent, by party and class.
func (m *sessionMeter) status() []EgressStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []EgressStatus
	for _, l := range slices.SortedFunc(maps.Keys(m.by), func(a, b outflow) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.class, b.class))
	}) {
		all = append(all, *m.by[l])
	}
	return all
}

// countingRecorder is a session's recorder that counts what passes.
type countingRecorder struct {
	protocol.Recorder
	count func(e protocol.Entry, bytes int64)
}

// Record implements protocol.Recorder.
func (r countingRecorder) Record(e protocol.Entry, payload []byte) error {
	err := r.Recorder.Record(e, payload)
	if err == nil && (e.Event == protocol.EventSent || e.Event == protocol.EventReceived) {
		r.count(e, int64(len(payload)))
	}
	return err
}
