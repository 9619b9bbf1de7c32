package secagg

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/simnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// league is a whole federation in one process.
type league struct {
	net     *simnet.Network
	keys    []*keys.PrivateKey
	parties []protocol.Party
	ids     []keys.ID
	room    protocol.Room
}

func newLeague(t testing.TB, q int) *league {
	t.Helper()
	l := &league{}
	for i := range q {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		l.keys = append(l.keys, k)
		l.ids = append(l.ids, k.ID())
		l.parties = append(l.parties, protocol.Party{Name: fmt.Sprintf("p%d", i), ID: k.ID()})
	}
	l.net = simnet.New(l.ids)
	t.Cleanup(l.net.Close)
	rand.Read(l.room[:])
	return l
}

// run opens a session at every party and runs part in it; it returns each party's error.
func (l *league) run(chunk int, part func(ctx context.Context, s *protocol.Session) error) []error {
	errs := make([]error, len(l.keys))
	var wg sync.WaitGroup
	for i := range l.keys {
		wg.Go(func() { errs[i] = l.party(i, chunk, part) })
	}
	wg.Wait()
	rand.Read(l.room[:])
	return errs
}

func (l *league) party(i, chunk int, part func(ctx context.Context, s *protocol.Session) error) error {
	ctx := context.Background()
	var peers []keys.ID
	for j, id := range l.ids {
		if j != i {
			peers = append(peers, id)
		}
	}
	mesh, err := l.net.Transport(l.ids[i]).Open(ctx, l.room, peers)
	if err != nil {
		return err
	}
	defer mesh.Close()
	s, err := protocol.NewSession(ctx, mesh, protocol.SessionConfig{
		Contract: keys.HashOf("test contract"), Number: 1, Parties: l.parties, Key: l.keys[i], Chunk: chunk,
	})
	if err != nil {
		return err
	}
	if err := part(ctx, s); err != nil {
		return err
	}
	_, err = s.Exchange(ctx, "done", nil, 0) // nobody leaves while another still sends
	return err
}

func must(t testing.TB, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("party %d: %v", i, err)
		}
	}
}

func TestMaskedSumsAreExact(t *testing.T) {
	for q := 3; q <= 9; q++ {
		for _, topology := range []protocol.Topology{protocol.Tree, protocol.Star, protocol.Ring} {
			t.Run(fmt.Sprintf("%d parties, %v", q, topology), func(t *testing.T) {
				testExact(t, q, topology)
			})
		}
	}
}

// testExact sums random vectors to every root in turn, in all rings, over chunks that do not
// divide the vectors.
func testExact(t *testing.T, q int, topology protocol.Topology) {
	l := newLeague(t, q)
	const n = 77
	rng := mrand.New(mrand.NewPCG(uint64(q), uint64(topology)))
	v16, v32, v64 := make([][]uint16, q), make([][]uint32, q), make([][]uint64, q)
	var want16 [n]uint16
	var want32 [n]uint32
	var want64 [n]uint64
	for i := range q {
		for j := range n {
			r := rng.Uint64()
			v16[i], v32[i], v64[i] = append(v16[i], uint16(r)), append(v32[i], uint32(r)), append(v64[i], r)
			want16[j], want32[j], want64[j] = want16[j]+uint16(r), want32[j]+uint32(r), want64[j]+r
		}
	}
	must(t, l.run(64, func(ctx context.Context, s *protocol.Session) error {
		m, err := NewMasked(s, l.ids, topology)
		if err != nil {
			return err
		}
		for root := range q {
			a, b, c := append([]uint16(nil), v16[s.Self()]...), append([]uint32(nil), v32[s.Self()]...), append([]uint64(nil), v64[s.Self()]...)
			if err := m.SumTurns(ctx, "a", root, a); err != nil {
				return err
			}
			if err := m.SumTurns32(ctx, "b", root, b); err != nil {
				return err
			}
			if err := m.SumWords(ctx, "c", root, c); err != nil {
				return err
			}
			if s.Self() == root && (([n]uint16)(a) != want16 || ([n]uint32)(b) != want32 || ([n]uint64)(c) != want64) {
				return fmt.Errorf("root %d: the total is wrong", root)
			}
		}
		return nil
	}))
}

func TestFixedSum(t *testing.T) {
	l := newLeague(t, 4)
	must(t, l.run(0, func(ctx context.Context, s *protocol.Session) error {
		m, err := NewMasked(s, l.ids, protocol.Tree)
		if err != nil {
			return err
		}
		v := []float64{0.5 * float64(s.Self()), -3.25, 1e-9}
		if err := m.SumFixed(ctx, "scores", 2, Fixed{Bits: 36, Bound: 1 << 20}, v); err != nil {
			return err
		}
		if s.Self() == 2 && (v[0] != 3 || v[1] != -13 || v[2] < 3.9e-9 || v[2] > 4.1e-9) {
			return fmt.Errorf("total is %v", v)
		}
		return nil
	}))
}

func TestRingLanes(t *testing.T) {
	rng := mrand.New(mrand.NewPCG(1, 2))
	for _, r := range []Ring{Turns16, Turns32, Fixed64} {
		for words := range 40 {
			a, b := make([]byte, words*r.WordSize()), make([]byte, words*r.WordSize())
			for i := range a {
				a[i], b[i] = byte(rng.Uint32()), byte(rng.Uint32())
			}
			sum, diff := append([]byte(nil), a...), append([]byte(nil), a...)
			r.Add(sum, b)
			r.Sub(diff, b)
			for w := range words {
				x, y := word(r, a, w), word(r, b, w)
				mask := ^uint64(0) >> (64 - 8*r.WordSize())
				if word(r, sum, w) != (x+y)&mask || word(r, diff, w) != (x-y)&mask {
					t.Fatalf("%v word %d of %d: %x and %x give %x and %x", r, w, words, x, y, word(r, sum, w), word(r, diff, w))
				}
			}
		}
	}
}

func word(r Ring, b []byte, i int) uint64 {
	var w [8]byte
	copy(w[:], b[i*r.WordSize():(i+1)*r.WordSize()])
	return binary.LittleEndian.Uint64(w[:])
}
