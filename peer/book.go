package peer

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/hanse-project/hanse/keys"
)

// Limits per member and source, so that nobody can make a host dial without end.
const addressesKept = 8

// book knows where members may be. It asks nobody; the others write into it what they find.
type book struct {
	quic bool
	file stateFile

	mu      sync.Mutex
	entries map[keys.ID]*entry
}

// entry is one member's addresses by source, the best first. All but the charter's are only
// hints: TLS shows whether the member is there.
type entry struct {
	charter []multiaddr.Multiaddr
	proved  []multiaddr.Multiaddr // worked before, the latest first; kept over restarts
	told    []multiaddr.Multiaddr // by the member itself in its last hello
	found   []multiaddr.Multiaddr // by mDNS and the DHT, the latest first
	news    chan struct{}         // closed and replaced when an address is found
}

// newBook starts with what the state file holds. A damaged file costs a warning: it holds
// nothing that cannot be found again.
func newBook(cfg Config, log *slog.Logger) (*book, error) {
	b := &book{quic: cfg.QUIC, entries: make(map[keys.ID]*entry)}
	if cfg.StateDir == "" {
		return b, nil
	}
	file, err := openStateFile(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	b.file = file
	learned, err := file.load()
	if err != nil {
		log.Warn("the learned addresses are ignored", "reason", err)
	}
	keeps := cfg.neighbourhood()
	for id, addresses := range learned {
		if _, ok := cfg.Charter.Member(id); ok && keeps(id) {
			b.of(id).proved = b.parse(addresses)
		}
	}
	return b, nil
}

// of returns a member's entry. The lock is held, or the book is not shared yet.
func (b *book) of(id keys.ID) *entry {
	e, ok := b.entries[id]
	if !ok {
		e = &entry{news: make(chan struct{})}
		b.entries[id] = e
	}
	return e
}

// parse keeps the usable addresses of a list.
func (b *book) parse(texts []string) []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, text := range texts {
		a, err := multiaddr.NewMultiaddr(text)
		if err == nil && len(out) < addressesKept && b.usable(a) {
			out = append(out, a)
		}
	}
	return out
}

// usable reports whether an address is of a kind that this host dials: a TCP port or, with QUIC
// switched on, a QUIC one, at an IP address or a name.
func (b *book) usable(a multiaddr.Multiaddr) bool {
	if manet.IsIPUnspecified(a) || len(a) < 2 {
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

// charter sets the addresses that the charter lists.
func (b *book) charter(id keys.ID, addresses []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(id).charter = b.parse(addresses)
}

// told sets the addresses that a member gives for itself. Its loopback address is of use only
// on the same machine.
func (b *book) told(id keys.ID, addresses []string, from multiaddr.Multiaddr) {
	list := b.parse(addresses)
	if !manet.IsIPLoopback(from) {
		list = slices.DeleteFunc(list, manet.IsIPLoopback)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(id).told = list
}

// found adds addresses that discovery has come up with, and wakes who waits to dial.
func (b *book) found(id keys.ID, addresses []multiaddr.Multiaddr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(id)
	known := e.all()
	fresh := false
	for _, a := range addresses {
		if b.usable(a) && !contains(known, a) {
			e.found = push(e.found, a)
			fresh = true
		}
	}
	if fresh {
		close(e.news)
		e.news = make(chan struct{})
	}
}

// news returns a channel that is closed when discovery has found an address of the member.
func (b *book) news(id keys.ID) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(id).news
}

// worked puts an address first that has just led to the member, and keeps it for later runs.
func (b *book) worked(id keys.ID, at multiaddr.Multiaddr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(id)
	if !b.usable(at) || len(e.proved) > 0 && e.proved[0].Equal(at) {
		return nil
	}
	e.proved = push(e.proved, at)
	if b.file == "" {
		return nil
	}
	return b.file.save(b.entries)
}

// forget drops what is known of a member.
func (b *book) forget(id keys.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, id)
}

// candidates returns what to dial, each address once.
func (b *book) candidates(id keys.ID) []multiaddr.Multiaddr {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(id).all()
}

// all lists the addresses of an entry in the order of their worth.
func (e *entry) all() []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, source := range [][]multiaddr.Multiaddr{e.charter, e.proved, e.told, e.found} {
		for _, a := range source {
			if !contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

func contains(list []multiaddr.Multiaddr, a multiaddr.Multiaddr) bool {
	return slices.ContainsFunc(list, a.Equal)
}

// push puts an address at the front of a list of limited length.
func push(list []multiaddr.Multiaddr, a multiaddr.Multiaddr) []multiaddr.Multiaddr {
	list = slices.DeleteFunc(slices.Clone(list), a.Equal)
	list = slices.Insert(list, 0, a)
	return list[:min(len(list), addressesKept)]
}
