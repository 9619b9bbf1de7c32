package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	golog "github.com/ipfs/go-log/v2"
	"github.com/libp2p/go-libp2p/gologshim"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Host is a member's end of the network: it listens, keeps a link to every neighbour that can be
// reached, and is the protocol.Transport of the jobs. Its methods may be called
// concurrently.
//
// It has no state of its own: each piece of it has one owner, as the package's documentation lists them.
type Host struct {
	*base
	strangers  *strangers
	clocks     *clocks
	admissions *admissions
	sessions   *session.Transport
	calls      *calls
	workers    *workers
	announcer  announcer
	table      *table
	relays     *relays
	puncher    *puncher
	bearings   *bearings
	reception  *reception
	dialler    *dialler
}

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
	b := &base{cfg: cfg, self: cfg.Key.ID(), life: newLifetime(), meter: newMeter(), members: newMembers(cfg),
		log: cfg.Log}
	around := discovery.Surroundings{Machine: cfg.onMachine(), Own: func() []multiaddr.Multiaddr {
		return b.node.addresses()
	}}
	keeps := func(id keys.ID) bool {
		m, ok := cfg.Charter.Member(id)
		return ok && b.members.keeps(m)
	}
	if b.addresses, err = discovery.OpenAddressBook(cfg.StateDir, cfg.QUIC, around, keeps, b.log); err != nil {
		return nil, err
	}
	strangers := &strangers{members: b.members, log: b.log}
	b.node, err = newNode(nodeParts{
		key:     cfg.Key,
		gater:   newGater(b.members, b.addresses, strangers),
		meter:   b.meter,
		members: len(cfg.Charter.Members),
		workers: cfg.Workers,
		quic:    cfg.QUIC,
		proxy:   cfg.Proxy,
		onePort: slices.ContainsFunc(cfg.Charter.Relays(), func(m keys.Member) bool { return m.ID != b.self }),
		open:    overDirect(b.members),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the network: %w", err)
	}
	h := newHost(b, strangers)
	h.serveStreams()
	if err := h.listen(); err != nil {
		return nil, errors.Join(err, h.node.Close())
	}
	h.listAddresses()
	return h, nil
}

// newHost puts the parts of a host together.
func newHost(b *base, strangers *strangers) *Host {
	h := &Host{base: b, strangers: strangers, admissions: newAdmissions(), announcer: announcer{b},
		relays: &relays{base: b}, puncher: newPuncher(b), bearings: newBearings(b)}
	h.clocks = &clocks{members: b.members, now: b.cfg.Now, log: b.log}
	h.sessions = session.NewTransport(b.life.ctx, b.self, sessionNetwork{b.life, b.members})
	h.calls = &calls{base: b, admissions: h.admissions}
	h.workers = &workers{base: b, admissions: h.admissions, strangers: strangers, by: make(map[keys.ID]*link)}
	h.table = &table{announcer: h.announcer}
	tending := &tending{base: b, sessions: h.sessions, clocks: h.clocks, table: h.table, relays: h.relays,
		puncher: h.puncher, bearings: h.bearings}
	h.reception = &reception{base: b, instance: newInstance(), admissions: h.admissions, workers: h.workers,
		strangers: strangers, announcer: h.announcer, puncher: h.puncher, tending: tending}
	h.dialler = &dialler{base: b, table: h.table, relays: h.relays, puncher: h.puncher, reception: h.reception,
		tending: tending}
	return h
}

// listAddresses has the address book know the charter's addresses of all members that a link is kept with.
func (h *Host) listAddresses() {
	all, _ := h.members.all()
	for _, m := range all {
		if m.kept {
			h.dialler.list(m.info)
		}
	}
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

// SetCharter puts a new version of the charter into force: members that it adds are dialled,
// those it leaves out or revokes are disconnected and told why, and the others are told of the
// version. A link to a member on another version carries only "charter/" calls until both
// agree; sessions that run go on, since their contract names their charter.
//
// It must be a later version of the same charter, signed by all its members, this one among
// them; that it descends from the version before is for the caller to check (Follows).
func (h *Host) SetCharter(c *keys.SignedCharter) error {
	if err := c.Complete(); err != nil {
		return err
	}
	if _, ok := c.Member(h.self); !ok {
		return fmt.Errorf("charter %q version %d leaves this node's key %s out: it ends its membership, so close the host "+
			"instead",
			c.Name, c.Version, h.self)
	}
	former, stay, err := h.members.setCharter(c)
	if err != nil {
		return err
	}
	h.bearings.setCharter(c)
	h.listAddresses()
	h.dismissFormer(former)
	news := encode(h.members.inForce().stance)
	for _, l := range stay {
		h.life.spawn(func() { l.send(kindCharter, news, newsPatience) })
	}
	return nil
}

// dismissFormer disconnects those whom the charter in force gives another place than they had:
// former members, and newcomers and workers who have become members, or been revoked, since they were let in.
// Those who came as invitees stay, to finish what they came for.
func (h *Host) dismissFormer(former []*link) {
	j := h.members.inForce()
	for _, l := range h.admissions.links() {
		if l.may(levelCharter) {
			continue
		}
		_, member := j.charter.Member(l.peer)
		_, revoked := j.charter.RevokedID(l.peer)
		if revoked || member && l.theirs.Role != roleInvitee {
			former = append(former, l)
		}
	}
	for _, l := range former {
		reason := fmt.Sprintf("%s is not a member any longer, as %s says", l.name, j.stance)
		told := j.word(fault.CodeRemoved, l.name)
		if r, ok := j.charter.RevokedID(l.peer); ok {
			reason = fmt.Sprintf("%s was revoked, as %s says: %s", r.Name, j.stance, r.Reason)
			told = j.word(fault.CodeRevoked, r.Name)
		} else if m, ok := j.charter.Member(l.peer); ok {
			reason = fmt.Sprintf("%s is a member under %s now and is to connect as one", m.Name, j.stance)
			told = j.word(fault.CodeAnew, m.Name)
		}
		h.life.spawn(func() { l.leave(reason, told) })
	}
}

// Close ends the host: connections close, Run returns, and pending calls fail. It returns when
// nothing is left running.
func (h *Host) Close() error {
	before := h.life.reach(stateClosed)
	h.life.end()
	if before == stateNew {
		return h.shutDown()
	}
	<-h.life.stopped
	return nil
}

// Run keeps a link to every neighbour until ctx ends or Close is called: it dials, lets others in,
// finds addresses and listens for heartbeats. Everything it starts has ended when it returns,
// and the host cannot be used again. It returns an error only if it runs
// already.
func (h *Host) Run(ctx context.Context) error {
	switch h.life.reach(stateRunning) {
	case stateRunning:
		return errors.New("a host runs only once")
	case stateClosed:
		return nil
	}
	if h.cfg.discovers(DiscoverDHT) { // before the first link, which is introduced to it
		if err := h.table.start(); err != nil {
			h.log.Warn("the DHT is not available", "reason", err)
		}
	}
	close(h.life.started)

	life := h.life.ctx
	stop := context.AfterFunc(ctx, h.life.end)
	defer stop()
	var tasks sync.WaitGroup
	if h.cfg.discovers(DiscoverMDNS) {
		tasks.Go(func() {
			near := announcing{h.node.host, func() []multiaddr.Multiaddr {
				return h.announcer.announced(min(h.announcer.localReach(), discovery.InNetwork))
			}}
			discovery.RunMDNS(life, near, h.cfg.Charter.Name, h.heardOf, h.log)
		})
	}
	// A keeper for every member that a link is kept with, and one for each that a new charter, a
	// session or a call brings.
	for life.Err() == nil {
		h.relays.set()
		fresh, changed := h.members.untended(life)
		for _, m := range fresh {
			tasks.Go(func() { h.dialler.keep(m.ctx, m.member) })
		}
		select {
		case <-changed:
		case <-life.Done():
		}
	}
	tasks.Wait()
	return h.shutDown()
}

// shutDown closes what is open and waits for all that still runs.
func (h *Host) shutDown() error {
	defer close(h.life.stopped)
	h.life.wait()
	h.puncher.close()
	h.relays.close()
	h.table.close()
	err := h.node.Close()
	h.admissions.stop()
	h.members.wakeAll()
	return err
}
