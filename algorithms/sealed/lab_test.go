package sealed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// lab is parties in one process without sessions: messages wait in queues, and sums are added in the clear
// at their roots, as an ideal secure sum would. It shows what the three parties' own messages tell, which no mask of a
// session covers.
type lab struct {
	names  []string
	queues [][]chan any // [from][to]
	source func(r rss.Role, session int) rss.Source
	heard  func(i int, m *message) error // sees, and may change, all that party i receives; nil: nobody listens
}

// message is something that a party received.
type message struct {
	way   way
	kind  string
	role  rss.Role // the sender's, of direct messages
	bits  int      // of a word
	words []uint64
}

// way is how a message came.
type way string

// The ways.
const (
	wayDirect    way = "direct"
	wayPadded    way = "padded sum" // a total under a pad that its root lacks
	wayOpening   way = "opening"    // a total that opens
	wayBroadcast way = "broadcast"
	wayShown     way = "shown"   // words of a component that open
	wayVouched   way = "vouched" // their digest
)

// opens reports whether a message is of what the job opens.
func (m *message) opens() bool {
	return m.way == wayOpening || m.way == wayShown || m.way == wayVouched
}

// String names a message in errors.
func (m *message) String() string {
	return fmt.Sprintf("%s %q of %d words", m.way, m.kind, len(m.words))
}

// queued is how many messages wait in a queue at most.
const queued = 64

// newLab makes queues for the named parties.
func newLab(names []string, source func(r rss.Role, session int) rss.Source) *lab {
	l := &lab{names: names, source: source}
	for range names {
		var row []chan any
		for range names {
			row = append(row, make(chan any, queued))
		}
		l.queues = append(l.queues, row)
	}
	return l
}

// run runs part at every party and returns the first error that is not another's.
func (l *lab) run(t testing.TB, part func(ctx context.Context, i int, n joint.SealedNetwork) error) error {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range l.names {
		all.Go(func() {
			if err := part(ctx, i, &place{l, i, 0}); err != nil && !errors.Is(err, context.Canceled) {
				cancel(fmt.Errorf("%s: %w", l.names[i], err))
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// place is one party's Network in a lab.
type place struct {
	*lab
	self    int
	session int // in the lab
}

// again is the party's Network in the next session of the lab, which has pads of its own.
func (p *place) again() *place { return &place{p.lab, p.self, p.session + 1} }

// take returns the next message from a party.
func (p *place) take(ctx context.Context, from int) (any, error) {
	select {
	case m := <-p.queues[from][p.self]:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put sends a message to a party.
func (p *place) put(ctx context.Context, to int, m any) error {
	select {
	case p.queues[p.self][to] <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive shows a message to who listens.
func (p *place) receive(m message) error {
	if p.heard == nil {
		return nil
	}
	return p.heard(p.self, &m)
}

// sum adds everybody's words at the root.
func (p *place) sum(ctx context.Context, m message, root int) error {
	if p.self != root {
		return p.put(ctx, root, slices.Clone(m.words))
	}
	for i := range p.names {
		if i == root {
			continue
		}
		got, err := p.take(ctx, i)
		if err != nil {
			return err
		}
		for j, w := range got.([]uint64) {
			m.words[j] += w
		}
	}
	for j := range m.words {
		m.words[j] &= ^uint64(0) >> (64 - m.bits)
	}
	return p.receive(m)
}

// BeginPadded implements joint.SealedNetwork.
func (p *place) BeginPadded(
	ctx context.Context, kind string, root int, v []uint16,
) (func(context.Context) error, error) {
	words := make([]uint64, len(v))
	for i, turn := range v {
		words[i] = uint64(turn)
	}
	err := p.sum(ctx, message{way: wayPadded, kind: kind, bits: 16, words: words}, root)
	for i, w := range words {
		v[i] = uint16(w)
	}
	return atOnce, err
}

// atOnce ends what was over when it began.
func atOnce(context.Context) error { return nil }

// Ask implements joint.SealedNetwork: a lab keeps no transcripts.
func (p *place) Ask(context.Context, int, string, int, int) error { return nil }

// SumPacked implements joint.SealedNetwork.
func (p *place) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	return p.sum(ctx, message{way: wayOpening, kind: kind, bits: bits, words: v}, root)
}

// Broadcast implements joint.SealedNetwork.
func (p *place) Broadcast(ctx context.Context, kind string, root int, data []byte, _ int) ([]byte, error) {
	if p.self == root {
		for i := range p.names {
			if i == root {
				continue
			}
			if err := p.put(ctx, i, slices.Clone(data)); err != nil {
				return nil, err
			}
		}
		return data, nil
	}
	got, err := p.take(ctx, root)
	if err != nil {
		return nil, err
	}
	m := message{way: wayBroadcast, kind: kind, bits: 8}
	for _, b := range got.([]byte) {
		m.words = append(m.words, uint64(b))
	}
	return got.([]byte), p.receive(m)
}

// Confirm implements joint.SealedNetwork: nobody in a lab changes a broadcast.
func (p *place) Confirm(context.Context) error { return nil }

// Three implements joint.SealedNetwork.
func (p *place) Three(parties [rss.Roles]int) (*rss.Party, error) {
	role := rss.Role(slices.Index(parties[:], p.self)) // -1 is outside
	var source rss.Source
	if role != rss.Outside {
		source = p.source(role, p.session)
	}
	return rss.New(role, &labWire{p, parties}, source, 1), nil
}

// labWire is the Wire of a lab.
type labWire struct {
	*place
	parties [rss.Roles]int
}

// BeginPass implements rss.Wire.
func (w *labWire) BeginPass(
	ctx context.Context, kind string, from, to rss.Role, bits, n int, words []uint64,
) (func(context.Context) error, error) {
	return atOnce, w.pass(ctx, wayDirect, kind, from, to, bits, n, words)
}

// Show implements rss.Wire.
func (w *labWire) Show(ctx context.Context, kind string, from, to rss.Role, bits, n int, words []uint64) error {
	return w.pass(ctx, wayShown, kind, from, to, bits, n, words)
}

// Vouch implements rss.Wire.
func (w *labWire) Vouch(ctx context.Context, kind string, from, to rss.Role, digest *keys.Hash) error {
	words := wordsOf(digest[:])
	err := w.pass(ctx, wayVouched, kind, from, to, 64, len(words), words)
	copy(digest[:], bytesOf(words))
	return err
}

// pass moves words from one role to another.
func (w *labWire) pass(ctx context.Context, by way, kind string, from, to rss.Role, bits, n int, words []uint64) error {
	switch w.self {
	case w.parties[from]:
		return w.put(ctx, w.parties[to], slices.Clone(words))
	case w.parties[to]:
		got, err := w.take(ctx, w.parties[from])
		if err != nil {
			return err
		}
		if copied := copy(words, got.([]uint64)); copied != n {
			return fmt.Errorf("%s: %d words came, want %d", kind, copied, n)
		}
		return w.receive(message{way: by, kind: kind, role: from, bits: bits, words: words})
	}
	return nil
}

// outsideRole names a party outside the three on tapes.
func outsideRole(party int) rss.Role { return rss.Outside - 1 - rss.Role(party) }

// Keys implements rss.Wire: the tape's pads are everybody's who may have them.
func (w *labWire) Keys(_ context.Context, _ string, from int) (rss.Source, error) {
	role := rss.Role(slices.Index(w.parties[:], w.self))
	if role == rss.Outside && w.self != from {
		return nil, nil
	}
	if role == rss.Outside {
		role = outsideRole(from)
	}
	return w.source(role, w.session), nil
}

// Give implements rss.Wire.
func (w *labWire) Give(ctx context.Context, kind string, from int, to rss.Role, bits, n int, words []uint64) error {
	receiver := w.parties[to]
	switch w.self {
	case from:
		return w.put(ctx, receiver, slices.Clone(words))
	case receiver:
		got, err := w.take(ctx, from)
		if err != nil {
			return err
		}
		if copied := copy(words, got.([]uint64)); copied != n {
			return fmt.Errorf("%s: %d words came, want %d", kind, copied, n)
		}
		return w.receive(message{way: wayDirect, kind: kind, role: outsideRole(from), bits: bits, words: words})
	}
	return nil
}
