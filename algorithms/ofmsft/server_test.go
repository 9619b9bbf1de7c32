package ofmsft

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// newSmallServer starts a server of five networks.
func newSmallServer(t testing.TB, edit func(*Params)) *Server {
	t.Helper()
	p, networks := small(t, 5, 0, 4, edit)
	s, err := NewServer(p, networks, [32]byte{2})
	mustDo(t, err)
	return s
}

// TestGroupsNeverExceedTheBandwidth draws needs and a bandwidth.
func TestGroupsNeverExceedTheBandwidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Server{params: Params{Bandwidth: rapid.Float64Range(1, 20).Draw(t, "bandwidth")},
			source: rand.NewChaCha8([32]byte{1})}
		needs := rapid.SliceOfN(rapid.Float64Range(0.01, s.params.Bandwidth), 1, 40).Draw(t, "needs")
		alpha, group, err := s.Group(needs)
		mustDo(t, err)
		sum := 0.0
		for _, i := range group {
			sum += needs[i]
		}
		if sum > s.params.Bandwidth*(1+2e-9) || len(group) == 0 || !slices.IsSorted(group) || alpha < 1 ||
			alpha > len(needs) {
			t.Fatalf("group %v of %d needs %v of %v", group, alpha, sum, s.params.Bandwidth)
		}
	})
}

// TestEveryClientIsInOneOfTheGroups counts how often each is drawn.
func TestEveryClientIsInOneOfTheGroups(t *testing.T) {
	s := &Server{params: Params{Bandwidth: 5}, source: rand.NewChaCha8([32]byte{1})}
	needs, counts := []float64{2, 3, 2, 2, 3, 1}, make([]float64, 6)
	const draws = 6000
	alpha := 0
	for range draws {
		a, group, err := s.Group(needs)
		mustDo(t, err)
		alpha = a
		for _, i := range group {
			counts[i]++
		}
	}
	for i, n := range counts {
		p := 1 / float64(alpha)
		if math.Abs(n-draws*p) > 5*math.Sqrt(draws*p) {
			t.Errorf("client %d is drawn %v times in %d, want one in %d", i+1, n, draws, alpha)
		}
	}
}

// TestBadNeedsAreNamed has needs that no client of the job has.
func TestBadNeedsAreNamed(t *testing.T) {
	s := newSmallServer(t, func(p *Params) { p.Bandwidth = 4 })
	for _, e := range []float64{0, -1, 4.1, math.NaN(), math.Inf(1)} {
		_, _, err := s.Group([]float64{1, e})
		wantError(t, err, "client 2 needs a bandwidth of ")
	}
	_, _, err := s.Group(nil)
	wantError(t, err, "there are 0 clients, want 1 to 65536")
}

// TestServerDividesByTheJobsClients applies one client's step in a job of four.
func TestServerDividesByTheJobsClients(t *testing.T) {
	s := newSmallServer(t, nil)
	size := s.Network(1).Size()
	before, sum := s.Network(1).Clone(), make([]float64, size)
	sum[4] = 2
	mustDo(t, s.Apply(1, sum, 4))
	if got, want := s.Network(1).Parameters()[4], float32(float64(before.Parameters()[4])-0.5); got != want {
		t.Errorf("the parameter is %v, want %v", got, want)
	}
	if s.Network(1).Parameters()[3] != before.Parameters()[3] || s.Version(1) != 1 || s.Version(0) != 0 {
		t.Errorf("another parameter moved; versions are %d and %d", s.Version(1), s.Version(0))
	}
}

// TestHashesChangeWithTheParameters applies nothing, little by little, and something.
func TestHashesChangeWithTheParameters(t *testing.T) {
	s := newSmallServer(t, nil)
	first, sum := s.Hash(2), make([]float64, s.Network(2).Size())
	if first != s.params.Models[2].Hash || first != s.Network(2).Hash() {
		t.Fatal("the first hash is not the job's")
	}
	mustDo(t, s.Apply(2, sum, 1))
	if s.Hash(2) != first || s.Version(2) != 1 {
		t.Error("the hash changed by a step of nothing")
	}
	v := s.Network(2).Parameters()[0]
	sum[0] = float64(v) * 1e-9 // lost in single precision
	mustDo(t, s.Apply(2, sum, 1))
	if s.Hash(2) != first || s.Network(2).Parameters()[0] != v {
		t.Error("the hash changed by a step below single precision")
	}
	for range 200 {
		mustDo(t, s.Apply(2, sum, 1))
	}
	if s.Network(2).Parameters()[0] == v || s.Hash(2) == first || s.Hash(2) != s.Network(2).Hash() {
		t.Error("200 small steps moved nothing")
	}
	if s.Hash(1) != s.params.Models[1].Hash {
		t.Error("another network's hash changed")
	}
}

// TestBadSumsAreRefused and leave the network as it is.
func TestBadSumsAreRefused(t *testing.T) {
	s := newSmallServer(t, func(p *Params) { p.Clip = 0.5 })
	sum := make([]float64, s.Network(0).Size())
	wantError(t, s.Apply(0, sum, 0), `step 1 of model "m1": it is of 0 clients, want 1 to 65536`)
	wantError(t, s.Apply(0, sum[1:], 2), `step 1 of model "m1" has 10 elements, want 11`)
	sum[0], sum[3] = 1, math.NaN()
	wantError(t, s.Apply(0, sum, 2), `step 1 of model "m1": element 4 is NaN, want a number of magnitude at most 1`)
	sum[3] = 1.1
	wantError(t, s.Apply(0, sum, 2), `element 4 is 1.1, want a number of magnitude at most 1`)
	if s.Version(0) != 0 || s.Network(0).Hash() != s.params.Models[0].Hash {
		t.Error("a refused sum was applied")
	}
}

// TestOtherNetworksAreRefused gives a server networks that the job does not name.
func TestOtherNetworksAreRefused(t *testing.T) {
	p, networks := small(t, 3, 0, 2, nil)
	_, err := NewServer(p, networks[:2], [32]byte{})
	wantError(t, err, "there are 2 networks, want 3, one for each model")
	networks[1].Parameters()[0]++
	_, err = NewServer(p, networks, [32]byte{})
	wantError(t, err, `the network of model "m2" has hash `)
	networks[1] = networks[0]
	_, err = NewServer(p, networks, [32]byte{})
	wantError(t, err, `the network of model "m2" has 11 parameters, want 16`)
	_, classes := smallNetworks(t, 2, 4)
	networks[1] = classes[1]
	p.Models[1].Size = classes[1].Size()
	_, err = NewServer(p, networks, [32]byte{})
	wantError(t, err, `the network of model "m2" has 3 inputs, 4 outputs and the loss cross-entropy, want 3, 1 and squared error`)
	_, err = Params{}.WithNetworks([]string{"a", "b", "c"}, networks)
	wantError(t, err, "model 2 has 3 inputs, 4 outputs and the loss cross-entropy, want 3, 1 and squared error as "+
		"model 1 has")
	_, err = Params{}.WithNetworks(nil, networks)
	wantError(t, err, "there are 0 names for 3 networks")
	p.Models[0].Hash = keys.Hash{}
	_, err = NewServer(p, networks, [32]byte{})
	wantError(t, err, `model "m1" has no hash, want that of its network`)
}
