package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestJobsTogether: what several jobs tell of the same rows is a finding where it is more than one model says, whether
// it opened in trainings or predictions, and not where a row was scored again, or other rows were.
func TestJobsTogether(t *testing.T) {
	ids := make(map[string]keys.ID)
	for _, name := range []string{"bank", "telco"} {
		key, err := keys.GenerateKey()
		mustDo(t, err)
		ids[name] = key.ID()
	}
	made := 0
	job := func(name, task, model, rows string, bits int) *contract.Contract {
		made++
		j := &contract.Job{Format: "hanse-job-v1", Name: name, Algorithm: contract.FDSKL, Task: task, Proposer: "bank",
			Parties: []string{"bank", "telco"}, Privacy: keys.PrivacySealed, Topology: "tree", Table: "train", Model: model,
			OpenTo: map[string]string{contract.TaskPredict: "bank"}[task], Nonce: fmt.Sprintf("%032x", made)}
		facts := []contract.Facts{{Name: "bank", ID: ids["bank"], Role: "active", Rows: 100, Columns: 1},
			{Name: "telco", ID: ids["telco"], Role: "passive", Rows: 100, Columns: 3,
				RowSet: keys.HashOf("test", []byte(rows)).String()}}
		var openings []contract.Opening
		var operations []contract.Operation
		if bits > 0 {
			openings = []contract.Opening{{To: "bank", Kind: "scores", Count: 100}}
			operations = []contract.Operation{{Kind: "scores", Collective: contract.CollectiveSum, Root: "bank",
				Class: contract.ClassMasked.String(), Encoding: contract.Packed(bits).String(), Count: 100}}
		}
		c, err := contract.NewContract(j, facts, openings, operations)
		mustDo(t, err)
		return c
	}
	first, second := job("first", contract.TaskTrain, "", "rows", 36), job("second", contract.TaskTrain, "", "rows", 9)
	model := first.Hash().String()
	scored := job("scored", contract.TaskPredict, model, "rows", 11)
	for name, c := range map[string]struct {
		of     *contract.Contract
		others []*contract.Contract
		want   string
	}{
		"one job":                   {first, nil, ""},
		"itself":                    {first, []*contract.Contract{first}, ""},
		"two models":                {first, []*contract.Contract{second}, "bank was told 45 bits a row by 2 models, in jobs first, second"},
		"one model, scored":         {first, []*contract.Contract{scored}, ""},
		"two models, one scored":    {second, []*contract.Contract{first, scored}, "56 bits a row by 2 models"},
		"other rows":                {first, []*contract.Contract{job("third", contract.TaskTrain, "", "others", 9)}, ""},
		"a training that tells not": {first, []*contract.Contract{job("third", contract.TaskTrain, "", "rows", 0)}, ""},
	} {
		a := &auditor{account: &account{in: evidence.Input{Contract: c.of, Others: c.others},
			report: &finding.Report{}}}
		a.together()
		switch got := a.report.Checks; {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: found %+v, want nothing", name, got)
		case c.want != "" && (len(got) != 1 || got[0].Verdict != finding.Disclosed || got[0].Party != "telco" ||
			!strings.Contains(got[0].Detail, c.want)):
			t.Errorf("%s: found %+v, want %s", name, got, c.want)
		}
	}
}
