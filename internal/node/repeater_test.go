package node

import (
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// repeater is a coordinator that runs a job again once it is done, to have new openings for one consent.
type repeater struct{ l *testNetwork }

// again asks every other party to begin another session of a job.
func (a *repeater) again(h keys.Hash) {
	a.l.t.Helper()
	s, _ := a.l.nodes[0].job(h)
	for i := 1; i < len(a.l.names); i++ {
		p := contract.Party{Name: a.l.names[i], ID: a.l.keys[i].ID()}
		var started startResponse
		err := a.l.nodes[0].call(minute(a.l.t), p, methodStart, startRequest{Contract: string(s.Text()),
			Number: a.l.sessions(h) + 1}, &started)
		if err != nil || string(started.Ending) != string(s.Ending().Text()) {
			a.l.t.Errorf("%s answers a start of a job that is done by %v and %v", p.Name, started, err)
		}
		var consent consentResponse
		err = a.l.nodes[0].call(minute(a.l.t), p, methodConsent, consentRequest{Contract: string(s.Text())}, &consent)
		if err != nil || consent.Signature != nil || consent.Ending == nil {
			a.l.t.Errorf("%s answers a question for its consent by %v and %v", p.Name, consent, err)
		}
	}
}

// kept is a digest of all that the parties but the first keep of a job.
func (a *repeater) kept(h keys.Hash) string {
	a.l.t.Helper()
	sum := sha256.New()
	for i := 1; i < len(a.l.names); i++ {
		err := filepath.WalkDir(filepath.Dir(a.l.jobFile(i, h, job.RecordFile)),
			func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				sum.Write([]byte(path))
				sum.Write(data)
				return err
			})
		if err != nil {
			a.l.t.Fatal(err)
		}
	}
	return string(sum.Sum(nil))
}

// TestRepeater: done is done, for every algorithm, in trainings and predictions.
func TestRepeater(t *testing.T) {
	train := func(head string) func(l *testNetwork) []byte {
		return func(l *testNetwork) []byte { return l.cagedTraining(head) }
	}
	predict := func(head, more string) func(l *testNetwork) []byte {
		return func(l *testNetwork) []byte {
			_, model, err := l.propose(l.cagedTraining(head))
			if err != nil {
				l.t.Fatal(err)
			}
			return l.job("predict", head+"\ntable = \"test\"\nopen_to = \"bank\"\nmodel = \""+model.String()+"\""+more, "")
		}
	}
	served := func(algorithm string, servers int, parameters string) func(l *testNetwork) []byte {
		return func(l *testNetwork) []byte {
			head := "privacy = \"masked\""
			if algorithm == contract.GFML {
				head = "privacy = \"published\""
			}
			return l.servedJob(algorithm, servers, head, parameters)
		}
	}
	all := map[string]func(l *testNetwork) []byte{
		"sealed": train(cagedModes["sealed"]), "masked": train(cagedModes["masked"]),
		"encrypted": train(cagedModes["encrypted"]), "published": train(cagedModes["published"]),
		"sealed prediction": predict(cagedModes["sealed"], ""), "masked prediction": predict(cagedModes["masked"], ""),
		"pofmkl": served("pofmkl", 1, smallPOFMKL), "gfml": served("gfml", 2, gfmlOnTwo), "ofmsft": served("ofmsft", 1,
			smallOFMSFT),
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if !drawn.Today(t, i, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			q, servers := 4, 0
			if !strings.Contains(name, "ed") { // over clients
				q, servers = 6, 1
			}
			if name == "gfml" {
				servers = 2
			}
			l := newTestNetwork(t, q, 40)
			if servers > 0 {
				l.streams(servers, 60)
			}
			if name == "ofmsft" {
				l.networks(3)
			}
			var over atomic.Bool
			ended := make(chan string, 100) // told once a party's folder is in order
			for i := range l.told {
				l.watch(i, func(e jobs.Event) {
					if e.Kind == jobs.EventDone {
						ended <- e.Job
					}
					if over.Load() && (strings.Contains(e.Text, "starts") || e.Kind == jobs.EventProgress) {
						t.Errorf("%s, once the job is done: %s %s", l.names[i], e.Text, e.Step)
					}
				})
			}
			l.startAll()
			_, h, err := l.propose(all[name](l))
			must(t, err)
			for there := 0; there < q; {
				if <-ended == h.String() {
					there++
				}
			}
			over.Store(true)
			a := &repeater{l}
			before := a.kept(h)
			a.again(h)
			if a.kept(h) != before {
				t.Error("what the parties keep of the job has changed")
			}
		})
	}
}
