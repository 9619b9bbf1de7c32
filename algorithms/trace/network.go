// Package trace runs one party's part of an algorithm without data, on a Network that carries nothing, and notes what
// the part asks of the others. What a contract lists, what a forecast counts and how an auditor tells apart the words
// of a transcript all come from the code that runs a job.
package trace

import (
	"context"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// Network is the network of a party that is none of the job's. It counts what the part asks of it, or, for a Follower,
// notes what each message is of.
type Network struct {
	Operations []contract.Operation // as counted so far
	Names      []string             // all parties, in the job's order
	// Stage is the part of a session to which a kind of message belongs.
	Stage func(kind string) int64
	// Answer is what a broadcast of at most limit bytes brings. What decides over later messages is what makes most of
	// them.
	Answer func(kind string, limit int) (Answer, error)

	Notes   Notes // so far
	lines   map[line]int
	learned map[learned]int64
	times   int64 // what is counted now stands for so many, 0: for itself

	follow *Follower
	about  func() About // what the next message is of
	blank  []uint16
}

// Answer is a broadcast in a session of which nothing is known but public numbers.
type Answer struct {
	Class  contract.Class
	Anyone bool // contracts list it as Anyone's
	Data   []byte
}

// Notes are what contracts do not say of kinds of messages.
type Notes struct {
	AtMost []string            // how many there are, or how long, follows from data: contracts list the most
	Silent []string            // broadcasts that are empty in a session that nothing came before
	Roots  map[string][]string // who broadcasts in turn, where contracts list Anyone
}

// Following reports whether a Follower asks what the messages are of. Then nothing is counted, and everything is run
// as often as a session does it.
func (n *Network) Following() bool { return n.follow != nil }

// AtMost marks kinds of which what is counted is the most that data can make of it.
func (n *Network) AtMost(kinds ...string) {
	for _, kind := range kinds {
		n.Notes.AtMost = with(n.Notes.AtMost, kind)
	}
}

// with returns a list with an element that may be in it.
func with(list []string, element string) []string {
	if slices.Contains(list, element) {
		return list
	}
	return append(list, element)
}

// Times runs f once and counts what it does k times; for a Follower it runs f k times.
func (n *Network) Times(k int, f func() error) error {
	if n.Following() {
		for range k {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
	if k == 0 {
		return nil
	}
	before := n.times
	n.times = max(before, 1) * int64(k)
	err := f()
	n.times = before
	return err
}

// About says what the next message of angles or features is of.
func (n *Network) About(about func() About) {
	if n.Following() {
		n.about = about
	}
}

// line is what tells operations apart: those of one kind between the same ends are one.
type line struct {
	kind, root, to, excluded string
	tree                     int64
}

// learned is a kind of numbers that open to a party.
type learned struct{ party, kind string }

// learn counts numbers of a kind that open to a party.
func (n *Network) learn(party, kind string, words int) {
	if n.learned == nil {
		n.learned = make(map[learned]int64)
	}
	n.learned[learned{party, kind}] += max(n.times, 1) * int64(words)
}

// Learned returns how many numbers of a kind open to a party: of what one party tells all, one each time.
func (n *Network) Learned(party, kind string) int64 { return n.learned[learned{party, kind}] }

// Count counts an operation of so many numbers, or shows the Follower what they are of. Of o it takes kind and the way
// the data travel; the rest it fills in.
func (n *Network) Count(o contract.Operation, class contract.Class, encoding contract.Encoding, words int) error {
	if n.Following() {
		about := n.about
		if n.about = nil; about == nil {
			return nil
		}
		return n.follow.pass(passage{o.Kind, slices.Index(n.Names, o.Root), slices.Index(n.Names, o.To)}, words, about)
	}
	o.Stage = n.Stage(o.Kind)
	key := line{o.Kind, o.Root, o.To, o.Excluded, o.Tree}
	at, ok := n.lines[key]
	if !ok {
		if n.lines == nil {
			n.lines = make(map[line]int)
		}
		at = len(n.Operations)
		n.lines[key] = at
		o.Class, o.Encoding = class.String(), encoding.String()
		if encoding != contract.Bytes {
			o.Shape = []int64{0}
		}
		n.Operations = append(n.Operations, o)
	}
	times := max(n.times, 1)
	l := &n.Operations[at]
	l.Count += times
	l.Bytes += times * int64(encoding.Size(words))
	if l.Shape != nil {
		l.Shape[0] += times * int64(words)
	}
	return nil
}

// Sum counts a sum of vectors of so many numbers to a root, to which the total opens unless it is under a pad.
func (n *Network) Sum(
	kind string, root int, class contract.Class, encoding contract.Encoding, words int, opens bool,
) error {
	name := n.Names[root]
	if opens {
		n.learn(name, kind, words)
	}
	return n.Count(contract.Operation{Kind: kind, Collective: contract.CollectiveSum, Root: name}, class, encoding, words)
}

// SumTurns counts a sum of 16-bit turns.
func (n *Network) SumTurns(_ context.Context, kind string, root int, v []uint16) error {
	return n.Sum(kind, root, contract.ClassMasked, contract.Turns16, len(v), true)
}

// BeginPadded counts a sum of 16-bit turns whose total stays under a pad.
func (n *Network) BeginPadded(
	_ context.Context, kind string, root int, v []uint16,
) (func(context.Context) error, error) {
	return atOnce, n.Sum(kind, root, contract.ClassMasked, contract.Turns16, len(v), false)
}

// SumPacked counts a sum of words modulo 2^bits.
func (n *Network) SumPacked(_ context.Context, kind string, root, bits int, v []uint64) error {
	return n.Sum(kind, root, contract.ClassMasked, contract.Packed(bits), len(v), true)
}

// Broadcast counts a broadcast and returns what Answer has for it; for a Follower it waits for what was told, where
// that decides over what messages are of.
func (n *Network) Broadcast(_ context.Context, kind string, root int, _ []byte, limit int) ([]byte, error) {
	if n.Following() && slices.Contains(n.follow.heard, kind) {
		return n.follow.await(kind)
	}
	t, err := n.Answer(kind, limit)
	if err != nil || n.Following() {
		return t.Data, err
	}
	o := contract.Operation{Kind: kind, Collective: contract.CollectiveBroadcast, Root: n.Names[root]}
	if t.Anyone {
		if n.Notes.Roots == nil {
			n.Notes.Roots = make(map[string][]string)
		}
		n.Notes.Roots[kind] = with(n.Notes.Roots[kind], o.Root)
		o.Root = contract.Anyone
	}
	if len(t.Data) == 0 {
		n.Notes.Silent = with(n.Notes.Silent, kind)
	}
	for i, name := range n.Names {
		if i != root {
			n.learn(name, kind, 1)
		}
	}
	return t.Data, n.Count(o, t.Class, contract.Bytes, limit)
}

// Confirm counts the comparison of what all were told.
func (n *Network) Confirm(context.Context) error {
	o := contract.Operation{Kind: contract.KindShared, Collective: contract.CollectiveExchange}
	return n.Count(o, contract.ClassControl, contract.Bytes, contract.SharedSize)
}

// Ask counts what the root of an opening asks all others.
func (n *Network) Ask(_ context.Context, root int, _ string, _, _ int) error {
	for i, name := range n.Names {
		if i == root {
			continue
		}
		o := contract.Operation{
			Kind: contract.KindAsk, Collective: contract.CollectiveDirect, Root: n.Names[root], To: name,
		}
		if err := n.Count(o, contract.ClassControl, contract.Bytes, contract.AskSize); err != nil {
			return err
		}
	}
	return nil
}

// Three starts the arithmetic of the three at a party outside: nobody's part counts all the same.
func (n *Network) Three(parties [rss.Roles]int) (*rss.Party, error) {
	return rss.New(rss.Outside, &wires{n, parties}, nil, 1), nil
}

// Turns returns n angles of no row.
func (n *Network) Turns(angles int) []uint16 {
	if cap(n.blank) < angles {
		n.blank = make([]uint16, angles)
	}
	return n.blank[:angles]
}

// atOnce ends what was over when it began.
func atOnce(context.Context) error { return nil }

// wires are the links of the three on a Network.
type wires struct {
	network *Network
	parties [rss.Roles]int
}

// direct counts a message of so many numbers from a party to one of the three.
func (w *wires) direct(
	kind string, from int, to rss.Role, class contract.Class, encoding contract.Encoding, n int,
) error {
	return w.network.Count(contract.Operation{
		Kind: kind, Collective: contract.CollectiveDirect, Root: w.network.Names[from], To: w.network.Names[w.parties[to]],
	}, class, encoding, n)
}

// BeginPass implements rss.Wire.
func (w *wires) BeginPass(
	_ context.Context, kind string, from, to rss.Role, bits, n int, _ []uint64,
) (func(context.Context) error, error) {
	return atOnce, w.direct(kind, w.parties[from], to, contract.ClassMasked, rss.EncodingOf(bits), n)
}

// Show implements rss.Wire.
func (w *wires) Show(_ context.Context, kind string, from, to rss.Role, bits, n int, _ []uint64) error {
	w.network.learn(w.network.Names[w.parties[to]], kind, n)
	return w.direct(kind, w.parties[from], to, contract.ClassOpening, contract.Packed(bits), n)
}

// Vouch implements rss.Wire.
func (w *wires) Vouch(_ context.Context, kind string, from, to rss.Role, digest *keys.Hash) error {
	return w.direct(kind, w.parties[from], to, contract.ClassControl, contract.Bytes, len(digest))
}

// Keys implements rss.Wire: of each component that has a pad to the two that hold it.
func (w *wires) Keys(_ context.Context, kind string, from int) (rss.Source, error) {
	for _, unknown := range []rss.Role{rss.Keeper, rss.Helper} {
		for to := range rss.Role(rss.Roles) {
			if to == unknown {
				continue
			}
			if err := w.direct(kind, from, to, contract.ClassMasked, contract.Fixed64, rss.KeyWords); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// Give implements rss.Wire.
func (w *wires) Give(_ context.Context, kind string, from int, to rss.Role, bits, n int, _ []uint64) error {
	return w.direct(kind, from, to, contract.ClassMasked, rss.EncodingOf(bits), n)
}
