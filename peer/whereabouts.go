package peer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
)

// passPause is the least time between two whereabouts of one member that a host passes on: a member that says something
// new all the time costs the others this much and no more.
const passPause = time.Second

// whereabouts is where a member says that it is, signed by it, when that is not where the charter says: its addresses
// of one reach. Members pass it on as it is, to whom it may be told.
type whereabouts struct {
	id        keys.ID
	reach     discovery.Reach
	seq       uint64 // a later one replaces it
	addresses []multiaddr.Multiaddr
	signed    []byte // libp2p's envelope of a peer record
}

// whereaboutsKey tells whereabouts apart.
type whereaboutsKey struct {
	id    keys.ID
	reach discovery.Reach
}

// knownWhereabouts is the latest of a member, and when it was passed on.
type knownWhereabouts struct {
	whereabouts
	passed  time.Time
	waiting bool // it will be passed on when passPause is over
}

// decodeWhereabouts reads what somebody says of a member. Only the member's own signature makes it so.
func decodeWhereabouts(signed []byte) (whereabouts, error) {
	var r libpeer.PeerRecord
	e, err := record.ConsumeTypedEnvelope(signed, &r)
	if err != nil {
		return whereabouts{}, err
	}
	if !r.PeerID.MatchesPublicKey(e.PublicKey) {
		return whereabouts{}, fmt.Errorf("it was signed by another than %s", r.PeerID)
	}
	id, err := memberID(r.PeerID)
	if err != nil {
		return whereabouts{}, err
	}
	if len(r.Addrs) == 0 || len(r.Addrs) > maxAddresses {
		return whereabouts{}, fmt.Errorf("it has %d addresses, want 1 to %d", len(r.Addrs), maxAddresses)
	}
	w := whereabouts{id: id, reach: discovery.ReachOf(r.Addrs[0]), seq: r.Seq, addresses: r.Addrs, signed: signed}
	for _, a := range r.Addrs {
		if len(a.String()) > maxAddress || discovery.ReachOf(a) != w.reach {
			return whereabouts{}, fmt.Errorf("its addresses are not all of one reach, and short")
		}
	}
	return w, nil
}

// bearings are the latest whereabouts of each member, this node among them, and who is to be told of them yet.
type bearings struct {
	*base

	mu      sync.Mutex
	charter *keys.SignedCharter // in force
	latest  map[whereaboutsKey]*knownWhereabouts
	owed    map[*link]map[whereaboutsKey]bool // what a peer is to be told yet, while somebody tells it
}

func newBearings(b *base) *bearings {
	return &bearings{base: b, charter: b.cfg.Charter, latest: make(map[whereaboutsKey]*knownWhereabouts),
		owed: make(map[*link]map[whereaboutsKey]bool)}
}

// setCharter forgets whoever is no member by a later charter.
func (b *bearings) setCharter(c *keys.SignedCharter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Version < b.charter.Version {
		return
	}
	b.charter = c
	for key := range b.latest {
		if _, still := c.Member(key.id); !still {
			delete(b.latest, key)
		}
	}
}

// sign makes whereabouts of this host's own addresses, which are of one reach.
func (b *bearings) sign(reach discovery.Reach, addresses []multiaddr.Multiaddr) (whereabouts, error) {
	key, err := secretKey(b.cfg.Key)
	if err != nil {
		return whereabouts{}, err
	}
	r := libpeer.PeerRecord{PeerID: b.node.id, Addrs: addresses, Seq: libpeer.TimestampSeq()}
	e, err := record.Seal(&r, key)
	if err != nil {
		return whereabouts{}, err
	}
	signed, err := e.Marshal()
	return whereabouts{b.self, reach, r.Seq, addresses, signed}, err
}

// moved lists where this host is by reach, if it listens nowhere that the charter says. A name is looked up anew by
// whoever dials. What others see of this host only adds to the list: whom it need not be told, mayGo decides for each.
func (b *bearings) moved() map[discovery.Reach][]multiaddr.Multiaddr {
	mine, _ := b.members.inForce().charter.Member(b.self)
	seen := seenAt(b.members.links())
	listening := b.node.addresses()
	if len(mine.Addresses) == 0 || len(listening) == 0 {
		return nil
	}
	for _, text := range mine.Addresses {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil || len(a) == 0 {
			continue
		}
		if _, err := manet.ToIP(a); err != nil || slices.ContainsFunc(listening, a.Equal) {
			return nil
		}
	}
	out := make(map[discovery.Reach][]multiaddr.Multiaddr)
	add := func(a multiaddr.Multiaddr) {
		r := discovery.ReachOf(a)
		if (r > discovery.OnMachine || b.cfg.onMachine()) && len(out[r]) < maxAddresses && len(a.String()) <= maxAddress &&
			!slices.ContainsFunc(out[r], a.Equal) {
			out[r] = append(out[r], a)
		}
	}
	for _, a := range listening {
		add(a)
	}
	for _, s := range seen { // a NAT with this port open, if there is one
		for _, a := range listening {
			_, port := multiaddr.SplitFirst(a)
			if discovery.ReachOf(s) == discovery.Anywhere && discovery.ReachOf(a) == discovery.InNetwork &&
				!isAt(mine.Addresses, s) {
				add(s.Encapsulate(port))
			}
		}
	}
	return out
}

// isAt reports whether one of a member's addresses has the IP address that a multiaddr begins with.
func isAt(addresses []string, at multiaddr.Multiaddr) bool {
	ip, err := manet.ToIP(at)
	return err == nil && slices.ContainsFunc(addresses, func(text string) bool {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return false
		}
		other, err := manet.ToIP(a)
		return err == nil && other.Equal(ip)
	})
}

// signOwn signs where this host is now, if that has changed, and passes it on.
func (b *bearings) signOwn() {
	own := b.moved()
	b.mu.Lock()
	var fresh []passing
	for reach, addresses := range own {
		key := whereaboutsKey{b.self, reach}
		if k := b.latest[key]; k != nil && slices.EqualFunc(k.addresses, addresses, multiaddr.Multiaddr.Equal) {
			continue
		}
		w, err := b.sign(reach, addresses)
		if err != nil {
			b.log.Warn("the others are not told where this node is now", "reason", err)
			continue
		}
		fresh = append(fresh, b.keep(w, b.self)...)
	}
	for key := range b.latest { // where this host was does not lead to it any longer
		if _, still := own[key.reach]; key.id == b.self && !still {
			delete(b.latest, key)
		}
	}
	b.mu.Unlock()
	b.pass(fresh)
}

// sendTo tells a member where this host is now, and where the others are that it knows of.
func (b *bearings) sendTo(l *link) {
	b.signOwn()
	b.mu.Lock()
	begins := false
	for key := range b.latest {
		begins = b.owe(l, key) || begins
	}
	b.mu.Unlock()
	if begins {
		b.life.spawn(func() { b.sendOwed(l) })
	}
}

// mayGo reports whether whereabouts are of use to the member at the other end of a link, and its business. Who sees
// this host at the charter's address, as behind a NAT that lets calls in, needs to hear nothing of it. That is this
// member's word, and counts for this member alone: others it cannot keep from hearing. mu is held.
func (b *bearings) mayGo(w whereabouts, l *link) bool {
	if seen, ok := l.seenAt(); ok && w.id == b.self {
		mine, _ := b.charter.Member(b.self)
		host, _ := multiaddr.SplitFirst(seen)
		here := slices.ContainsFunc(w.addresses, func(a multiaddr.Multiaddr) bool {
			first, _ := multiaddr.SplitFirst(a)
			return first.Equal(host)
		})
		if isAt(mine.Addresses, seen) && !here {
			return false
		}
	}
	return l.peer != w.id && l.may(levelCharter) && reachOver(l.conn) <= w.reach
}

// passing is whereabouts that are to be passed on when it is time.
type passing struct {
	key  whereaboutsKey
	from keys.ID
	wait time.Duration
}

// keep keeps the latest of a member. It returns what is to be passed on, nothing where that waits already. mu is held.
func (b *bearings) keep(w whereabouts, from keys.ID) []passing {
	key := whereaboutsKey{w.id, w.reach}
	k := b.latest[key]
	if k == nil {
		k = new(knownWhereabouts)
		b.latest[key] = k
	}
	k.whereabouts = w
	if k.waiting {
		return nil
	}
	k.waiting = true
	return []passing{{key, from, passPause - time.Since(k.passed)}}
}

// pass passes whereabouts on, each when it is time.
func (b *bearings) pass(fresh []passing) {
	for _, p := range fresh {
		b.life.spawn(func() { b.passOn(p) })
	}
}

// owe has a member told the latest whereabouts of one, after what it is being told now: a link has one goroutine for
// that, so that who does not read costs no more than a place in a list. It reports whether sendOwed is to begin. mu is
// held.
func (b *bearings) owe(l *link, key whereaboutsKey) (begins bool) {
	if k := b.latest[key]; k == nil || !b.mayGo(k.whereabouts, l) {
		return false
	}
	if b.owed[l] == nil {
		b.owed[l] = make(map[whereaboutsKey]bool)
		begins = true
	}
	b.owed[l][key] = true
	return begins
}

// sendOwed sends what a link is owed until that is nothing.
func (b *bearings) sendOwed(l *link) {
	for {
		news, more := b.nextOwed(l)
		if !more {
			return
		}
		if news != nil {
			l.send(kindWhereabouts, news, newsPatience)
		}
	}
}

// nextOwed takes one of what a link is owed, nil if it is not known any more. It is false when that was all.
func (b *bearings) nextOwed(l *link) (news []byte, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.owed[l] {
		if k := b.latest[key]; k != nil {
			news = k.signed
		}
		delete(b.owed[l], key)
		break
	}
	if news == nil && len(b.owed[l]) == 0 || l.Lost() != nil {
		delete(b.owed, l)
		return nil, false
	}
	return news, true
}

// receive takes what a member says of where it, or another one, is now, and passes it on. What is not signed
// by the member that it is about, is older than what is known, or is about nobody in the charter, is nothing.
func (b *bearings) receive(from *link, signed []byte) {
	w, err := decodeWhereabouts(signed)
	if err != nil {
		b.log.Debug("whereabouts without meaning", "from", from.name, "reason", err)
		return
	}
	fresh, ok := b.take(from, w)
	if !ok {
		return
	}
	b.pass(fresh)
	if b.members.get(w.id) != nil {
		b.addresses.SetSigned(w.id, w.reach, w.addresses)
	}
}

// take keeps what a member says, if it is news.
func (b *bearings) take(from *link, w whereabouts) (fresh []passing, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, member := b.charter.Member(w.id)
	k := b.latest[whereaboutsKey{w.id, w.reach}]
	if !member || w.id == b.self || k != nil && k.seq >= w.seq || !from.may(levelCharter) ||
		w.reach < reachOver(from.conn) {
		return nil, false
	}
	return b.keep(w, from.peer), true
}

// passOn tells all other members the latest whereabouts of one, when it is time.
func (b *bearings) passOn(p passing) {
	if p.wait > 0 {
		timer := time.NewTimer(p.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-b.life.ctx.Done():
			return
		}
	}
	for _, l := range b.oweAll(p, b.members.links()) { // who connects after this is told all that is known
		b.life.spawn(func() { b.sendOwed(l) })
	}
}

// oweAll has these members told what is passed on, and returns those for whom sendOwed is to begin.
func (b *bearings) oweAll(p passing, links []*link) (begin []*link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.latest[p.key]
	if k == nil {
		return nil
	}
	k.passed, k.waiting = time.Now(), false
	for _, l := range links {
		if (l.peer != p.from || p.wait > 0) && b.owe(l, p.key) {
			begin = append(begin, l)
		}
	}
	return begin
}

// seenAt lists the hosts as which members see this one over these links, first what most say: a few that lie do not
// take the place of what more have seen.
func seenAt(links []*link) []multiaddr.Multiaddr {
	count := make(map[string]int)
	var out []multiaddr.Multiaddr
	for _, l := range links {
		at, ok := l.seenAt()
		if !ok {
			continue
		}
		first, _ := multiaddr.SplitFirst(at)
		if host := first.Multiaddr(); count[host.String()] == 0 {
			out = append(out, host)
		}
		count[first.String()]++
	}
	slices.SortFunc(out, func(a, b multiaddr.Multiaddr) int {
		return cmp.Or(count[b.String()]-count[a.String()], strings.Compare(a.String(), b.String()))
	})
	return out[:min(len(out), maxAddresses)]
}
