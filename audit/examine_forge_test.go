package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// edit changes the records of a transcript.
type edit func(all []transcript.Record) []transcript.Record

// forge returns party i's transcript as the party itself can change it: chain, numbers and seals are
// right, but it has no other party's signature.
func (l *testNetwork) forge(i int, change edit) []byte { return l.rewrite(i, change, true, nobody) }

// collude returns party i's transcript as it can change it with others who sign for it what it likes.
func (l *testNetwork) collude(i int, change edit, others ...int) []byte {
	return l.rewrite(i, change, true, func(peer int) bool { return slices.Contains(others, peer) })
}

// rewriteStated is forge, but what the party has stated of its transcript stays as it was.
func (l *testNetwork) rewriteStated(i int, change edit) []byte {
	return l.rewrite(i, change, false, nobody)
}

// nobody and everybody are who signs for a party what it likes.
func nobody(int) bool    { return false }
func everybody(int) bool { return true }

// deviate returns party i's transcript as a run leaves it in which the other parties went along: their
// countersignatures are right too.
func (l *testNetwork) deviate(i int, change edit) []byte {
	return l.rewrite(i, change, true, everybody)
}

func (l *testNetwork) rewrite(i int, change edit, stated bool, signs func(peer int) bool) []byte {
	l.t.Helper()
	config := l.config(i)
	links, err := transcript.NewLinks(config.Contract, i, config.IDs)
	if err != nil {
		l.t.Fatal(err)
	}
	header := transcript.Header{Self: i, Contract: config.Contract, Party: config.IDs[i]}
	var block [transcript.BlockSize]byte
	header.Encode(&block)
	text, chain, time := slices.Clone(block[:]), header.Hash(), int64(0)
	var own keys.Hash // of what the party states of its links, the same to all
	for n, r := range change(l.records(i)) {
		time = max(time, r.Time)
		r.Number, r.Time = uint64(n), time
		if r.Kind != contract.KindStates || r.Type != transcript.TypeSent {
			own = keys.Hash{}
		}
		l.resign(&r, links, i, chain, signs)
		if stated {
			own = restate(&r, links, i, own)
		}
		r.Encode(&block)
		chain = sha256.Sum256(append(chain[:], block[:transcript.BlockSize-len(chain)]...))
		r.Hash = chain
		r.Encode(&block)
		text = append(text, block[:]...)
		_ = links.Add(&r) // what does not fit is for the examination to find
	}
	return text
}

// restate makes what a party has stated of its transcript what the changed one holds. own is the hash of its statement
// in the round under way, zero where it begins.
func restate(r *transcript.Record, links *transcript.Links, self int, own keys.Hash) keys.Hash {
	if r.Type != transcript.TypeSent {
		return own
	}
	switch past := links.Past(); {
	case r.Kind == contract.KindPast && r.Bytes == contract.PastLinkSize:
		*(*keys.Hash)(r.Proof[:]) = sha256.Sum256(past.EncodeFor(r.Peer))
	case r.Kind == contract.KindPast:
		*(*keys.Hash)(r.Proof[:]) = sha256.Sum256(past.Encode(self))
	case r.Kind == contract.KindStates:
		if own.IsZero() {
			own = sha256.Sum256(protocol.EncodeStates(links.States(), self))
		}
		*(*keys.Hash)(r.Proof[:]) = own
	}
	return own
}

// signatureAt is where the signature of a record stands.
const signatureAt = 56

// resign makes a record's number on its link and its signature right.
func (l *testNetwork) resign(
	r *transcript.Record, links *transcript.Links, self int, chain keys.Hash, signs func(peer int) bool,
) {
	to, from := links.Counts(r.Peer)
	switch {
	case r.Type == transcript.TypeSent:
		r.Sequence = to
	case r.Type == transcript.TypeReceived:
		r.Sequence = from
	case r.Type == transcript.TypeSignature:
		var block [transcript.BlockSize]byte
		r.Encode(&block)
		contract := l.contract.Hash()
		digest := keys.HashOf(transcript.DomainSignature, contract[:], chain[:], block[:signatureAt])
		copy(r.Proof[:], l.keys[self].Sign(transcript.DomainSignature, digest[:]))
	case r.Type == transcript.TypeCountersigned && signs(r.Peer):
		digest, _ := links.Agreed(r.Peer)
		copy(r.Proof[:], l.keys[r.Peer].Sign(protocol.DomainLink, digest[:]))
	}
}

func (l *testNetwork) records(i int) []transcript.Record {
	l.t.Helper()
	reader, err := transcript.NewReader(bytes.NewReader(l.text(i)))
	if err != nil {
		l.t.Fatal(err)
	}
	var all []transcript.Record
	for {
		var r transcript.Record
		err := reader.Next(&r)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, r)
	}
}

type match func(r *transcript.Record) bool

// of selects records by what happened, of which kind, and with whom.
func of(event transcript.Type, kind string, peer int) match {
	return func(r *transcript.Record) bool { return r.Type == event && r.Kind == kind && r.Peer == peer }
}

// chunk selects the records with one chunk.
func (m match) chunk(n uint32) match {
	return func(r *transcript.Record) bool { return m(r) && r.Chunk == n }
}

func drop(m match) edit {
	return func(all []transcript.Record) []transcript.Record {
		return slices.DeleteFunc(all, func(r transcript.Record) bool { return m(&r) })
	}
}

// alter changes the n-th record that is selected; at -1 all.
func alter(m match, n int, change func(r *transcript.Record)) edit {
	return func(all []transcript.Record) []transcript.Record {
		count := 0
		for i := range all {
			if m(&all[i]) {
				if n < 0 || count == n {
					change(&all[i])
				}
				count++
			}
		}
		return all
	}
}

// insert puts records before the first that is selected.
func insert(m match, more func(all []transcript.Record, at int) []transcript.Record) edit {
	return func(all []transcript.Record) []transcript.Record {
		at := slices.IndexFunc(all, func(r transcript.Record) bool { return m(&r) })
		return slices.Concat(all[:at], more(all, at), all[at:])
	}
}

// twice doubles the first record that is selected.
func twice(m match) edit {
	return insert(m, func(all []transcript.Record, at int) []transcript.Record { return all[at : at+1] })
}

// repeat gives the second record selected the payload of the first.
func repeat(m match) edit {
	return func(all []transcript.Record) []transcript.Record {
		first := slices.IndexFunc(all, func(r transcript.Record) bool { return m(&r) })
		return alter(m, 1, func(r *transcript.Record) { r.Proof = all[first].Proof })(all)
	}
}

// operationOf selects all records of an operation of a kind.
func operationOf(kind string) match {
	return func(r *transcript.Record) bool { return r.Kind == kind && r.Type != transcript.TypeSignature }
}

// sealOf selects the seals with a reason.
func sealOf(why string) match {
	return func(r *transcript.Record) bool { return r.Type == transcript.TypeSignature && r.Kind == why }
}

func both(a, b edit) edit {
	return func(all []transcript.Record) []transcript.Record { return b(a(all)) }
}

// roundAfter selects the records of the rounds of countersignatures after an operation.
func roundAfter(after uint64) match {
	return func(r *transcript.Record) bool {
		return (r.Kind == contract.KindStates || r.Kind == contract.KindCountersign) && r.Operation == after
	}
}

// lastRounds selects the records of all rounds but those with which sessions begin.
func lastRounds(r *transcript.Record) bool { return r.Operation > 1 && roundAfter(r.Operation)(r) }

// unsigned leaves out all that only other parties can sign but when a session begins, and the claim that it ended well.
func unsigned() edit {
	return both(both(drop(lastRounds), drop(sealOf(transcript.SignedCheckpoint))),
		alter(sealOf(transcript.SignedDone), -1, func(r *transcript.Record) { r.Kind = transcript.SignedBroken }))
}

// newSums is a test network of four parties that have run two sessions of a small job by hand: a broadcast,
// three sums of three chunks that open to p0, and a sum that opens to p1.
func newSums(t testing.TB) *testNetwork {
	t.Helper()
	l := newTestNetwork(t, 4)
	const words = 5 << 18 // 2.5 chunks
	l.agree(contract.Job{Privacy: "masked"}, 1, nil, []contract.Operation{
		{Kind: "hello", Stage: 1, Collective: "broadcast", Root: contract.Anyone, Class: "opening",
			Encoding: "bytes", Count: 2, Bytes: 200},
		{Kind: "angles", Stage: 2, Collective: "sum", Root: "p0", Class: "masked", Encoding: "turns16",
			Count: 3, Bytes: 3 * 2 * words},
		{Kind: "scores", Stage: 3, Collective: "sum", Root: "p1", Class: "masked", Encoding: "fixed64", Count: 1, Bytes: 800},
	})
	for range 2 {
		must(t, l.run(func(ctx context.Context, _ int, s *protocol.Session) error {
			for root := range 2 {
				if _, err := s.Broadcast(ctx, "hello", contract.ClassOpening, root, []byte("good morning"), 100); err != nil {
					return err
				}
			}
			for range 3 {
				if err := s.Reduce(ctx, noise("angles", contract.Turns16, 0, 2*words)); err != nil {
					return err
				}
			}
			return s.Reduce(ctx, noise("scores", contract.Fixed64, 1, 800))
		}))
	}
	return l
}

// noise is a sum of four vectors that begin at random, as masked ones are, but cost nothing.
func noise(kind string, encoding contract.Encoding, root, size int) protocol.Reduction {
	return protocol.Reduction{
		Kind: kind, Class: contract.ClassMasked, Encoding: encoding,
		Plan: contract.PlanFor(contract.Tree, 4, root), Size: size,
		Load: func(_ int, chunk []byte) error {
			_, err := rand.Read(chunk[:32])
			return err
		},
		Add:   func(dst, src []byte) { dst[0] ^= src[0] },
		Store: func(int, []byte) error { return nil },
	}
}
