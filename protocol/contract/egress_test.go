package contract_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestEgressFollowsFromOperations: who sends how much to whom, for every way that data travel.
func TestEgressFollowsFromOperations(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop", "telco")
	job := &contract.Job{Format: "hanse-job-v1", Name: "j", Algorithm: "fdskl", Task: "train",
		Parties: []string{"bank", "insurer", "shop", "telco"},
		Privacy: "published", Topology: "tree", Table: "train"}
	var facts []contract.Facts
	for _, p := range l.parties {
		facts = append(facts, contract.Facts{Name: p.Name, ID: p.ID, Role: "passive"})
	}
	published := func(kind string, tree int64, excluded string, features int64) contract.Operation {
		return contract.Operation{Kind: kind, Stage: 3, Collective: "sum", Root: "bank", Tree: tree,
			Excluded: excluded, Class: "published",
			Encoding: "float64", Shape: []int64{1000, features}, Count: 2, Bytes: 8000 * features}
	}
	c, err := contract.NewContract(job, facts, nil, []contract.Operation{
		{Kind: "hello", Collective: "exchange", Class: "control", Encoding: "bytes", Count: 1, Bytes: 8},
		{Kind: "width", Stage: 1, Collective: "broadcast", Root: "bank", Class: "opening",
			Encoding: "bytes", Count: 3, Bytes: 24},
		{Kind: "sums", Stage: 2, Collective: "sum", Root: "shop", Class: "masked", Encoding: "turns16",
			Shape: []int64{1 << 20, 3}, Count: 2, Bytes: 6 << 20},
		published("part", 1, "telco", 10), published("part", 1, "insurer", 20), published("rest", 2, "telco", 10),
	})
	must(t, err)
	want := []string{
		// The tree of four parties rooted at the bank: insurer and shop send to it, telco to shop.
		"bank: hello to insurer 1x8, hello to shop 1x8, hello to telco 1x8, width to insurer 3x24, width to shop 3x24, sums to shop 8x6291456",
		// T1 stands on bank, excluded, others: with telco excluded insurer is third and shop sends to it.
		"insurer: hello to bank 1x8, hello to shop 1x8, hello to telco 1x8, sums to shop 8x6291456, part to bank 4x240000 [1000 30], rest to bank 2x80000 [1000 10]",
		"shop: hello to bank 1x8, hello to insurer 1x8, hello to telco 1x8, width to telco 3x24, part to insurer 2x80000 [1000 10], part to bank 2x160000 [1000 20], rest to bank 2x80000 [1000 10]",
		"telco: hello to bank 1x8, hello to insurer 1x8, hello to shop 1x8, sums to insurer 8x6291456, part to bank 2x80000 [1000 10], part to shop 2x160000 [1000 20]",
	}
	for i := range want {
		lines, err := c.Egress(i)
		must(t, err)
		got := c.Parties[i].Name + ":"
		for k, e := range lines {
			if k > 0 {
				got += ","
			}
			got += fmt.Sprintf(" %s to %s %dx%d", e.Kind, c.Parties[e.To].Name, e.MaxFrames, e.MaxBytes)
			if e.Class == contract.ClassPublished {
				got += fmt.Sprint(" ", e.Shape)
			}
			if e.Kind == "sums" && (e.Encoding != contract.Turns16 || !reflect.DeepEqual(e.Shape, []int64{1 << 20, 3})) {
				t.Errorf("sums are %+v", e)
			}
		}
		if got != want[i] {
			t.Errorf("egress is\n%s\nwant\n%s", got, want[i])
		}
	}
}
