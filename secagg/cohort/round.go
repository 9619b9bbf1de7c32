package cohort

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/graph"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// round is what server and clients know alike of a sum.
type round struct {
	operation  uint64
	vector     Vector
	candidates set // who may take part; along a graph, those who have committed themselves to its coin
	members    set // whose deposits came
	survivors  set // whose vectors came
	codec      codec
	threshold  int
	coin       keys.Hash    // of the graph; zero when all candidates are neighbours
	neighbours *graph.Graph // among the candidates; nil without masks, and before the coin
}

// newRound lays out a sum. Few candidates of a masked sum are all neighbours; for more the graph is laid when
// its coin is known.
func newRound(spec Spec, operation uint64, v Vector, candidates set) (*round, error) {
	r := &round{operation: operation, vector: v, candidates: candidates, codec: packed{v}}
	if spec.Backend != Masked {
		return r, nil
	}
	choice, err := spec.pick(candidates.count())
	if err != nil || !choice.Complete {
		return r, err
	}
	return r, r.lay(spec, candidates, keys.Hash{})
}

// lay makes the graph among the candidates.
func (r *round) lay(spec Spec, candidates set, coin keys.Hash) error {
	choice, err := spec.pick(candidates.count())
	if err != nil {
		return err
	}
	r.candidates, r.coin, r.threshold = candidates, coin, choice.Threshold
	r.neighbours = graph.New(coin, candidates.members(), choice.Degree)
	return nil
}

// scheme returns how a client with so many neighbours shares its secrets.
func (r *round) scheme(neighbours int, cache map[[2]int]*shamir.Scheme) (*shamir.Scheme, error) {
	at := [2]int{neighbours, r.threshold}
	if s := cache[at]; s != nil {
		return s, nil
	}
	s, err := shamir.New(neighbours, r.threshold)
	if err != nil {
		return nil, err
	}
	cache[at] = s
	return s, nil
}

// bundleSize is the length of a vector on its way: the set of those whose vectors are in it, and
// the packed words.
func (r *round) bundleSize(parties int) int { return setSize(parties) + r.codec.size() }

// codec is how vectors look on the wire, and how they are added.
type codec interface {
	size() int                     // bytes of a vector on the wire
	write(dst, vector []byte)      // a vector that was added to
	add(vector, wire []byte) error // to a vector
}

// packed is the codec of words that are added as they are: vectors are 64-bit words, of which so
// many bits travel as the sum's words have.
type packed struct{ Vector }

func (p packed) size() int                { return (p.Words*p.Bits + 7) / 8 }
func (p packed) write(dst, vector []byte) { pack(dst, vector, p.Bits) }
func (p packed) add(vector, wire []byte) error {
	addPacked(vector, wire, p.Bits)
	return nil
}

// message starts a message of the sum.
func (r *round) message(kind string, class contract.Class, payload []byte) protocol.Message {
	return protocol.Message{Kind: kind, Class: class, Operation: r.operation, Size: uint64(len(payload)), Payload: payload}
}

// SendLong sends a message in chunks.
func SendLong(ctx context.Context, l *protocol.Links, to int, m protocol.Message) error {
	return eachChunk(m, l.Chunk(), func(m protocol.Message) error { return l.Send(ctx, to, m) })
}

// eachChunk cuts a message into its chunks, of which an empty one has one, and hands them to send.
func eachChunk(m protocol.Message, chunk int, send func(m protocol.Message) error) error {
	all := m.Payload
	for offset := 0; offset == 0 || offset < len(all); offset += chunk {
		m.Payload = all[offset:min(offset+chunk, len(all))]
		if err := send(m); err != nil {
			return err
		}
		m.Chunk++
	}
	return nil
}

// assembly puts a vector together from its chunks.
type assembly struct {
	size  int
	bytes []byte
	next  uint32
}

// add takes the next chunk and reports whether it was the last.
func (a *assembly) add(m protocol.Message, chunk int) (done bool, err error) {
	want := min(chunk, a.size-len(a.bytes))
	switch {
	case m.Size != uint64(a.size):
		return false, fmt.Errorf("its vector has %d bytes, want %d", m.Size, a.size)
	case m.Chunk != a.next:
		return false, fmt.Errorf("it is chunk %d, want chunk %d", m.Chunk, a.next)
	case len(m.Payload) != want:
		return false, fmt.Errorf("chunk %d has %d bytes, want %d", m.Chunk, len(m.Payload), want)
	}
	if a.bytes == nil && want == a.size { // the whole vector: no copy
		a.bytes = m.Payload
		return true, nil
	}
	if a.bytes == nil {
		a.bytes = make([]byte, 0, a.size)
	}
	a.bytes = append(a.bytes, m.Payload...)
	a.next++
	return len(a.bytes) == a.size, nil
}

// tagSize is the length of a survivors' tag, in bytes.
const tagSize = 16
