package pofmkl

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/keys"
)

// written is what a model on random features predicts, by the formula in docs/model-format.md and nothing else.
func written(m *portable.Model, x []float64) float64 {
	k, columns, sum := m.Kernels, m.Inputs.Count, 0.0
	for i, one := range k.List {
		for j := range k.Count {
			angle := 0.0
			for c := range columns {
				angle += k.Frequencies[(i*k.Count+j)*columns+c] * x[c] / m.Inputs.DivideBy
			}
			theta, scale := k.Theta[2*k.Count*i:], *one.Weight/math.Sqrt(float64(k.Count))
			sum += scale * (theta[j]*math.Sin(angle) + theta[k.Count+j]*math.Cos(angle))
		}
	}
	return m.Label.Low + sum*(m.Label.High-m.Label.Low)
}

// TestAClientKeepsWhatItPredictsWith after a whole job: the model predicts as the client's own part would with the
// theta that it heard last, bit for bit, and as what it exports says; theta and weights are those of the loop.
func TestAClientKeepsWhatItPredictsWith(t *testing.T) {
	p := several()
	p.InputNorm, p.LabelLow, p.LabelHigh = 2, -1, 3
	l := newTestNetwork(t, p, 50, 20, 50)
	l.run()
	o := newLoop(l)
	for r := range l.dictionary.params.Uploads() - 1 {
		o.upload(r, nobody, nobody)
	}
	heard := bytes.Clone(mustState(t, o.server))
	o.upload(l.dictionary.params.Uploads()-1, nobody, nobody)
	before, err := RestoreServer(l.dictionary, heard)
	mustDo(t, err)
	for k := range l.clients {
		m, err := DecodeModel(l.dictionary, false, l.clients[k][federated.ModelSlot])
		mustDo(t, err)
		if m.Round() != l.dictionary.params.Uploads() {
			t.Errorf("client %d: the model is of round %d", k+1, m.Round())
		}
		nearAll(t, "theta", m.theta, before.Theta(), 1e-9)
		nearAll(t, "weights", m.shares, o.clients[k].Shares(), 1e-9)
		kept, err := readAttendance(l.clients[k][federated.ClientSlot])
		mustDo(t, err)
		part, err := RestoreClient(l.dictionary, kept.Client)
		mustDo(t, err)
		for i, x := range l.streams[k].rows[:10] {
			want, err := part.Predict(m.theta, x)
			mustDo(t, err)
			got, err := m.Predict(i+1, x)
			mustDo(t, err)
			if got.Value != want || !math.IsNaN(got.Probability) {
				t.Errorf("client %d, row %d: the prediction is %v, its part's is %v", k+1, i+1, got, want)
			}
			if far := math.Abs(written(m.Portable(), x) - want); far > 1e-12 {
				t.Errorf("client %d, row %d: what is exported is off by %g", k+1, i+1, far)
			}
		}
	}
	m, err := DecodeModel(l.dictionary, true, l.server[federated.ModelSlot])
	mustDo(t, err)
	nearAll(t, "the server's theta", m.theta, l.theta(), 0)
	for _, one := range m.Portable().Kernels.List {
		if one.Weight != nil {
			t.Error("a server exports a client's weight")
		}
	}
	if _, err := m.Predict(1, l.streams[0].rows[0]); err == nil {
		t.Error("a server predicts without weights")
	}
}

// mustState returns a server's state.
func mustState(t *testing.T, s *Server) []byte {
	t.Helper()
	state, err := s.State()
	mustDo(t, err)
	return state
}

// TestAKilledClientHasTheModelOfASixteenth: nothing is written at its end.
func TestAKilledClientHasTheModelOfASixteenth(t *testing.T) {
	l := newTestNetwork(t, small(), 50, 50, 50)
	kept := make([]int, 0, 50)
	l.at = func(p federated.Progress) {
		if m, err := DecodeModel(l.dictionary, false, l.clients[0][federated.ModelSlot]); err == nil {
			kept = append(kept, p.Round-m.Round())
		}
	}
	l.run()
	for i, lag := range kept {
		if lag < 0 || lag >= 50/16 {
			t.Errorf("report %d: the model is %d rounds old, want fewer than %d", i+1, lag, 50/16)
		}
	}
	if len(kept) < 45 {
		t.Errorf("a model was there after %d of 50 rounds", len(kept))
	}
}

// TestModelsOfOthersAreRefused: of another job, another role, another kind, and damaged.
func TestModelsOfOthersAreRefused(t *testing.T) {
	l := newTestNetwork(t, small(), 50, 50, 50)
	l.run()
	data, server := l.clients[0][federated.ModelSlot], l.server[federated.ModelSlot]
	other := small()
	other.Seed = "other"
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 1
	for what, c := range map[string]struct {
		d      *Dictionary
		server bool
		data   []byte
		want   string
	}{
		"another job":   {newDictionary(t, other, 3), false, data, "it belongs to a job with other parameters or columns"},
		"a server's":    {l.dictionary, false, server, "state: weights has 0 numbers, want 5"},
		"a client's":    {l.dictionary, true, data, "a server's model has a client's weights or columns, want none"},
		"a flipped bit": {l.dictionary, false, flipped, "its checksum is not the one of its bytes"},
		"a client's part": {l.dictionary, false, l.clients[0][federated.ClientSlot],
			"its checksum is not the one of its bytes"},
		"nothing": {l.dictionary, false, nil, "state of 0 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := DecodeModel(c.d, c.server, c.data)
			wantError(t, err, c.want)
		})
	}
}

// TestAModelThatCannotBeKept ends a part with an error that went well but for that.
func TestAModelThatCannotBeKept(t *testing.T) {
	l := newTestNetwork(t, small(), 3)
	l.rows = []*memory.Rows{memory.NewRows(l.streams[0].rows, l.streams[0].labels)}
	theta := make([]float64, l.dictionary.params.Words())
	part := l.part(0, &memory.ToldClient{Rounds: []int{0}, Values: theta, End: io.EOF})
	part.Vault = &memory.FaultyVault{Saves: 2, SaveErr: fmt.Errorf("the disk is full")}
	wantError(t, RunClient(t.Context(), part), `client "c1": keep the model after row 1: the disk is full`)
}

// FuzzDecodeModel: whatever is read is finite and predicts or says why not.
func FuzzDecodeModel(f *testing.F) {
	d := newDictionary(f, small(), 2)
	theta := make([]float64, d.params.Words())
	theta[3] = 0.5
	for _, weights := range [][]float64{nil, {0, -1, -2, -3, -400}} {
		columns := d.columns
		if weights == nil {
			columns = nil
		}
		data, err := encodeModel(d, 7, theta, columns, weights)
		mustDo(f, err)
		f.Add(data[:len(data)-32])
	}
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(modelDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		if m, err := DecodeModel(d, true, data); err == nil && m.shares != nil {
			t.Fatal("a server's model has weights")
		}
		m, err := DecodeModel(d, false, data)
		if err != nil {
			return
		}
		if p, err := m.Predict(1, []float64{0.1, 0.2}); err == nil && !parameters.IsFinite(p.Value) {
			t.Fatalf("the prediction is %v", p)
		}
		mustDo(t, checkpoint.CheckFinite("frequencies", m.Portable().Kernels.Frequencies))
	})
}
