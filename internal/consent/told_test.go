package consent

import (
	"slices"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestNobodyIsToldItsOwnWord: that labels are those of the last time is the word of who holds them, and of nobody else.
func TestNobodyIsToldItsOwnWord(t *testing.T) {
	for holders, want := range map[int]map[string]string{
		1: {"bank": "Your labels are the same as last time.",
			"insurer": "Its labels are the same as last time, as bank says."},
		3: {"bank": "Its labels are the same as last time, as insurer and telco say."},
	} {
		c := &contract.Contract{Job: &contract.Job{Proposer: "bank", Task: contract.TaskTrain}}
		for i, name := range []string{"bank", "insurer", "telco"} {
			f := contract.Facts{Name: name}
			if i < holders {
				f.Labels = "digest"
			}
			c.Parties = append(c.Parties, f)
		}
		told := Told{Rows: 900, Again: SameLabels}
		for self, sentence := range want {
			if got := told.Sentences(c, self); !slices.Equal(got, []string{sentence}) {
				t.Errorf("%d holders: %s reads %q, want %q", holders, self, got, sentence)
			}
		}
	}
}
