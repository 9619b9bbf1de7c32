package pofmkl

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/keys"
)

// TestRestoredFederationGoesOnBitForBit saves and restores all states after every few rounds, and compares
// with a federation that was never interrupted.
func TestRestoredFederationGoesOnBitForBit(t *testing.T) {
	p := small()
	p.RoundsPerUpload = 3
	d := newDictionary(t, p, 3)
	const clients, rounds = 3, 21
	whole, err := NewFederation(d, clients, [32]byte{5})
	mustDo(t, err)
	broken, err := NewFederation(d, clients, [32]byte{5})
	mustDo(t, err)
	s := newStream(rand.New(rand.NewPCG(8, 9)), rounds*clients, 3)
	for r := range rounds {
		rows, labels := s.rows[r*clients:][:clients], s.labels[r*clients:][:clients]
		a, b := make([]float64, clients), make([]float64, clients)
		mustDo(t, whole.Round(rows, labels, a))
		mustDo(t, broken.Round(rows, labels, b))
		if !slices.Equal(a, b) || !slices.Equal(whole.Server.Theta(), broken.Server.Theta()) {
			t.Fatalf("round %d: predictions %v, want %v", r+1, b, a)
		}
		if r%4 == 1 {
			restoreAll(t, d, broken)
		}
	}
	for k, c := range broken.Clients {
		if c.Regret() != whole.Clients[k].Regret() || c.Rounds() != rounds {
			t.Errorf("client %d: regret %v after %d rounds, want %v after %d", k+1, c.Regret(), c.Rounds(),
				whole.Clients[k].Regret(), rounds)
		}
	}
}

// restoreAll replaces everybody by what their state gives.
func restoreAll(t *testing.T, d *Dictionary, f *Federation) {
	t.Helper()
	for k, c := range f.Clients {
		state, err := c.State()
		mustDo(t, err)
		f.Clients[k], err = RestoreClient(d, state)
		mustDo(t, err)
	}
	state, err := f.Server.State()
	mustDo(t, err)
	f.Server, err = RestoreServer(d, state)
	mustDo(t, err)
}

// trained returns a client that has learned some rounds, one of them not uploaded.
func trained(t testing.TB, p Params, rounds int) (*Dictionary, *Client) {
	t.Helper()
	d := newDictionary(t, p, 2)
	c, theta := NewClient(d, "c", [32]byte{4}), make([]float64, d.params.Words())
	for i := range theta {
		theta[i] = 0.01 * float64(i)
	}
	s := newStream(rand.New(rand.NewPCG(3, 3)), rounds, 2)
	for r := range rounds {
		if c.Due() {
			mustDo(t, c.Upload(make([]float64, d.params.Words())))
		}
		_, err := c.Round(theta, s.rows[r], s.labels[r])
		mustDo(t, err)
	}
	return d, c
}

// TestWarmStartTakesWeightsAlone starts a job with other features from an earlier job's weights.
func TestWarmStartTakesWeightsAlone(t *testing.T) {
	_, before := trained(t, small(), 9)
	state, err := before.State()
	mustDo(t, err)
	p := small()
	p.Seed, p.Features, p.Chosen, p.WeightsFrom = "later", 5, 1, "earlier"
	c := NewClient(newDictionary(t, p, 4), "c", [32]byte{})
	mustDo(t, c.WarmStart(state))
	if !slices.Equal(c.Shares(), before.Shares()) || !slices.Equal(c.weights.order, before.weights.order) ||
		c.Rounds() != 0 || c.regret.Loss() != 0 {
		t.Errorf("weights %v, want %v; %d rounds", c.Shares(), before.Shares(), c.Rounds())
	}
	_, err = c.Round(make([]float64, c.dictionary.params.Words()), []float64{0, 0, 0, 0}, 0.5)
	mustDo(t, err)
	wantError(t, c.WarmStart(state), "weights of an earlier job came after 1 rounds, want none")
	p.Bandwidths = []float64{1, 2}
	other := NewClient(newDictionary(t, p, 4), "c", [32]byte{})
	wantError(t, other.WarmStart(state),
		"weights of an earlier job: its 5 kernels have other bandwidths than this job's 2")
	wantError(t, other.WarmStart(nil), "weights of an earlier job: state of 0 bytes, want at least 32")
}

// TestBadStates are refused by name.
func TestBadStates(t *testing.T) {
	d, c := trained(t, small(), 5)
	state, err := c.State()
	mustDo(t, err)
	other := small()
	other.Step = 0.5
	for _, bad := range []struct {
		name  string
		d     *Dictionary
		state []byte
		want  string
	}{
		{"short", d, state[:20], "state of 20 bytes, want at least 32"},
		{"long", d, make([]byte, maxState+1), "at most 42991616 are read"},
		{"cut", d, state[:len(state)-1], "its checksum is not the one of its bytes"},
		{"flipped", d, flip(state), "its checksum is not the one of its bytes"},
		{"another job", newDictionary(t, other, 2), state, "it belongs to a job with other parameters or columns"},
		{"another table", newDictionary(t, small(), 3), state, "it belongs to a job with other parameters or columns"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			_, err := RestoreClient(bad.d, bad.state)
			wantError(t, err, bad.want)
		})
	}
	_, err = RestoreServer(d, state)
	wantError(t, err, "its checksum is not the one of its bytes: it is damaged, or of another kind")
}

// flip changes a bit.
func flip(state []byte) []byte {
	other := bytes.Clone(state)
	other[len(other)/2] ^= 4
	return other
}

// TestForgedStatesAreRefused seals states that no client writes.
func TestForgedStatesAreRefused(t *testing.T) {
	d, c := trained(t, small(), 5)
	state, err := c.State()
	mustDo(t, err)
	for _, bad := range []struct {
		edit func(*clientState)
		want string
	}{
		{func(s *clientState) { s.Version = 2 }, "version is 2, this program reads version 1"},
		{func(s *clientState) { s.Weights = s.Weights[1:] }, "weights has 4 numbers, want 5"},
		{func(s *clientState) { s.Weights[2] = 1 / (s.Loss - s.Loss) }, "number 3 of weights is +Inf, want a finite number"},
		{func(s *clientState) { s.Kernels = nil }, "the kernels' losses has 0 numbers, want 5"},
		{func(s *clientState) { s.Waiting = 7 }, "5 rounds, 7 of them not uploaded"},
		{func(s *clientState) { s.Rounds = -1 }, "-1 rounds, 1 of them not uploaded"},
		{func(s *clientState) { s.Waiting = 0 }, "the update has 30 numbers, want 0"},
		{func(s *clientState) { s.Update = nil }, "the update has 0 numbers, want 30"},
		{func(s *clientState) { s.Update[4] = 1e6 }, "number 5 of the update is 1e+06, want magnitude at most"},
		{func(s *clientState) { s.Source = []byte("x") }, "the source of bins"},
	} {
		s, err := readClient(state)
		mustDo(t, err)
		bad.edit(s)
		forged, err := checkpoint.Seal(clientDomain, s)
		mustDo(t, err)
		_, err = RestoreClient(d, forged)
		wantError(t, err, bad.want)
	}
	server := serverState{stateVersion, d.fingerprint, make([]float64, 30), -1}
	forged, err := checkpoint.Seal(serverDomain, &server)
	mustDo(t, err)
	_, err = RestoreServer(d, forged)
	wantError(t, err, "-1 sums were applied, want 0 or more")
}

// TestStateBytesDoNotChange holds the encoding of a small server.
func TestStateBytesDoNotChange(t *testing.T) {
	body, err := checkpoint.Seal(serverDomain, &serverState{Version: 1, Job: keys.Hash{1, 2},
		Theta: []float64{0.5, -2, 0.1}, Applied: 3})
	mustDo(t, err)
	// map of 4; 1: 1; 2: 32 bytes; 3: half 0.5, half -2, double 0.1; 4: 3; checksum
	const want = "a4010102582001020000000000000000000000000000000000000000000000000000000000000383f93800f9c000fb3fb999999999999a0403"
	if got := hex.EncodeToString(body[:len(body)-32]); got != want {
		t.Errorf("bytes are\n%s, want\n%s", got, want)
	}
}

// FuzzRestoreClient repairs the checksum of any body: whatever restores has a state of the same bytes.
func FuzzRestoreClient(f *testing.F) {
	d, c := trained(f, small(), 5)
	state, err := c.State()
	mustDo(f, err)
	f.Add(state[:len(state)-32])
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(clientDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		c, err := RestoreClient(d, data)
		if err != nil {
			return
		}
		again, err := c.State()
		mustDo(t, err)
		if _, err := RestoreClient(d, again); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Predict(make([]float64, d.params.Words()), []float64{0, 0}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzRestoreServer is FuzzRestoreClient for servers.
func FuzzRestoreServer(f *testing.F) {
	d := newDictionary(f, small(), 2)
	state, err := NewServer(d).State()
	mustDo(f, err)
	f.Add(state[:len(state)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(serverDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		s, err := RestoreServer(d, data)
		if err != nil {
			return
		}
		if again, err := s.State(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("error %v, or other bytes", err)
		}
	})
}
