package cohort

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// testNetwork is a server, party 0, and its clients in one process.
type testNetwork struct {
	*testnet.Federation
	spec   Spec
	links  []*protocol.Links
	meshes []protocol.Mesh
	inbox  *inbox.Inbox
	wrap   func(i int, m protocol.Mesh) protocol.Mesh // how a client's mesh misbehaves
	server *Server
	chunk  int

	arrive func(Arrivals) Arrivals // changes the order in which the server hears; nil: as they come
}

// open starts the session of a test network of n clients.
func (l *testNetwork) open(t testing.TB, n int) {
	t.Helper()
	l.Federation = testnet.Found(t, testnet.Numbered(n+1)...)
	l.links, l.meshes = make([]*protocol.Links, n+1), make([]protocol.Mesh, n+1)
	meeting := testnet.Meeting{Chunk: l.chunk, Links: l.peers, Mesh: l.wrap}
	l.Must(t, func(i int) error {
		mesh, config, err := l.Join(t.Context(), meeting, i)
		if err != nil {
			return err
		}
		l.meshes[i] = mesh
		l.links[i], err = protocol.NewLinks(mesh, config, nil)
		return err
	})
	l.inbox = inbox.New(l.meshes[0], l.IDs[1:])
	t.Cleanup(func() { l.inbox.Close() })
}

// peers are whom a party is linked with: the server with all, a client with the server and its neighbours in the plan.
func (l *testNetwork) peers(i int) (ids []keys.ID) {
	plan := contract.PlanFor(l.spec.Topology, len(l.IDs), 0)
	for j, id := range l.IDs {
		if j != i && (i == 0 || j == 0 || plan.Parent[i] == j || plan.Parent[j] == i) {
			ids = append(ids, id)
		}
	}
	return ids
}

// play runs the server's and the clients' parts at once: every client takes part in sums until its
// link ends. It returns the clients' errors.
func (l *testNetwork) play(
	t testing.TB, server func(ctx context.Context, s *Server) error,
	client func(ctx context.Context, i int, c *Client) error,
) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make([]error, len(l.links))
	var wg sync.WaitGroup
	for i := 1; i < len(l.links); i++ {
		wg.Go(func() {
			c, err := NewClient(ctx, l.links[i], l.spec)
			if err == nil {
				err = client(ctx, i, c)
			}
			errs[i] = err
		})
	}
	var err error
	var received Arrivals = l.inbox
	if l.arrive != nil {
		received = l.arrive(received)
	}
	if l.server, err = NewServer(ctx, l.links[0], received, upTo(len(l.links)-1), l.spec); err == nil {
		err = server(ctx, l.server)
	}
	errs[0] = err
	l.meshes[0].Close() // lets clients end that wait for more
	wg.Wait()
	return errs
}

// inFakeTime makes a subtest whose clocks move only while everybody waits: patience costs no time, and
// no machine is too slow for it.
func inFakeTime(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// upTo lists 1 to n.
func upTo(n int) []int {
	var list []int
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// vectorOf is a client's vector in the k-th sum: different for all, and of all bits.
func vectorOf(v Vector, client, k int) []uint64 {
	words := make([]uint64, v.Words)
	for i := range words {
		words[i] = uint64(client+1)*0x9e3779b97f4a7c15*uint64(i+1) + uint64(k)*0x2545f4914f6cdd1d
	}
	truncate(words, v.Bits)
	return words
}

// wantTotal checks a total against the dumb sum of the survivors' vectors.
func wantTotal(t testing.TB, got *Total, v Vector, k int, survivors []int) {
	t.Helper()
	if !slices.Equal(got.Survivors, survivors) {
		t.Fatalf("survivors %v, want %v; lost: %v", got.Survivors, survivors, got.Lost)
	}
	want := make([]uint64, v.Words)
	for _, i := range survivors {
		for j, w := range vectorOf(v, i, k) {
			want[j] += w
		}
	}
	truncate(want, v.Bits)
	if !slices.Equal(got.Words, want) {
		t.Fatalf("sum %d: the total of %d survivors is wrong: starts with %x, want %x", got.Sum, len(survivors), got.Words[:min(4, len(want))], want[:min(4, len(want))])
	}
}

// sumAgain takes part in sums until the server ends the session.
func sumAgain(v Vector) func(ctx context.Context, i int, c *Client) error {
	return func(ctx context.Context, i int, c *Client) error {
		for k := 0; ; k++ {
			if err := c.Sum(ctx, v, vectorOf(v, i, k)); err != nil && !errors.Is(err, ErrLeftOut) {
				return err
			}
		}
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
