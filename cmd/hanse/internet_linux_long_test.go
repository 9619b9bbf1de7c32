//go:build long && linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// site is where a member's node is in a trial.
type site struct {
	namespace string
	listed    []string // its addresses in the charter
	relay     bool
	more      []string // flags of its node
}

// onInternet founds a federation whose nodes run in namespaces, one site for each member, and starts the nodes.
func onInternet(t *testing.T, people int, sites map[string]site, discovery ...string) *testNetwork {
	t.Helper()
	w := newColumns(t, people)
	c := keys.Charter{Name: "trial", Version: 1, Created: time.Now()}
	c.Rules.MinPrivacy, c.Rules.Discovery = "masked", discovery
	for i, name := range w.Names {
		s := sites[name]
		c.Admit(keys.Card{Name: name, ID: w.Keys[i].ID(), Addresses: s.listed, Relay: s.relay})
	}
	signed, err := keys.NewCharter(c)
	must(t, err)
	for _, k := range w.Keys {
		must(t, signed.Sign(k))
	}
	must(t, os.WriteFile(w.CharterFile(), signed.Text(), 0o600))
	w.Charter = signed
	program := w.program
	w.program = "ip" // which becomes the program, in its namespace
	w.args = func(name string) []string {
		return slices.Concat([]string{"netns", "exec", sites[name].namespace, program}, w.NodeArgs(name, 1), sites[name].more)
	}
	for _, name := range w.Names {
		w.start(name)
	}
	return w
}

// train runs a training and says how long it took.
func (w *testNetwork) train(p fdskl.Params, privacy string, told func(jobs.Event)) time.Duration {
	w.t.Helper()
	job := w.prepare(p, privacy, contract.RecordDigests)
	begin := time.Now()
	if _, err := w.client("bank").Launch(w.t.Context(), job, told); err != nil {
		for _, name := range w.Names {
			w.t.Logf("%s:\n%s", name, localnet.Tail(w.Log(name), 15))
		}
		w.t.Fatal(err)
	}
	took := time.Since(begin)
	w.models(job)
	return took
}

// small is a training that takes a second on one machine.
var small = fdskl.Params{Loss: "square", Features: 256, Lambda: 1e-4}

// lines returns what a node has logged that holds all parts.
func (w *testNetwork) lines(name string, parts ...string) []string {
	var out []string
	for l := range strings.Lines(w.log(name)) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(l, p) }) {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return out
}

// public is the charter's address of a public machine.
func public(ip string) []string { return []string{"/ip4/" + ip + "/tcp/4001"} }

// TestTwoNATsAndARelay has two members behind NATs of their own train with two public ones, of which one relays. Where
// the NATs let holes through, the two may meet directly; else they stay with the relay.
func TestTwoNATsAndARelay(t *testing.T) {
	for name, nat := range map[string]string{"holes": onePortToAll, "no-holes": anotherToEach} {
		t.Run(name, func(t *testing.T) {
			n := newInternet(t, 10*time.Millisecond, 0)
			w := onInternet(t, 600, map[string]site{
				"bank":     {namespace: n.behind("bank", "203.0.113.10", nat)},
				"insurer":  {namespace: n.behind("insurer", "203.0.113.20", nat)},
				"retailer": {namespace: n.host("retailer", "203.0.113.30"), listed: public("203.0.113.30"), relay: true},
				"telco":    {namespace: n.host("telco", "203.0.113.40"), listed: public("203.0.113.40")},
			}, "addresses")
			t.Logf("a training of 480 rows took %v", w.train(small, fdskl.Masked, func(jobs.Event) {}))
			met := w.lines("bank", "connected", "member=insurer")
			t.Logf("bank: %q", met)
			if nat == anotherToEach && len(w.lines("bank", "connected", "member=insurer", "relay=retailer")) == 0 {
				t.Error("bank has not met insurer through the relay")
			}
		})
	}
}

// TestAddressChangeAcrossNAT stops a public member, moves it to another address, and starts it again: a member behind a
// NAT, which nobody can dial and which nobody has told, trains with it.
func TestAddressChangeAcrossNAT(t *testing.T) {
	n := newInternet(t, 10*time.Millisecond, 0)
	telco := n.host("telco", "203.0.113.40")
	w := onInternet(t, 600, map[string]site{
		"bank":     {namespace: n.host("bank", "203.0.113.10"), listed: public("203.0.113.10")},
		"insurer":  {namespace: n.behind("insurer", "203.0.113.20", onePortToAll)},
		"retailer": {namespace: n.host("retailer", "203.0.113.30"), listed: public("203.0.113.30")},
		"telco":    {namespace: telco, listed: public("203.0.113.40")},
	}, "addresses")
	w.train(small, fdskl.Masked, func(jobs.Event) {})
	must(t, w.kill("telco", syscall.SIGTERM))
	n.move(telco, "203.0.113.40", "203.0.113.44")
	w.start("telco")
	t.Logf("a training after the move took %v", w.train(smallAgain, fdskl.Masked, func(jobs.Event) {}))
	if len(w.lines("insurer", "connected", "telco", "203.0.113.44")) == 0 {
		t.Errorf("insurer has not dialled telco's new address:\n%s", w.log("insurer"))
	}
}

// smallAgain is another job than small.
var smallAgain = fdskl.Params{Loss: "square", Features: 256, Lambda: 1e-3}

// TestOneEntry gives the charter the address of one member alone: the others find each other through the table that
// members keep.
func TestOneEntry(t *testing.T) {
	n := newInternet(t, 10*time.Millisecond, 0)
	sites := make(map[string]site)
	for i, name := range []string{"bank", "insurer", "retailer", "telco"} {
		ip := fmt.Sprintf("203.0.113.%d", 10*(i+1))
		sites[name] = site{namespace: n.host(name, ip), more: []string{"--listen", "/ip4/0.0.0.0/tcp/4001"}}
	}
	entry := sites["retailer"]
	entry.listed = public("203.0.113.30")
	sites["retailer"] = entry
	w := onInternet(t, 600, sites, "addresses", "dht")
	t.Logf("a training of 480 rows took %v", w.train(small, fdskl.Masked, func(jobs.Event) {}))
}

// TestSlowAndLossy trains over lines of 100 ms there and back that lose one packet in a hundred.
func TestSlowAndLossy(t *testing.T) {
	for _, privacy := range []string{fdskl.Masked, fdskl.Sealed} {
		t.Run(privacy, func(t *testing.T) {
			n := newInternet(t, 50*time.Millisecond, 0.01)
			w := onInternet(t, 600, fourPublic(n), "addresses")
			t.Logf("a training of 480 rows took %v", w.train(small, privacy, func(jobs.Event) {}))
		})
	}
}

// fourPublic are public machines for all four members.
func fourPublic(n *internet) map[string]site {
	sites := make(map[string]site)
	for i, name := range []string{"bank", "insurer", "retailer", "telco"} {
		ip := fmt.Sprintf("203.0.113.%d", 10*(i+1))
		sites[name] = site{namespace: n.host(name, ip), listed: public(ip)}
	}
	return sites
}

// TestPartitionInEachStep parts one member from the others for a minute in each step of a sealed training, each time
// another one: the job pauses, goes on, and ends.
func TestPartitionInEachStep(t *testing.T) {
	n := newInternet(t, 5*time.Millisecond, 0)
	w := onInternet(t, 2000, fourPublic(n), "addresses")
	steps := make(chan string, 100)
	healed := make(chan struct{})
	cutting := make(chan int, 1)
	go func() {
		defer close(healed)
		count := 0
		for step := range steps {
			victim := []string{"telco", "insurer", "retailer", "bank"}[count%4]
			ip := map[string]string{"bank": "203.0.113.10", "insurer": "203.0.113.20", "retailer": "203.0.113.30",
				"telco": "203.0.113.40"}[victim]
			t.Logf("in %s: %s is cut off for %v", step, victim, partition)
			n.setCut(ip, true)
			select {
			case <-time.After(partition): // what is tried is a minute
			case <-t.Context().Done():
			}
			n.setCut(ip, false)
			count++
		}
		cutting <- count
	}()
	seen := make(map[string]bool)
	took := w.train(fdskl.Params{Loss: "square", Features: 256, Lambda: 1e-4, Iterations: 200}, fdskl.Sealed,
		func(e jobs.Event) {
			step := e.Step
			switch {
			case e.Kind == jobs.EventState && strings.HasSuffix(e.Text, "consents"):
				step = "agreement"
			case e.Kind == jobs.EventState && strings.HasPrefix(e.Text, "session"):
				step = "keys"
			case e.Kind != jobs.EventProgress:
				return
			case step == "steps" && e.Done == e.Total:
				step = "openings"
			case step == "steps" && e.Done > e.Total/2:
				step = "later steps"
			}
			if !seen[step] {
				seen[step] = true
				steps <- step
			}
		})
	close(steps)
	<-healed
	count := <-cutting
	t.Logf("the training took %v with %d partitions", took, count)
	if count < 6 {
		t.Errorf("only %d of 6 steps were seen: %v", count, seen)
	}
}

// partition is how long a member is cut off.
const partition = time.Minute
