package pofmkl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

// common is small with a common bin for two rounds at a time.
func common() Params {
	return Params{
		Seed: "small", Bandwidths: []float64{0.01, 0.1, 1, 10, 100}, Features: 3, Chosen: 2, CommonBin: true,
		RoundsPerUpload: 2, Rounds: 50, Step: 0.05, WeightSteps: map[string]float64{"c2": 0.9},
	}
}

// TestCommonBinsDoNotChange: all programs of all parties must draw these.
func TestCommonBinsDoNotChange(t *testing.T) {
	p, got := common().WithDefaults(), ""
	for upload := range 8 {
		got += fmt.Sprint(p.Moved(upload))
	}
	if want := "[2 3][2 3][1 4][1 3][1 4][2 3][0 4][1 4]"; got != want {
		t.Errorf("bins %s, want %s", got, want)
	}
	p.CommonBin = false
	if got := p.Moved(3); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("without a common bin %v move, want all", got)
	}
}

// TestCommonBinsAreDrawnAlike: over many uploads all kernels, and all pairs of them, are in the bin about equally
// often, as chi-square tests see it. 2 bins of 3 kernels: p is 1/2, and of a pair 1/5.
func TestCommonBinsAreDrawnAlike(t *testing.T) {
	p := common()
	p.Bandwidths, p.Chosen = []float64{1, 2, 3, 4, 5, 6}, 3
	p = p.WithDefaults()
	kernels, pairs := make([]int64, 6), make([]int64, 15)
	for u := range 6000 {
		bin := p.Moved(u)
		for at, i := range bin {
			kernels[i]++
			for _, j := range bin[at+1:] {
				pairs[i*(11-i)/2+j-i-1]++
			}
		}
	}
	if a, b := drawn.ChiSquareUniform(kernels), drawn.ChiSquareUniform(pairs); a < 1e-6 || b < 1e-6 {
		t.Errorf("kernels are drawn %v times (p = %.2g), pairs %v times (p = %.2g)", kernels, a, pairs, b)
	}
}

// TestUpdatesOfCommonBinsAreUnbiased: over all uploads the mean of a client's update is eta times the gradient of
// every kernel.
func TestUpdatesOfCommonBinsAreUnbiased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		p.Explore, p.CommonBin, p.RoundsPerUpload, p.Rounds = 1, true, 1, 20000
		d, err := NewDictionary(p, columnNames(2))
		mustDo(t, err)
		theta, x := make([]float64, p.Words()), []float64{0.3, -0.2}
		for i := range theta {
			theta[i] = math.Sin(float64(i))
		}
		update := func(p Params, d *Dictionary, upload int) []float64 {
			c := NewClient(d, "c", [32]byte{})
			sum := make([]float64, p.uploadWords(len(p.Moved(upload))))
			for _, err := range []error{c.Begin(upload), second(c.Round(theta, x, 0.9)), c.Upload(sum)} {
				mustDo(t, err)
			}
			return sum
		}
		all := p
		all.CommonBin, all.Chosen = false, p.Kernels() // one bin of all kernels: the whole gradient
		every, err := NewDictionary(all, columnNames(2))
		mustDo(t, err)
		want := update(all, every, 0)
		upload := rapid.IntRange(0, p.Rounds-1).Draw(t, "upload")
		got := update(p, d, upload)
		for at, i := range p.Moved(upload) {
			for j, v := range part(got, at, p.Features) {
				if w := part(want, i, p.Features)[j]; math.Abs(v/float64(p.Bins())-w) > 1e-12*math.Max(1, math.Abs(w)) {
					t.Fatalf("kernel %d: %v with probability 1/%d, want %v on average", i+1, v, p.Bins(), w)
				}
			}
		}
	})
}

// second drops a value before an error.
func second(_ float64, err error) error { return err }

// TestPartsWithCommonBinsEqualTheLoop, also where a total is lost, a client leaves and returns, and the server
// goes back to its checkpoint.
func TestPartsWithCommonBinsEqualTheLoop(t *testing.T) {
	t.Run("whole", func(t *testing.T) {
		l := newTestNetwork(t, common(), 50, 50, 50)
		l.run()
		o := newLoop(l)
		o.run()
		o.compare()
	})
	t.Run("left out", func(t *testing.T) {
		l := newTestNetwork(t, common(), 50, 50, 20)
		lost := func(round, k int) bool { return k == 1 && round%4 == 2 }
		l.lost = lost
		l.run()
		o := newLoop(l)
		for r := range l.dictionary.params.Uploads() {
			o.upload(r, nobody, func(k int) bool { return lost(r, k) })
		}
		o.compare()
	})
	t.Run("returned", func(t *testing.T) {
		whole := newTestNetwork(t, common(), 50, 50, 50)
		whole.run()
		l := newTestNetwork(t, common(), 50, 50, 50)
		s := l.open(t.Context())
		l.at = func(p federated.Progress) {
			if p.Round == 7 {
				s.Stop(1)
				s.Ended(1)
				s.runClient(t.Context(), 1)
			}
		}
		mustDo(t, s.serve(t.Context()))
		nearAll(t, "theta", l.theta(), whole.theta(), 0)
		nearAll(t, "weights", l.shares(1), whole.shares(1), 0)
	})
}

// TestAnotherUploadWaits until the one under way has left.
func TestAnotherUploadWaits(t *testing.T) {
	d := newDictionary(t, common(), 2)
	c, theta, x := NewClient(d, "c", [32]byte{}), make([]float64, 30), []float64{0.1, 0.2}
	_, err := c.Round(theta, x, 0.5)
	wantError(t, err, "row 1: no upload was begun for it")
	mustDo(t, c.Begin(3))
	mustDo(t, c.Learn(0.5))
	mustDo(t, c.Begin(3))
	wantError(t, c.Begin(4), "upload 5 begins, but the update of 1 rounds awaits upload 4")
	wantError(t, c.Upload(make([]float64, 30)), "the sum has 30 words, want 12")
	mustDo(t, c.Upload(make([]float64, 12)))
	mustDo(t, c.Begin(5))
	wantError(t, NewServer(d).Apply(5, make([]float64, 6), 2), "sum 1 has 6 words, want 12")
}

// TestStatesOfCommonBins restores a client between two rounds of an upload, and refuses what no client writes.
func TestStatesOfCommonBins(t *testing.T) {
	d := newDictionary(t, common(), 2)
	c, s := NewClient(d, "c2", [32]byte{}), newStream(rand.New(rand.NewPCG(3, 3)), 4, 2)
	mustDo(t, c.Begin(1))
	_, err := c.Round(make([]float64, 30), s.rows[0], s.labels[0])
	mustDo(t, err)
	state, err := c.State()
	mustDo(t, err)
	again, err := RestoreClient(d, state)
	mustDo(t, err)
	var uploads [2][]float64
	for i, c := range []*Client{c, again} {
		mustDo(t, c.Begin(1))
		_, err := c.Round(make([]float64, 30), s.rows[1], s.labels[1])
		mustDo(t, err)
		uploads[i] = make([]float64, 12)
		mustDo(t, c.Upload(uploads[i]))
	}
	nearAll(t, "the restored client's update", uploads[1], uploads[0], 0)
	nearAll(t, "the restored client's weights", again.Shares(), c.Shares(), 0)
	for _, bad := range []struct {
		edit func(*clientState)
		want string
	}{
		{func(s *clientState) { s.Upload = 0 },
			"upload 0 was begun after 1 rounds, want 1 to 25 with a common bin and else 0"},
		{func(s *clientState) { s.Upload = 26 }, "upload 26 was begun after 1 rounds"},
		{func(s *clientState) { s.Upload = 3 }, "the update moves kernel 3, which is not in the bin of upload 3"},
	} {
		s, err := readClient(state)
		mustDo(t, err)
		bad.edit(s)
		forged, err := checkpoint.Seal(clientDomain, s)
		mustDo(t, err)
		_, err = RestoreClient(d, forged)
		wantError(t, err, bad.want)
	}
}

// TestNothingOfAClientsChoiceIsInItsUpload plays a server that sees single uploads, as in a published job, and
// reads off them which kernels suit a client. In Algorithm 2 which kernels it sends differs between clients and
// follows their weights; with a common bin two clients with opposite labels send the same kernels.
func TestNothingOfAClientsChoiceIsInItsUpload(t *testing.T) {
	for _, c := range []struct {
		common bool
		alike  bool
	}{{true, true}, {false, false}} {
		p := Params{Seed: "choice", Features: 3, Chosen: 5, Explore: 0.05, WeightStep: 5, Step: 1e-3, Rounds: 40,
			CommonBin: c.common}
		if c.common {
			p.Explore = 0
		}
		d := newDictionary(t, p, 2)
		var sent [2]string
		for k := range sent {
			rows := newStream(rand.New(rand.NewPCG(1, 1)), 40, 2).rows
			client, theta := NewClient(d, "c", [32]byte{}), make([]float64, d.params.Words())
			for i := range theta {
				theta[i] = math.Sin(float64(i * (k + 1)))
			}
			for u := range 40 {
				mustDo(t, client.Begin(u))
				_, err := client.Round(theta, rows[u], float64(k))
				mustDo(t, err)
				sent[k] += fmt.Sprint(client.Touched(nil))
				mustDo(t, client.Upload(make([]float64, d.params.uploadWords(len(client.moved)))))
			}
		}
		if alike := sent[0] == sent[1]; alike != c.alike {
			t.Errorf("common bin %v: the two clients send the same kernels: %v, want %v", c.common, alike, c.alike)
		}
	}
}
