package cohort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// bundleOf is a bundle of one member's sum that says it has the vectors of some parties.
func bundleOf(s *serverSum, from set) []byte {
	return append(slices.Clone(from), make([]byte, s.bundleSize(s.links.Parties())-len(from))...)
}

// treeSum is a server's sum among n clients that has come to the vectors.
func treeSum(t testing.TB, topology contract.Topology, n int) *serverSum {
	l := &testNetwork{spec: Spec{Backend: Plain, Topology: topology}}
	l.open(t, n)
	spec, err := l.spec.complete(n + 1)
	must(t, err)
	s := &Server{links: l.links[0], spec: spec, plan: contract.PlanFor(topology, n+1, 0)}
	v := Vector{Kind: "updates", Words: 2, Bits: 8}
	r, err := newRound(spec, 1, v, newSet(n+1, upTo(n)...))
	must(t, err)
	r.members = r.candidates
	return &serverSum{Server: s, round: r, total: make([]byte, 8*v.Words), carried: newSet(n + 1)}
}

// TestBundlesAreOfThoseBelow holds what a client may bring against the dumb definition.
func TestBundlesAreOfThoseBelow(t *testing.T) {
	const n = 12
	for _, topology := range []contract.Topology{contract.Star, contract.Tree, contract.Ring} {
		s := treeSum(t, topology, n)
		var subtree func(i int) []int
		subtree = func(i int) []int {
			list := []int{i}
			for _, child := range s.plan.Children[i] {
				list = append(list, subtree(child)...)
			}
			return list
		}
		rapid.Check(t, func(r *rapid.T) {
			client := rapid.IntRange(1, n).Draw(r, "client")
			named := rapid.SliceOfDistinct(rapid.SampledFrom(append(subtree(client), 0, 3, 7, 11)), rapid.ID).Draw(r, "named")
			want := true
			for _, i := range named {
				want = want && slices.Contains(subtree(client), i)
			}
			if got := below(s.plan, client, newSet(n+1, named...)); got != want {
				r.Fatalf("%s: client %d brings %v: %v, want %v", topology, client, named, got, want)
			}
		})
	}
}

// TestBundlesOfNoPartyAreRefused: the set in front of a bundle has bits that stand for nobody.
func TestBundlesOfNoPartyAreRefused(t *testing.T) {
	for _, topology := range []contract.Topology{contract.Star, contract.Tree, contract.Ring} {
		s := treeSum(t, topology, 8)
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: the server panics: %v", topology, p)
				}
			}()
			from := newSet(9, 1)
			from[1] |= 0x80
			payload := bundleOf(s, from)
			m := s.message("updates", contract.ClassPublished, payload)
			m.From = 1
			if _, err := s.addChunk(make(map[int]*assembly), m); err == nil {
				t.Errorf("%s: a vector of party 15 of 9 is taken", topology)
			}
		}()
	}
}

// TestBundlesAreAddedOnce: two that have a client in common.
func TestBundlesAreAddedOnce(t *testing.T) {
	s := treeSum(t, contract.Ring, 4)
	accept := func(from int, of ...int) error {
		m := s.message("updates", contract.ClassPublished, bundleOf(s, newSet(5, of...)))
		m.From = from
		_, err := s.addChunk(make(map[int]*assembly), m)
		return err
	}
	must(t, accept(2, 2, 3))
	wantError(t, accept(1, 1, 2), "its vector has addends that were added before")
	s.members = newSet(5, 1, 2, 3)
	wantError(t, accept(1, 1, 4), "its vector is of nobody, or of clients who are no members")
	if got := s.carried.members(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("carried %v, want 2 and 3", got)
	}
}

// TestFalseBundlesAreNamedByTheParent: in a ring of five client 4 brings the vectors of client 5.
// Client 3 hears client 4 and finds what is false.
func TestFalseBundlesAreNamedByTheParent(t *testing.T) {
	for name, forge := range map[string]func(f *forgery){
		"of nobody":        func(f *forgery) { f.payload[0] = 0 },
		"of no member":     func(f *forgery) { f.payload[0] |= 1 },
		"of its parent":    func(f *forgery) { f.payload[0] |= 1 << 3 },
		"of one elsewhere": func(f *forgery) { f.payload[0] |= 1 << 2 },
		"too long":         func(f *forgery) { f.resize(len(f.payload) + 1) },
	} {
		t.Run(name, inFakeTime(func(t *testing.T) {
			l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Ring, Patience: patience}}
			l.wrap = only(4, forging("updates", forge))
			l.open(t, 5)
			v := Vector{Kind: "updates", Words: 20, Bits: 64}
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				_, err := s.Sum(ctx, v, upTo(5))
				return err
			}, l.untilRefused(v))
			wantDeviation(t, errs[3], "p4")
			for _, i := range []int{1, 2} {
				if errors.Is(errs[i], contract.ErrDeviation) || errs[i] == nil {
					t.Errorf("p%d: error %v, want that the others are none the wiser", i, errs[i])
				}
			}
		}))
	}
}

// hangingClient stops to read and to write when its vector is due, and keeps its links.
type hangingClient struct {
	protocol.Mesh
	hangs bool
}

func (h *hangingClient) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	h.hangs = h.hangs || kindOf(parts) == KindDeposit
	return h.Mesh.Send(ctx, to, parts...)
}

func (h *hangingClient) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	if h.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Mesh.Receive(ctx, from, buf)
}

// TestVectorsGetPastAParentThatHangs: the vector is longer than a link holds, so that the child
// cannot get rid of it. The server asks for it.
func TestVectorsGetPastAParentThatHangs(t *testing.T) {
	for _, words := range []int{100, 2000} {
		t.Run(fmt.Sprintf("%d words", words), inFakeTime(func(t *testing.T) {
			l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Ring, Patience: patience}, chunk: 64}
			l.wrap = only(2, func(m protocol.Mesh) protocol.Mesh { return &hangingClient{Mesh: m} })
			l.open(t, 5)
			v := Vector{Kind: "updates", Words: words, Bits: 64}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			errs := l.play(t, func(_ context.Context, s *Server) error {
				defer cancel()
				total, err := s.Sum(ctx, v, upTo(5))
				if err == nil {
					wantTotal(t, total, v, 0, []int{1, 3, 4, 5})
				}
				return err
			}, func(_ context.Context, i int, c *Client) error { return sumAgain(v)(ctx, i, c) })
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
		}))
	}
}

// TestClassesAreChecked: what a client says of how its message is protected is what the sum wants.
func TestClassesAreChecked(t *testing.T) {
	for kind, survivors := range map[string][]int{KindDeposit: others(), KindTags: upTo(forgers),
		KindShares: upTo(forgers)} {
		t.Run(kind, func(t *testing.T) {
			total, err, lost := forgedSum(t, kind, func(f *forgery) { f.setClass(contract.ClassOpening) }, nil)
			must(t, err)
			wantTotal(t, total, Vector{Kind: "updates", Words: 20, Bits: 64}, 0, survivors)
			wantDeviation(t, lost, "its class is opening")
		})
	}
}
