package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// awaitState returns when the job is in a state at party i.
func (l *testNetwork) awaitState(ctx context.Context, i int, h keys.Hash, want job.State) job.Record {
	l.t.Helper()
	for {
		s, ok := l.nodes[i].job(h)
		if ok && s.State() == want {
			return s.Record()
		}
		if pause(ctx, 2*time.Millisecond) != nil {
			if !ok {
				l.t.Fatalf("%s does not know the job", l.names[i])
			}
			l.t.Fatalf("%s stands at %+v, want %s", l.names[i], s.Record(), want)
		}
	}
}

// minute is a context for a test that waits.
func minute(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestAnyPartyEndsAJob, proposed or running, for all and for good.
func TestAnyPartyEndsAJob(t *testing.T) {
	for by, name := range []string{"bank", "insurer", "telco"} {
		t.Run(name+", while consent is awaited", func(t *testing.T) {
			ctx := minute(t)
			l := newTestNetwork(t, 3, 50)
			l.policy = nil
			l.startAll()
			c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 16"), nil)
			must(t, err)
			launched := make(chan error, 1)
			go func() {
				_, err := l.nodes[0].Launch(ctx, c.Hash(), nil)
				launched <- err
			}()
			l.awaitState(ctx, 1, c.Hash(), job.Proposed) // the others hear of it one after the other
			if _, err := l.nodes[1].Decide(Decision{Contract: c.Hash(), Yes: true}); err != nil && by != 1 {
				t.Fatal(err)
			}
			l.awaitState(ctx, 2, c.Hash(), job.Proposed)
			must(t, l.nodes[by].Cancel(c.Hash(), "another\ttable"))
			want := job.Cancelled
			if by == 2 {
				want = job.Refused
			}
			for i := range l.nodes {
				r := l.awaitState(ctx, i, c.Hash(), want)
				if !strings.HasSuffix(r.Reason, "another table") || (i != by) != strings.HasPrefix(r.Reason, name+": ") {
					t.Errorf("%s: the reason is %q", l.names[i], r.Reason)
				}
			}
			if err := <-launched; err == nil || !strings.Contains(err.Error(), name) ||
				!strings.Contains(err.Error(), "another table") {
				t.Errorf("the proposer's owner is told %v", err)
			}
			l.wantFinal(c.Hash())
		})
		t.Run(name+", while a session is on", func(t *testing.T) {
			ctx := minute(t)
			l := newTestNetwork(t, 3, 400)
			on := make(chan struct{}, 100)
			l.watch(0, func(e jobs.Event) {
				if e.Kind == jobs.EventProgress {
					select {
					case on <- struct{}{}:
					default:
					}
				}
			})
			l.startAll()
			c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"loss = \"logistic\"\nfeatures = "+
				"4096\niterations = 200"), nil)
			must(t, err)
			launched := make(chan error, 1)
			go func() {
				_, err := l.nodes[0].Launch(ctx, c.Hash(), nil)
				launched <- err
			}()
			<-on
			must(t, l.nodes[by].Cancel(c.Hash(), "enough"))
			for i := range l.nodes {
				l.awaitState(ctx, i, c.Hash(), job.Cancelled)
			}
			if err := <-launched; err == nil || err.Error() != name+` cancelled job "trial": enough` {
				t.Errorf("the proposer's owner is told %v", err)
			}
			l.wantFinal(c.Hash())
		})
	}
}

// wantFinal checks that an ended job cannot be started, approved or cancelled, and stands by one end everywhere, also
// after a restart.
func (l *testNetwork) wantFinal(h keys.Hash) {
	l.t.Helper()
	s, _ := l.nodes[0].job(h)
	for i := range l.nodes {
		other, _ := l.nodes[i].job(h)
		if other.Ending().Hash() != s.Ending().Hash() {
			l.t.Errorf("%s stands by another end than %s", l.names[i], l.names[0])
		}
		f, _ := other.InForce()
		if err := l.nodes[i].begin(other, f, 100, 0); err == nil {
			l.t.Errorf("%s opens a session of a job that has ended", l.names[i])
		}
		if _, err := l.nodes[i].Decide(Decision{Contract: h, Yes: true}); err == nil {
			l.t.Errorf("%s consents to a job that has ended", l.names[i])
		}
		if err := l.nodes[i].Cancel(h, ""); err == nil || !strings.HasSuffix(err.Error(), "nothing is left to cancel") {
			l.t.Errorf("%s cancels a job that has ended: %v", l.names[i], err)
		}
	}
	before := s.Record()
	l.stops[0]()
	l.start(0)
	if s, ok := l.nodes[0].job(h); !ok || s.State() != before.State || s.Record().Reason != before.Reason ||
		s.Ending() == nil {
		l.t.Errorf("after a restart the job stands at %+v, before at %+v", s.Record(), before)
	}
}

// TestAMemberThatWasAwayLearnsOfTheEnd, also from another than whoever ended the job.
func TestAMemberThatWasAwayLearnsOfTheEnd(t *testing.T) {
	ctx := minute(t)
	l := newTestNetwork(t, 3, 50)
	l.policy = nil
	l.startAll()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 16"), nil)
	must(t, err)
	go l.nodes[0].Launch(ctx, c.Hash(), nil)
	l.awaitState(ctx, 1, c.Hash(), job.Proposed)
	l.awaitState(ctx, 2, c.Hash(), job.Proposed)
	l.net.Kill(l.keys[2].ID())
	l.stops[2]()
	must(t, l.nodes[1].Cancel(c.Hash(), "no"))
	l.awaitState(ctx, 0, c.Hash(), job.Refused)
	l.net.Kill(l.keys[1].ID())
	l.stops[1]()
	l.start(2)
	r := l.awaitState(ctx, 2, c.Hash(), job.Refused)
	if r.Reason != "insurer: no" {
		t.Errorf("the telco is told %q", r.Reason)
	}
}

// TestProposalsExpire at whoever has them, and are gone for the proposer too.
func TestProposalsExpire(t *testing.T) {
	ctx := minute(t)
	l := newTestNetwork(t, 3, 50)
	l.policy = nil
	now := time.Now()
	l.now = func() time.Time { return now }
	l.startAll()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "expires = \"72h\"", activeBank+"features = 16"), nil)
	must(t, err)
	launched := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].Launch(l.lives[0], c.Hash(), nil)
		launched <- err
	}()
	l.awaitState(ctx, 1, c.Hash(), job.Proposed)
	if _, err := l.nodes[1].Decide(Decision{Contract: c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	l.awaitState(ctx, 2, c.Hash(), job.Proposed)
	for i := range l.nodes { // the nodes stop, and start three days later
		l.net.Kill(l.keys[i].ID())
		l.stops[i]()
	}
	if err := <-launched; err == nil {
		t.Error("the command that proposed it ends well")
	}
	now = now.Add(73 * time.Hour)
	for i := range l.nodes {
		l.start(i)
	}
	for i := range l.nodes {
		l.awaitState(ctx, i, c.Hash(), job.Expired)
	}
}

// TestDoneIsDone: a coordinator that has missed the end and starts its job again is told the end, takes it, and nothing
// is computed anew.
func TestDoneIsDone(t *testing.T) {
	ctx := minute(t)
	l := newTestNetwork(t, 3, 60)
	l.startAll()
	_, h, err := l.propose(l.job("train", "", activeBank+"features = 16"))
	must(t, err)
	l.awaitDone(ctx, h)
	before := l.models(h)
	l.net.Kill(l.keys[0].ID())
	l.stops[0]()
	l.forgetEnd(0, h)
	var opened []string
	l.watch(0, func(e jobs.Event) { opened = append(opened, e.Text) })
	l.start(0)
	l.awaitState(ctx, 0, h, job.Done)
	l.stops[0]()
	for _, text := range opened {
		if strings.Contains(text, "starts") {
			t.Errorf("a job that was done elsewhere says %q", text)
		}
	}
	for i, now := range l.models(h) {
		if string(now) != string(before[i]) {
			t.Errorf("the model part of %s changed", l.names[i])
		}
	}
	l.start(0)
	if _, err := l.nodes[0].columns.Model(h.String()); err != nil {
		t.Errorf("the coordinator's part of the model: %v", err)
	}
	// A coordinator that insists is told so by every party.
	s, _ := l.nodes[0].job(h)
	for i := 1; i < 3; i++ {
		answer, err := l.nodes[i].serveStart(l.keys[0].ID(), startRequest{Contract: string(s.Text()), Number: 9})
		if err != nil || string(answer.Ending) != string(s.Ending().Text()) {
			t.Errorf("%s answers a start of a job that is done by %v and %v", l.names[i], answer, err)
		}
	}
}

// forgetEnd puts a party's disk back to the moment before it stored the end of a job.
func (l *testNetwork) forgetEnd(i int, h keys.Hash) {
	l.t.Helper()
	v, err := vault.Open(filepath.Dir(l.jobFile(i, h, job.RecordFile)), vault.Options{Owner: h})
	if err != nil {
		l.t.Fatal(err)
	}
	defer v.Close()
	model, err := v.Load(jobs.ModelFile)
	if err == nil {
		err = v.Save(job.Draft(1), model)
	}
	status, e := v.Load(job.RecordFile)
	if err != nil || e != nil {
		l.t.Fatal(err, e)
	}
	status = []byte(strings.Replace(string(status), `state = "done"`, `state = "running"`, 1))
	for _, err := range []error{v.Save(job.RecordFile, status), v.Remove(job.EndingFile), v.Remove(jobs.ModelFile)} {
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestNobodyEndsAJobInAnothersName: a party that changes its own node's code can end a job in its own name only.
func TestNobodyEndsAJobInAnothersName(t *testing.T) {
	ctx := minute(t)
	l := newTestNetwork(t, 3, 50)
	l.policy = nil
	l.startAll()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 16"), nil)
	must(t, err)
	go l.nodes[0].Launch(ctx, c.Hash(), nil)
	l.awaitState(ctx, 2, c.Hash(), job.Proposed)
	forged := func(e contract.Ending) []byte {
		made, err := contract.NewEnding(c, e)
		must(t, err)
		made.Sign(l.keys[1])
		return made.Text()
	}
	parts := []contract.PartDigest{{Party: "bank"}, {Party: "insurer"}, {Party: "telco"}}
	for _, text := range [][]byte{
		forged(contract.Ending{Outcome: contract.OutcomeCancelled, By: "bank"}),
		forged(contract.Ending{Outcome: contract.OutcomeDone, Session: 1, Parts: parts}),
	} {
		_, err := l.nodes[2].serveEnd(l.keys[1].ID(), endingRequest{Contract: c.Hash(), Ending: text})
		if err == nil || !strings.Contains(err.Error(), "is not in force") {
			t.Errorf("the telco takes a forged end: %v", err)
		}
	}
	if s, _ := l.nodes[2].job(c.Hash()); s.Ending() != nil {
		t.Error("the job ended by a forged word")
	}
	// Nor does the telco sign that a job is done that it has not run.
	_, err = l.nodes[2].serveSign(l.keys[1].ID(), endingRequest{Contract: c.Hash(),
		Ending: forged(contract.Ending{Outcome: contract.OutcomeDone, Session: 1, Parts: parts})})
	if err == nil {
		t.Error("the telco signs the end of a job that it has not run")
	}
	// Nor does a member learn of a job that it is no party of.
	stranger, err := keys.GenerateKey()
	must(t, err)
	if _, err := l.nodes[2].serveStanding(stranger.ID(), standingRequest{c.Hash()}); err == nil ||
		err.Error() != "has no job with contract "+c.Hash().Short() {
		t.Errorf("a stranger is told %v", err)
	}
}

// TestNoSignatureWithoutARecordOfConsent damages the record of a job in every way: the node signs nothing until
// somebody has consented again, and the job then goes on.
func TestNoSignatureWithoutARecordOfConsent(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 100) },
		"flipped": func(path string) error { return flipBit(path, 150) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := minute(t)
			l := newTestNetwork(t, 3, 50)
			l.policy = nil
			l.startAll()
			c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 16"), nil)
			must(t, err)
			h := c.Hash()
			launched := make(chan error, 1)
			go func() {
				_, err := l.nodes[0].Launch(ctx, h, nil)
				launched <- err
			}()
			l.awaitState(ctx, 1, h, job.Proposed)
			l.awaitState(ctx, 2, h, job.Proposed)
			l.net.Kill(l.keys[2].ID())
			l.stops[2]()
			must(t, damage(l.jobFile(2, h, job.RecordFile)))
			l.start(2)
			s, ok := l.nodes[2].job(h)
			if !ok || s.State() != job.Proposed || !strings.Contains(s.Record().Reason, "damaged") {
				t.Fatalf("the job stands at %+v", s.Record())
			}
			for _, request := range []any{consentRequest{Contract: string(s.Text())},
				startRequest{Contract: string(s.Text()), Number: 1}} {
				method := methodConsent
				if _, ok := request.(startRequest); ok {
					method = methodStart
				}
				data, err := cbor.Marshal(request)
				must(t, err)
				answer, fault := l.nodes[2].handle(ctx, l.keys[0].ID(), method, data)
				var consent consentResponse
				if answer != nil {
					err = cbor.Unmarshal(answer, &consent)
				}
				if err != nil || consent.Signature != nil || method == methodStart && fault == nil {
					t.Errorf("%s is answered by %+v, %+v (%v)", method, consent, fault, err)
				}
			}
			for i := 1; i < 3; i++ {
				if _, err := l.nodes[i].Decide(Decision{Contract: h, Yes: true}); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-launched; err != nil {
				t.Error(err)
			}
			l.awaitDone(ctx, h)
		})
	}
}

// flipBit changes one bit of a file.
func flipBit(path string, at int64) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data[at%int64(len(data))] ^= 1
	return os.WriteFile(path, data, 0o600)
}

// TestADamagedModelPartIsNamedBeforeARowIsScored, whoever has it.
func TestADamagedModelPartIsNamedBeforeARowIsScored(t *testing.T) {
	ctx := minute(t)
	l := newTestNetwork(t, 3, 60)
	l.startAll()
	_, h, err := l.propose(l.job("train", "privacy = \"sealed\"",
		"active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\niterations = 8\nlambda = 0.1"))
	must(t, err)
	l.awaitDone(ctx, h)
	_, earlier, err := l.propose(l.job("train", "privacy = \"sealed\"",
		"active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\niterations = 8\nlambda = 0.1"))
	must(t, err)
	head := "privacy = \"sealed\"\ntable = \"test\"\nopen_to = \"bank\"\nmodel = \"" + h.String() + "\""
	for i, name := range l.names {
		path := l.jobFile(i, h, jobs.ModelFile)
		right, err := os.ReadFile(path)
		must(t, err)
		other, err := vault.ReadFile(l.jobFile(i, earlier, jobs.ModelFile), earlier)
		must(t, err)
		for what, bytes := range map[string][]byte{
			"a flipped bit": func() []byte { b := append([]byte{}, right...); b[len(b)/2] ^= 4; return b }(),
			"empty":         {},
			// A part that is whole, in an envelope that fits: only what all signed for tells it from the right one.
			"another training's": vault.Envelope(h, jobs.ModelFile, other),
		} {
			must(t, os.WriteFile(path, bytes, 0o600))
			_, _, err := l.propose(l.job("predict", head, ""))
			if err == nil || !strings.Contains(err.Error(), "damaged") || i == 0 &&
				!strings.Contains(err.Error(), jobs.ModelFile) ||
				i > 0 && (!strings.HasPrefix(err.Error(), name+": one of its files is damaged (") ||
					!strings.Contains(l.underReference(i, err), jobs.ModelFile)) {
				t.Errorf("%s at %s: the prediction ends with %v", what, name, err)
			}
		}
		must(t, os.WriteFile(path, right, 0o600))
	}
	if _, _, err := l.propose(l.job("predict", head, "")); err != nil {
		t.Errorf("with the right parts back: %v", err)
	}
}

// comparingTransport is a transport that knows how far other clocks are ahead.
type comparingTransport struct {
	protocol.Transport
	ahead time.Duration
	known bool
}

// ClockDifference implements clockComparer.
func (c comparingTransport) ClockDifference(keys.ID) (time.Duration, bool) { return c.ahead, c.known }

// TestAWrongClockEndsNobodysProposals: a proposal is over when its proposer's clock says so, too.
func TestAWrongClockEndsNobodysProposals(t *testing.T) {
	ctx := minute(t)
	l := newTestNetwork(t, 3, 20)
	l.policy = nil
	l.startAll()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "expires = \"72h\"", activeBank+"features = 16"), nil)
	must(t, err)
	day := 24 * time.Hour
	for _, try := range []struct {
		name    string
		party   int
		own     time.Duration // how far this node's clock is off
		ahead   time.Duration // how far the proposer's is ahead of it
		known   bool
		started time.Duration // how long ago this node started
		want    bool
	}{
		{"both clocks right, early", 1, 0, 0, true, time.Hour, false},
		{"both clocks right, late", 1, 4 * day, 0, true, time.Hour, true},
		{"this one a month ahead", 1, 30 * day, -30 * day, true, time.Hour, false},
		{"a month ahead, and just started", 1, 30 * day, 0, false, time.Second, false},
		{"the proposer gone for long", 1, 4 * day, 0, false, time.Hour, true},
		{"this one a month behind", 1, -30 * day, 34 * day, true, time.Hour, false},
		{"the proposer itself", 0, 4 * day, 0, false, time.Second, true},
	} {
		config := *l.nodes[try.party].config
		config.Transport = comparingTransport{config.Transport, try.ahead, try.known}
		config.Now = func() time.Time { return time.Now().Add(try.own) }
		n := newParts(&config)
		n.life.started = time.Now().Add(-try.started)
		s := newJobState(job.New(nil, "", n.jobConfig(c), c, job.Record{}), nil)
		if got := n.expired(s); got != try.want {
			t.Errorf("%s: expired is %v, want %v", try.name, got, try.want)
		}
	}
}

// TestAPartThatIsDamagedBeforeAllSignIsMadeAnew by another session.
func TestAPartThatIsDamagedBeforeAllSignIsMadeAnew(t *testing.T) {
	for party, name := range []string{"bank", "insurer", "telco"} {
		t.Run(name, func(t *testing.T) {
			ctx := minute(t)
			l := newTestNetwork(t, 3, 60)
			l.startAll()
			_, h, err := l.propose(l.job("train", "", activeBank+"features = 16"))
			must(t, err)
			l.awaitDone(ctx, h)
			before := l.models(h)
			for i := range l.nodes { // as if nobody had heard of the end
				l.net.Kill(l.keys[i].ID())
				l.stops[i]()
				l.forgetEnd(i, h)
			}
			must(t, flipBit(l.jobFile(party, h, job.Draft(1)), 200))
			for i := range l.nodes {
				l.start(i)
			}
			l.awaitDone(ctx, h)
			for i, now := range l.models(h) {
				if string(now) != string(before[i]) {
					t.Errorf("the model part of %s is another", l.names[i])
				}
			}
			if n := l.sessions(h); n < 2 {
				t.Errorf("%d session, want another one for the damaged part", n)
			}
		})
	}
}

// TestAListenerMayAct: while the owner's listener is told that a part was set aside, nothing holds the job.
func TestAListenerMayAct(t *testing.T) {
	ctx := minute(t)
	l := newTestNetwork(t, 3, 60)
	l.startAll()
	_, h, err := l.propose(l.job("train", "", activeBank+"features = 16"))
	must(t, err)
	l.awaitDone(ctx, h)
	for i := range l.nodes {
		l.stops[i]()
	}
	l.forgetEnd(1, h)
	must(t, flipBit(l.jobFile(1, h, job.Draft(1)), 200))
	started, said := make(chan bool), make(chan error, 1)
	l.watch(1, func(e jobs.Event) {
		if strings.Contains(e.Text, "set aside") {
			<-started
			s, _ := l.nodes[1].job(h)
			said <- l.nodes[1].remark(s, "its owner looks at it")
		}
	})
	l.start(1) // and nobody else: it looks at its part at once, to settle the job
	close(started)
	select {
	case err := <-said:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("who is told of damage waits for the job")
	}
}
