package columns

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestATrainingThatOpensScoresIsOfAnotherVersion: what its parties have signed would open more than trainings do now.
func TestATrainingThatOpensScoresIsOfAnotherVersion(t *testing.T) {
	c := &contract.Contract{Job: &contract.Job{Name: "credit"}, Openings: []contract.Opening{{Kind: "bound"}}}
	if err := ofThisVersion(c); err != nil {
		t.Error(err)
	}
	c.Openings = append(c.Openings, contract.Opening{To: "bank", Kind: "scores", Count: 3000})
	err := ofThisVersion(c)
	if err == nil || !strings.Contains(err.Error(), `job "credit" opens scores of training rows`) {
		t.Errorf("error is %v, want the contract refused by name", err)
	}
}
