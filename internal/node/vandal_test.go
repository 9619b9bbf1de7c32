package node

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// graffiti clears a terminal, rents its title, forges a line and turns the writing's direction.
const graffiti = "\x1b[2J\x1b]0;owned\x07\r\n12:00:00 all is well \u202e"

// seen collects all that a node shows.
type seen struct {
	mu    sync.Mutex
	texts []string
}

func (s *seen) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, text)
}

// check wants all of it to print, and to be bounded.
func (s *seen) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.texts) == 0 {
		t.Error("nothing was shown")
	}
	for _, text := range s.texts {
		if strings.ContainsAny(text, "\x1b\x07\r\u202e") || len(text) > 20_000 {
			t.Errorf("%d bytes are shown: %.200q", len(text), text)
		}
	}
}

// TestVandalAnswers: a member puts escape sequences into every free field of its answers.
func TestVandalAnswers(t *testing.T) {
	long := graffiti + strings.Repeat("x", 1<<20)
	for name, answer := range map[string]func(l *testNetwork) (any, *fault.Fault){
		"a fault": func(*testNetwork) (any, *fault.Fault) {
			return nil, &fault.Fault{Code: fault.CodeRequest, Names: []string{long}}
		},
		"a fault of no code": func(*testNetwork) (any, *fault.Fault) {
			return nil,
				&fault.Fault{Code: fault.Code(long), Ref: graffiti}
		},
		"no answer at all": func(*testNetwork) (any, *fault.Fault) { return long, nil },
		"another name": func(*testNetwork) (any,
			*fault.Fault) {
			return contract.Facts{Name: long, Role: "passive"}, nil
		},
		"a role of its own": func(l *testNetwork) (any, *fault.Fault) {
			return contract.Facts{Name: "telco", ID: l.keys[2].ID(), Role: long, Rows: 10, Columns: 1}, nil
		},
		"a busy node's excuse": func(*testNetwork) (any, *fault.Fault) {
			return nil, &fault.Fault{Code: fault.CodeBusy, Names: []string{graffiti}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestNetwork(t, 3, 10)
			shown := new(seen)
			l.watch(0, func(e jobs.Event) { shown.add(e.Text) })
			l.start(0)
			l.start(1)
			l.transport(2).Handle(func(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) {
				v, fault := answer(l)
				if fault != nil {
					return nil, fault
				}
				data, err := cbor.Marshal(v)
				if err != nil {
					t.Error(err)
				}
				return data, nil
			})
			l.serveSocketOf(0)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			client := newClient(l.nodes[0].config.Dir, owner.Peer)
			job := l.job("train", "privacy = \"masked\"", smallJob)
			_, err := client.Prepare(ctx, job, func(e jobs.Event) { shown.add(e.Text) })
			if err == nil {
				t.Fatal("a job was prepared")
			}
			shown.add(err.Error())
			shown.check(t)
		})
	}
}

// TestVandalAsks: a member puts escape sequences into every free field of what it proposes and tells. Whatever of it is
// kept, nothing of that reaches the owner's list, its summaries or events.
func TestVandalAsks(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.policy = &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables}
	shown := new(seen)
	l.watch(1, func(e jobs.Event) { shown.add(e.Text) })
	l.startAll()
	s := l.stuffer()
	good := s.contracts(2)
	c, err := contract.ParseContract([]byte(good[0]))
	must(t, err)
	escaped, _ := json.Marshal(graffiti) // TOML reads the same escapes
	fields := []string{
		"name", "algorithm", "table", "privacy", "topology", "record", "expires", "nonce", "charter", "proposer", "open_to",
	}
	for _, field := range fields {
		line := "\n" + field + " = " + string(escaped) + "\n[parameters]"
		job := strings.Replace(string(l.job("train", "", activeBank)), "\n[parameters]", line, 1)
		shown.add(s.ask(methodDescribe, describeRequest{Job: job}, new(description)).Error())
	}
	text, err := c.Job.Text()
	must(t, err)
	for _, parameter := range []string{`label = "y"`, `seed = "s"`, `loss = "square"`, `active = ["bank"]`} {
		name, _, _ := strings.Cut(parameter, " ")
		value := string(escaped)
		if name == "active" {
			value = "[" + value + "]"
		}
		job := strings.Replace(string(text), parameter, name+" = "+value, 1)
		if job == string(text) {
			t.Fatalf("no parameter %s in\n%s", parameter, job)
		}
		if err := s.ask(methodDescribe, describeRequest{Job: job}, new(description)); err != nil {
			shown.add(err.Error())
		}
	}
	for _, field := range []string{c.Openings[0].Meaning, c.Openings[0].Kind, `role = "passive"`} {
		contract := strings.Replace(good[0], field, field+`\u001b[2J`, 1)
		if strings.HasPrefix(field, "role") {
			contract = strings.Replace(good[0], field, "role = "+string(escaped), 1)
		}
		if contract == good[0] {
			t.Fatalf("no %q in the contract", field)
		}
		if err := s.ask(methodConsent, consentRequest{Contract: contract}, new(consentResponse)); err == nil {
			t.Errorf("a contract with an escape sequence in %q was taken", field)
		} else {
			shown.add(err.Error())
		}
	}
	s.ask(methodConsent, consentRequest{Contract: good[1]}, new(consentResponse))
	if _, ok := l.nodes[1].job(c.Hash()); ok {
		t.Error("the contract that was spoilt is kept")
	}
	h, _, err := keys.NameOf(contract.DomainContract, []byte(good[1]))
	must(t, err)
	kept, ok := l.nodes[1].job(h)
	if !ok {
		t.Fatal("the honest contract is not kept")
	}
	cancelled := contract.Ending{Outcome: contract.OutcomeCancelled, By: "telco", Reason: "reasonreason"}
	e, err := contract.NewEnding(kept.Contract(), cancelled)
	must(t, err)
	e.Sign(l.keys[2])
	spoilt := strings.Replace(string(e.Text()), `"reasonreason"`, string(escaped), 1)
	if spoilt == string(e.Text()) {
		t.Fatalf("no reason in\n%s", spoilt)
	}
	if err := s.ask(methodEnd, endingRequest{Contract: h, Ending: []byte(spoilt)}, new(endingResponse)); err == nil {
		t.Error("an ending with an escape sequence was taken")
	}
	l.nodes[1].paused(kept, faults.Errorf(fault.CodeLeft, "telco: %s%s", graffiti, strings.Repeat("x", 1<<20)))
	for _, j := range l.nodes[1].Jobs() {
		shown.add(j.Reason)
		shown.add(strings.ReplaceAll(j.Summary+j.Whole, "\n", " "))
	}
	shown.check(t)
}
