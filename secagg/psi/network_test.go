package psi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// wire is a network in memory: a queue for each pair and direction, and all that went over it. What a party sent before
// it ended is still received: how a run ends does not depend on who is faster.
type wire struct {
	queues [][]chan frame
	ended  []chan struct{} // by party: closed when it sends nothing more

	mu   sync.Mutex
	sent []frame
}

// frame is one message on its way.
type frame struct {
	Message
	data []byte
}

// errKilled is what a killed party's calls return.
var errKilled = errors.New("killed")

// newWire links so many parties.
func newWire(parties int) *wire {
	w := &wire{queues: make([][]chan frame, parties)}
	for i := range w.queues {
		w.ended = append(w.ended, make(chan struct{}))
		for range parties {
			w.queues[i] = append(w.queues[i], make(chan frame, 256))
		}
	}
	return w
}

// end is one party's end of a wire. An adversary changes what it sends.
type end struct {
	*wire
	self   int
	change func(m Message, data []byte) []byte // nil: as it is
	left   int                                 // messages until it is killed; 0: never
}

// send puts a message on its way.
func (e *end) send(m Message, data []byte) error {
	if e.left > 0 {
		if e.left--; e.left == 0 {
			return errKilled
		}
	}
	if e.change != nil {
		data = e.change(m, data)
	}
	f := frame{m, bytes.Clone(data)}
	e.mu.Lock()
	e.sent = append(e.sent, f)
	e.mu.Unlock()
	select {
	case e.queues[m.From][m.To] <- f:
		return nil
	case <-e.ended[m.To]:
		return context.Canceled
	}
}

// receive takes the next message from a party.
func (e *end) receive(m Message) ([]byte, error) {
	queue := e.queues[m.From][m.To]
	var f frame
	select {
	case f = <-queue:
	case <-e.ended[m.From]:
		select {
		case f = <-queue:
		default:
			return nil, context.Canceled
		}
	}
	if f.Kind != m.Kind || f.Piece != m.Piece {
		return nil, fmt.Errorf("party %d wants %s (%d) from %d, and %s (%d) came", e.self, m.Kind, m.Piece, m.From, f.Kind,
			f.Piece)
	}
	return bytes.Clone(f.data), nil // a party may change what it has
}

// Pass implements Network.
func (e *end) Pass(_ context.Context, m Message, data []byte) ([]byte, error) {
	switch e.self {
	case m.From:
		return nil, e.send(m, data)
	case m.To:
		return e.receive(m)
	}
	return nil, nil
}

// Exchange implements Network.
func (e *end) Exchange(_ context.Context, m Message, data []byte) ([][]byte, error) {
	all := make([][]byte, len(e.queues))
	all[e.self] = data
	for i := range all {
		if i != e.self {
			m.From, m.To = e.self, i
			if err := e.send(m, data); err != nil {
				return nil, err
			}
		}
	}
	for i := range all {
		if i != e.self {
			m.From, m.To = i, e.self
			var err error
			if all[i], err = e.receive(m); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// federation is an intersection of parties in memory.
type federation struct {
	spec  Spec
	lists [][][]ID // by party and pass
	roots []Root
	kept  []map[string]keys.Hash // by party, over all sessions

	change map[int]func(m Message, data []byte) []byte // by party
	left   map[int]int
	adapt  func(p *Party)
}

// newFederation is one of parties with lists; the second is the keeper.
func newFederation(lists [][][]ID, helper int) *federation {
	f := &federation{spec: Spec{Asker: 0, Keeper: 1, Helper: helper}, lists: lists}
	for i, own := range lists {
		var counts []int
		for _, list := range own {
			n := 0
			for _, id := range list {
				if id != (ID{}) {
					n++
				}
			}
			counts = append(counts, n)
		}
		f.spec.Counts = append(f.spec.Counts, counts)
		f.roots = append(f.roots, Root(keys.HashOf("root", []byte{byte(i)})))
		f.kept = append(f.kept, make(map[string]keys.Hash))
	}
	return f
}

// run runs all parties to their ends.
func (f *federation) run(t interface{ Helper() }) (results []*Result, errs []error, w *wire) {
	t.Helper()
	w = newWire(len(f.lists))
	results, errs = make([]*Result, len(f.lists)), make([]error, len(f.lists))
	var group sync.WaitGroup
	for i := range f.lists {
		kept := f.kept[i]
		p := &Party{
			Spec: f.spec, Self: i, Contract: keys.HashOf("contract"), Root: f.roots[i], Lists: f.lists[i], Workers: 1,
			Network: &end{wire: w, self: i, change: f.change[i], left: f.left[i]},
			Keep: func(name string, digest keys.Hash) error {
				if before, ok := kept[name]; ok && before != digest {
					return ErrOther
				}
				kept[name] = digest
				return nil
			},
		}
		if f.adapt != nil {
			f.adapt(p)
		}
		group.Go(func() {
			defer close(w.ended[i])
			results[i], errs[i] = Run(context.Background(), p)
		})
	}
	group.Wait()
	return results, errs, w
}

// first returns the error that is not of a party that was told to stop.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// egress is what a party sent another of each kind.
func (w *wire) egress() map[[2]int]map[string]int {
	all := make(map[[2]int]map[string]int)
	for _, f := range w.sent {
		link := [2]int{f.From, f.To}
		if all[link] == nil {
			all[link] = make(map[string]int)
		}
		all[link][f.Kind] += len(f.data)
	}
	return all
}

// isDeviation reports whether a party found another to deviate, and which.
func isDeviation(errs []error, by int) (int, bool) {
	var d *Deviation
	if !errors.As(errs[by], &d) || !errors.Is(errs[by], contract.ErrDeviation) {
		return 0, false
	}
	return d.Party, true
}
