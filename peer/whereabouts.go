package peer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// sign makes whereabouts of this host's own addresses, which are of one reach.
func (h *Host) sign(reach discovery.Reach, addresses []multiaddr.Multiaddr) (whereabouts, error) {
	key, err := secretKey(h.cfg.Key)
	if err != nil {
		return whereabouts{}, err
	}
	r := libpeer.PeerRecord{PeerID: h.node.id, Addrs: addresses, Seq: libpeer.TimestampSeq()}
	e, err := record.Seal(&r, key)
	if err != nil {
		return whereabouts{}, err
	}
	signed, err := e.Marshal()
	return whereabouts{h.self, reach, r.Seq, addresses, signed}, err
}

// moved lists where this host is by reach, if it listens nowhere that the charter says. A name is looked up anew by
// whoever dials. What others see of this host only adds to the list: whom it need not be told, mayGo decides for each.
func (h *Host) moved() map[discovery.Reach][]multiaddr.Multiaddr {
	h.mu.Lock()
	mine, _ := h.judge.charter.Member(h.self)
	seen := h.seenAt()
	h.mu.Unlock()
	listening := h.node.addresses()
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
		if (r > discovery.OnMachine || h.cfg.onMachine()) && len(out[r]) < maxAddresses && len(a.String()) <= maxAddress &&
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

// signWhereabouts signs where this host is now, if that has changed, and passes it on.
func (h *Host) signWhereabouts() {
	own := h.moved()
	h.mu.Lock()
	defer h.mu.Unlock()
	for reach, addresses := range own {
		key := whereaboutsKey{h.self, reach}
		if k := h.whereabouts[key]; k != nil && slices.EqualFunc(k.addresses, addresses, multiaddr.Multiaddr.Equal) {
			continue
		}
		w, err := h.sign(reach, addresses)
		if err != nil {
			h.log.Warn("the others are not told where this node is now", "reason", err)
			continue
		}
		h.keepWhereabouts(w, h.self)
	}
	for key := range h.whereabouts { // where this host was does not lead to it any longer
		if _, still := own[key.reach]; key.id == h.self && !still {
			delete(h.whereabouts, key)
		}
	}
}

// sendWhereabouts tells a member where this host is now, and where the others are that it knows of.
func (h *Host) sendWhereabouts(l *link) {
	h.signWhereabouts()
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.whereabouts {
		h.owe(l, key)
	}
}

// mayGo reports whether whereabouts are of use to the member at the other end of a link, and its business. Who sees
// this host at the charter's address, as behind a NAT that lets calls in, needs to hear nothing of it. That is this
// member's word, and counts for this member alone: others it cannot keep from hearing. Host.mu is held.
func (h *Host) mayGo(w whereabouts, l *link) bool {
	if w.id == h.self && l.seen != nil {
		mine, _ := h.judge.charter.Member(h.self)
		host, _ := multiaddr.SplitFirst(l.seen)
		here := slices.ContainsFunc(w.addresses, func(a multiaddr.Multiaddr) bool {
			first, _ := multiaddr.SplitFirst(a)
			return first.Equal(host)
		})
		if isAt(mine.Addresses, l.seen) && !here {
			return false
		}
	}
	return l.peer != w.id && l.may(levelCharter) && reachOver(l.conn) <= w.reach
}

// keepWhereabouts keeps the latest of a member, and passes it on when it is time. Host.mu is held.
func (h *Host) keepWhereabouts(w whereabouts, from keys.ID) {
	key := whereaboutsKey{w.id, w.reach}
	k := h.whereabouts[key]
	if k == nil {
		k = new(knownWhereabouts)
		h.whereabouts[key] = k
	}
	k.whereabouts = w
	if !k.waiting {
		k.waiting = true
		wait := passPause - time.Since(k.passed)
		h.spawnHeld(func() { h.passOn(key, from, wait) })
	}
}

// owe has a member told the latest whereabouts of one, after what it is being told now: a link has one goroutine for
// that, so that who does not read costs no more than a place in a list. Host.mu is held.
func (h *Host) owe(l *link, key whereaboutsKey) {
	if k := h.whereabouts[key]; k == nil || !h.mayGo(k.whereabouts, l) {
		return
	}
	if l.owed == nil {
		l.owed = make(map[whereaboutsKey]bool)
		h.spawnHeld(func() { h.sendOwed(l) })
	}
	l.owed[key] = true
}

// sendOwed sends what a link is owed until that is nothing.
func (h *Host) sendOwed(l *link) {
	for {
		h.mu.Lock()
		var news []byte
		for key := range l.owed {
			if k := h.whereabouts[key]; k != nil {
				news = k.signed
			}
			delete(l.owed, key)
			break
		}
		if news == nil && len(l.owed) == 0 || l.Lost() != nil {
			l.owed = nil
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		if news != nil {
			l.send(kindWhereabouts, news, newsPatience)
		}
	}
}

// receiveWhereabouts takes what a member says of where it, or another one, is now, and passes it on. What is not signed
// by the member that it is about, is older than what is known, or is about nobody in the charter, is nothing.
func (h *Host) receiveWhereabouts(from *link, signed []byte) {
	w, err := decodeWhereabouts(signed)
	if err != nil {
		h.log.Debug("whereabouts without meaning", "from", from.name, "reason", err)
		return
	}
	h.mu.Lock()
	_, member := h.judge.charter.Member(w.id)
	k := h.whereabouts[whereaboutsKey{w.id, w.reach}]
	if !member || w.id == h.self || k != nil && k.seq >= w.seq || !from.may(levelCharter) ||
		w.reach < reachOver(from.conn) {
		h.mu.Unlock()
		return
	}
	h.keepWhereabouts(w, from.peer)
	known := h.members[w.id] != nil
	h.mu.Unlock()
	if known {
		h.addresses.SetSigned(w.id, w.reach, w.addresses)
	}
}

// passOn tells all other members the latest whereabouts of one, when it is time.
func (h *Host) passOn(key whereaboutsKey, from keys.ID, wait time.Duration) {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-h.life.Done():
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.whereabouts[key]
	if k == nil {
		return
	}
	k.passed, k.waiting = time.Now(), false
	for _, m := range h.members {
		if m.link != nil && (m.info.ID != from || wait > 0) {
			h.owe(m.link, key)
		}
	}
}

// receiveSeen keeps at which address a member sees this host, and tells the member where this host is: before, it is
// not known whether that is news there.
func (h *Host) receiveSeen(from *link, text string) {
	if relayed(from.conn) || !from.dialled {
		return // who has dialled this host knows an address of it already
	}
	if a, err := multiaddr.NewMultiaddr(text); err == nil && len(a) == 2 {
		if _, err := manet.ToIP(a); err == nil {
			h.mu.Lock()
			from.seen = a
			h.mu.Unlock()
			h.startPunching()
		}
	}
	h.sendWhereabouts(from)
}

// seenAt lists the hosts as which other members see this one, first what most say: a few that lie do not take the place
// of what more have seen. Host.mu is held.
func (h *Host) seenAt() []multiaddr.Multiaddr {
	count := make(map[string]int)
	var out []multiaddr.Multiaddr
	for _, m := range h.members {
		if m.link == nil || m.link.seen == nil {
			continue
		}
		first, _ := multiaddr.SplitFirst(m.link.seen)
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
