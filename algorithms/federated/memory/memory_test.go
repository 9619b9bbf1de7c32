package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/secagg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The interfaces that this package is for.
var (
	_ federated.Server        = (*memory.Hub)(nil)
	_ federated.Client        = (*memory.Client)(nil)
	_ federated.Neighbourhood = (*memory.Neighbour)(nil)
	_ federated.Rows          = (*memory.Rows)(nil)
	_ federated.Vault         = memory.Vault(nil)
	_ federated.Rows          = (*memory.FaultyRows)(nil)
	_ federated.Vault         = (*memory.FaultyVault)(nil)
	_ federated.Server        = (*memory.FaultyServer)(nil)
	_ federated.Client        = (*memory.ToldClient)(nil)
)

// round has clients add their vectors in one round, and returns the total and who was included.
func round(t testing.TB, hub *memory.Hub, s federated.Sum, vectors [][]float64) (*federated.Total, []bool, []error) {
	t.Helper()
	included, errs := make([]bool, len(vectors)), make([]error, len(vectors))
	var wait sync.WaitGroup
	for k, v := range vectors {
		c := hub.Join(k)
		if err := hub.SendValues(context.Background(), k, "model", 4, nil); err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			defer c.Leave()
			if n, values, err := c.ReceiveValues(context.Background(), "model", 0); n != 4 || values != nil || err != nil {
				errs[k] = fmt.Errorf("heard %d, %v, %v", n, values, err)
				return
			}
			included[k], errs[k] = c.Sum(context.Background(), s, v)
		})
	}
	total, err := hub.Sum(context.Background(), s, hub.Present())
	if err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	return total, included, errs
}

// TestTotalsAreThoseOfSecureSums to the bit, whoever is lost.
func TestTotalsAreThoseOfSecureSums(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := federated.Sum{Kind: "v", N: rapid.IntRange(1, 4).Draw(rt, "n"), Bits: rapid.IntRange(0, 40).Draw(rt, "bits"),
			Bound: 1000}
		lost := rapid.SliceOfN(rapid.Bool(), 3, 6).Draw(rt, "lost")
		var vectors [][]float64
		for range lost {
			vectors = append(vectors, rapid.SliceOfN(rapid.Float64Range(-1000, 1000), s.N, s.N).Draw(rt, "v"))
		}
		hub := memory.NewHub(len(lost), 2)
		hub.Lost = func(round, k int) bool { return lost[k] }
		total, included, errs := round(t, hub, s, vectors)
		code := secagg.Fixed{Bits: s.Bits, Bound: s.Bound}
		words, sum := make([]uint64, s.N), make([]uint64, s.N)
		var there []int
		for k, v := range vectors {
			if errs[k] != nil {
				rt.Fatal(errs[k])
			}
			if lost[k] {
				continue
			}
			there = append(there, k)
			if err := code.Encode("v", words, v); err != nil {
				rt.Fatal(err)
			}
			for i, w := range words {
				sum[i] += w
			}
		}
		if len(there) < 2 {
			if total != nil || slices.Contains(included, true) {
				rt.Fatalf("a total of %d opened", len(there))
			}
			return
		}
		want := make([]float64, s.N)
		code.Decode(want, sum)
		if !slices.Equal(total.Values, want) || !slices.Equal(total.Clients, there) {
			rt.Fatalf("total %v of %v, want %v of %v", total.Values, total.Clients, want, there)
		}
		for k := range lost {
			if included[k] == lost[k] {
				rt.Fatalf("client %d is told %v", k, included[k])
			}
		}
	})
}

func TestVectorsThatDoNotFit(t *testing.T) {
	s := federated.Sum{Kind: "v", N: 1, Bits: 10, Bound: 2}
	total, _, errs := round(t, memory.NewHub(3, 2), s, [][]float64{{1}, {2.5}, {1}})
	if !slices.Equal(total.Clients, []int{0, 2}) || total.Values[0] != 2 {
		t.Errorf("the total is %+v, want 2 of clients 0 and 2", total)
	}
	if want := "v: element 0 is 2.5, want a magnitude of at most 2"; errs[1] == nil || errs[1].Error() != want {
		t.Errorf("error %v, want %q", errs[1], want)
	}
	_, _, errs = round(t, memory.NewHub(2, 1), s, [][]float64{{1, 2}, {math.NaN()}})
	if got, want := fmt.Sprint(errs), "[v: a vector of 2 numbers, want 1 v: element 0 is NaN, want a magnitude of at "+
		"most 2]"; got != want {
		t.Errorf("errors %s, want %s", got, want)
	}
}

func TestWhatAClientReceives(t *testing.T) {
	ctx := t.Context()
	hub := memory.NewHub(2, 1)
	c := hub.Join(1)
	values := []float64{1, 2}
	hub.SendValues(ctx, 0, "model", 1, values) // is away
	hub.SendValues(ctx, 1, "model", 1, values)
	hub.SendValues(ctx, 1, "iteration", 2, nil)
	hub.SendValues(ctx, 1, "other", 3, values)
	hub.SendValues(ctx, 1, "model", 4, values)
	values[0] = 7
	hub.End()
	if n, got, err := c.ReceiveValues(ctx, "model", 2); n != 1 || !slices.Equal(got, []float64{1, 2}) || err != nil {
		t.Errorf("heard %d, %v, %v", n, got, err)
	}
	if n, got, err := c.ReceiveValues(ctx, "model", 2); n != 2 || got != nil || err != nil {
		t.Errorf("heard %d, %v, %v", n, got, err)
	}
	for _, want := range []string{`the server tells "other" where "model" is awaited`,
		"model of 2 values, want at most 1"} {
		if _, _, err := c.ReceiveValues(ctx, "model", 1); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, _, err := c.ReceiveValues(ctx, "model", 2); err != io.EOF {
		t.Errorf("error %v at the end, want EOF", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := memory.NewHub(1, 1).Join(0).ReceiveValues(gone, "model", 2); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
}

// TestServersExchange: one that is gone, or has come further, is not waited for.
func TestServersExchange(t *testing.T) {
	ctx := t.Context()
	s := memory.NewServers(4)
	a, b, c := s.Join(0), s.Join(1), s.Join(2)
	if got, err := b.Exchange(ctx, "psi", 5, nil, []float64{1}); len(got) != 0 || err != nil {
		t.Errorf("exchange with nobody: %v, %v", got, err)
	}
	if _, err := c.Exchange(ctx, "psi", 6, nil, []float64{2}); err != nil {
		t.Error(err)
	}
	b.Leave()
	got, err := a.Exchange(ctx, "psi", 5, []int{1, 2, 3}, []float64{3})
	if err != nil || len(got) != 1 || !slices.Equal(got[1], []float64{1}) {
		t.Errorf("exchange: %v, %v, want what server 1 said before it left", got, err)
	}
	b = s.Join(1)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := a.Exchange(gone, "psi", 6, []int{1}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that server 1 is waited for", err)
	}
	if got, err := b.Exchange(ctx, "psi", 6, []int{0, 2}, nil); err != nil || len(got) != 2 {
		t.Errorf("exchange: %v, %v, want both", got, err)
	}
}

// TestASessionsClientsStopAndComeBack, and leave when their parts end.
func TestASessionsClientsStopAndComeBack(t *testing.T) {
	s := memory.NewSession(3, 1) // client 2 never comes
	receive := func(ctx context.Context, c *memory.Client) error {
		_, _, err := c.ReceiveValues(ctx, "model", 1)
		return err
	}
	s.RunClient(t.Context(), 0, receive)
	s.RunClient(t.Context(), 1, receive)
	if got := s.Present(); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("clients %v are there, want 0 and 1", got)
	}
	s.Stop(1)
	if err := s.Ended(1); !errors.Is(err, context.Canceled) {
		t.Errorf("the stopped client ended with %v", err)
	}
	s.RunClient(t.Context(), 1, receive)
	if err := s.SendValues(t.Context(), 0, "model", 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Ended(0); err != nil {
		t.Errorf("the client that was told ended with %v", err)
	}
	s.End()
	s.Wait()
	if err := s.Ended(1); err != io.EOF {
		t.Errorf("the client that came back ended with %v, want EOF", err)
	}
	if got := s.Present(); len(got) != 0 {
		t.Errorf("clients %v are there after their parts", got)
	}
}

// TestRowsComeAgain with the predictions of before.
func TestRowsComeAgain(t *testing.T) {
	x, y := [][]float64{{1}, {2}}, []float64{3, 4}
	first := memory.RowsAfter(nil, x, y)
	for want := range 2 {
		row, _, err := first.Inputs(t.Context())
		if err != nil || row != want+1 {
			t.Fatalf("row %d, error %v", row, err)
		}
		first.Predicted(row, 5)
	}
	again := memory.RowsAfter(first, x, y)
	if row, _, err := again.Inputs(t.Context()); row != 1 || err != nil || len(again.Predictions) != 2 {
		t.Errorf("row %d, error %v, %d predictions, want the first row and 2", row, err, len(again.Predictions))
	}
}

// TestFaultyVaultsSaveSoOften, and then no more.
func TestFaultyVaultsSaveSoOften(t *testing.T) {
	lost := errors.New("the link is lost")
	v := memory.FaultyVault{SaveErr: lost, Saves: 2}
	got := []error{v.Save("a", []byte{1}), v.Save("a", []byte{2}), v.Save("a", []byte{3}), v.Save("b", nil)}
	if !slices.Equal(got, []error{nil, nil, lost, lost}) || !slices.Equal(v.Vault["a"], []byte{2}) {
		t.Errorf("errors %v, the vault holds %v", got, v.Vault)
	}
	v.LoadErr = lost
	if data, err := v.Load("a"); data != nil || err != lost {
		t.Errorf("loaded %v, error %v", data, err)
	}
}
