package peer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/metrics"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// Traffic counts the bytes of all streams with one peer since the host was made: sessions,
// calls, heartbeats and discovery, without what TLS and TCP add. What a relay carries counts at the
// two ends, for each other, and not at the relay.
type Traffic struct {
	In, Out int64
}

// meter counts bytes per peer and remembers when each was last heard. It implements libp2p's
// metrics.Reporter, of which only the per-stream methods matter here.
type meter struct {
	mu    sync.RWMutex
	peers map[libpeer.ID]*tally
}

// tally is what the meter knows of one peer.
type tally struct {
	in, out atomic.Int64
	heard   atomic.Int64 // nanoseconds since meterStart; zero before the first byte
	lived   atomic.Int64 // the same, without what comes before there is a link: another process may have sent that
	links   atomic.Int64 // made with the peer
}

// meterStart is what times are counted from, so that nobody seems silent, or heard in the
// future, when a person sets this machine's clock.
var meterStart = time.Now()

var _ metrics.Reporter = (*meter)(nil)

func newMeter() *meter { return &meter{peers: make(map[libpeer.ID]*tally)} }

// of returns the peer's tally, a new one at first.
func (m *meter) of(p libpeer.ID) *tally {
	m.mu.RLock()
	t := m.peers[p]
	m.mu.RUnlock()
	if t != nil {
		return t
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peers[p] == nil {
		m.peers[p] = new(tally)
	}
	return m.peers[p]
}

// lastHeard returns when the last byte came from the peer, the zero time if none did.
func (t *tally) lastHeard() time.Time { return meterTime(&t.heard) }

// lastLived returns when the last byte came over a link to the peer, the zero time if none did.
func (t *tally) lastLived() time.Time { return meterTime(&t.lived) }

// live notes that a control message has come over a link.
func (t *tally) live() { t.lived.Store(int64(time.Since(meterStart))) }

// meterTime is a time of a tally.
func meterTime(at *atomic.Int64) time.Time {
	if ns := at.Load(); ns != 0 {
		return meterStart.Add(time.Duration(ns))
	}
	return time.Time{}
}

// LogSentMessageStream counts bytes that a stream has taken.
func (m *meter) LogSentMessageStream(n int64, proto protocol.ID, p libpeer.ID) {
	if proto != protoHop && proto != protoStop { // a circuit's bytes are counted as between its two ends
		m.of(p).out.Add(n)
	}
}

// LogRecvMessageStream counts bytes read from a stream. Whoever sends data is alive, even while
// its heartbeats queue behind that data on a slow line. Control messages say themselves that they have come.
func (m *meter) LogRecvMessageStream(n int64, proto protocol.ID, p libpeer.ID) {
	if n > 0 {
		t := m.of(p)
		if proto != protoHop && proto != protoStop {
			t.in.Add(n)
		}
		now := int64(time.Since(meterStart))
		t.heard.Store(now)
		if proto != "" && proto != protoHello && proto != protoPunch { // others are read once there is a link
			t.lived.Store(now)
		}
	}
}

// The rest of metrics.Reporter, which nobody asks.

func (m *meter) LogSentMessage(int64)                                  {}
func (m *meter) LogRecvMessage(int64)                                  {}
func (m *meter) GetBandwidthForPeer(libpeer.ID) metrics.Stats          { return metrics.Stats{} }
func (m *meter) GetBandwidthForProtocol(protocol.ID) metrics.Stats     { return metrics.Stats{} }
func (m *meter) GetBandwidthTotals() metrics.Stats                     { return metrics.Stats{} }
func (m *meter) GetBandwidthByPeer() map[libpeer.ID]metrics.Stats      { return nil }
func (m *meter) GetBandwidthByProtocol() map[protocol.ID]metrics.Stats { return nil }
func (m *meter) Reset()                                                {}
func (m *meter) TrimIdle(time.Time)                                    {}
