package audit

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views/updates"
	"github.com/hanse-project/hanse/internal/simfed"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// streams draws clients' rows: a label that follows from the inputs, and rows that look like each other.
func streams(clients, rows, columns int) []simfed.Stream {
	rng := rand.New(rand.NewPCG(11, uint64(columns)))
	var list []simfed.Stream
	for range clients {
		var s simfed.Stream
		for range rows {
			x := make([]float64, columns)
			y := 0.5
			for i := range x {
				x[i] = rng.Float64() - 0.5
				y += 0.3 * math.Sin(2*x[i]) / float64(columns)
			}
			s.X, s.Y = append(s.X, x), append(s.Y, min(max(y+0.1*rng.NormFloat64(), 0), 1))
		}
		list = append(list, s)
	}
	return list
}

// theJobs are a small job of each algorithm over clients.
func theJobs(t testing.TB) map[string]simfed.Job {
	rng := rand.New(rand.NewPCG(1, 9))
	var networks []*nn.Network
	for k := range 3 {
		n, err := nn.New([]int{4}, []nn.Layer{{Kind: nn.Dense, Units: 6 + k, Activation: nn.ReLU}, {Kind: nn.Dense,
			Units: 1, Activation: nn.Linear}}, rng)
		if err != nil {
			t.Fatal(err)
		}
		networks = append(networks, n)
	}
	return map[string]simfed.Job{
		"pofmkl": {Algorithm: "pofmkl", Streams: streams(6, 60, 5), Parameters: map[string]any{
			"label": "y", "seed": "s", "features": 20, "bandwidths": []any{0.1, 1.0, 10.0}, "chosen": 3, "rounds": 25,
		}},
		"gfml": {Algorithm: "gfml", Streams: streams(6, 60, 4), Parameters: map[string]any{
			"edges": []any{}, "clusters": []any{[]any{simfed.Server}}, "columns": []any{"x1", "x2", "x3", "x4"},
			"label": "y", "seed": "s",
			"features": 40, "iterations": 25, "participants": 4,
		}},
		"ofmsft": {Algorithm: "ofmsft", Streams: streams(6, 60, 4), Networks: networks, Parameters: map[string]any{
			"label": "y", "budget": 3.0, "bandwidth": 100.0, "rounds": 25, "rate": 0.3, "step": 0.05,
		}},
	}
}

// simulated runs a job and returns what an audit with all transcripts and streams reads.
func simulated(t testing.TB, j simfed.Job) (*evidence.Input, *simfed.Run) {
	t.Helper()
	j.Folder = t.TempDir()
	run, err := simfed.Start(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	in := &evidence.Input{Contract: run.Contract, Charter: run.Charter,
		Streams: make([]*evidence.Stream, len(run.Parties))}
	for i := range run.Parties {
		p := &run.Parties[i]
		in.Sources = append(in.Sources, evidence.Source{Path: p.Path, Open: p.Open, Payload: p.Store.Get})
		if i > 0 {
			in.Streams[i] = &evidence.Stream{Inputs: j.Streams[i-1].X, Labels: j.Streams[i-1].Y, Confirmed: true}
		}
	}
	return in, run
}

// viewAttack returns the attack of a name on a server's view.
func viewAttack(t testing.TB, r *finding.Report, name, view string) *finding.Attack {
	t.Helper()
	at := slices.IndexFunc(r.Attacks, func(a finding.Attack) bool { return a.Name == name && a.View == view })
	if at < 0 {
		t.Fatalf("there is no attack %q on %q: %+v", name, view, r.Attacks)
	}
	return &r.Attacks[at]
}

// TestRowsFollowFromUpdatesThatNothingProtects, and from protected ones no better than by a guess, of every algorithm.
func TestRowsFollowFromUpdatesThatNothingProtects(t *testing.T) {
	for name, j := range theJobs(t) {
		for protection, view := range map[string]string{simfed.Published: updates.ViewUpdates,
			simfed.Masked: updates.ViewMasked,
			simfed.HE:     updates.ViewCiphers} {
			t.Run(name+" "+protection, func(t *testing.T) {
				t.Parallel()
				j := j
				if j.Protection = protection; protection == simfed.HE { // encryption takes its time
					j.Parameters = maps.Clone(j.Parameters)
					for _, rounds := range []string{"rounds", "iterations"} {
						if j.Parameters[rounds] != nil {
							j.Parameters[rounds] = 5
						}
					}
				}
				in, run := simulated(t, j)
				for _, p := range run.Parties {
					if p.Err != nil {
						t.Fatalf("%s: %v", p.Name, p.Err)
					}
				}
				r, err := Run(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(r.Verdict, r.Exit, r.Summary)
				for _, a := range r.Attacks {
					t.Logf("%s, %s, %s: %s: %s", a.Name, a.Party, a.View, a.Verdict, a.Detail)
				}
				a := viewAttack(t, r, updates.RowsAttack, view)
				if protection == simfed.Published {
					if r.Verdict != finding.Leak || a.Verdict != finding.Leak || *a.RecoveredShare < 0.9 || *a.RMS > 0.1 {
						t.Errorf("%s %+v", r.Verdict, a)
					}
					return
				}
				if r.Verdict != finding.Disclosed || a.Verdict != finding.Clean ||
					*a.RecoveredShare > 0.02 || *a.ControlShare < 0.9 {
					t.Errorf("%s %+v", r.Verdict, a)
				}
				if r.Exit != ExitClean {
					t.Errorf("exit %d: %q", r.Exit, r.NotLookedAt)
				}
			})
		}
	}
}

// TestAClientThatForgetsItsMasksIsFound by its rows and by its words, in every algorithm.
func TestAClientThatForgetsItsMasksIsFound(t *testing.T) {
	for name, j := range theJobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j.Protection, j.Naked = simfed.Masked, 2
			in, run := simulated(t, j)
			t.Log(run.Parties[0].Err)
			r, err := Run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != finding.Leak || r.Exit != ExitLeak {
				t.Errorf("%s: %s", r.Verdict, r.Summary)
			}
			t.Log(r.Summary)
			a := viewAttack(t, r, updates.RowsAttack, updates.ViewMasked)
			if a.Verdict != finding.Leak || !strings.Contains(a.Detail, "explains its vector to the last digits, the first of "+
				"client-02 in sum ") {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestTotalsOfFewClientsDiscloseRows where a kernel is one client's alone, as the contract says, and not where all move
// all kernels.
func TestTotalsOfFewClientsDiscloseRows(t *testing.T) {
	for chosen, want := range map[int]finding.Verdict{1: finding.Disclosed, 8: finding.Clean} {
		j := theJobs(t)["pofmkl"]
		j.Protection = simfed.Masked
		j.Streams = j.Streams[:4]
		j.Parameters["bandwidths"], j.Parameters["chosen"] = []any{0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0}, chosen
		in, _ := simulated(t, j)
		r, err := Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		a := viewAttack(t, r, updates.RowsAttack, updates.ViewTotals)
		if a.Verdict != want || r.Verdict != finding.Disclosed || r.Exit != ExitClean ||
			(want == finding.Disclosed) != (*a.RecoveredShare > 0.3) || *a.GuessShare > 0.02 {
			t.Errorf("%d chosen: %+v, share %v, guess %v; %s", chosen, a, *a.RecoveredShare, *a.GuessShare, r.Summary)
		}
		if want == finding.Disclosed && !strings.Contains(r.Summary, "Server rebuilt rows from totals, without the names of their "+
			"clients: ") {
			t.Errorf("the summary is %q", r.Summary)
		}
	}
}

// TestChoicesDiscloseWhatSuitsAClient as the contract of a masked job announces, and nothing where all networks go to
// all.
func TestChoicesDiscloseWhatSuitsAClient(t *testing.T) {
	for _, broadcast := range []bool{false, true} {
		j := theJobs(t)["ofmsft"]
		j.Protection = simfed.Masked
		j.Parameters["budget"], j.Parameters["rate"], j.Parameters["step"], j.Parameters["rounds"] = 2.0, 2.0, 1e-6, 20
		j.Streams = streams(18, 40, 4) // 12 clients tell it too, but for one run in some thousands
		for k, n := range j.Networks { // each network says one number, and each client has labels that one of them says
			clear(n.Parameters())
			n.Parameters()[n.Size()-1] = 0.2 + 0.3*float32(k)
		}
		for i := range j.Streams {
			for r := range j.Streams[i].Y {
				j.Streams[i].Y[r] = 0.2 + 0.3*float64(i%len(j.Networks))
			}
		}
		if broadcast {
			j.Parameters["broadcast"] = true
		}
		in, run := simulated(t, j)
		if err := run.Parties[0].Err; err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		a := viewAttack(t, r, updates.ChoicesAttack, updates.ViewAnswered)
		t.Log(a.Detail)
		if want := map[bool]finding.Verdict{false: finding.Disclosed, true: finding.Clean}[broadcast]; a.Verdict != want {
			t.Errorf("broadcast %v: %+v", broadcast, a)
		}
	}
}

// TestTotalsThatDoNotMoveGiveTheOneAway who leaves: the control of the attack on successive totals. Where all take
// new steps there is nothing to tell.
func TestTotalsThatDoNotMoveGiveTheOneAway(t *testing.T) {
	c := newCohorts(t, 5, 3, cohort.Masked, contract.Star)
	c.keep()
	c.leaves = map[int]leaving{4: {3, "updates"}}
	c.federate()
	r, err := Run(t.Context(), &evidence.Input{Contract: c.contract, Sources: c.sources()})
	if err != nil {
		t.Fatal(err)
	}
	if a := viewAttack(t, r, updates.TotalsAttack, updates.ViewTotals); a.Verdict != finding.Leak ||
		r.Verdict != finding.Leak ||
		!strings.Contains(a.Detail, "that client's vector: 2 such pairs have opened") {
		t.Errorf("%s: %+v", r.Verdict, a)
	}
	for name, j := range theJobs(t) {
		j.Protection, j.Leaves = simfed.Masked, map[int]uint64{2: 8, 3: 14, 5: 20}
		in, _ := simulated(t, j)
		r, err := Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		a := viewAttack(t, r, updates.TotalsAttack, updates.ViewTotals)
		t.Log(name, a.Detail)
		if a.Verdict != finding.Clean || a.Rows < 2 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestCommonBinsAreAttackedToo: their vectors hold some kernels alone, the last bin's fewer than the others', and no
// choice of a client. What a total holds is of all clients.
func TestCommonBinsAreAttackedToo(t *testing.T) {
	for _, protection := range []string{simfed.Published, simfed.Masked} {
		j := theJobs(t)["pofmkl"]
		j.Protection, j.Parameters = protection, maps.Clone(j.Parameters)
		j.Parameters["common_bin"], j.Parameters["chosen"] = true, 2
		in, run := simulated(t, j)
		for _, p := range run.Parties {
			if p.Err != nil {
				t.Fatalf("%s: %v", p.Name, p.Err)
			}
		}
		r, err := Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Attacks {
			if a.Name == updates.ChoicesAttack && a.View == updates.ViewUpdates && a.Verdict == finding.Leak {
				t.Errorf("%s: the bin of all is told as a client's choice: %s", protection, a.Detail)
			}
		}
		if protection == simfed.Published {
			if a := viewAttack(t, r, updates.RowsAttack, updates.ViewUpdates); a.Verdict != finding.Leak ||
				*a.RecoveredShare < 0.5 {
				t.Errorf("published: %+v", a)
			}
			continue
		}
		masked, totals := viewAttack(t, r, updates.RowsAttack, updates.ViewMasked), viewAttack(t, r,
			updates.RowsAttack, updates.ViewTotals)
		if r.Verdict != finding.Disclosed || masked.Verdict != finding.Clean || totals.Verdict != finding.Clean {
			t.Errorf("masked: %s, %+v, %+v", r.Verdict, masked, totals)
		}
	}
}
