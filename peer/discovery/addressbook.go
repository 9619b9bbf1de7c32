// Package discovery finds where members may be. An AddressBook keeps what is heard of their
// addresses. The charter, the members themselves, multicast on the local network (mDNS) and a
// table that only members keep (DHT) write into it. These are hints that nobody vouches for:
// package peer dials them, and TLS shows whether the member is there.
//
// The mDNS service and the DHT's protocol are named by a hash of the charter's name alone.
// Members on different versions of the charter still meet, to bring their versions together, and
// outsiders learn only that a group exists. Two charters of one name meet in vain: the hello
// tells them apart.
package discovery

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/keys"
)

// So much is kept of what is said of where a member is, that nobody can make a host dial without end.
const (
	addressesKept = 8  // for each source
	answersKept   = 32 // of a search in the DHT
)

// AddressBook knows where members may be. It asks nobody; the others write into it what they
// find. Its methods may be called concurrently.
type AddressBook struct {
	quic   bool
	around Surroundings
	path   string // of peers.toml; empty: nothing is kept over restarts

	mu      sync.Mutex
	members map[keys.ID]*entry
}

// entry is one member's addresses by source, the best first.
type entry struct {
	charter []multiaddr.Multiaddr
	worked  []multiaddr.Multiaddr   // led to the member before, the latest first; kept over restarts
	own     []multiaddr.Multiaddr   // from the member itself, in its last hello
	signed  []multiaddr.Multiaddr   // signed by the member, told by others
	found   []multiaddr.Multiaddr   // by mDNS, the latest first
	told    [][]multiaddr.Multiaddr // by the DHT: what each of those has answered whom it asked last
	news    chan struct{}           // closed and replaced when an address is found
}

// OpenAddressBook starts with the addresses that peers.toml in the folder dir holds of those
// members that keeps says yes to; dir is made if need be. A damaged file costs a warning: it holds
// nothing that cannot be found again. An empty dir keeps nothing over restarts. quic says whether
// QUIC addresses are of use, around which addresses are.
func OpenAddressBook(
	dir string, quic bool, around Surroundings, keeps func(keys.ID) bool, log *slog.Logger,
) (*AddressBook, error) {
	b := &AddressBook{quic: quic, around: around, members: make(map[keys.ID]*entry)}
	if dir == "" {
		return b, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for learned addresses: %w", err)
	}
	b.path = filepath.Join(dir, PeersFile)
	learned, err := readPeers(b.path)
	if err != nil {
		log.Warn("the learned addresses are ignored", "reason", err)
	}
	for id, addresses := range learned {
		if keeps(id) {
			b.of(id).worked = b.parse(addresses)
		}
	}
	return b, nil
}

// of returns a member's entry. The lock is held, or the book is not shared yet.
func (b *AddressBook) of(id keys.ID) *entry {
	e, ok := b.members[id]
	if !ok {
		e = &entry{news: make(chan struct{})}
		b.members[id] = e
	}
	return e
}

// parse keeps the usable addresses of a list.
func (b *AddressBook) parse(texts []string) []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, text := range texts {
		a, err := multiaddr.NewMultiaddr(text)
		if err == nil && len(out) < addressesKept && b.usable(a) {
			out = append(out, a)
		}
	}
	return out
}

// usable reports whether an address is of a kind that is dialled: a TCP port or, with QUIC
// switched on, a QUIC one, at an IP address or a name.
func (b *AddressBook) usable(a multiaddr.Multiaddr) bool {
	if len(a) < 2 || ReachOf(a) == Nowhere {
		return false
	}
	switch a[0].Protocol().Code {
	case multiaddr.P_IP4, multiaddr.P_IP6, multiaddr.P_DNS, multiaddr.P_DNS4, multiaddr.P_DNS6:
	default:
		return false
	}
	switch a[1].Protocol().Code {
	case multiaddr.P_TCP:
		return len(a) == 2
	case multiaddr.P_UDP:
		return b.quic && len(a) == 3 && a[2].Protocol().Code == multiaddr.P_QUIC_V1
	}
	return false
}

// SetCharter sets the addresses that the charter lists for a member.
func (b *AddressBook) SetCharter(id keys.ID, addresses []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(id).charter = b.parse(addresses)
}

// SetOwn sets the addresses that a member gives for itself, on a connection that reaches from this
// far: those of a smaller reach are of use on the other side alone.
func (b *AddressBook) SetOwn(id keys.ID, addresses []string, from Reach) {
	list := slices.DeleteFunc(b.parse(addresses), func(a multiaddr.Multiaddr) bool { return ReachOf(a) < from })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(id).own = list
}

// SetSigned sets the addresses of one reach that a member has signed and others have passed on, and closes News if one
// is new.
func (b *AddressBook) SetSigned(id keys.ID, reach Reach, addresses []multiaddr.Multiaddr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(id)
	known := e.all()
	e.signed = slices.DeleteFunc(e.signed, func(a multiaddr.Multiaddr) bool { return ReachOf(a) == reach })
	fresh := false
	for _, a := range addresses[:min(len(addresses), addressesKept)] {
		if b.usable(a) {
			e.signed = append(e.signed, a)
			fresh = fresh || !slices.ContainsFunc(known, a.Equal)
		}
	}
	if fresh {
		e.announce()
	}
}

// Found adds addresses that mDNS has come up with, and closes News if one is new.
func (b *AddressBook) Found(id keys.ID, addresses []multiaddr.Multiaddr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(id)
	known := e.all()
	fresh := false
	for _, a := range addresses {
		if b.usable(a) && !slices.ContainsFunc(known, a.Equal) {
			e.found = putFirst(e.found, a)
			fresh = true
		}
	}
	if fresh {
		e.announce()
	}
}

// SetTold sets where the members that a search in the DHT has asked say that one is, a list for each of them, and
// closes News if an address is new. Whoever lies fills the own list alone: it takes no place of what others say.
func (b *AddressBook) SetTold(id keys.ID, answers [][]multiaddr.Multiaddr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(id)
	known := e.all()
	e.told = nil
	fresh := false
	for _, list := range answers[:min(len(answers), answersKept)] {
		var kept []multiaddr.Multiaddr
		for _, a := range list {
			if b.usable(a) && len(kept) < addressesKept {
				kept = append(kept, a)
				fresh = fresh || !slices.ContainsFunc(known, a.Equal)
			}
		}
		e.told = append(e.told, kept)
	}
	if fresh {
		e.announce()
	}
}

// announce wakes those who wait for an address. The book's lock is held.
func (e *entry) announce() {
	close(e.news)
	e.news = make(chan struct{})
}

// News returns a channel that is closed when an address of the member is found.
func (b *AddressBook) News(id keys.ID) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(id).news
}

// Worked puts an address first that has just led to the member, and keeps it for later runs. The
// error is about the file.
func (b *AddressBook) Worked(id keys.ID, at multiaddr.Multiaddr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(id)
	if !b.usable(at) || len(e.worked) > 0 && e.worked[0].Equal(at) {
		return nil
	}
	e.worked = putFirst(e.worked, at)
	if b.path == "" {
		return nil
	}
	return durable.WriteFile(b.path, b.render())
}

// Forget drops what is known of a member.
func (b *AddressBook) Forget(id keys.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.members, id)
}

// Knows reports whether anything is kept of a member.
func (b *AddressBook) Knows(id keys.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members[id] != nil
}

// Candidates returns what to dial from here, the best first, each address once. Where a member listens on the machine
// or in the network of somebody else alone, and at this node's own addresses, nobody dials.
func (b *AddressBook) Candidates(id keys.ID) []multiaddr.Multiaddr {
	v := b.around.look()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(id)
	return slices.DeleteFunc(e.all(), func(a multiaddr.Multiaddr) bool { return !e.worth(v, a, false) })
}

// MayDial reports whether a member may be dialled at an address that a name may have been looked up as: what Candidates
// would not list is not dialled by way of a name either. Where the charter has a name for the member, all have signed
// what it leads to.
func (b *AddressBook) MayDial(id keys.ID, at multiaddr.Multiaddr) bool {
	v := b.around.look()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.members[id]
	if e == nil {
		e = new(entry)
	}
	return e.worth(v, at, slices.ContainsFunc(e.charter, named))
}

// worth reports whether an address of an entry is worth a dial. All have agreed to those of the charter, and to more
// if byName.
func (e *entry) worth(v view, a multiaddr.Multiaddr, byName bool) bool {
	switch {
	case byName || slices.ContainsFunc(e.charter, a.Equal):
		return v.agreed(a)
	case slices.ContainsFunc(e.own, a.Equal): // held against the connection that it came over
		return ReachOf(a) > Nowhere && !v.itself(a)
	default:
		return v.here(a)
	}
}

// named reports whether an address has a name for a host.
func named(a multiaddr.Multiaddr) bool {
	code := a[0].Protocol().Code
	return code == multiaddr.P_DNS || code == multiaddr.P_DNS4 || code == multiaddr.P_DNS6
}

// How an address was found. An address of several sources is of the first one here.
const (
	SourceCharter = "the charter"
	SourceWorked  = "an earlier run"  // it led to the member before
	SourceOwn     = "its own word"    // in its last hello
	SourceSigned  = "its signed word" // in a note of its addresses that other members pass on
	SourceFound   = "discovery"       // mDNS or the DHT
)

// Known is an address with its source.
type Known struct {
	Address multiaddr.Multiaddr
	Source  string // one of the Source constants
}

// Known returns what Candidates does, with the sources.
func (b *AddressBook) Known(id keys.ID) []Known {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(id).known()
}

// Source returns how an address of a member was found, or nothing where it is not known any more.
func (b *AddressBook) Source(id keys.ID, at multiaddr.Multiaddr) string {
	for _, k := range b.Known(id) {
		if k.Address.Equal(at) {
			return k.Source
		}
	}
	return ""
}

// Worth leaves the addresses that are of a kind that is dialled, and worth a dial from here, up to a limit.
func (b *AddressBook) Worth(list []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	v := b.around.look()
	var out []multiaddr.Multiaddr
	for _, a := range list {
		if len(out) < addressesKept && b.usable(a) && v.here(a) {
			out = append(out, a)
		}
	}
	return out
}

// all lists the addresses of an entry in the order of their worth.
func (e *entry) all() []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, k := range e.known() {
		out = append(out, k.Address)
	}
	return out
}

// known lists the addresses of an entry in the order of their worth, each once, with their sources.
func (e *entry) known() []Known {
	var out []Known
	add := func(source string, addresses ...multiaddr.Multiaddr) {
		for _, a := range addresses {
			if !slices.ContainsFunc(out, func(k Known) bool { return k.Address.Equal(a) }) {
				out = append(out, Known{a, source})
			}
		}
	}
	add(SourceCharter, e.charter...)
	add(SourceWorked, e.worked...)
	add(SourceOwn, e.own...)
	add(SourceSigned, e.signed...)
	add(SourceFound, e.found...)
	for i := range addressesKept { // the first of each answer, the second of each
		for _, list := range e.told {
			if i < len(list) {
				add(SourceFound, list[i])
			}
		}
	}
	return out
}

// putFirst puts an address at the front of a list of limited length.
func putFirst(list []multiaddr.Multiaddr, a multiaddr.Multiaddr) []multiaddr.Multiaddr {
	list = slices.DeleteFunc(slices.Clone(list), a.Equal)
	list = slices.Insert(list, 0, a)
	return list[:min(len(list), addressesKept)]
}
