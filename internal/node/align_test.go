package node

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// renamed gives one row of a party's table another id.
func (l *testNetwork) renamed(party int, name string) {
	l.t.Helper()
	text, err := os.ReadFile(l.tablePath(party, name))
	if err != nil {
		l.t.Fatal(err)
	}
	l.writeTable(party, name, strings.Replace(string(text), "r00007,", "r99999,", 1))
}

// TestRowsOfOtherPeopleEndTheJobBeforeAnythingLeaves: as many rows, but one of another person. All parties say so, the
// job has failed at all, and nothing of the features was sent.
func TestRowsOfOtherPeopleEndTheJobBeforeAnythingLeaves(t *testing.T) {
	for _, mode := range []string{"", "privacy = \"published\"", "aggregation = \"he\"", "privacy = \"sealed\""} {
		t.Run(mode, func(t *testing.T) {
			l := newTestNetwork(t, 4, 50)
			l.renamed(3, "train")
			l.startAll()
			var taps []*testnet.Tap
			for _, k := range l.keys {
				taps = append(taps, l.net.Tap(k.ID()))
			}
			_, h, err := l.propose(l.job("train", mode, activeBank+"features = 16"))
			if err == nil || !strings.Contains(err.Error(),
				"nothing was computed: find the common ones with hanse align") {
				t.Fatalf("error is %v", err)
			}
			if !strings.Contains(err.Error(), "retailer") {
				t.Errorf("error is %v, want it to name retailer", err)
			}
			for i, n := range l.nodes {
				s, _ := n.job(h)
				if err := waitFinal(t, s); err != nil {
					t.Errorf("%s: %v", l.names[i], err)
				}
			}
			for _, tap := range taps {
				for _, f := range tap.Frames() {
					switch f.Kind() {
					case contract.KindSessionKey, contract.KindPast, contract.KindStates, contract.KindCountersign,
						contract.KindRowset, contract.KindAbort, contract.KindShared, "he-key share", "he-key":
					default:
						t.Errorf("%s was sent", f.Kind())
					}
				}
			}
		})
	}
}

// waitFinal waits until a job has failed at a node.
func waitFinal(t *testing.T, s *jobState) error {
	for range 2000 {
		if r := s.Record(); r.State.Final() {
			if r.State != job.Failed {
				return fmt.Errorf("the job is %s", r.State)
			}
			return nil
		}
		if err := pause(t.Context(), retryEvery/30); err != nil {
			return err
		}
	}
	return errors.New("the job has no end")
}

// TestTheGuesserConfirmsNothing: a member that knows the whole list of ids asks for it in the old way, looks at all
// that it is told before consent and in the contract, and at every byte that two others exchange in a session. Nothing
// in it is what it can compute of its guess.
func TestTheGuesserConfirmsNothing(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	text := l.job("train", "", activeBank+"features = 16\nsigma = 1.0")
	job, _, err := l.nodes[2].complete(text) // telco is the guesser
	must(t, err)
	proposed, err := job.Text()
	must(t, err)
	telco := l.nodes[2].config.Transport
	ask := func(method string, request any) []byte {
		data, err := cbor.Marshal(request)
		must(t, err)
		answer, err := telco.Call(context.Background(), l.keys[0].ID(), method, data)
		must(t, err)
		return answer
	}
	_, err = telco.Call(context.Background(), l.keys[0].ID(), "job/fingerprints", []byte{0xa0})
	if remote := new(protocol.RemoteError); !errors.As(err, &remote) || remote.Fault.Code != fault.CodeMethod {
		t.Errorf("bank answers %v", err)
	}
	seen := ask(methodDescribe, describeRequest{Job: string(proposed)})

	var between [][]byte
	taps := []*testnet.Tap{l.net.Tap(l.keys[0].ID()), l.net.Tap(l.keys[1].ID())}
	_, h, err := l.propose(text)
	must(t, err)
	s, _ := l.nodes[2].job(h)
	seen = append(seen, s.Text()...)
	for _, tap := range taps { // what bank and insurer sent each other
		for _, f := range tap.Frames() {
			if f.From == l.keys[0].ID() || f.From == l.keys[1].ID() {
				between = append(between, f.Data)
			}
		}
	}
	seen = append(seen, bytes.Join(between, nil)...)

	table, err := dataset.Read(l.tablePath(1, "train"), dataset.Options{})
	must(t, err)
	guess := table.IDDigest()
	digest := s.Contract().Hash()
	for name, digest := range map[string][]byte{
		"the digest":               guess[:],
		"under the contract":       mac(digest[:], guess[:]),
		"under nothing":            mac(nil, guess[:]),
		"under the old key":        mac(make([]byte, 32), guess[:]),
		"of the ids one by one":    mac(make([]byte, 32), []byte("r00007"))[:8],
		"of the ids, one by one":   sum([]byte("r00007"))[:8],
		"of the ids, end to end":   sum([]byte(strings.Join(table.IDs, ""))),
		"of the ids, line by line": sum([]byte(strings.Join(table.IDs, "\n") + "\n")),
		"an id":                    []byte("r00007"),
	} {
		if bytes.Contains(seen, digest) || bytes.Contains(seen, []byte(hex.EncodeToString(digest))) {
			t.Errorf("%s confirms the guess", name)
		}
	}
	if n := countKind(taps[0], contract.KindRowset); n != 3 {
		t.Errorf("bank received %d codes of row ids, want 3", n)
	}
	if len(between) == 0 || !bytes.Contains(seen, []byte("rows = 50")) {
		t.Error("the guesser has not seen what it should have")
	}
}

// countKind counts the frames of a kind.
func countKind(tap *testnet.Tap, kind string) (n int) {
	for _, f := range tap.Frames() {
		if f.Kind() == kind {
			n++
		}
	}
	return n
}

// mac is HMAC-SHA-256.
func mac(key, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(data)
	return h.Sum(nil)
}

// sum is SHA-256.
func sum(data []byte) []byte {
	h := sha256.Sum256(data)
	return h[:]
}

// TestAForgedRequestStopsBelowTheForger: an inner node of the tree has its subtree answer for another row than the
// receiver asked for. Whoever is below it stops before anything of that row has left it.
func TestAForgedRequestStopsBelowTheForger(t *testing.T) {
	l := newTestNetwork(t, 4, 60)
	l.startAll()
	_, model, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 16\nsigma = 1.0"))
	must(t, err)
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\nrequests = 5\n", model)
	c, err := l.nodes[0].Prepare(t.Context(), l.job("predict", head, ""), nil)
	must(t, err)
	plan := contract.PlanFor(contract.Tree, 4, 0)
	victim := -1
	for i, parent := range plan.Parent {
		if parent > 0 {
			victim = i
		}
	}
	id := func(i int) keys.ID { return l.keys[i].ID() }
	l.net.OnFrame(testnet.Forger{Party: id(plan.Parent[victim]), Kind: "request", Change: func(p []byte) []byte {
		p[len(p)-1] ^= 1
		return p
	}}.Deviate)
	var taps []*testnet.Tap
	for i := range l.keys {
		taps = append(taps, l.net.Tap(id(i)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // nobody ends a job that goes on
	defer cancel()
	ended := l.launched(ctx, 0, c.Hash())
	if _, err := l.nodes[0].ScoreRow(ctx, c.Hash(), "r00007"); err == nil || !strings.Contains(err.Error(), "(shared)") {
		t.Errorf("error is %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the job ends well")
	}
	for _, tap := range taps {
		for _, f := range tap.Frames() {
			if f.From == id(victim) && f.Kind() == "angles" {
				t.Error("the victim has sent its part of an angle")
			}
		}
	}
}
