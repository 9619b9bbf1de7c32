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
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// streams draws clients' rows: a label that follows from the inputs, and rows that look like each other.
func streams(clients, rows, columns int) []*evidence.Stream {
	rng := rand.New(rand.NewPCG(11, uint64(columns)))
	var list []*evidence.Stream
	for range clients {
		s := &evidence.Stream{Confirmed: true}
		for range rows {
			x := make([]float64, columns)
			y := 0.5
			for i := range x {
				x[i] = rng.Float64() - 0.5
				y += 0.3 * math.Sin(2*x[i]) / float64(columns)
			}
			s.Inputs, s.Labels = append(s.Inputs, x), append(s.Labels, min(max(y+0.1*rng.NormFloat64(), 0), 1))
		}
		list = append(list, s)
	}
	return list
}

// theJobs are a small job of each algorithm over clients.
func theJobs(t testing.TB) map[string]clientsJob {
	rng := rand.New(rand.NewPCG(1, 9))
	var networks []*nn.Network
	for k := range 3 {
		n, err := nn.New([]int{4}, []nn.Layer{{Kind: nn.Dense, Units: 6 + k, Activation: nn.ReLU}, {Kind: nn.Dense,
			Units: 1, Activation: nn.Linear}}, rng)
		mustDo(t, err)
		networks = append(networks, n)
	}
	return map[string]clientsJob{
		"pofmkl": {algorithm: "pofmkl", streams: streams(6, 60, 5), parameters: map[string]any{
			"label": "y", "seed": "s", "features": 20, "bandwidths": []any{0.1, 1.0, 10.0}, "chosen": 3, "rounds": 25,
		}},
		"gfml": {algorithm: "gfml", streams: streams(6, 60, 4), parameters: map[string]any{
			"edges": []any{}, "clusters": []any{[]any{aServer}}, "columns": []any{"x1", "x2", "x3", "x4"},
			"label": "y", "seed": "s",
			"features": 40, "iterations": 25, "participants": 4,
		}},
		"ofmsft": {algorithm: "ofmsft", streams: streams(6, 60, 4), networks: networks, parameters: map[string]any{
			"label": "y", "budget": 3.0, "bandwidth": 100.0, "rounds": 25, "rate": 0.3, "step": 0.05,
		}},
	}
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

// TestVectorsTooLongForAttacksAreSaid: nothing is tried on them, and all else of the job is looked at.
func TestVectorsTooLongForAttacksAreSaid(t *testing.T) {
	j := theJobs(t)["pofmkl"]
	j.protection = keys.PrivacyPublished
	j.parameters["bandwidths"], j.parameters["features"] = []any{0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0}, 1<<16
	j.parameters["rounds"] = 1
	in, errs := simulated(t, j)
	must(t, errs)
	r, err := Run(t.Context(), in)
	mustDo(t, err)
	want := "not tried: attacks work on vectors of at most 1048576 numbers, the job's have 1179648"
	for view, name := range map[string]string{
		updates.ViewUpdates: updates.RowsAttack, updates.ViewAnswered: updates.ChoicesAttack,
	} {
		if a := viewAttack(t, r, name, view); a.Verdict != finding.Skipped || a.Detail != want {
			t.Errorf("%+v", a)
		}
	}
}

// TestRowsFollowFromUpdatesThatNothingProtects, and from protected ones no better than by a guess, of every algorithm.
func TestRowsFollowFromUpdatesThatNothingProtects(t *testing.T) {
	for name, j := range theJobs(t) {
		for protection, view := range map[string]string{keys.PrivacyPublished: updates.ViewUpdates,
			keys.PrivacyMasked:   updates.ViewMasked,
			contract.AggregateHE: updates.ViewCiphers} {
			t.Run(name+" "+protection, func(t *testing.T) {
				t.Parallel()
				j := j
				if j.protection = protection; protection == contract.AggregateHE { // encryption takes its time
					j.parameters = maps.Clone(j.parameters)
					for _, rounds := range []string{"rounds", "iterations"} {
						if j.parameters[rounds] != nil {
							j.parameters[rounds] = 4
						}
					}
				}
				in, errs := simulated(t, j)
				must(t, errs)
				r, err := Run(t.Context(), in)
				mustDo(t, err)
				t.Log(r.Verdict, r.Exit, r.Summary)
				for _, a := range r.Attacks {
					t.Logf("%s, %s, %s: %s: %s", a.Name, a.Party, a.View, a.Verdict, a.Detail)
				}
				a := viewAttack(t, r, updates.RowsAttack, view)
				if protection == keys.PrivacyPublished {
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
			j.protection, j.naked = keys.PrivacyMasked, 2
			in, errs := simulated(t, j)
			t.Log(errs[0])
			r, err := Run(t.Context(), in)
			mustDo(t, err)
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
		j.protection = keys.PrivacyMasked
		j.streams = j.streams[:4]
		j.parameters["bandwidths"], j.parameters["chosen"] = []any{0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0}, chosen
		in, _ := simulated(t, j)
		r, err := Run(t.Context(), in)
		mustDo(t, err)
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
		j.protection = keys.PrivacyMasked
		j.parameters["budget"], j.parameters["rate"], j.parameters["step"], j.parameters["rounds"] = 2.0, 2.0, 1e-6, 20
		j.streams = streams(18, 40, 4) // 12 clients tell it too, but for one run in some thousands
		for k, n := range j.networks { // each network says one number, and each client has labels that one of them says
			clear(n.Parameters())
			n.Parameters()[n.Size()-1] = 0.2 + 0.3*float32(k)
		}
		for i := range j.streams {
			for r := range j.streams[i].Labels {
				j.streams[i].Labels[r] = 0.2 + 0.3*float64(i%len(j.networks))
			}
		}
		if broadcast {
			j.parameters["broadcast"] = true
		}
		in, errs := simulated(t, j)
		mustDo(t, errs[0])
		r, err := Run(t.Context(), in)
		mustDo(t, err)
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
	mustDo(t, err)
	if a := viewAttack(t, r, updates.TotalsAttack, updates.ViewTotals); a.Verdict != finding.Leak ||
		r.Verdict != finding.Leak ||
		!strings.Contains(a.Detail, "that client's vector: 2 such pairs have opened") {
		t.Errorf("%s: %+v", r.Verdict, a)
	}
	for name, j := range theJobs(t) {
		j.protection, j.leaves = keys.PrivacyMasked, map[int]uint64{2: 8, 3: 14, 5: 20}
		in, _ := simulated(t, j)
		r, err := Run(t.Context(), in)
		mustDo(t, err)
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
	for _, protection := range []string{keys.PrivacyPublished, keys.PrivacyMasked} {
		j := theJobs(t)["pofmkl"]
		j.protection, j.parameters = protection, maps.Clone(j.parameters)
		j.parameters["common_bin"], j.parameters["chosen"] = true, 2
		in, errs := simulated(t, j)
		must(t, errs)
		r, err := Run(t.Context(), in)
		mustDo(t, err)
		for _, a := range r.Attacks {
			if a.Name == updates.ChoicesAttack && a.View == updates.ViewUpdates && a.Verdict == finding.Leak {
				t.Errorf("%s: the bin of all is told as a client's choice: %s", protection, a.Detail)
			}
		}
		if protection == keys.PrivacyPublished {
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
