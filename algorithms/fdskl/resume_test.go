package fdskl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

// resumption is a job that is interrupted and taken up again, over and over.
type resumption struct {
	*fixture
	links *federation
	want  []string // each party's model part of the uninterrupted run
}

// life is one session of a resumption: where which party dies.
type life struct {
	party     int
	operation int // of the network; 0: none
	write     int // of the vault; 0: none
	stored    bool
}

// run is one session with the given vaults. It returns the model parts, and each party's number
// of operations.
func (r *resumption) run(vaults []*memory, l life) (parts []string, operations []int, err error) {
	parts, operations = make([]string, len(r.names)), make([]int, len(r.names))
	errs := r.links.run(func(ctx context.Context, i int, n joint.Network) error {
		network := &failingNetwork{Network: n}
		vaults[i].writes, vaults[i].dieAt, vaults[i].stored = 0, 0, l.stored
		if i == l.party {
			network.at, vaults[i].dieAt = l.operation, l.write
		}
		p := r.party(i, network, vaults[i])
		p.blockBytes = 1 << 10
		m, err := Train(ctx, p)
		operations[i] = network.count
		if err != nil {
			return err
		}
		data, err := m.Encode()
		parts[i] = string(data)
		return err
	})
	return parts, operations, errors.Join(errs...)
}

// newVaults returns an empty vault for each party.
func (r *resumption) newVaults() []*memory {
	var vaults []*memory
	for range r.names {
		vaults = append(vaults, newVault())
	}
	return vaults
}

// check lives the given lives on the same vaults and then runs to the end.
func (r *resumption) check(t *testing.T, lives ...life) {
	t.Helper()
	vaults := r.newVaults()
	for n, l := range lives { // a later one may find nothing left to die at
		if _, _, err := r.run(vaults, l); !errors.Is(err, errCut) && !errors.Is(err, errDead) && (n == 0 || err != nil) {
			t.Fatalf("%+v of %+v: error %v", l, lives, err)
		}
	}
	got, _, err := r.run(vaults, life{party: -1})
	if err != nil {
		t.Fatalf("after %+v: %v", lives, err)
	}
	for i := range got {
		if got[i] != r.want[i] {
			t.Errorf("after %+v, %s has another model part", lives, r.names[i])
		}
	}
}

// resumptionJobs are jobs with several checkpoints each.
func resumptionJobs() map[string]Params {
	all := make(map[string]Params)
	for _, loss := range []string{"square", "logistic", "smooth-hinge"} {
		all["fixed, "+loss] = Params{Loss: loss, Features: 24, Lambda: 1e-6, Seed: "s", Iterations: 23}
		all["doubly stochastic, "+loss] = Params{Schedule: DoublyStochastic, Loss: loss, Iterations: 102, Batch: 2,
			BlockFeatures: 2, Step: 0.3, Seed: "s"}
	}
	all["fixed, auto square"] = Params{Loss: "square", Features: 24, Seed: "s", Iterations: 23}
	all["fixed, auto logistic"] = Params{Loss: "logistic", Features: 24, Seed: "s", Iterations: 23}
	return all
}

// TestResume kills each party at each of its writes and at many of its operations, and starts the
// job again on what the vaults hold: all end in the model of the uninterrupted run, bit for bit.
func TestResume(t *testing.T) {
	jobs := resumptionJobs()
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		for _, privacy := range []string{Masked, Published} {
			for _, active := range []int{1, 2} {
				if !drawn.All && jobs[name].Loss != "logistic" && (privacy == Published || active == 1 &&
					jobs[name].Schedule != "") {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, %d active", name, privacy, active), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, 3, 40, active, jobs[name])
					f.privacy, f.workers = privacy, 1
					testResume(t, &resumption{fixture: f, links: f.federation(t)})
				})
			}
		}
	}
}

// testResume interrupts one job in many ways.
func testResume(t *testing.T, r *resumption) {
	vaults := r.newVaults()
	want, operations, err := r.run(vaults, life{party: -1})
	mustDo(t, err)
	r.want = want
	tried := 1 // operations of each party
	if drawn.All {
		tried = 25
	}
	for i, v := range vaults {
		if !drawn.All && i > 0 && r.params.Loss != "logistic" {
			break
		}
		other := (i + 1) % len(vaults)
		for w := 1; w <= v.writes; w++ {
			r.check(t, life{party: i, write: w, stored: (i+w)%2 == 0})
			if drawn.All {
				r.check(t, life{party: i, write: w, stored: (i+w)%2 == 1}, life{party: other, operation: 2})
			}
		}
		for k := 1 + i; k <= operations[i]; k += max(1, operations[i]/tried) {
			r.check(t, life{party: i, operation: k})
		}
		r.check(t, life{party: i, write: v.writes}, life{party: other, operation: operations[i] / 2},
			life{party: i, operation: 2})
	}
}
