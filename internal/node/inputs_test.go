package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// lateEnds holds back from one member how jobs end: nobody can tell it, and it can ask nobody, until it is released.
type lateEnds struct {
	victim keys.ID

	mu       sync.Mutex
	released bool
}

// hold has the ends of the jobs from now on held back; release lets them through.
func (o *lateEnds) hold()    { o.set(false) }
func (o *lateEnds) release() { o.set(true) }

func (o *lateEnds) set(released bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.released = released
}

// lateLine is a member's transport under lateEnds.
type lateLine struct {
	*testnet.Transport
	late *lateEnds
}

// Call implements protocol.Transport.
func (t lateLine) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	t.late.mu.Lock()
	released := t.late.released
	t.late.mu.Unlock()
	asks := t.Self() == t.late.victim && slices.Contains([]string{methodStanding, methodPart, methodSign}, method)
	if !released && (to == t.late.victim && method == methodEnd || asks) {
		return nil, &protocol.GoneError{Peer: to, Reason: "the line is down"}
	}
	return t.Transport.Call(ctx, to, method, request)
}

// newLateNetwork is a federation whose last member hears of ends late. They all come at once until hold is called.
func newLateNetwork(t *testing.T, q, rows int) (*testNetwork, *lateEnds) {
	l := newTestNetwork(t, q, rows)
	o := &lateEnds{victim: l.keys[q-1].ID(), released: true}
	l.wrap = func(_ int, transport *testnet.Transport) protocol.Transport { return lateLine{transport, o} }
	return l, o
}

// late ends a job everywhere but at the last member, which will not ask how it stands for an hour unless it is hurried.
func (o *lateEnds) late(l *testNetwork, text []byte) keys.Hash {
	l.t.Helper()
	o.hold()
	r, h, err := l.propose(text)
	if err != nil {
		l.t.Fatal(err)
	}
	last := len(l.names) - 1
	s, ok := l.nodes[last].job(h)
	if !ok || s.Ending() != nil || len(r.Away) != 1 || r.Away[0] != l.names[last] {
		l.t.Fatalf("%s knows of the end, away are %v", l.names[last], r.Away)
	}
	s.looks.mu.Lock()
	s.looks.asked, s.looks.gap = time.Now(), time.Hour
	s.looks.mu.Unlock()
	return h
}

// awaited prepares a job at a node, and lets ends through when it is told that it waits for one by these words.
func (o *lateEnds) awaited(l *testNetwork, at int, text []byte, words string) *contract.Contract {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	told := false
	c, err := l.nodes[at].Prepare(ctx, text, func(e jobs.Event) {
		if e.Kind == jobs.EventWaiting && strings.Contains(e.Text, words) {
			told = true
			o.release()
		}
	})
	if err != nil {
		l.t.Fatalf("a job on one that is done at its proposer: %v", err)
	}
	if !told {
		l.t.Errorf("nobody was told %q", words)
	}
	return c
}

// TestEndsTravel: a job that is proposed the moment another is done, on which it builds, waits where that end has yet
// to come, and is not refused: a training on an alignment, and a prediction by a model, through each of their nodes.
func TestEndsTravel(t *testing.T) {
	l, o := newLateNetwork(t, 3, 1)
	customers{50, 3}.write(l, same)
	l.startAll()
	for i, n := range l.nodes { // a telephone is no feature
		for name, spec := range n.tables.Specs {
			spec.Options.Ignore = []string{"phone"}
			l.nodes[i].tables.Specs[name] = spec
		}
	}
	// behind are the words at a proposer whose partner is behind, here those at one that is behind itself.
	const behind = "waiting for telco: the end of job %s, which this one builds on, has not come to it yet"
	const here = "waiting for the end of job %s: this party's part is stored"

	o.late(l, l.align("customers", "train", "min_rows = 5"))
	training := l.job("train", "rows = \"customers\"", activeBank+"loss = \"square\"\nfeatures = 8")
	o.awaited(l, 0, training, fmt.Sprintf(behind, "customers"))

	o.late(l, l.align("people", "train", "min_rows = 5"))
	training = l.job("train", "rows = \"people\"", activeBank+"loss = \"square\"\nfeatures = 8")
	o.awaited(l, 2, training, fmt.Sprintf(here, "people"))

	model := o.late(l, training)
	scores := l.job("predict", fmt.Sprintf("table = \"train\"\nrows = \"people\"\nmodel = %q\nopen_to = \"bank\"", model), "")
	o.awaited(l, 0, scores, fmt.Sprintf(behind, "trial"))

	model = o.late(l, training)
	scores = l.job("predict", fmt.Sprintf("table = \"train\"\nrows = \"people\"\nmodel = %q\nopen_to = \"bank\"", model), "")
	c := o.awaited(l, 2, scores, fmt.Sprintf(here, "trial"))
	if _, err := l.nodes[2].Launch(t.Context(), c.Hash(), nil); err != nil {
		t.Error(err)
	}
}

// TestEndsAreNotToldToOutsiders: who took no part in a job hears the same of one that is ending as of one that is not
// there.
func TestEndsAreNotToldToOutsiders(t *testing.T) {
	l, o := newLateNetwork(t, 4, 40)
	l.startAll()
	inside := func(text []byte) []byte {
		return []byte(strings.Replace(string(text), `, "insurer"`, "", 1))
	}
	model := o.late(l, inside(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 8")))
	describe := func(from int, model string) error {
		job, err := contract.ParseJob(l.job("predict", fmt.Sprintf("table = \"test\"\nmodel = %q\nopen_to = \"bank\"", model),
			""))
		must(t, err)
		job.Charter, job.Proposer, job.Nonce = l.charter.Digest().String(), l.names[from], strings.Repeat("7", 32)
		must(t, job.SetExpiry(time.Now()))
		text, err := job.Text()
		must(t, err)
		_, err = l.nodes[3].serveDescribe(l.keys[from].ID(), describeRequest{Job: string(text)})
		return err
	}
	code := func(err error) fault.Code {
		var f *faults.Error
		if !errors.As(err, &f) {
			t.Fatalf("the answer is %v", err)
		}
		return f.Code
	}
	if got := code(describe(0, model.String())); got != fault.CodeEnding {
		t.Errorf("a party hears %s, want %s", got, fault.CodeEnding)
	}
	if ending, absent := code(describe(1, model.String())), code(describe(1, strings.Repeat("ab", 32))); ending != absent {
		t.Errorf("an outsider hears %s of a training that is ending, %s of none", ending, absent)
	}
}
