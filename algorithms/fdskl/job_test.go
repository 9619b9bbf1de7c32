package fdskl

import (
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestAPartHasWhatItsOwnerBrought: columns, how the table was read, and which class the label holder takes for the
// event; a party without data has but the contract.
func TestAPartHasWhatItsOwnerBrought(t *testing.T) {
	job := &contract.Job{Format: "hanse-job-v1", Name: "credit", Algorithm: contract.FDSKL, Task: contract.TaskTrain,
		Parties: []string{"bank", "telco"}, Privacy: Published, Topology: "tree", Record: contract.RecordDigests,
		Table: "train", Proposer: "bank", Charter: keys.HashOf("charter").String(), Nonce: "00",
		Expires: "2030-01-01T00:00:00Z"}
	facts := []contract.Facts{{Name: "bank", ID: keys.ID{1}, Role: "active", Rows: 9, Columns: 1},
		{Name: "telco", ID: keys.ID{2}, Role: "passive", Rows: 9, Columns: 1}}
	c, err := contract.NewContract(job, facts, nil, contract.SessionOperations(2, nil))
	if err != nil {
		t.Fatal(err)
	}
	s := &joint.Session{Contract: c}
	m, bare := new(Model), new(Model)
	own := &joint.Table{Columns: []string{"age"}, Reading: &joint.Reading{ID: "number"}, Turned: true}
	m.TakeIn(s, own)
	bare.TakeIn(s, nil)
	if m.Contract != s.Contract.Hash() || bare.Contract != m.Contract || !m.Turned || bare.Turned ||
		!slices.Equal(m.Columns, own.Columns) || m.Reading != own.Reading || bare.Columns != nil {
		t.Errorf("the parts are %+v and %+v", m, bare)
	}
}

// TestTasksOfWorkersAreRead whole, or refused.
func TestTasksOfWorkersAreRead(t *testing.T) {
	part, err := (&Model{Version: modelVersion, Names: []string{"bank"}, Privacy: Masked, Sigma: 1, Scale: 1,
		Params:     Params{Active: []string{"bank"}, Label: "y", Features: 8, Lambda: 1, Loss: "square"}.WithDefaults(),
		Normaliser: new(kernel.Normaliser), Classes: []string{"no", "yes"}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for want, task := range map[string]any{
		"":                 ShardTask{Model: part, Labels: make([]byte, 16), Receiver: 1},
		"a multiple of 8":  ShardTask{Model: part, Labels: make([]byte, 15)},
		"model part: ":     ShardTask{Model: part[1:]},
		"task of a worker": map[int]int{99: 1},
	} {
		data, err := cbor.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		read, m, err := ReadTask(data)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error is %v, want %q", err, want)
		case want == "" && (err != nil || read.Receiver != 1 || m.Params.Label != "y"):
			t.Errorf("%+v, %+v, %v", read, m, err)
		}
	}
}
