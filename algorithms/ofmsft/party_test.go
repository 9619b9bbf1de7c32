package ofmsft

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// TestPartsEqualTheFederation in what they predict, but for the rounding of fixed-point sums, over all kinds of
// jobs.
func TestPartsEqualTheFederation(t *testing.T) {
	for what, c := range map[string]struct {
		classes int
		edit    func(*Params)
	}{
		"numbers":              {0, nil},
		"classes":              {3, nil},
		"without fine-tuning":  {0, func(p *Params) { p.Update = UpdateNone }},
		"several rows a round": {0, func(p *Params) { p.RoundsPerUpload, p.Rounds = 7, 60 }},
		"window and warm-up":   {0, func(p *Params) { p.Window, p.WarmUp, p.MaxImportance = 5, 10, 8 }},
		"narrow groups":        {0, func(p *Params) { p.Bandwidth = 2.2 }},
		"own budgets":          {0, func(p *Params) { p.Budgets = map[string]float64{"2": 3} }},
	} {
		t.Run(what, func(t *testing.T) {
			p, networks := small(t, 5, c.classes, 4, c.edit)
			l := newTestNetwork(t, p, networks, p.Rounds, p.Rounds, p.Rounds, p.Rounds)
			l.least = 1 // as the federation
			l.run()
			f, want := l.federation()
			for i, row := range want {
				for k, y := range row {
					if got := l.rows[k].Predictions[i+1]; math.Abs(got-y) > 1e-5 {
						t.Fatalf("client %d, row %d: the prediction is %v, want %v", k+1, i+1, got, y)
					}
				}
			}
			if c.classes == 0 && l.seen[0].Accuracy == l.seen[0].Accuracy || c.classes > 0 && !(l.seen[0].Accuracy >= 0) {
				t.Errorf("the progress is %+v", l.seen[0])
			}
			if moved := f.Server.Version(0) > 0; moved != (p.Update != UpdateNone) {
				t.Errorf("the first model took %d steps", f.Server.Version(0))
			}
		})
	}
}

// TestABroadcastIsTheSameJob, in which servers see that all clients store all networks.
func TestABroadcastIsTheSameJob(t *testing.T) {
	p, networks := small(t, 5, 0, 3, func(p *Params) { p.Bandwidth = 100 })
	l := newTestNetwork(t, p, networks, 60, 60, 60)
	l.least = 1
	l.run()
	want := l.rows
	p.Broadcast = true
	l = newTestNetwork(t, p, networks, 60, 60, 60)
	l.least = 1
	l.run()
	for k := range want {
		for i, y := range want[k].Predictions {
			if got := l.rows[k].Predictions[i]; math.Abs(got-y) > 1e-5 {
				t.Fatalf("client %d, row %d: the prediction is %v, want %v", k+1, i, got, y)
			}
		}
	}
}

// TestTooFewStepsDoNotOpen: networks stay as they are that fewer than the least fine-tune.
func TestTooFewStepsDoNotOpen(t *testing.T) {
	p, networks := small(t, 5, 0, 3, nil)
	l := newTestNetwork(t, p, networks, 60, 60, 60)
	l.least = 4
	l.run()
	s := new(servingState)
	mustDo(t, unseal(servingDomain, l.server[federated.ServerSlot], s))
	server, err := RestoreServer(l.params, networks, s.Server)
	mustDo(t, err)
	for k := range networks {
		if server.Version(k) != 0 {
			t.Errorf("model %d took %d steps", k+1, server.Version(k))
		}
	}
}

// TestNetworksTravelOnce to clients that keep them, when nothing changes them.
func TestNetworksTravelOnce(t *testing.T) {
	p, networks := small(t, 5, 0, 3, func(p *Params) { p.Update = UpdateNone })
	l := newTestNetwork(t, p, networks, 60, 60, 60)
	l.run()
	for k, cache := range l.caches {
		if len(cache.puts) != len(networks) {
			t.Errorf("client %d got %d networks, want %d", k+1, len(cache.puts), len(networks))
		}
		for h, n := range cache.puts {
			if n != 1 {
				t.Errorf("client %d got network %s %d times", k+1, h.Short(), n)
			}
		}
	}
}

// TestJobsGoOnAfterTheServersDeath, and a client that was away is back: all rows are predicted.
func TestJobsGoOnAfterTheServersDeath(t *testing.T) {
	p, networks := small(t, 5, 0, 3, func(p *Params) { p.RoundsPerUpload = 2 })
	l := newTestNetwork(t, p, networks, 60, 60, 60)
	broken := errors.New("the server dies")
	ctx, die := context.WithCancelCause(t.Context())
	l.at = func(g federated.Progress) {
		if g.Round == 11 {
			die(broken)
		}
	}
	s := l.open(t.Context())
	if err := s.serve(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want a cancelled context", err)
	}
	rows := l.rows
	l.at = nil
	s = l.open(t.Context())
	mustDo(t, s.serve(t.Context()))
	for k := range l.clients {
		mustDo(t, s.Ended(k))
		for i := range 60 {
			_, first := rows[k].Predictions[i+1]
			if _, second := l.rows[k].Predictions[i+1]; !first && !second {
				t.Errorf("client %d has no prediction of row %d", k+1, i+1)
			}
		}
	}
}

// TestStreamsThatEndLeaveTheOthers go on.
func TestStreamsThatEndLeaveTheOthers(t *testing.T) {
	p, networks := small(t, 5, 0, 3, nil)
	l := newTestNetwork(t, p, networks, 60, 20, 0)
	var last federated.Progress
	l.at = func(g federated.Progress) { last = g }
	l.run()
	if len(l.rows[0].Predictions) != 60 || len(l.rows[1].Predictions) != 20 || len(l.rows[2].Predictions) != 0 {
		t.Errorf("%d, %d and %d predictions", len(l.rows[0].Predictions), len(l.rows[1].Predictions),
			len(l.rows[2].Predictions))
	}
	if last.Round != 60 || last.Clients != 1 {
		t.Errorf("the server's last progress is %+v", last)
	}
}

var _ federated.Cache = (*countingCache)(nil)
var _ ServerNetwork = (*memory.Hub)(nil)
var _ ClientNetwork = (*memory.Client)(nil)
