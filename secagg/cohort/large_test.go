package cohort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/graph"
)

// TestLargeSumsAreMaskedAlongAGraph: sixty clients have twenty neighbours each, some leave at every
// step, and the graph is another one in each sum.
func TestLargeSumsAreMaskedAlongAGraph(t *testing.T) {
	const n = 60
	for _, topology := range []contract.Topology{contract.Star, contract.Tree} {
		t.Run(topology.String(), func(t *testing.T) {
			at := map[int]string{7: KindDeposit, 20: "updates", 33: KindTags, 59: KindShares}
			spec := Spec{Backend: Masked, Topology: topology, Complete: 8,
				Tolerance: graph.Tolerance{Corrupt: 0.1, Dropout: 0.1}}
			l := &testNetwork{spec: spec, wrap: leaving(at, false)}
			l.open(t, n)
			v := Vector{Kind: "updates", Words: 31, Bits: 26}
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				for k := range largeRounds {
					total, err := s.Sum(ctx, v, upTo(n))
					if err != nil {
						return err
					}
					survivors := stayed(n, at, "updates")
					if k > 0 {
						survivors = stayed(n, at, KindShares)
					}
					wantTotal(t, total, v, k, survivors)
				}
				return nil
			}, sumAgain(v))
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
		})
	}
}

// TestEverySumHasItsGraph: clients and server lay the same graph of a coin, and another coin has another.
func TestEverySumHasItsGraph(t *testing.T) {
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star, Complete: 8}}
	l.open(t, 60)
	v := Vector{Kind: "updates", Words: 3, Bits: 20}
	var near [3][]int
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		for k := range near {
			sum, err := lie(s, v, upTo(60))
			if err == nil {
				err = sum.run(ctx)
			}
			if err != nil {
				return err
			}
			near[k] = sum.near(1)
		}
		return nil
	}, sumAgain(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if len(near[0]) != 20 || slices.Equal(near[0], near[1]) || slices.Equal(near[1], near[2]) ||
		slices.Equal(near[0], near[2]) {
		t.Errorf("the first client has the neighbours %v in three sums", near)
	}
}

// TestFewContributorsAreNotOpened at any step; MinContributors is what the server is told, or three.
func TestFewContributorsAreNotOpened(t *testing.T) {
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	for _, c := range []struct {
		backend Backend
		n, min  int
		at      map[int]string
		says    string
	}{
		{Masked, 2, 0, nil, "sum 1 (updates) is not opened: 2 clients stayed for its begin, want at least 3"},
		{Masked, 5, 5, map[int]string{2: KindDeposit}, "sum 1 (updates) is not opened: 4 clients stayed for their deposits, want at least 5; 1 were lost, first p2: "},
		{Masked, 6, 6, map[int]string{2: "updates"}, "sum 1 (updates) is not opened: 5 clients stayed for their vectors, want at least 6; 1 were lost, first p2: "},
		{Masked, 4, 2, map[int]string{2: "updates", 3: "updates"}, "sum 1 (updates) is not opened: 1 clients stayed for their vectors among the neighbours of p1, want at least 3"},
		{Masked, 4, 2, map[int]string{2: KindTags}, "stayed for their tags among the neighbours of p1, want at least 3"},
		{Masked, 4, 2, map[int]string{2: KindShares}, "stayed for their shares among the neighbours of p1, want at least 3"},
		{Plain, 4, 4, map[int]string{2: "updates"}, "sum 1 (updates) is not opened: 3 clients stayed for their vectors, want at least 4"},
	} {
		t.Run(c.says, func(t *testing.T) {
			spec := Spec{Backend: c.backend, Topology: contract.Star, MinContributors: c.min}
			l := &testNetwork{spec: spec, wrap: leaving(c.at, false)}
			l.open(t, c.n)
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				total, err := s.Sum(ctx, v, upTo(c.n))
				if total != nil {
					t.Errorf("a total of %v", total.Survivors)
				}
				return err
			}, sumAgain(v))
			var few *TooFewError
			if !errors.As(errs[0], &few) {
				t.Errorf("error %v, want that too few stayed", errs[0])
			}
			wantError(t, errs[0], c.says)
		})
	}
}

// TestTotalsOfEveryWidth: words of any bits, vectors of odd lengths, in one chunk or in many.
func TestTotalsOfEveryWidth(t *testing.T) {
	const n = 4
	for _, bits := range []int{1, 7, 16, 26, 63, 64} {
		for _, words := range []int{1, 3, 65, 1001} {
			totalOf(t, n, 64, Vector{Kind: "updates", Words: words, Bits: bits})
		}
	}
}

// TestLongVectorsTravelInChunks: two and a half chunks of the default length.
func TestLongVectorsTravelInChunks(t *testing.T) {
	totalOf(t, 3, 0, Vector{Kind: "updates", Words: 5*contract.DefaultChunk/16 + 1, Bits: 64})
}

// totalOf sums one vector of each client, along a tree.
func totalOf(t *testing.T, n, chunk int, v Vector) {
	t.Run(fmt.Sprintf("%d words of %d bits", v.Words, v.Bits), func(t *testing.T) {
		for _, backend := range []Backend{Plain, Masked} {
			l := &testNetwork{spec: Spec{Backend: backend, Topology: contract.Tree}, chunk: chunk}
			l.open(t, n)
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				total, err := s.Sum(ctx, v, upTo(n))
				if err == nil {
					wantTotal(t, total, v, 0, upTo(n))
				}
				return err
			}, sumAgain(v))
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
		}
	})
}

// TestClientsCheckTheirOwnVectors before they take part.
func TestClientsCheckTheirOwnVectors(t *testing.T) {
	c := &Client{}
	for _, x := range []struct {
		v     Vector
		words []uint64
		says  string
	}{
		{Vector{Kind: "updates", Words: 3, Bits: 26}, make([]uint64, 2), "updates: a vector of 2 words, want 3"},
		{Vector{Kind: "updates", Words: 3, Bits: 26}, []uint64{0, 1 << 26, 1 << 27},
			"updates: word 1 is 67108864, want less than 2^26"},
		{Vector{Kind: "updates", Words: 0, Bits: 26}, nil, "want a kind of 1 to 24 bytes, 1 to 268435456 words of 1 to 64 bits"},
		{Vector{Kind: "updates", Words: MaxWords + 1, Bits: 26}, nil, "268435457 words of 26 bits"},
		{Vector{Kind: "updates", Words: 3, Bits: 65}, nil, "3 words of 65 bits"},
		{Vector{Kind: "updates", Words: 3, Bits: 0}, nil, "3 words of 0 bits"},
		{Vector{Words: 3, Bits: 26}, nil, `vector ""`},
	} {
		wantError(t, c.Sum(t.Context(), x.v, x.words), x.says)
	}
}
