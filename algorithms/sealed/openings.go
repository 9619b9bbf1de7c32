package sealed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// A number that opens is rounded under the pads of a session. Computed again in another session it is rounded
// in another way, and two roundings tell more than one. So the three who add up to it see to it that each opens
// once, whatever happens on the way:
//
//  1. each saves its words, and only then tells all that it is ready;
//  2. once all three are ready and the receiver has signed that it asks, each marks the opening as leaving on its disk,
//     and only then sends;
//  3. in a later session they tell each other what they hold. What all three hold is sent as it is, under
//     fresh masks. What one of them lacks has left nobody, since its readiness was missing, and is computed anew.
//
// Who says that an opening has left which another says it lacks, or the other, deviates: the job ends.

// The kinds of the messages about openings.
const (
	kindHeld  = "held"  // which openings a party of the three holds, when a session begins
	kindReady = "ready" // that it holds the words of one
)

// series is one kind of openings of a job. They are numbered from 1, and a number opens after those before it.
type series struct {
	kind  string // of the sums that open them
	code  byte   // names it in messages
	most  int    // how many the contract lists
	bits  int    // of a number that opens
	root  int    // the party that it opens to; nobody: to all three, of whom none asks for it
	slots int    // how many words are kept, the last ones; 0: all

	own   held // at the three
	fixed int  // the openings up to this number are fixed: all three hold the same words
}

// nobody is no party's index.
const nobody = -1

// The codes of the series.
const (
	codeBound      = 1
	codeScores     = 2
	codeCoin       = 3
	codeCheck      = 4
	codeValidation = 5
	codePoints     = 6
	codeZScores    = 7
	codeProgress   = 8
)

// held is what one of the three has of a series.
type held struct {
	left   uint32 // this one, and all before it, may have left
	origin uint32 // the session that computed it
	next   uint32 // the session that computed the words of the one after, which wait for the others; 0: none
}

// heldSize and readySize are the lengths of the messages, in bytes.
const (
	heldSize  = 12
	readySize = 9
)

// encode returns the bytes of a series' entry in a message.
func (h held) encode() []byte {
	b := binary.BigEndian.AppendUint32(nil, h.left)
	b = binary.BigEndian.AppendUint32(b, h.origin)
	return binary.BigEndian.AppendUint32(b, h.next)
}

// decodeHeld reads what another party says of a series that has at most so many openings.
func decodeHeld(b []byte, most int) (held, error) {
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	h := held{left: word(0), origin: word(1), next: word(2)}
	if int64(h.left) > int64(most) || (h.left == 0) != (h.origin == 0) {
		return held{}, fmt.Errorf("%d openings have left, the last of session %d; the contract has %d", h.left, h.origin,
			most)
	}
	return h, nil
}

// has reports whether a party holds the words of an opening that were computed in a session.
func (h held) has(number, origin uint32) bool {
	return h.left == number && h.origin == origin || h.left+1 == number && h.next == origin && origin != 0
}

// conflict says that one party has marked an opening as leaving and another lacks it.
type conflict struct {
	number        uint32
	origin        uint32
	leaves, lacks rss.Role
}

// agreement returns up to which number the openings of a series are fixed, by what the three hold.
func agreement(all [rss.Roles]held) (fixed int, c *conflict) {
	top := rss.LabelHolder
	for r, h := range all {
		if h.left > all[top].left {
			top = rss.Role(r)
		}
	}
	last, same := all[top], true
	for r, h := range all {
		if last.left > 0 && !h.has(last.left, last.origin) {
			return 0, &conflict{last.left, last.origin, top, rss.Role(r)}
		}
		same = same && h == last && h.next != 0
	}
	if same {
		return int(last.left) + 1, nil
	}
	return int(last.left), nil
}

// openings is one party's part in the openings of a job, over all its sessions.
type openings struct {
	roles
	names   []string
	session uint32
	vault   joint.Vault // at the three
	network joint.SealedNetwork
	list    []*series
}

// add adds a series.
func (o *openings) add(s series) *series {
	o.list = append(o.list, &s)
	return &s
}

// agree tells the other parties what this one holds and settles which openings are fixed. What came is judged once all
// have compared that they were told the same: a party on the way could have changed it, and another would be blamed.
func (o *openings) agree(ctx context.Context) error {
	if err := o.load(); err != nil {
		return err
	}
	var told [rss.Roles][]byte
	for r, i := range o.parties {
		var data []byte
		if o.role == rss.Role(r) {
			for _, s := range o.list {
				data = append(data, s.own.encode()...)
			}
		}
		var err error
		if told[r], err = o.network.Broadcast(ctx, kindHeld, i, data, heldSize*len(o.list)); err != nil {
			return err
		}
	}
	if err := o.network.Confirm(ctx); err != nil {
		return err
	}
	all := make([][rss.Roles]held, len(o.list))
	for r, i := range o.parties {
		data := told[r]
		if len(data) != heldSize*len(o.list) {
			reason := fmt.Sprintf("%d bytes, want %d", len(data), heldSize*len(o.list))
			return &rss.DeviationError{Parties: []string{o.names[i]}, Kind: kindHeld, Reason: reason}
		}
		for k, s := range o.list {
			var err error
			if all[k][r], err = decodeHeld(data[heldSize*k:], s.most); err != nil {
				reason := fmt.Sprintf("of %s, %v", s.kind, err)
				return &rss.DeviationError{Parties: []string{o.names[i]}, Kind: kindHeld, Reason: reason}
			}
		}
	}
	for k, s := range o.list {
		fixed, c := agreement(all[k])
		if c != nil {
			return o.contradiction(s, c, all[k])
		}
		s.fixed = fixed
	}
	return nil
}

// contradiction names who deviates: who lacks what this party knows that it was ready for, who says that words have
// left for which this party never was ready, and else both.
func (o *openings) contradiction(s *series, c *conflict, all [rss.Roles]held) error {
	leaves, lacks := o.names[o.parties[c.leaves]], o.names[o.parties[c.lacks]]
	e := &rss.DeviationError{Kind: kindHeld}
	what := fmt.Sprintf("opening %d of %s, of session %d", c.number, s.kind, c.origin)
	switch {
	case o.role != rss.Outside && !all[o.role].has(c.number, c.origin):
		e.Parties = []string{leaves}
		e.Reason = what + " is said to have left, and this party never was ready for it, unless its own state was lost; " +
			"it is not computed anew"
	case o.role != rss.Outside && all[o.role].left == c.number:
		e.Parties = []string{lacks}
		e.Reason = what + " is not held, for which it was ready: it has left, and is not computed anew"
	default:
		e.Parties = []string{leaves, lacks}
		e.Reason = fmt.Sprintf("%s has left at %s, and %s does not hold it: one of the two is wrong, and it is not "+
			"computed anew",
			what, leaves, lacks)
	}
	return e
}

// openVector opens a number of a series to its root: n words, of which compute shares what is not fixed yet. It
// returns the vector, which at root holds the totals modulo 2^bits, in two's complement. Where a word of so few bits
// has no encoding they are the highest ones of a wider word, and all senders' others are zeros.
func (o *openings) openVector(
	ctx context.Context, s *series, number, n int, compute func() (rss.Share, error),
) ([]int64, error) {
	words, err := o.fix(ctx, s, number, n, func() ([]uint64, error) {
		y, err := compute()
		return y.X, err
	})
	if err != nil {
		return nil, err
	}
	width := max(s.bits, contract.MinPacked)
	sums := make([]uint64, n)
	for i, w := range words {
		sums[i] = w << (width - s.bits)
	}
	if err := o.network.SumPacked(ctx, s.kind, s.root, width, sums); err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i, w := range sums {
		out[i] = int64(w<<(64-width)) >> (64 - s.bits)
	}
	return out, nil
}

// fix settles the n words with which this party takes part in a number of a series, and returns them: the same in
// every session, those that compute returns when they are not fixed yet. When it returns they may leave.
func (o *openings) fix(
	ctx context.Context, s *series, number, n int, compute func() ([]uint64, error),
) ([]uint64, error) {
	if number < 1 || number > s.most {
		return nil, fmt.Errorf("opening %d of %s is refused: the contract lists %d, over all sessions", number, s.kind,
			s.most)
	}
	if number > s.fixed+1 || s.slots > 0 && number < s.fixed {
		return nil, fmt.Errorf("opening %d of %s is refused: %d have opened, and each opens once", number, s.kind, s.fixed)
	}
	r, err := o.words(s, number, n, compute)
	if err != nil {
		return nil, err
	}
	// Tells all that this party's words are saved, and hears it of the other two: they must mean the same opening,
	// of the same session.
	own := readyFor(s.code, r.number, r.origin)
	var told [rss.Roles][]byte
	for at, i := range o.parties {
		var err error
		if told[at], err = o.network.Broadcast(ctx, kindReady, i, own, readySize); err != nil {
			return nil, err
		}
	}
	if err := o.network.Confirm(ctx); err != nil {
		return nil, err
	}
	for at, i := range o.parties {
		data := told[at]
		if o.role != rss.Outside && !bytes.Equal(data, own) {
			reason := fmt.Sprintf("%x where opening %d of %s, of session %d, is due (%x)", data, r.number, s.kind, r.origin, own)
			return nil, &rss.DeviationError{Parties: []string{o.names[i]}, Kind: kindReady, Reason: reason}
		}
	}
	if s.root != nobody {
		if err := o.network.Ask(ctx, s.root, s.kind, n, number); err != nil {
			return nil, err
		}
	}
	if err := o.leave(s, r); err != nil {
		return nil, err
	}
	s.fixed = max(s.fixed, number)
	return r.words, nil
}

// words returns this party's words of an opening, saved: those of its origin, or new ones.
func (o *openings) words(s *series, number, n int, compute func() ([]uint64, error)) (*record, error) {
	if number <= s.fixed {
		if o.role == rss.Outside {
			return &record{words: make([]uint64, n)}, nil
		}
		r, err := o.find(s, number)
		if err != nil {
			return nil, err
		}
		if r == nil || len(r.words) != n {
			return nil, fmt.Errorf("opening %d of %s has left, and its %d words are not on this node's disk: "+
				"nothing else may be sent in their place; propose the job anew", number, s.kind, n)
		}
		return r, nil
	}
	own, err := compute()
	if err != nil {
		return nil, err
	}
	r := &record{number: uint32(number), origin: o.session, words: make([]uint64, n)}
	copy(r.words, own)
	if o.role == rss.Outside {
		return r, nil
	}
	return r, o.write(s, s.file(int(r.number)), r, bytesOf(r.words))
}

// OpeningKinds lists the kinds of what opens in sealed jobs under words that the three hold, by the code that names
// them in messages.
func OpeningKinds() map[string]byte {
	return map[string]byte{kindBound: codeBound, kindScores: codeScores, kindCoin: codeCoin, kindCheck: codeCheck,
		kindValidation: codeValidation, kindPoints: codePoints, kindZScores: codeZScores, kindProgress: codeProgress}
}

// ReadyHash is the SHA-256 of what the three say before an opening: its number, and the session that computed it.
func ReadyHash(kind string, number, origin uint32) [sha256.Size]byte {
	return sha256.Sum256(readyFor(OpeningKinds()[kind], number, origin))
}

// readyFor is what a party says that is ready for an opening.
func readyFor(code byte, number, origin uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{code}, number), origin)
}
