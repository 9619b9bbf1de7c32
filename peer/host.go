package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	golog "github.com/ipfs/go-log/v2"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/gologshim"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
)

// Host is a member's end of the network: it listens, keeps a link to every neighbour that can be
// reached, and is the protocol.Transport of the jobs. Its methods may be called
// concurrently.
type Host struct {
	cfg       Config
	self      keys.ID
	lower     func(keys.ID) bool // does this side dial first?
	keeps     func(keys.ID) bool // is a link kept from the start? under mu, or before the host is shared
	log       *slog.Logger
	instance  uint64
	node      *node
	meter     *meter
	addresses *discovery.AddressBook
	sessions  *session.Transport
	dht       atomic.Pointer[discovery.DHT] // nil without one
	handler   atomic.Pointer[protocol.Handler]
	forWorker atomic.Pointer[workerHandler]
	strangers strangerLog

	punching    *holepunch.Service // nil where it is not tried
	relay       *relay.Relay       // nil while this host does not relay; setRelay alone uses it
	relayLimits keys.RelayLimits

	life    context.Context // ends with Run or Close
	endLife context.CancelFunc
	started chan struct{}  // closed when Run begins
	stopped chan struct{}  // closed when nothing is left running
	serving sync.WaitGroup // stream handlers and other work outside Run's own goroutines

	mu             sync.Mutex
	state          hostState
	judge          judge
	members        map[keys.ID]*member
	admissions     map[network.Conn]*admission
	workers        map[keys.ID]*link                    // those who are let in
	whereabouts    map[whereaboutsKey]*knownWhereabouts // the latest, this node\'s own among them
	changed        chan struct{}                        // closed and replaced at each change of presence
	punched        map[libpeer.ID]time.Time             // when this host last dialled a member that says hello then
	directs        map[libpeer.ID]chan network.Conn     // who waits for a direct connection to a member
	charterChanged chan struct{}                        // closed and replaced when another charter comes into force
	clockWrong     bool                                 // it was said that this node's clock is likely wrong
}

// hostState is how far a Host has come.
type hostState int

const (
	stateNew hostState = iota
	stateRunning
	stateClosed
)

var _ protocol.Transport = (*Host)(nil)

// New makes a host and listens. Nobody is dialled, and callers wait, until Run; a Host that is
// not run must be closed. An address that cannot be listened on is an error which says why.
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	gologshim.SetDefaultHandler(quiet{cfg.Log.Handler()})
	golog.SetAllLoggers(golog.LevelFatal)
	self := cfg.Key.ID()
	h := &Host{
		cfg:        cfg,
		self:       self,
		lower:      func(other keys.ID) bool { return self.Compare(other) < 0 },
		log:        cfg.Log,
		instance:   newInstance(),
		meter:      newMeter(),
		started:    make(chan struct{}),
		stopped:    make(chan struct{}),
		judge:      newJudge(self, cfg.Charter, cfg),
		members:    make(map[keys.ID]*member),
		admissions: make(map[network.Conn]*admission),
		workers:    make(map[keys.ID]*link),
		changed:    make(chan struct{}),

		punched:        make(map[libpeer.ID]time.Time),
		directs:        make(map[libpeer.ID]chan network.Conn),
		whereabouts:    make(map[whereaboutsKey]*knownWhereabouts),
		charterChanged: make(chan struct{}),
	}
	near := cfg.neighbourhood()
	h.keeps = func(id keys.ID) bool { // relays too: through them the neighbours call
		m, ok := h.judge.charter.Member(id)
		return ok && (m.Relay || near(id))
	}
	h.life, h.endLife = context.WithCancel(context.Background())
	h.sessions = session.NewTransport(h.life, self, sessionNetwork{h})
	around := discovery.Surroundings{Machine: cfg.onMachine(), Own: func() []multiaddr.Multiaddr {
		return h.node.addresses()
	}}
	if h.addresses, err = discovery.OpenAddressBook(cfg.StateDir, cfg.QUIC, around, h.keeps, h.log); err != nil {
		return nil, err
	}
	h.node, err = newNode(nodeParts{
		key:     cfg.Key,
		gater:   gater{dials: h.mayDial, receives: h.mayCall, reaches: h.mayReach},
		meter:   h.meter,
		members: len(cfg.Charter.Members),
		workers: cfg.Workers,
		quic:    cfg.QUIC,
		proxy:   cfg.Proxy,
		onePort: slices.ContainsFunc(cfg.Charter.Relays(), func(m keys.Member) bool { return m.ID != self }),
		open:    h.openDirect,
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

// Self returns the id of the member whose host this is.
func (h *Host) Self() keys.ID { return h.self }

// Addresses returns the multiaddrs on which the host listens, with its identity: what others
// dial. An address that stands for all interfaces is given once per interface.
func (h *Host) Addresses() []string {
	var out []string
	for _, a := range h.node.addresses() {
		out = append(out, fmt.Sprintf("%s/p2p/%s", a, h.node.id))
	}
	return out
}

// listen opens the configured addresses and, with QUIC, the UDP port beside each TCP one. libp2p
// would be content with one of them.
func (h *Host) listen() error {
	for _, text := range h.cfg.Listen {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return fmt.Errorf("cannot listen on %q: it is no multiaddr: want the like of /ip4/0.0.0.0/tcp/4001", text)
		}
		all := []multiaddr.Multiaddr{a}
		if host, port := multiaddr.SplitFirst(a); h.cfg.QUIC && !isUDP(a) && host != nil && len(port) > 0 {
			beside, err := multiaddr.NewMultiaddr(fmt.Sprintf("%s/udp/%s/quic-v1", host, port[0].Value()))
			if err == nil { // otherwise it has not the shape /ip/tcp, and no port to share
				all = append(all, beside)
			}
		}
		for _, a := range all {
			if err := h.node.swarm.AddListenAddr(a); err != nil {
				return explainListen(a, err)
			}
		}
	}
	return nil
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
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spawnHeld(work)
}

// spawnHeld is spawn where Host.mu is held.
func (h *Host) spawnHeld(work func()) {
	if h.life.Err() == nil {
		h.serving.Go(work)
	}
}

// Run keeps a link to every neighbour until ctx ends or Close is called: it dials, lets others in,
// finds addresses and listens for heartbeats. Everything it starts has ended when it returns,
// and the host cannot be used again. It returns an error only if it runs
// already.
func (h *Host) Run(ctx context.Context) error {
	h.mu.Lock()
	before := h.state
	h.state = max(before, stateRunning)
	h.mu.Unlock()
	switch before {
	case stateRunning:
		return errors.New("a host runs only once")
	case stateClosed:
		return nil
	}
	if h.cfg.discovers(DiscoverDHT) {
		h.startDHT() // before the first link, which is introduced to it
	}
	close(h.started)

	stop := context.AfterFunc(ctx, h.endLife)
	defer stop()
	var tasks sync.WaitGroup
	if h.cfg.discovers(DiscoverMDNS) {
		tasks.Go(func() {
			near := announcing{h.node.host, func() []multiaddr.Multiaddr {
				return h.announced(min(h.localReach(), discovery.InNetwork))
			}}
			discovery.RunMDNS(h.life, near, h.cfg.Charter.Name, h.heardOf, h.log)
		})
	}
	// A keeper for every member that a link is kept with, and one for each that a new charter, a
	// session or a call brings.
	for h.life.Err() == nil {
		h.setRelay()
		h.mu.Lock()
		for _, m := range h.members {
			if m.kept && m.dismiss == nil {
				ctx, dismiss := context.WithCancel(h.life)
				m.dismiss = dismiss
				tasks.Go(func() { h.keep(ctx, m) })
			}
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-h.life.Done():
		}
	}
	tasks.Wait()
	return h.shutDown()
}

// shutDown closes what is open and waits for all that still runs.
func (h *Host) shutDown() error {
	defer close(h.stopped)
	// Nobody can enter after this: the lock orders enter's look at life against the wait.
	h.mu.Lock()
	h.state = stateClosed
	h.mu.Unlock()
	h.serving.Wait()
	h.mu.Lock()
	punching := h.punching
	h.mu.Unlock()
	if punching != nil {
		punching.Close()
	}
	if h.relay != nil {
		h.relay.Close()
	}
	if d := h.dht.Load(); d != nil {
		d.Close()
	}
	err := h.node.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.admissions {
		a.limit.Stop()
	}
	for _, m := range h.members {
		h.notify(m)
	}
	h.notifyAny()
	return err
}
