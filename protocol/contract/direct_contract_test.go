package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
)

// directContract lists three kinds of direct messages between three parties.
func directContract(t testing.TB, l *members) *contract.Contract {
	t.Helper()
	d := newDraft(t, l)
	share := func(root, to string, count, bytes int64) contract.Operation {
		return contract.Operation{Kind: "share", Stage: 1, Collective: "direct", Root: root, To: to, Class: "masked",
			Encoding: "ring48", Count: count, Bytes: bytes}
	}
	d.operations = contract.SessionOperations(3, []contract.Operation{
		share("bank", "shop", 2, 24), share("shop", "bank", 1, 12), share("bank", "shop", 1, 6),
		share("insurer", "bank", 1, 4<<20),
		{Kind: "score", Stage: 2, Collective: "direct", Root: "shop", To: "bank", Class: "opening", Encoding: "fixed64",
			Shape: []int64{3}, Count: 1, Bytes: 24},
	})
	c, err := d.contract()
	must(t, err)
	return c
}

// TestDirectMessagesInContracts: a contract with them reads as it was written, and each makes one line
// at its sender; those of one kind over one link add up.
func TestDirectMessagesInContracts(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	c := directContract(t, l)
	again, err := contract.ParseContract(c.Document.Text())
	must(t, err)
	if fmt.Sprint(again.Operations) != fmt.Sprint(c.Operations) || again.Hash() != c.Hash() {
		t.Errorf("the contract reads %+v, want %+v", again.Operations, c.Operations)
	}
	for i, want := range []string{
		"share to shop 3x30", // a frame a message: none fills a chunk
		"share to bank 5x4194304",
		"share to bank 1x12, score to bank 1x24",
	} {
		lines, err := again.Egress(i)
		must(t, err)
		var got []string
		for _, e := range lines {
			if e.Kind == "share" || e.Kind == "score" {
				got = append(got, fmt.Sprintf("%s to %s %dx%d", e.Kind, c.Parties[e.To].Name, e.MaxFrames, e.MaxBytes))
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s sends %s, want %s", c.Parties[i].Name, strings.Join(got, ", "), want)
		}
	}
}

// TestBudgetsAllowTheFramesOfDirectMessages: however long a vector is, its frames fit the line.
func TestBudgetsAllowTheFramesOfDirectMessages(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 4<<20), 1, 5).Draw(rt, "words")
		var frames, bytes int64
		chunk := int64(contract.Ring48.Chunk(contract.DefaultChunk))
		for _, words := range sizes {
			frames, bytes = frames+(6*words+chunk-1)/chunk, bytes+6*words
		}
		d := newDraft(t, l)
		d.operations = []contract.Operation{{Kind: "share", Collective: "direct", Root: "bank", To: "shop",
			Class: "masked", Encoding: "ring48", Count: int64(len(sizes)), Bytes: bytes}}
		c, err := d.contract()
		must(rt, err)
		lines, err := c.Egress(0)
		if err != nil || len(lines) != 1 || lines[0].MaxFrames < frames || lines[0].MaxBytes != bytes {
			rt.Fatalf("the budget is %+v, want session for %d frames of %d bytes, error %v", lines, frames, bytes, err)
		}
	})
}

// TestJobsOverClientsHaveNoDirectMessages: their parties count no operations together.
func TestJobsOverClientsHaveNoDirectMessages(t *testing.T) {
	l := newMembers(t, "hub", "a", "b")
	job, err := contract.ParseJob([]byte(served([]string{"hub", "a", "b"}, []string{"hub"})))
	must(t, err)
	var facts []contract.Facts
	for i, p := range l.parties {
		facts = append(facts, contract.Facts{Name: p.Name, ID: p.ID, Role: []string{"server", "client", "client"}[i]})
	}
	_, err = contract.NewContract(job, facts, nil, []contract.Operation{
		{Kind: "share", Collective: "direct", Root: "a", To: "b", Class: "masked", Encoding: "ring48", Count: 1, Bytes: 6},
	})
	if want := `contract of job "air": operation 1: share: a job over clients has no direct messages`; text(err) != want {
		t.Errorf("error is %v\nwant     %s", err, want)
	}
}
