package pofmkl

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// several is small with some rounds to an upload, the last of which has fewer.
func several() Params {
	p := small()
	p.RoundsPerUpload = 3
	return p
}

func TestPartsEqualTheFederation(t *testing.T) {
	l := newTestNetwork(t, small(), 50, 50, 50)
	l.run()
	f, err := NewFederation(l.dictionary, 3, secret)
	mustDo(t, err)
	predictions := make([]float64, 3)
	for i := range 50 {
		var rows [][]float64
		var labels []float64
		for _, s := range l.streams {
			rows, labels = append(rows, s.rows[i]), append(labels, s.labels[i])
		}
		mustDo(t, f.Round(rows, labels, predictions))
		for k, y := range predictions {
			if got := l.rows[k].Predictions[i+1]; math.Abs(got-y) > 1e-12 {
				t.Fatalf("client %d, row %d: the prediction is %v, want %v", k+1, i+1, got, y)
			}
		}
	}
	o := newLoop(l)
	o.run()
	nearAll(t, "the loop's theta", o.server.Theta(), f.Server.Theta(), 0)
	o.compare()
}

func TestSeveralRoundsToAnUpload(t *testing.T) {
	l := newTestNetwork(t, several(), 50, 50, 50)
	l.run()
	o := newLoop(l)
	o.run()
	o.compare()
}

func TestAClientThatIsLeftOutKeepsItsWeights(t *testing.T) {
	l := newTestNetwork(t, several(), 50, 50, 50)
	lost := func(round, k int) bool { return k == 1 && round%4 == 2 }
	l.lost = lost
	l.run()
	o := newLoop(l)
	for r := range l.dictionary.params.Uploads() {
		o.upload(r, nobody, func(k int) bool { return lost(r, k) })
	}
	o.compare()
}

func TestAClientWhoseStreamEndsAddsZeros(t *testing.T) {
	l := newTestNetwork(t, several(), 50, 10, 0)
	var clients []int
	l.at = func(p federated.Progress) { clients = append(clients, p.Clients) }
	l.run()
	o := newLoop(l)
	o.run()
	o.compare()
	if want := slices.Repeat([]int{3}, 17); !slices.Equal(clients, want) {
		t.Errorf("totals of %v clients, want %v: an end must not show", clients, want)
	}
}

func TestATotalThatDoesNotOpenIsARound(t *testing.T) {
	l := newTestNetwork(t, small(), 50, 50)
	l.least = 3
	var seen []federated.Progress
	l.at = func(p federated.Progress) { seen = append(seen, p) }
	l.run()
	nearAll(t, "theta", l.theta(), make([]float64, l.dictionary.params.Words()), 0)
	last := seen[len(seen)-1]
	if len(seen) != 50 || last.Round != 50 || last.Rounds != 50 || last.Clients != 0 || !math.IsNaN(last.Loss) ||
		!math.IsNaN(last.Regret) {
		t.Errorf("%d reports, the last %+v, want 50 rounds without a client", len(seen), last)
	}
	if l.seen[1].Round != 50 || len(l.rows[1].Predictions) != 50 {
		t.Errorf("client 2 reports %+v, want all rounds learned", l.seen[1])
	}
}

// TestAClientThatReturnsBetweenRoundsLosesNothing: the run is the uninterrupted one, bit for bit.
func TestAClientThatReturnsBetweenRoundsLosesNothing(t *testing.T) {
	whole := newTestNetwork(t, several(), 50, 50, 50)
	whole.run()

	l := newTestNetwork(t, several(), 50, 50, 50)
	s := l.open(t.Context())
	l.at = func(p federated.Progress) {
		if p.Round != 4 && p.Round != 9 {
			return
		}
		s.Stop(1)
		if err := s.Ended(1); !errors.Is(err, context.Canceled) && err != nil {
			t.Errorf("the client ended with %v, want that it was cancelled", err)
		}
		s.runClient(t.Context(), 1)
	}
	mustDo(t, s.serve(t.Context()))
	nearAll(t, "theta", l.theta(), whole.theta(), 0)
	nearAll(t, "weights", l.shares(1), whole.shares(1), 0)
	if l.seen[1] != whole.seen[1] {
		t.Errorf("the client reports %+v, want %+v", l.seen[1], whole.seen[1])
	}
}

// killer is a stream that ends the client's life at a row's label.
type killer struct {
	*memory.Rows
	row  int
	last int
	kill func()
}

func (k *killer) Inputs(ctx context.Context) (int, []float64, error) {
	row, x, err := k.Rows.Inputs(ctx)
	k.last = row
	return row, x, err
}

func (k *killer) Label(ctx context.Context) (float64, error) {
	if k.last == k.row {
		k.kill()
	}
	return k.Rows.Label(ctx)
}

// TestAClientThatIsKilledAmidRowsLearnsThemAgain: it misses the upload, and goes on with the first row
// that was not uploaded.
func TestAClientThatIsKilledAmidRowsLearnsThemAgain(t *testing.T) {
	l := newTestNetwork(t, several(), 50, 50, 50)
	first := true
	var s *session
	l.wrap = func(k int, rows *memory.Rows) federated.Rows {
		if k != 1 || !first {
			return rows
		}
		first = false
		return &killer{Rows: rows, row: 14, kill: func() { s.Stop(1) }} // rows 13 to 15 are the 5th upload
	}
	s = l.open(t.Context())
	l.at = func(p federated.Progress) {
		if p.Round == 5 {
			want := `client "c2", round 5: label of row 14: context canceled`
			if err := s.Ended(1); err == nil || err.Error() != want {
				t.Errorf("the client ended with %v, want %q", err, want)
			}
			if p.Clients != 2 {
				t.Errorf("a total of %d clients, want 2", p.Clients)
			}
			s.runClient(t.Context(), 1)
		}
	}
	mustDo(t, s.serve(t.Context()))
	o := newLoop(l)
	for r := range l.dictionary.params.Uploads() {
		o.upload(r, func(k int) bool { return k == 1 && r == 4 }, nobody)
	}
	o.compare()
}

// TestAServerThatIsKilledGoesOnFromItsCheckpoint, with an older theta and the clients' next rows.
func TestAServerThatIsKilledGoesOnFromItsCheckpoint(t *testing.T) {
	l := newTestNetwork(t, small(), 60, 60, 60)
	ctx, kill := context.WithCancel(t.Context())
	l.at = func(p federated.Progress) {
		if p.Round == 13 {
			kill()
		}
	}
	s := l.open(t.Context())
	if err, want := s.serve(ctx), `server "", round 14: context canceled`; err == nil || err.Error() != want {
		t.Errorf("the server ended with %v, want %q", err, want)
	}
	l.at = nil
	o := newLoop(l)
	var checkpoint []byte
	for r := range 13 {
		if r == 10 {
			var err error
			checkpoint, err = o.server.State()
			mustDo(t, err)
		}
		o.upload(r, nobody, nobody)
	}
	early := []map[int]float64{}
	for _, r := range l.rows {
		early = append(early, r.Predictions)
	}
	l.run()
	for k, r := range l.rows {
		for row, y := range early[k] {
			r.Predictions[row] = y
		}
	}
	var err error
	o.server, err = RestoreServer(l.dictionary, checkpoint)
	mustDo(t, err)
	for r := 10; r < 50; r++ {
		o.upload(r, nobody, nobody)
	}
	o.compare()
}

func TestAFinishedServerHasNothingToDo(t *testing.T) {
	l := newTestNetwork(t, small(), 50, 50)
	l.run()
	theta := l.theta()
	l.at = func(federated.Progress) { t.Error("a round after the last") }
	l.run()
	nearAll(t, "theta", l.theta(), theta, 0)
}

// TestAClientReportsHowWellItPredicts: its mean squared error is that of what it kept, in the label's
// units.
func TestAClientReportsHowWellItPredicts(t *testing.T) {
	p := several()
	p.LabelLow, p.LabelHigh = -5, 15
	l := newTestNetwork(t, p, 50, 50)
	l.run()
	sum := 0.0
	for i, y := range l.streams[0].labels {
		e := l.rows[0].Predictions[i+1] - y
		sum += e * e
	}
	got := l.seen[0]
	if got.Round != 17 || got.Rounds != 17 || math.Abs(got.Loss-sum/50) > 1e-9 || math.IsNaN(got.Regret) {
		t.Errorf("the client reports %+v, want 17 uploads and loss %v", got, sum/50)
	}
}

// TestWeightsOfAnEarlierJob: a client starts from what its vault of that job has.
func TestWeightsOfAnEarlierJob(t *testing.T) {
	earlier := newTestNetwork(t, small(), 50, 50)
	earlier.run()
	p := small()
	p.Seed = "later"
	l := newTestNetwork(t, p, 50, 50)
	l.rows = []*memory.Rows{memory.NewRows(nil, nil), memory.NewRows(nil, nil)}
	hub := memory.NewHub(2, 2)
	part := l.part(1, hub.Join(1))
	part.Weights = earlier.clients[1][federated.ClientSlot]
	hub.End()
	mustDo(t, RunClient(t.Context(), part))
	nearAll(t, "weights", l.shares(1), earlier.shares(1), 0)
	part.Vault, part.Weights = memory.Vault{}, earlier.clients[1][federated.ClientSlot][:40]
	wantError(t, RunClient(t.Context(), part), `client "c2": weights of an earlier job: state: its checksum is not the one of its bytes`)
}

// TestSeedsAreFresh: clients without a seed draw one.
func TestSeedsAreFresh(t *testing.T) {
	l := newTestNetwork(t, small(), 0, 0)
	l.rows = []*memory.Rows{memory.NewRows(nil, nil), memory.NewRows(nil, nil)}
	hub := memory.NewHub(2, 2)
	hub.End()
	for k := range 2 {
		part := l.part(k, hub.Join(k))
		part.seed = nil
		mustDo(t, RunClient(t.Context(), part))
	}
	if slices.Equal(l.clients[0][federated.ClientSlot], l.clients[1][federated.ClientSlot]) {
		t.Error("two clients have the same seed")
	}
}
