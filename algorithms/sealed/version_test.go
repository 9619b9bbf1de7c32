package sealed

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestTrainingsOfAnotherVersionAreRefused: what parties have signed would open more than trainings do now, or has no
// place for how far a step goes.
func TestTrainingsOfAnotherVersionAreRefused(t *testing.T) {
	for _, c := range []struct {
		loss, opens string
		refused     bool
	}{{"square", "bound", false}, {"logistic", "progress", false}, {"logistic", "bound", true},
		{"logistic", "scores", true}, {"square", "scores", true}} {
		signed := &contract.Contract{Job: &contract.Job{Name: "credit"}, Openings: []contract.Opening{{Kind: c.opens}}}
		job := &training{params: fdskl.Params{Loss: c.loss}}
		err := job.ofThisVersion(signed)
		const want = `job "credit" is of an earlier version`
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("loss %s, which opens %s: error is %v, want the contract refused by name: %t", c.loss, c.opens, err,
				c.refused)
		}
		if !c.refused {
			continue
		}
		_, _, trained := job.Train(t.Context(), &joint.Session{Contract: signed}, nil)
		if trained == nil || trained.Error() != err.Error() {
			t.Errorf("loss %s, which opens %s: it is trained, %v", c.loss, c.opens, trained)
		}
	}
}
