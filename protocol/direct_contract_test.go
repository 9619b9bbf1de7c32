package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol"
)

// directContract lists three kinds of direct messages between three parties.
func directContract(t testing.TB, l *league) *protocol.Contract {
	t.Helper()
	d := newDraft(t, l)
	share := func(root, to string, count, bytes int64) protocol.Operation {
		return protocol.Operation{Kind: "share", Stage: 1, Collective: "direct", Root: root, To: to, Class: "masked", Encoding: "ring48", Count: count, Bytes: bytes}
	}
	d.operations = protocol.SessionOperations(3, []protocol.Operation{
		share("bank", "shop", 2, 24), share("shop", "bank", 1, 12), share("bank", "shop", 1, 6), share("insurer", "bank", 1, 4<<20),
		{Kind: "score", Stage: 2, Collective: "direct", Root: "shop", To: "bank", Class: "opening", Encoding: "fixed64", Shape: []int64{3}, Count: 1, Bytes: 24},
	})
	c, err := d.contract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDirectMessagesInContracts: a contract with them reads as it was written, and each makes one line
// at its sender; those of one kind over one link add up.
func TestDirectMessagesInContracts(t *testing.T) {
	l := newLeague(t, "bank", "insurer", "shop")
	c := directContract(t, l)
	again, err := protocol.ParseContract(c.Document.Text())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(again.Operations) != fmt.Sprint(c.Operations) || again.Hash() != c.Hash() {
		t.Errorf("the contract reads %+v, want %+v", again.Operations, c.Operations)
	}
	for i, want := range []string{
		"share to shop 3x30", // a frame a message: none fills a chunk
		"share to bank 5x4194304",
		"share to bank 1x12, score to bank 1x24",
	} {
		lines, err := again.Egress(i)
		if err != nil {
			t.Fatal(err)
		}
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
	l := newLeague(t, "bank", "insurer", "shop")
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 4<<20), 1, 5).Draw(rt, "words")
		var frames, bytes int64
		chunk := int64(protocol.Ring48.Chunk(protocol.DefaultChunk))
		for _, words := range sizes {
			frames, bytes = frames+(6*words+chunk-1)/chunk, bytes+6*words
		}
		d := newDraft(t, l)
		d.operations = []protocol.Operation{{Kind: "share", Collective: "direct", Root: "bank", To: "shop", Class: "masked", Encoding: "ring48", Count: int64(len(sizes)), Bytes: bytes}}
		c, err := d.contract()
		if err != nil {
			rt.Fatal(err)
		}
		lines, err := c.Egress(0)
		if err != nil || len(lines) != 1 || lines[0].MaxFrames < frames || lines[0].MaxBytes != bytes {
			rt.Fatalf("the budget is %+v, want room for %d frames of %d bytes, error %v", lines, frames, bytes, err)
		}
	})
}

// TestABudgetOfDirectMessagesIsKept: what the contract does not list is not sent.
func TestABudgetOfDirectMessagesIsKept(t *testing.T) {
	message := func(kind string, class protocol.Class, encoding protocol.Encoding, to, size int) protocol.Direct {
		d := newDirect(encoding, 0, to, make([]byte, size)).Direct
		d.Kind, d.Class = kind, class
		return d
	}
	share := func(to, size int) protocol.Direct {
		return message("share", protocol.ClassMasked, protocol.Ring48, to, size)
	}
	for _, c := range []struct {
		what     string
		messages []protocol.Direct
		want     string
	}{
		{"within", []protocol.Direct{share(2, 12), share(2, 0), share(2, 12), share(2, 6)}, ""},
		{"to another party", []protocol.Direct{share(1, 6)}, "share to insurer not sent: the contract has this party send share to others, not there"},
		{"of another party", []protocol.Direct{message("score", protocol.ClassOpening, protocol.Fixed64, 2, 8)}, "score to shop not sent: the contract lists no such message of this party"},
		{"in the clear", []protocol.Direct{message("share", protocol.ClassOpening, protocol.Ring48, 2, 6)}, "share to shop not sent: it is opening ring48, the contract says masked ring48"},
		{"other words", []protocol.Direct{message("share", protocol.ClassMasked, protocol.Fixed64, 2, 8)}, "share to shop not sent: it is masked fixed64, the contract says masked ring48"},
		{"too often", []protocol.Direct{share(2, 6), share(2, 6), share(2, 6), share(2, 6)}, "share to shop not sent: it would be frame 4 of 3 agreed"},
		{"too much", []protocol.Direct{share(2, 12), share(2, 24)}, "share to shop not sent: it would make 36 bytes of 30 agreed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := newLeague(t, "bank", "insurer", "shop")
			contract := directContract(t, l)
			for i := range l.ids {
				b, err := protocol.NewBudget(contract, i)
				if err != nil {
					t.Fatal(err)
				}
				l.budgets = append(l.budgets, b)
			}
			if err := errors.Join(l.open(t.Context(), 1, 0)...); err != nil {
				t.Fatal(err)
			}
			errs := l.each(func(i int) error { return passAll(t.Context(), l.sessions[i], c.messages) })
			var refused *protocol.BudgetError
			switch {
			case c.want == "" && errors.Join(errs...) != nil:
				t.Errorf("errors are %v", errs)
			case c.want != "" && (!errors.As(errs[0], &refused) || !errors.Is(errs[0], protocol.ErrDeviation) || errs[0].Error() != c.want):
				t.Errorf("error is %v\nwant     %s", errs[0], c.want)
			}
		})
	}
}

// passAll passes messages one after the other.
func passAll(ctx context.Context, s *protocol.Session, messages []protocol.Direct) error {
	for _, d := range messages {
		d.Store = func(int, []byte) error { return nil } // they are the same for all parties
		if err := s.Pass(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// TestJobsOverClientsHaveNoDirectMessages: their parties count no operations together.
func TestJobsOverClientsHaveNoDirectMessages(t *testing.T) {
	l := newLeague(t, "hub", "a", "b")
	job, err := protocol.ParseJob([]byte(served([]string{"hub", "a", "b"}, []string{"hub"})))
	if err != nil {
		t.Fatal(err)
	}
	var facts []protocol.Facts
	for i, p := range l.parties {
		facts = append(facts, protocol.Facts{Name: p.Name, ID: p.ID, Role: []string{"server", "client", "client"}[i]})
	}
	_, err = protocol.NewContract(job, facts, nil, []protocol.Operation{
		{Kind: "share", Collective: "direct", Root: "a", To: "b", Class: "masked", Encoding: "ring48", Count: 1, Bytes: 6},
	})
	if want := `contract of job "air": operation 1: share: a job over clients has no direct messages`; text(err) != want {
		t.Errorf("error is %v\nwant     %s", err, want)
	}
}
