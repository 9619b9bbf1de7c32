package ofmsft

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// TestResultsDoNotDependOnGoroutines runs the same federation on one and on four.
func TestResultsDoNotDependOnGoroutines(t *testing.T) {
	for _, update := range []string{UpdateEquation11, UpdateInPlace} {
		p, networks := small(t, 6, 0, 9, func(p *Params) { p.Update, p.Clip = update, 0.1 })
		var all [2]*Federation
		var predictions [2][]float64
		for w, workers := range []int{1, 4} {
			f, err := newFederation(p, networks, 9, [32]byte{3}, workers)
			mustDo(t, err)
			mustDo(t, f.CountRegrets(networks))
			rng, got := rand.New(rand.NewPCG(2, 2)), make([]float64, 9)
			for range p.Rounds {
				rows, labels := drawRows(rng, 9, 0)
				mustDo(t, f.Round(rows, labels, got))
				predictions[w] = append(predictions[w], got...)
			}
			all[w] = f
		}
		if !slices.Equal(predictions[0], predictions[1]) || all[0].Traffic != all[1].Traffic ||
			all[0].Clipped != all[1].Clipped || all[0].Clipped == 0 {
			t.Fatalf("%s: predictions, traffic or clipped elements differ", update)
		}
		for k := range networks {
			if all[0].Server.Hash(k) != all[1].Server.Hash(k) {
				t.Errorf("%s: network %d differs", update, k+1)
			}
		}
		for i := range 9 {
			if all[0].Regret(i) != all[1].Regret(i) || all[0].RegretAtFirst(i) != all[1].RegretAtFirst(i) {
				t.Errorf("%s: the regrets of client %d differ", update, i+1)
			}
		}
	}
}

// TestRegretsAreThoseOfTheirText computes all losses one by one.
func TestRegretsAreThoseOfTheirText(t *testing.T) {
	p, networks := small(t, 4, 0, 3, nil)
	f, err := NewFederation(p, networks, 3, [32]byte{3})
	mustDo(t, err)
	mustDo(t, f.CountRegrets(networks))
	rng, got := rand.New(rand.NewPCG(2, 2)), make([]float64, 3)
	mine, tuned, first := make([]float64, 3), matrix(3, 4), matrix(3, 4)
	for range p.Rounds {
		rows, labels := drawRows(rng, 3, 0)
		for i := range rows {
			for k := range networks {
				tuned[i][k] += squaredError(f.Server.Network(k), rows[i], labels[i])
				first[i][k] += squaredError(networks[k], rows[i], labels[i])
			}
		}
		mustDo(t, f.Round(rows, labels, got))
		for i := range rows {
			mine[i] += (got[i] - labels[i]) * (got[i] - labels[i])
		}
	}
	for i := range 3 {
		near(t, "regret", f.Regret(i), mine[i]-slices.Min(tuned[i]), 1e-5)
		near(t, "regret at first", f.RegretAtFirst(i), mine[i]-slices.Min(first[i]), 1e-5)
		near(t, "loss", f.Clients[i].Loss(), mine[i], 1e-5)
	}
	wantError(t, f.CountRegrets(networks), "regrets are to be counted after 60 rounds, want none")
	wantError(t, f.Round(make([][]float64, 3), got, got), "all 60 rounds are over")
}

// squaredError is a network's loss on a row.
func squaredError(n *nn.Network, row []float64, y float64) float64 {
	var x []float32
	for _, v := range row {
		x = append(x, float32(v))
	}
	d := float64(n.NewWorkspace().Predict(x, 1)[0]) - y
	return d * d
}

// TestTrafficIsThePapers counts what is downloaded and uploaded by hand.
func TestTrafficIsThePapers(t *testing.T) {
	for _, broadcast := range []bool{false, true} {
		p, networks := small(t, 5, 0, 6, func(p *Params) { p.Broadcast, p.WarmUp, p.RoundsPerUpload = broadcast, 10, 5 })
		f, err := NewFederation(p, networks, 6, [32]byte{3})
		mustDo(t, err)
		rng, got := rand.New(rand.NewPCG(2, 2)), make([]float64, 6)
		var want Traffic
		for r := range p.Rounds {
			rows, labels := drawRows(rng, 6, 0)
			mustDo(t, f.Round(rows, labels, got))
			if r%5 != 4 {
				continue
			}
			for i, c := range f.Clients {
				need, bytes := 0.0, int64(0)
				for k, m := range p.Models {
					if broadcast || slices.Contains(c.Selection().Stored, k) {
						need, bytes = need+m.Bandwidth, bytes+4*int64(m.Size)
					}
				}
				want.Downloaded, want.DownloadedBytes = want.Downloaded+need, want.DownloadedBytes+bytes
				if slices.Contains(f.group, i) {
					want.Uploaded, want.UploadedBytes = want.Uploaded+need, want.UploadedBytes+bytes
				}
			}
			if r < 10 && len(f.group) > 0 || r >= 10 && len(f.group) == 0 {
				t.Errorf("round %d: the group is %v", r+1, f.group)
			}
		}
		near(t, "download", f.Traffic.Downloaded, want.Downloaded, 1e-12)
		near(t, "upload", f.Traffic.Uploaded, want.Uploaded, 1e-12)
		if f.Traffic.DownloadedBytes != want.DownloadedBytes || f.Traffic.UploadedBytes != want.UploadedBytes {
			t.Errorf("traffic %+v, want %+v", f.Traffic, want)
		}
	}
}

// TestFineTuningHelps compares the errors with and without.
func TestFineTuningHelps(t *testing.T) {
	losses := map[string]float64{}
	for _, update := range []string{UpdateNone, UpdateEquation11, UpdateInPlace} {
		p, networks := small(t, 5, 0, 6, func(p *Params) { p.Update, p.Rounds = update, 300 })
		f, err := NewFederation(p, networks, 6, [32]byte{3})
		mustDo(t, err)
		rng, got := rand.New(rand.NewPCG(2, 2)), make([]float64, 6)
		for range p.Rounds {
			rows, labels := drawRows(rng, 6, 0)
			mustDo(t, f.Round(rows, labels, got))
		}
		for _, c := range f.Clients {
			losses[update] += c.Loss()
		}
	}
	if !(losses[UpdateEquation11] < losses[UpdateNone]/2 && losses[UpdateInPlace] < losses[UpdateNone]/2) {
		t.Errorf("losses are %v", losses)
	}
}

// TestFederationsRefuseWrongInput names client, row and numbers.
func TestFederationsRefuseWrongInput(t *testing.T) {
	p, networks := small(t, 3, 0, 2, nil)
	_, err := NewFederation(p, networks, 0, [32]byte{})
	wantError(t, err, "the federation has 0 clients, want 1 to 65536")
	f, err := NewFederation(p, networks, 2, [32]byte{})
	mustDo(t, err)
	row := []float64{0, 0, 0}
	wantError(t, f.Round([][]float64{row}, []float64{0, 0}, []float64{0, 0}),
		"1 rows, 2 labels and room for 2 predictions, want 2, the number of clients")
	wantError(t, f.Round([][]float64{row, row}, []float64{0, 2}, []float64{0, 0}), `client 2: row 1, label column "y": the label is 2, want a number from 0 to 1`)
	f, err = NewFederation(p, networks, 2, [32]byte{})
	mustDo(t, err)
	wantError(t, f.Round([][]float64{row, {0, math.NaN(), 0}}, []float64{0, 0}, []float64{0, 0}),
		`client 2: row 1: value 2 is NaN`)
	if f.Regret(0) != 0 || f.RegretAtFirst(1) != 0 {
		t.Error("there are regrets that nobody counted")
	}
}
