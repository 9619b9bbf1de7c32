package contract

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// endingContract is a contract of three parties with their keys; servers makes it one over clients.
func endingContract(t *testing.T, servers ...string) (*Contract, []*keys.PrivateKey) {
	t.Helper()
	j := &Job{
		Format: jobFormat, Name: "trial", Algorithm: "fdskl", Task: TaskTrain,
		Parties: []string{"bank", "insurer", "telco"}, Servers: servers,
		Privacy: "masked", Topology: "star", Table: "train", Proposer: "bank",
	}
	var facts []Facts
	var ks []*keys.PrivateKey
	for i, name := range j.Parties {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		role := rolePassive
		switch {
		case len(servers) > 0 && i == 0:
			role = roleServer
		case len(servers) > 0:
			role = roleClient
		case i == 0:
			role = roleActive
		}
		facts, ks = append(facts, Facts{Name: name, ID: k.ID(), Role: role, Rows: 10, Columns: 2}), append(ks, k)
		if role == roleServer {
			facts[i] = Facts{Name: name, ID: k.ID(), Role: role}
		} else if role == roleClient {
			facts[i].Rows = 0
		}
	}
	c, err := NewContract(j, facts, nil, SessionOperations(len(facts), nil))
	if err != nil {
		t.Fatal(err)
	}
	return c, ks
}

// doneEnding is an unsigned ending of a job that is done.
func doneEnding(t *testing.T, c *Contract) *Ending {
	t.Helper()
	e := Ending{Outcome: OutcomeDone, Session: 2}
	for _, p := range c.Enders() {
		e.Parts = append(e.Parts, PartDigest{Party: p.Name, Digest: keys.HashOf("part", []byte(p.Name))})
	}
	made, err := NewEnding(c, e)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestDoneNeedsEverybodysSignature, of a job over clients its proposer's.
func TestDoneNeedsEverybodysSignature(t *testing.T) {
	for _, servers := range [][]string{nil, {"bank"}} {
		c, ks := endingContract(t, servers...)
		e := doneEnding(t, c)
		for i := range c.Enders() {
			if err := e.InForce(c); err == nil || !strings.Contains(err.Error(), c.Enders()[i].Name) {
				t.Errorf("before %s signed: %v", c.Enders()[i].Name, err)
			}
			e.Sign(ks[i])
		}
		again, err := ParseEnding(c, e.Text())
		if err != nil || again.InForce(c) != nil || again.Hash() != e.Hash() {
			t.Errorf("read again: %v, %v", err, again)
		}
	}
}

// TestForgedEndingsAreRefused: nobody ends a job in another's name.
func TestForgedEndingsAreRefused(t *testing.T) {
	c, ks := endingContract(t)
	other, _ := endingContract(t)
	cancelled, err := NewEnding(c, Ending{Outcome: OutcomeCancelled, By: "telco", Reason: "enough"})
	if err != nil {
		t.Fatal(err)
	}
	cancelled.Sign(ks[1]) // the insurer, in the telco's name
	if err := cancelled.InForce(c); err == nil || !strings.Contains(err.Error(), "telco must still sign") {
		t.Errorf("the insurer's word in the telco's name: %v", err)
	}
	if _, err := ParseEnding(other, cancelled.Text()); err == nil || !strings.Contains(err.Error(), "it is of contract") {
		t.Errorf("another job's ending: %v", err)
	}
	text := strings.Replace(string(cancelled.Text()), "enough", "enouph", 1)
	if _, err := ParseEnding(c, []byte(text)); err == nil {
		t.Error("a changed reason was taken")
	}
	for what, e := range map[string]Ending{
		"outcome":        {Outcome: "finished", By: "bank"},
		"one of its":     {Outcome: OutcomeCancelled, By: "smith"},
		"printable text": {Outcome: OutcomeCancelled, By: "bank", Reason: "\x1b[31mred"},
		"a person gives": {Outcome: OutcomeFailed, By: "bank", Reason: "row 17 has the label 3"},
		"stands for a reason": {Outcome: OutcomeRefused, By: "bank", Reason: "no",
			Fault: &fault.Fault{Code: fault.CodePolicy}},
		"a name is not": {Outcome: OutcomeFailed, By: "bank",
			Fault: &fault.Fault{Code: fault.CodeTable, Names: []string{"row 17"}}},
		"session of all": {Outcome: OutcomeDone, Session: 1, By: "bank"},
		"lists parts of": {Outcome: OutcomeDone, Session: 1},
	} {
		if _, err := NewEnding(c, e); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v, want %q", e, err, what)
		}
	}
}

// TestBeatsIsAnOrder: of any endings one beats all others, whoever compares.
func TestBeatsIsAnOrder(t *testing.T) {
	c, _ := endingContract(t)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) *Ending {
			e := Ending{
				Outcome: rapid.SampledFrom(outcomes[1:]).Draw(rt, label),
				By:      rapid.SampledFrom(c.Job.Parties).Draw(rt, label+" by"),
			}
			switch why := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, label+" why"); {
			case why == "" || e.Outcome == OutcomeExpired:
			case e.Outcome == OutcomeFailed:
				e.Fault = &fault.Fault{Code: fault.CodeDisk, Ref: why}
			default:
				e.Reason = why
			}
			made, err := NewEnding(c, e)
			if err != nil {
				rt.Fatal(err)
			}
			return made
		}
		a, b, d := draw("a"), draw("b"), draw("d")
		if same := a.Hash() == b.Hash(); a.Beats(b) == b.Beats(a) != same {
			rt.Fatalf("%v and %v beat each other, or neither does", a, b)
		}
		if a.Beats(b) && b.Beats(d) && !a.Beats(d) {
			rt.Fatal("the order is not transitive")
		}
		if done := doneEnding(t, c); !done.Beats(a) || a.Beats(done) {
			rt.Fatal("something beats done")
		}
	})
}

func TestPlainReason(t *testing.T) {
	for text, want := range map[string]string{
		"  two\nlines\t": "two lines", "a\x1b[2Jb\u202e": "a [2Jb",
		strings.Repeat("é", 150): strings.Repeat("é", 100), "\xff": "?",
	} {
		if got := PlainReason(text); got != want {
			t.Errorf("PlainReason(%q) is %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		once := PlainReason(rapid.String().Draw(rt, "text"))
		if len(once) > MaxReason || PlainReason(once) != once {
			rt.Fatalf("%q has %d bytes, and made plain again is %q", once, len(once), PlainReason(once))
		}
	})
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 5, time.UTC)
	for text, want := range map[string]string{
		"": "2026-12-08T10:00:00Z", "72h": "2026-12-04T10:00:00Z", "2026-12-24T18:00:00Z": "2026-12-24T18:00:00Z",
	} {
		j := Job{Name: "j", Expires: text}
		if err := j.SetExpiry(now); err != nil || j.Expires != want || j.Expiry().Format(time.RFC3339) != want {
			t.Errorf("expires %q: %q, %v, want %q", text, j.Expires, err, want)
		}
	}
	for _, text := range []string{"2026-11-30T10:00:00Z", "2028-12-24T18:00:00Z", "1s", "soon", "2026-12-24", "9000h"} {
		j := Job{Name: "j", Expires: text}
		if err := j.SetExpiry(now); err == nil || !strings.Contains(err.Error(), "expires is") {
			t.Errorf("expires %q: %v", text, err)
		}
	}
}

// FuzzParseEnding reads bytes of anybody's: what parses is rendered again to the same body.
func FuzzParseEnding(f *testing.F) {
	t := &testing.T{}
	c, ks := endingContract(t)
	e := doneEnding(t, c)
	e.Sign(ks[0])
	f.Add(e.Text())
	f.Add([]byte("format = \"hanse-ending-v1\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := ParseEnding(c, text)
		if err == nil && e.Contract != c.Hash() {
			t.Errorf("an ending of %s was taken", e.Contract)
		}
	})
}

// TestAnEndingBearsNoMoreSignaturesThanItNeeds: who sends hundreds has none of them verified.
func TestAnEndingBearsNoMoreSignaturesThanItNeeds(t *testing.T) {
	c, ks := endingContract(t)
	e, err := NewEnding(c, Ending{Outcome: OutcomeCancelled, By: "bank", Reason: "enough"})
	if err != nil {
		t.Fatal(err)
	}
	e.Sign(ks[0])
	for range len(c.Enders()) {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		e.Sign(k)
	}
	if _, err := ParseEnding(c, e.Text()); err == nil || !strings.Contains(err.Error(), "signatures, at most") {
		t.Errorf("error %v, want that it bears too many", err)
	}
}
