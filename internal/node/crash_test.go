package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
)

// errKilled is what the writes of a killed process come to.
var errKilled = errors.New("the process was killed at this write")

// crash kills a node at one of its writes: it is done or not, and nothing that follows is.
type crash struct {
	at     int  // which write, from 1; 0: none
	stored bool // it is done
	mu     sync.Mutex
	writes int
	paths  []string
	killed chan struct{} // closed at the write
}

// fault is the node's DiskFault.
func (c *crash) fault(path string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	c.paths = append(c.paths, filepath.Base(path))
	switch {
	case c.at == 0 || c.writes < c.at:
		return false, nil
	case c.writes == c.at:
		close(c.killed)
		return c.stored, errKilled
	}
	return false, errKilled
}

// crashCase is a federation in which one node is killed at a write.
type crashCase struct {
	victim int
	byHand bool // every party consents by hand
	sealed bool
	align  bool   // an alignment, not a training
	text   string // parameters of the job
}

// run runs the job with a kill at a write, starts the victim again, and wants the job done at all, or unknown to all
// but the proposer. It returns how many writes the victim made.
func (c crashCase) run(t *testing.T, at int, stored bool) int {
	t.Helper()
	l := newTestNetwork(t, 3, 60)
	if c.byHand {
		l.policy = nil
	}
	k := &crash{at: at, stored: stored, killed: make(chan struct{})}
	var started atomic.Bool // the ledger's key is written before
	l.faults[c.victim] = func(path string) (bool, error) {
		if !started.Load() {
			return true, nil
		}
		return k.fault(path)
	}
	if c.align {
		customers{40, 3}.write(l, same)
	}
	l.startAll()
	started.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	head := ""
	if c.sealed {
		head = "privacy = \"sealed\""
	}
	text := l.job("train", head, c.text)
	if c.align {
		text = l.align("customers", "train", c.text)
	}
	ended := make(chan error, 1)
	go func() {
		contract, err := l.nodes[0].Prepare(l.lives[0], text, nil)
		if err == nil {
			_, err = l.nodes[0].Launch(l.lives[0], contract.Hash(), nil)
		}
		ended <- err
	}()
	if c.byHand {
		for i := 1; i < len(l.names); i++ {
			go l.consentOf(ctx, i, i == c.victim)
		}
	}
	select {
	case <-k.killed:
		l.net.Kill(l.keys[c.victim].ID())
		l.stops[c.victim]()
		if c.victim == 0 {
			<-ended
		} else {
			defer func() { l.stops[0](); <-ended }()
		}
		l.faults[c.victim] = nil
		l.start(c.victim)
		l.mustNotSignUnasked(c)
		if c.byHand && c.victim > 0 {
			go l.consentOf(ctx, c.victim, false)
		}
	case err := <-ended:
		if err != nil {
			t.Fatalf("the job ended with %v", err)
		}
	case <-ctx.Done():
		t.Fatal("the job did not come to the kill")
	}
	l.wantOneEnd(ctx, c)
	return k.writes
}

// consentOf consents at a party to whatever is proposed there, once; with dies its node may be killed meanwhile.
func (l *testNetwork) consentOf(ctx context.Context, i int, dies bool) {
	n := l.nodes[i]
	for pause(ctx, time.Millisecond) == nil {
		for _, s := range n.openJobs() {
			if s.State() != job.Proposed {
				return
			}
			if _, err := n.Decide(Decision{Contract: s.Contract().Hash(), Yes: true}); err == nil || dies {
				return
			}
		}
	}
}

// mustNotSignUnasked checks that a node that has just started signs nothing that it has no record of consent for.
func (l *testNetwork) mustNotSignUnasked(c crashCase) {
	l.t.Helper()
	for _, s := range l.nodes[c.victim].openJobs() {
		r := s.Record()
		_, err := l.nodes[c.victim].signContract(s)
		if (err == nil) != (r.Consent != nil && r.State != job.Proposed) {
			l.t.Errorf("with the record %+v signing gives %v", r, err)
		}
		if r.Consent != nil && c.byHand && r.Consent.By != job.ByOwner {
			l.t.Errorf("consent is recorded by %q, want by the owner", r.Consent.By)
		}
	}
}

// wantOneEnd waits until the job is done at all. Where the proposer died before it had consented itself, nobody knows
// of the job but it, and it can be cancelled.
func (l *testNetwork) wantOneEnd(ctx context.Context, c crashCase) {
	l.t.Helper()
	known := l.nodes[0].Jobs()
	if c.victim == 0 && (len(known) == 0 || known[0].State == job.Proposed || known[0].State == job.Cancelled) {
		for i := 1; i < len(l.names); i++ {
			if len(l.nodes[i].Jobs()) > 0 {
				l.t.Errorf("%s knows a job to which its proposer has not consented", l.names[i])
			}
		}
		for _, s := range l.nodes[0].allJobs() {
			l.awaitState(ctx, 0, s.Contract().Hash(), job.Cancelled)
		}
		return
	}
	for i, n := range l.nodes {
		for {
			known := n.Jobs()
			if len(known) == 1 && known[0].State == job.Done {
				break
			}
			if pause(ctx, 5*time.Millisecond) != nil {
				l.t.Fatalf("%s stands at %+v", l.names[i], known)
			}
		}
	}
	for i, n := range l.nodes {
		for _, s := range n.allJobs() {
			h := s.Contract().Hash()
			if c.align {
				l.wantAlignment(i, h)
			} else if _, err := n.columns.Model(h.String()); err != nil {
				l.t.Errorf("%s: %v", l.names[i], err)
			}
			first, ok := l.nodes[0].job(h)
			if !ok || s.Ending().Hash() != first.Ending().Hash() {
				l.t.Errorf("%s and %s stand by different ends", l.names[i], l.names[0])
			}
		}
	}
}

// wantAlignment wants a party's alignment to be that of the first, and to have the 28 people whom all of the 40 have.
func (l *testNetwork) wantAlignment(i int, h keys.Hash) {
	l.t.Helper()
	var all []*alignment.Alignment
	for _, at := range []int{0, i} {
		folder, ok := l.nodes[at].columns.Folder(h)
		if !ok {
			l.t.Fatalf("%s has no folder of the job", l.names[at])
		}
		data, err := folder.Load(jobs.AlignmentFile)
		if err != nil {
			l.t.Fatalf("%s: %v", l.names[at], err)
		}
		a, err := alignment.Decode(data)
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, a)
	}
	if a, b := all[0], all[1]; a.Digest != b.Digest || a.Rows() != 28 || b.Rows() != 28 {
		l.t.Errorf("%s has %d rows of digest %s, %s %d of %s", l.names[0], a.Rows(), a.Digest, l.names[i], b.Rows(),
			b.Digest)
	}
}

// smallCrash and smallSealedCrash are trainings with checkpoints, and short.
const (
	smallCrash       = activeBank + "loss = \"logistic\"\nfeatures = 16\niterations = 12\nlambda = 0.01"
	smallSealedCrash = "active = [\"bank\"]\nlabel = \"y\"\nloss = \"square\"\nfeatures = 8\niterations = 8\nlambda = 0.1"
)

// killEverywhere kills the victim of a case at every eleventh of its writes, at every one if all cases are run, done
// and not done.
func killEverywhere(t *testing.T, c crashCase) {
	step := 11
	if drawn.All {
		step = 1
	}
	writes := c.run(t, 0, false)
	if writes < 8 {
		t.Fatalf("the victim made %d writes in the whole job", writes)
	}
	for at := 1; at <= writes; at += step {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, stored %v", at, stored), func(t *testing.T) {
				t.Parallel()
				c.run(t, at, stored)
			})
		}
	}
}

func TestKillsAtWritesOfTheProposer(t *testing.T) {
	killEverywhere(t, crashCase{victim: 0, text: smallCrash})
}

func TestKillsAtWritesOfAPartner(t *testing.T) {
	killEverywhere(t, crashCase{victim: 2, text: smallCrash})
}

func TestKillsAtWritesOfAPartnerWhoConsentsByHand(t *testing.T) {
	killEverywhere(t, crashCase{victim: 1, byHand: true, text: smallCrash})
}

// helperAlignment has the third party count.
const helperAlignment = "mode = \"helper\"\nhelper = \"telco\""

// TestKillsAtWritesOfAnAlignment kills asker, keeper and the third party at writes, among which are the digests of all
// that came: the alignment is the same at all in the end.
func TestKillsAtWritesOfAnAlignment(t *testing.T) {
	for victim, text := range []string{helperAlignment, "buckets = 2", helperAlignment} {
		killEverywhere(t, crashCase{victim: victim, align: true, text: text})
	}
}
