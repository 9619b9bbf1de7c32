package ofmsft

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/keys"
)

// TestRestoredFederationGoesOnBitForBit saves and restores all states after some communication rounds,
// and compares with a federation that was never interrupted.
func TestRestoredFederationGoesOnBitForBit(t *testing.T) {
	const clients = 4
	p, networks := small(t, 5, 0, clients, func(p *Params) { p.Window, p.RoundsPerUpload = 4, 2 })
	whole, err := NewFederation(p, networks, clients, [32]byte{5})
	mustDo(t, err)
	broken, err := NewFederation(p, networks, clients, [32]byte{5})
	mustDo(t, err)
	rng, a, b := rand.New(rand.NewPCG(8, 9)), make([]float64, clients), make([]float64, clients)
	for r := range p.Rounds {
		rows, labels := drawRows(rng, clients, 0)
		mustDo(t, whole.Round(rows, labels, a))
		mustDo(t, broken.Round(rows, labels, b))
		if !slices.Equal(a, b) {
			t.Fatalf("round %d: predictions %v, want %v", r+1, b, a)
		}
		if r%8 == 3 {
			restoreAll(t, p, networks, broken)
		}
	}
	for k := range networks {
		if whole.Server.Hash(k) != broken.Server.Hash(k) || whole.Server.Version(k) != broken.Server.Version(k) {
			t.Errorf("network %d differs", k+1)
		}
	}
	for i, c := range broken.Clients {
		if c.Loss() != whole.Clients[i].Loss() || c.Rounds() != p.Rounds {
			t.Errorf("client %d: loss %v after %d rounds, want %v", i+1, c.Loss(), c.Rounds(), whole.Clients[i].Loss())
		}
	}
}

// restoreAll replaces everybody by what their state gives.
func restoreAll(t *testing.T, p Params, networks []*nn.Network, f *Federation) {
	t.Helper()
	for i, c := range f.Clients {
		state, err := c.State()
		mustDo(t, err)
		f.Clients[i], err = RestoreClient(p, c.packings, state)
		mustDo(t, err)
	}
	state, err := f.Server.State()
	mustDo(t, err)
	f.Server, err = RestoreServer(p, networks, state)
	mustDo(t, err)
	for w := range f.runners {
		f.runners[w] = NewRunners(f.Server.networks)
	}
}

// trained returns a client that has learned some rounds.
func trained(t testing.TB, rounds int) *Client {
	t.Helper()
	c, runners := newSmallClient(t, func(p *Params) { p.Window = 3 })
	rng := rand.New(rand.NewPCG(3, 3))
	for range rounds {
		rows, labels := drawRows(rng, 1, 0)
		_, err := c.Predict(of(c.Draw(), runners), rows[0])
		mustDo(t, err)
		mustDo(t, c.Learn(labels[0]))
	}
	return c
}

// TestBadStatesAreRefused by name.
func TestBadStatesAreRefused(t *testing.T) {
	c := trained(t, 5)
	state, err := c.State()
	mustDo(t, err)
	other := c.params
	other.Step = 0.5
	flipped := bytes.Clone(state)
	flipped[len(state)/2] ^= 4
	for _, bad := range []struct {
		name  string
		p     Params
		state []byte
		want  string
	}{
		{"short", c.params, state[:20], "state of 20 bytes, want at least 32"},
		{"cut", c.params, state[:len(state)-1], "its checksum is not the one of its bytes"},
		{"flipped", c.params, flipped, "its checksum is not the one of its bytes"},
		{"another job", other, state, "it belongs to a job with other parameters"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			_, err := RestoreClient(bad.p, c.packings, bad.state)
			wantError(t, err, bad.want)
		})
	}
	_, err = RestoreServer(c.params, nil, state)
	wantError(t, err, "its checksum is not the one of its bytes: it is damaged, or of another kind")
}

// TestForgedClientsAreRefused seals states that no client writes.
func TestForgedClientsAreRefused(t *testing.T) {
	c := trained(t, 5)
	state, err := c.State()
	mustDo(t, err)
	for _, bad := range []struct {
		edit func(*clientState)
		want string
	}{
		{func(s *clientState) { s.Version = 2 }, "version is 2, this program reads version 1"},
		{func(s *clientState) { s.Weights = s.Weights[1:] }, "it has weights of 4 models, want 5"},
		{func(s *clientState) { s.Weights[2] = math.Inf(1) }, "number 3 of the weights is +Inf, want a finite number"},
		{func(s *clientState) { s.Rounds = -1 }, "-1 rounds and loss"},
		{func(s *clientState) { s.Loss = math.NaN() }, "5 rounds and loss NaN, want 0 or more of both"},
		{func(s *clientState) { s.Labels = s.Labels[1:] }, "2 labels and 9 inputs after 5 rounds, want 3 and 9"},
		{func(s *clientState) { s.Rows = s.Rows[1:] }, "3 labels and 8 inputs after 5 rounds, want 3 and 9"},
		{func(s *clientState) { s.Labels[1] = 2 }, "a label is 2, which is not one of the job's"},
		{func(s *clientState) { s.Rows[1] = float32(math.NaN()) }, "number 2 of the rows is NaN, want a finite number"},
		{func(s *clientState) { s.Source = []byte("x") }, "the source of draws"},
	} {
		s := new(clientState)
		mustDo(t, unseal(clientDomain, state, s))
		bad.edit(s)
		forged, err := checkpoint.Seal(clientDomain, s)
		mustDo(t, err)
		_, err = RestoreClient(c.params, c.packings, forged)
		wantError(t, err, bad.want)
	}
}

// TestForgedServersAreRefused seals states that no server writes.
func TestForgedServersAreRefused(t *testing.T) {
	p, networks := small(t, 3, 0, 2, nil)
	server, err := NewServer(p, networks, [32]byte{})
	mustDo(t, err)
	mustDo(t, server.Apply(1, make([]float64, networks[1].Size()), 2))
	state, err := server.State()
	mustDo(t, err)
	for _, bad := range []struct {
		edit func(*serverState)
		want string
	}{
		{func(s *serverState) { s.Version = 3 }, "version is 3, this program reads version 1"},
		{func(s *serverState) { s.Models = s.Models[1:] }, "it has 2 models, want 3"},
		{func(s *serverState) { s.Models[1].Theta = nil }, `model "m2" has 0 bytes after 1 steps, want 128`},
		{func(s *serverState) { s.Models[0].Version = -1 }, `model "m1" has 0 bytes after -1 steps`},
		{func(s *serverState) { s.Models[1].Version = 0 }, `model "m2" has 128 bytes after 0 steps, want 0`},
		{func(s *serverState) { s.Models[1].Theta[6], s.Models[1].Theta[7] = 0xf8, 0x7f }, `number 1 of model "m2" is NaN`},
		{func(s *serverState) { s.Source = nil }, "the source of groups"},
	} {
		s := new(serverState)
		mustDo(t, unseal(serverDomain, state, s))
		bad.edit(s)
		forged, err := checkpoint.Seal(serverDomain, s)
		mustDo(t, err)
		_, err = RestoreServer(p, networks, forged)
		wantError(t, err, bad.want)
	}
}

// TestStateBytesDoNotChange holds the encodings of a small client and a small server.
func TestStateBytesDoNotChange(t *testing.T) {
	job := keys.Hash{1, 2}
	hash := "582001020000000000000000000000000000000000000000000000000000000000" + "00"
	for _, c := range []struct {
		domain string
		state  any
		want   string
	}{
		// map of 8; 1: 1; 2: 32 bytes; 3: half -0.5, half 0; 4: 2 bytes; 5: 7; 6: half 1.5; 7: half
		// 0.25; 8: half 1
		{clientDomain, &clientState{1, job, []float64{-0.5, 0}, []byte{8, 9}, 7, 1.5, []float32{0.25}, []float64{1}, ""},
			"a8010102" + hash + "0382f9b800f900000442080905" + "07" + "06f93e00" + "0781f93400" + "0881f93c00"},
		// map of 4; 1: 1; 2: 32 bytes; 3: 1 byte; 4: a model of no steps, one of two steps with one
		// parameter, 1
		{serverDomain, &serverState{1, job, []byte{8}, []modelState{{}, {2, doublesToBytes([]float64{1})}}},
			"a4010102" + hash + "034108" + "0482" + "a10100" + "a20102" + "0248000000000000f03f"},
	} {
		body, err := checkpoint.Seal(c.domain, c.state)
		mustDo(t, err)
		if got := hex.EncodeToString(body[:len(body)-32]); got != c.want {
			t.Errorf("bytes are\n%s, want\n%s", got, c.want)
		}
	}
}

// FuzzRestoreClient repairs the checksum of any body: whatever restores has a state of the same bytes.
func FuzzRestoreClient(f *testing.F) {
	c := trained(f, 5)
	state, err := c.State()
	mustDo(f, err)
	f.Add(state[:len(state)-32])
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(clientDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		restored, err := RestoreClient(c.params, c.packings, data)
		if err != nil {
			return
		}
		if again, err := restored.State(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("error %v, or other bytes", err)
		}
		restored.Draw()
	})
}

// FuzzRestoreServer is FuzzRestoreClient for servers.
func FuzzRestoreServer(f *testing.F) {
	p, networks := small(f, 3, 0, 2, nil)
	server, err := NewServer(p, networks, [32]byte{})
	mustDo(f, err)
	mustDo(f, server.Apply(1, make([]float64, networks[1].Size()), 2))
	state, err := server.State()
	mustDo(f, err)
	f.Add(state[:len(state)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(serverDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		s, err := RestoreServer(p, networks, data)
		if err != nil {
			return
		}
		if again, err := s.State(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("error %v, or other bytes", err)
		}
	})
}
