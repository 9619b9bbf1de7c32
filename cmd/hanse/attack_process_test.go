package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// attacker is the bank, whose program is another one: it has a key file and a link like any member, and asks what it
// likes.
type attacker struct {
	w       *testNetwork
	host    *peer.Host
	charter *keys.SignedCharter
	job     *contract.Job
	text    []byte
	leave   func() // ends the attacker's node
}

// newAttacker starts the other members' nodes and the attacker in the bank's place.
func newAttacker(t *testing.T) *attacker {
	w := newColumns(t, 300)
	for _, name := range w.Names[1:] {
		w.start(name)
	}
	key, err := keys.LoadKeyFile(w.Path("bank", "bank.key"), nil)
	must(t, err)
	charter, err := charterfile.ReadInForce(w.CharterFile())
	must(t, err)
	a := &attacker{w: w, charter: charter}
	a.host, err = peer.New(peer.Config{Key: key.Key, Charter: charter, StateDir: t.TempDir(), Heartbeat: time.Second,
		Silence: 4 * time.Second})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.host.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	a.leave = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(a.leave)
	a.job = &contract.Job{
		Format: "hanse-job-v1", Name: "trial", Algorithm: "fdskl", Task: contract.TaskTrain, Parties: w.Names,
		Privacy: "masked", Topology: "tree",
		Table: "train", Charter: charter.Digest().String(), Proposer: "bank", Nonce: strings.Repeat("a", 32),
		Expires:    time.Now().Add(time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339),
		Parameters: map[string]any{"active": []string{"bank"}, "label": w.data.Label, "features": 32},
	}
	if a.text, err = a.job.Text(); err != nil {
		t.Fatal(err)
	}
	return a
}

// ask asks a member's node over TLS until its link is there.
func (a *attacker) ask(name, method string, request, response any) *fault.Fault {
	a.w.t.Helper()
	data, err := cbor.Marshal(request)
	if err != nil {
		a.w.t.Fatal(err)
	}
	m, ok := a.charter.MemberNamed(name)
	if !ok {
		a.w.t.Fatalf("%s is no member", name)
	}
	ctx, cancel := context.WithTimeout(a.w.t.Context(), time.Minute)
	defer cancel()
	for {
		answer, err := a.host.Call(ctx, m.ID, method, data)
		var remote *protocol.RemoteError
		var gone *protocol.GoneError
		switch {
		case err == nil:
			if err := cbor.Unmarshal(answer, response); err != nil {
				a.w.t.Fatal(err)
			}
			return nil
		case errors.As(err, &remote):
			return remote.Fault
		case errors.As(err, &gone) && ctx.Err() == nil: // the nodes still find each other
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		default:
			a.w.t.Fatalf("%s: %v\n%s", name, err, a.w.log(name))
		}
	}
}

// describe asks a member for its facts.
func (a *attacker) describe(name string, text []byte) (facts contract.Facts, refusal *fault.Fault) {
	refusal = a.ask(name, "job/describe", map[int]string{1: string(text)}, &facts)
	return facts, refusal
}

// readsUnder is what the owner of a node reads with hanse jobs --ref.
func (a *attacker) readsUnder(name, ref string) string {
	a.w.t.Helper()
	found, err := a.w.client(name).Faults(a.w.t.Context(), ref)
	if err != nil || len(found) != 1 {
		a.w.t.Fatalf("under %q stand %v, %v", ref, found, err)
	}
	return found[0].Text
}

// TestAttackersOverTLS: a member with a program of its own, among real processes: an impostor, who puts a key of its
// own under the telco's name; a describer, who asks about a table that is not in order and one that is not offered; and
// a stuffer. Each fails, its victims' owners read what it did, and an honest job runs afterwards.
func TestAttackersOverTLS(t *testing.T) {
	t.Parallel()
	a := newAttacker(t)
	var facts []contract.Facts
	own, _ := a.charter.MemberNamed("bank")
	for _, name := range a.w.Names {
		if name == "bank" {
			facts = append(facts, contract.Facts{Name: name, ID: own.ID, Role: "active"})
			continue
		}
		f, refusal := a.describe(name, a.text)
		if refusal != nil {
			t.Fatalf("%s: %s", name, refusal)
		}
		facts = append(facts, f)
	}
	facts[0].Rows, facts[0].Columns = facts[1].Rows, 3

	stranger, err := keys.GenerateKey()
	must(t, err)
	forged := append([]contract.Facts(nil), facts...)
	forged[a.job.Index("telco")].ID = stranger.ID()
	contract, err := contract.NewContract(a.job, forged, nil, contract.SessionOperations(len(facts), nil))
	must(t, err)
	var consent map[int]any
	refusal := a.ask("insurer", "job/consent", map[int]string{1: string(contract.Document.Text())}, &consent)
	if refusal == nil || refusal.Code != fault.CodeCharter || len(refusal.Names) != 1 || refusal.Names[0] != "telco" {
		t.Fatalf("the insurer answers the impostor by %v, %v", consent, refusal)
	}
	if said := a.readsUnder("insurer", refusal.Ref); !strings.Contains(said,
		"names the key "+stranger.ID().Short()+" for telco") {
		t.Errorf("the insurer's owner reads %q", said)
	}

	path := a.w.Path("retailer", "train.csv")
	good, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(good, "canary-id,canary-cell\n"...), 0o600))
	if _, refusal = a.describe("retailer", a.text); refusal == nil || refusal.Code != fault.CodeTable ||
		len(refusal.Names)+len(refusal.Numbers) > 0 {
		t.Fatalf("the retailer answers the describer by %v", refusal)
	}
	if said := a.readsUnder("retailer", refusal.Ref); !strings.Contains(said, "train.csv") {
		t.Errorf("the retailer's owner reads %q", said)
	}
	must(t, os.WriteFile(path, good, 0o600))
	a.job.Parameters["active"] = []string{"retailer"} // of whose columns none is offered as a label
	text, err := a.job.Text()
	must(t, err)
	if _, refusal = a.describe("retailer", text); refusal == nil || refusal.Code != fault.CodeLabel {
		t.Fatalf("the retailer answers a question for its labels by %v", refusal)
	}

	codes := make(map[fault.Code]int)
	for i := range 400 {
		if _, refusal := a.describe("telco", []byte(strings.Replace(string(a.text), strings.Repeat("a", 32),
			fmt.Sprintf("%032x", i), 1))); refusal != nil {
			codes[refusal.Code]++
		}
	}
	if codes[fault.CodeBusy] < 100 || len(codes) != 1 {
		t.Errorf("the telco answers the stuffer by %v", codes)
	}
	if log := a.w.log("telco"); !strings.Contains(log, "asks too much") || !strings.Contains(log, "bank") {
		t.Error("the telco's log does not name the stuffer")
	}
	for _, name := range a.w.Names[1:] {
		jobs, err := a.w.client(name).Jobs(t.Context())
		if err != nil || len(jobs) > 0 {
			t.Errorf("%s has the jobs %v, %v", name, jobs, err)
		}
	}
	a.leave()
	a.w.start("bank") // an honest one
	report, err := a.w.client("bank").Launch(t.Context(), a.w.prepare(fdskl.Params{Features: 32}, "masked", ""),
		func(jobs.Event) {})
	if err != nil || report == nil {
		t.Errorf("an honest job: %v, %v", report, err)
	}
}
