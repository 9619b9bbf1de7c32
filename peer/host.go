package peer

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Host is a member's end of the network: it listens, keeps a link to every neighbour that can be
// reached, and is the protocol.Transport of the jobs. Its methods may be called
// concurrently.
type Host struct {
	cfg       Config
	self      keys.ID
	lower     func(keys.ID) bool // does this side dial first?
	keeps     func(keys.ID) bool // is a link kept from the start?
	log       *slog.Logger
	instance  uint64
	node      *node
	meter     *meter
	book      *book
	rooms     *rooms
	finder    atomic.Pointer[dhtFinder] // nil without a DHT
	handler   atomic.Pointer[protocol.Handler]
	strangers strangerLog

	life    context.Context // ends with Run or Close
	endLife context.CancelFunc
	started chan struct{}  // closed when Run begins
	stopped chan struct{}  // closed when nothing is left running
	serving sync.WaitGroup // stream handlers and other work outside Run's own goroutines

	mu         sync.Mutex
	state      hostState
	judge      judge
	members    map[keys.ID]*member
	admissions map[network.Conn]*admission
	changed    chan struct{} // closed and replaced at each change of presence
	clockWrong bool          // it was said that this node's clock is likely wrong
}

// hostState is how far a Host has come.
type hostState int

const (
	stateNew hostState = iota
	stateRunning
	stateClosed
)

var _ protocol.Gatherer = (*Host)(nil)

// New makes a host and listens. Nobody is dialled, and callers wait, until Run; a Host that is
// not run must be closed. An address that cannot be listened on is an error which says why.
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	hush(cfg.Log)
	h := newHost(cfg)
	if h.book, err = newBook(cfg, h.log); err != nil {
		return nil, err
	}
	h.node, err = newNode(nodeParts{
		key:     cfg.Key,
		gater:   gater{dials: h.mayDial, receives: h.mayCall},
		meter:   h.meter,
		members: len(cfg.Charter.Members),
		quic:    cfg.QUIC,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the network: %w", err)
	}
	h.serveStreams()
	if err := h.listen(); err != nil {
		return nil, errors.Join(err, h.node.Close())
	}
	h.setMembers()
	return h, nil
}

func newHost(cfg Config) *Host {
	self := cfg.Key.ID()
	var instance [8]byte
	rand.Read(instance[:])
	h := &Host{
		cfg:        cfg,
		self:       self,
		lower:      func(other keys.ID) bool { return self.Compare(other) < 0 },
		keeps:      cfg.neighbourhood(),
		log:        cfg.Log,
		instance:   binary.BigEndian.Uint64(instance[:]),
		meter:      newMeter(),
		rooms:      newRooms(),
		started:    make(chan struct{}),
		stopped:    make(chan struct{}),
		judge:      newJudge(self, cfg.Charter, cfg.Invited),
		members:    make(map[keys.ID]*member),
		admissions: make(map[network.Conn]*admission),
		changed:    make(chan struct{}),
	}
	h.life, h.endLife = context.WithCancel(context.Background())
	return h
}

// Self returns the id of the member whose host this is.
func (h *Host) Self() keys.ID { return h.self }

// Addresses returns the multiaddrs on which the host listens, with its identity: what others
// dial. An address that stands for all interfaces is given once per interface.
func (h *Host) Addresses() []string {
	var out []string
	for _, a := range h.node.host.Addrs() {
		out = append(out, fmt.Sprintf("%s/p2p/%s", a, h.node.id))
	}
	return out
}

// listen opens the configured addresses. libp2p would be content with one of them.
func (h *Host) listen() error {
	for _, text := range h.cfg.Listen {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return fmt.Errorf("cannot listen on %q: it is no multiaddr: want the like of /ip4/0.0.0.0/tcp/4001", text)
		}
		if err := h.node.swarm.AddListenAddr(a); err != nil {
			return explainListen(a, err)
		}
		if err := h.listenUDP(a); err != nil {
			return err
		}
	}
	return nil
}

// listenUDP opens the UDP port beside a TCP one, if QUIC is on.
func (h *Host) listenUDP(beside multiaddr.Multiaddr) error {
	if !h.cfg.QUIC || isUDP(beside) {
		return nil
	}
	host, port := multiaddr.SplitFirst(beside)
	if host == nil || len(port) == 0 {
		return nil
	}
	a, err := multiaddr.NewMultiaddr(fmt.Sprintf("%s/udp/%s/quic-v1", host, port[0].Value()))
	if err != nil {
		return nil // not the shape /ip/tcp: then there is no port to share
	}
	if err := h.node.swarm.AddListenAddr(a); err != nil {
		return explainListen(a, err)
	}
	return nil
}

// mayDial is the gater's question before a dial.
func (h *Host) mayDial(p libpeer.ID) bool {
	id, err := memberID(p)
	if err != nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.judge.charter.Member(id)
	return ok
}

// mayCall is the gater's question after the handshake of an inbound connection.
func (h *Host) mayCall(p libpeer.ID, from multiaddr.Multiaddr) bool {
	id, err := memberID(p)
	h.mu.Lock()
	j := h.judge
	h.mu.Unlock()
	reason := fmt.Sprintf("it is neither a member of %s nor invited", j.stance)
	switch {
	case err != nil:
		reason = err.Error()
	case id == h.self:
		reason = "it has this node's own key: only one node may run with it"
	case j.meets(id):
		return true
	}
	h.refuseStranger(p, from, reason)
	return false
}

// Close ends the host: connections close, Run returns, and pending calls fail. It returns when
// nothing is left running.
func (h *Host) Close() error {
	h.mu.Lock()
	before := h.state
	h.state = stateClosed
	h.mu.Unlock()
	h.endLife()
	if before == stateNew {
		return h.shutDown()
	}
	<-h.stopped
	return nil
}

// enter lets work begin that shutDown must wait for; leave ends it.
func (h *Host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return false
	}
	h.serving.Add(1)
	return true
}

func (h *Host) leave() { h.serving.Done() }

// spawn runs work that shutDown waits for, unless the host is closing.
func (h *Host) spawn(work func()) {
	if h.enter() {
		go func() {
			defer h.leave()
			work()
		}()
	}
}
