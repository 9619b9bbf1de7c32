package stage

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestDifferenceSaysWhatIsNotAlike changes one part of a contract after the other.
func TestDifferenceSaysWhatIsNotAlike(t *testing.T) {
	whole := func() *contract.Contract {
		return &contract.Contract{
			Parties: []contract.Facts{{Name: "bank", Role: "active", Rows: 10, Columns: 3},
				{Name: "telco", Role: "passive", Rows: 10, Columns: 1}},
			Openings:   []contract.Opening{{To: "bank", Kind: "scores", Count: 10}},
			Operations: []contract.Operation{{Kind: "angles", Bytes: 8}},
		}
	}
	for want, change := range map[string]func(*contract.Contract){
		"telco brings 10 rows in 1 column as passive, ids [], 0 bins there and 10 rows in 2 columns as passive, ids [], " +
			"0 bins here": func(c *contract.Contract) { c.Parties[1].Columns = 2 },
		"other values open":                    func(c *contract.Contract) { c.Openings[0].Count++ },
		"the parties do other things together": func(c *contract.Contract) { c.Operations[0].Bytes++ },
		"the job's text differs": func(c *contract.Contract) { // what a likeness leaves out is no difference
			c.Parties[0].ID, c.Parties[1].Header, c.Parties[1].Commitment = keys.ID{1}, keys.Hash{2}, "3"
		},
	} {
		made := whole()
		change(made)
		if got := difference(whole(), made); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestWhatCannotBeRehearsedIsRefusedAtOnce has jobs laid out that no stand-ins can be made for.
func TestWhatCannotBeRehearsedIsRefusedAtOnce(t *testing.T) {
	many := make([]string, maxNodes+1)
	for want, job := range map[string]contract.Job{
		"starts from models that are one party's alone": {Algorithm: contract.OFMSFT, Servers: []string{"a"}},
		"starts from models that are one party's al": {Algorithm: contract.POFMKL, Servers: []string{"a"},
			Parameters: map[string]any{"weights_from": "b"}},
		"it answers rows one by one":     {Task: contract.TaskPredict, Requests: 3},
		"that made its model is missing": {Task: contract.TaskPredict},
		"it has 101 parties":             {Parties: many},
		"the charter has no identifier":  {Task: contract.TaskAlign, Parameters: map[string]any{"keys": []any{"phone"}}},
	} {
		p := &staged{Options: &Options{Contract: &contract.Contract{Job: &job}, Charter: new(keys.Charter)}}
		if err := p.layOut(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
