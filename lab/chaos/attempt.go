package chaos

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/keys"
)

// attempt is one trial under way.
type attempt struct {
	lab    *lab
	kind   *kind
	scene  *scene
	usual  *usual
	seed   uint64
	draw   *rand.Rand
	victim string
	when   moment
	fault  string // what was done to the victim
	fed    *federation

	command  *localnet.Process
	killed   bool            // the proposer's node was
	after    bool            // the job under test is a prediction, and its training is done before
	contract string          // of the training that is done before, for a prediction
	before   *result         // of that training
	earlier  map[string]bool // contracts of jobs that were done before the one under test
	approver *approver
	relays   *relays
	copies   *copies
	began    time.Time
	damaged  []string // the name of the file that was damaged, and its folder's
	logged   int      // how long the victim's log was then
	mounted  string   // the victim's folder, when it is a disk of its own
	finish   []func() // what undoes the fault, whatever happens
}

// moment is when a fault strikes.
type moment struct {
	share  float64       // of the usual length after the beginning, unless change is set
	change int           // at the so many-th change of files of the victim's jobs,
	delay  time.Duration // and so long behind it
	told   string        // what it came to
}

// drawMoment draws a moment: of two, one is by the clock and one by changes of files.
func (a *attempt) drawMoment(changes int) moment {
	m := moment{share: a.draw.Float64(), delay: time.Duration(a.draw.Int64N(int64(3 * time.Millisecond)))}
	part := a.draw.Float64() // of changes, whose number is not always quite the same
	if clock := a.draw.IntN(2) == 0; !clock && changes > 0 {
		m.change = 1 + int(part*float64(changes))
	}
	return m
}

// newAttempt draws what a trial is about.
func newAttempt(l *lab, k *kind, seed uint64) (*attempt, error) {
	h := fnv.New64a()
	h.Write([]byte(k.name))
	a := &attempt{lab: l, kind: k, seed: seed, draw: rand.New(rand.NewPCG(seed, h.Sum64()))}
	s, err := l.scene(k.scenes[a.draw.IntN(len(k.scenes))])
	if err != nil {
		return nil, err
	}
	a.scene = s
	a.victim = s.job.Parties[a.draw.IntN(len(s.job.Parties))]
	a.after = k.prediction || k.either && a.draw.IntN(2) == 0 && s.online == nil
	return a, nil
}

// run carries the trial out in a folder and judges it.
func (a *attempt) run(ctx context.Context, dir string) (_ Result, err error) {
	a.began = time.Now()
	if a.usual, err = a.lab.usual(ctx, a.scene); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.lab.Limit)
	defer cancel()
	if a.fed, err = a.scene.found(dir, a.lab.program); err != nil {
		return Result{}, err
	}
	a.fed.byHand = a.kind.byHand
	defer func() { err = errors.Join(err, a.close()) }()
	if a.kind.prepare != nil {
		if err := a.kind.prepare(ctx, a); err != nil {
			return Result{}, err
		}
	}
	got := account{lasting: a.kind.lasting, cause: a.kind.cause, parties: a.scene.job.Parties}
	if err = a.disturb(ctx); err == nil {
		err = a.settle(ctx, &got)
	}
	var ended *localnet.EndedError
	if errors.As(err, &ended) {
		a.fed.ended(ended.Name)
		err = nil
	}
	if err != nil && ctx.Err() == nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		got.limit = "the trial's time is over"
		got.jobs, _ = a.fed.jobs(context.WithoutCancel(ctx))
		a.heard(&got)
	}
	got.ended, got.panics = a.fed.said, a.fed.panics()
	got.warned = a.fed.warned(a.victim, a.logged, a.damaged...)
	if a.approver != nil {
		got.unasked = a.approver.found()
	}
	r := Result{
		Kind: a.kind.name, Seed: a.seed, Job: a.jobName(), Victim: a.victim, Moment: a.when.told, Fault: a.fault,
		Seconds: time.Since(a.began).Seconds(),
	}
	r.Verdict, r.What = judge(got)
	if r.Verdict != Right {
		// A trial that did not come right leaves a report in its folder.
		f, err := os.Create(filepath.Join(dir, "verdict.txt"))
		if err != nil {
			return r, err
		}
		fmt.Fprintf(f, "%s  seed %d  %s\nvictim   %s\nmoment   %s\n", r.Kind, r.Seed, r.Job, r.Victim, r.Moment)
		fmt.Fprintf(f, "fault    %s\nverdict  %s: %s\n", r.Fault, r.Verdict, r.What)
		if got.limit != "" {
			fmt.Fprintf(f, "waiting  %s\n", got.limit)
		}
		if a.command != nil {
			code := "has not ended"
			if a.command.Over() {
				code = fmt.Sprintf("ended with %d", a.command.Code())
			}
			fmt.Fprintf(f, "command  %s; its last lines:\n%s\n", code, a.command.Tail(12))
		}
		fmt.Fprintln(f, "\njobs")
		for _, j := range got.jobs {
			fmt.Fprintf(f, "  %-10s %-12s %.8s %s: %s\n", j.party, j.name, j.contract, stateName(j.state), reasonOr(j.reason))
		}
		for _, name := range a.scene.job.Parties {
			fmt.Fprintf(f, "\nlog of %s\n%s\n", name, localnet.Tail(a.fed.Log(name), 25))
		}
		if got.limit != "" {
			fmt.Fprintln(f, "\nthe logs end with what each node was doing when it was given up")
			a.fed.End(syscall.SIGQUIT, stopPatience/2)
		}
		if err := f.Close(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// jobName says which job is disturbed.
func (a *attempt) jobName() string {
	switch {
	case a.after && a.kind.either:
		return a.scene.name + ", done"
	case a.after:
		return a.scene.name + " prediction"
	}
	return a.scene.name
}

// close undoes the fault and ends all processes.
func (a *attempt) close() error {
	if a.approver != nil {
		a.approver.stop()
	}
	for _, undo := range a.finish {
		undo()
	}
	if a.command != nil && !a.command.Over() {
		a.command.Kill()
	}
	a.fed.End(syscall.SIGTERM, stopPatience)
	if a.relays != nil {
		a.relays.close()
	}
	if a.mounted != "" {
		return keepMounted(a.mounted)
	}
	return nil
}

// disturb starts the job and strikes at the moment.
func (a *attempt) disturb(ctx context.Context) error {
	if err := a.fed.startAll(ctx); err != nil {
		return err
	}
	if a.after {
		// Runs the training before a prediction, without a fault.
		c, err := a.fed.propose("training")
		if err != nil {
			return err
		}
		if err := c.Wait(ctx); err != nil {
			return err
		}
		if c.Code() != 0 {
			return fmt.Errorf("the training before the fault ended with %d: %s", c.Code(), lastWords(c))
		}
		a.contract = contractOf(c)
		if err := a.awaitDone(ctx, a.contract); err != nil {
			return err
		}
		if a.before, err = a.fed.resultOf(ctx, a.contract); err != nil {
			return err
		}
		if err := a.rest(ctx); err != nil {
			return err
		}
	}
	if a.after && a.kind.either { // the fault strikes between two jobs
		a.when.told = "after the training"
		if err := a.kind.strike(ctx, a); err != nil {
			return err
		}
		a.killed = false // what follows is not excused by it
		return a.propose()
	}
	if a.kind.standing {
		a.when.told = "from the start"
		return a.propose()
	}
	a.when = a.drawMoment(a.usual.changes[a.victim])
	if a.kind.byHand {
		a.when.change = min(a.when.change, 1+a.draw.IntN(handChanges))
		a.when.delay /= 8 // a contract and its state are written within a millisecond or two
		a.approver = newApprover(ctx, a)
	}
	if err := a.propose(); err != nil {
		return err
	}
	if err := a.await(ctx); err != nil {
		return err
	}
	return a.kind.strike(ctx, a)
}

// handChanges is how many changes of files there are at a party until it has consented, about.
const handChanges = 6

// rest waits until all jobs so far have ended, and remembers them.
func (a *attempt) rest(ctx context.Context) error {
	for {
		jobs, absent := a.fed.jobs(ctx)
		if so := (account{jobs: jobs}); so.open() == nil && len(absent) == 0 {
			a.earlier = make(map[string]bool)
			for _, j := range jobs {
				a.earlier[j.contract] = true
			}
			return nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// awaitDone returns when a job is done at every party.
func (a *attempt) awaitDone(ctx context.Context, contract string) error {
	for {
		jobs, _ := a.fed.jobs(ctx)
		if doneEverywhere(jobs, a.scene.job.Parties, contract) {
			return nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// propose starts the command whose job is disturbed.
func (a *attempt) propose() (err error) {
	if a.after {
		var again []string
		if a.scene.job.Privacy == keys.PrivacySealed { // its rows were scored before, to compare with
			again = []string{"--scores-per-row", "2"}
		}
		a.command, err = a.fed.predict("command", a.contract, "test", again...)
	} else {
		a.command, err = a.fed.propose("command")
	}
	return err
}

// await returns at the moment, or when the job has ended before.
func (a *attempt) await(ctx context.Context) error {
	began, watch, n := time.Now(), newChanges(a.fed.NodeDir(a.victim)), 0
	length := a.usual.length
	if a.after {
		length = a.usual.prediction
	}
	if a.kind.byHand {
		length = a.usual.consent
	}
	at := time.Duration(a.when.share * float64(length))
	for ctx.Err() == nil {
		if late := time.Since(began) > 3*length; late && a.kind.byHand {
			a.when.told = fmt.Sprintf("%.2f s after the beginning, nobody has approved there", time.Since(began).Seconds())
			return nil
		}
		if a.when.change > 0 {
			n += watch.look()
			if n >= a.when.change {
				time.Sleep(a.when.delay)
				a.when.told = fmt.Sprintf("%.1f ms after change %d of files, of %s, %.2f s after the beginning",
					1e3*a.when.delay.Seconds(), n, watch.last, time.Since(began).Seconds())
				return nil
			}
		} else if time.Since(began) >= at {
			a.when.told = fmt.Sprintf("%.2f s after the beginning, of usually %.2f s", at.Seconds(), length.Seconds())
			return nil
		}
		if a.command.Over() {
			a.when.told = "at the end of the job"
			return nil
		}
		time.Sleep(watchEvery)
	}
	return ctx.Err()
}

// kill ends the victim's node as a power cut would end it.
func (a *attempt) kill() {
	a.fed.Node(a.victim).Kill()
	a.killed = a.killed || a.victim == a.scene.proposer()
}

// Waits for the end of a trial.
const (
	quietAfter  = 30 * time.Second // without a change of any state nothing more is expected
	remedyAfter = 15 * time.Second // the same where all that wait say what would help
)

// settle waits until every job has ended everywhere and looks at the result.
func (a *attempt) settle(ctx context.Context, got *account) error {
	last, since, again := "", time.Now(), false
	for {
		var absent []string
		got.jobs, absent = a.fed.jobs(ctx)
		a.heard(got)
		state := fmt.Sprint(got.jobs, absent, got.running)
		if state != last {
			last, since = state, time.Now()
		}
		quiet := time.Since(since)
		switch {
		case len(a.fed.said) > 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case a.command.Over() && got.open() == nil && len(absent) == 0:
			if contract := a.done(got.jobs); contract != "" {
				return a.look(ctx, got, contract)
			}
			if !a.killed || a.command.Code() == 0 || again {
				return nil
			}
			again = true // nothing had begun: whoever proposed does so again
			if err := a.propose(); err != nil {
				return err
			}
		case quiet > quietAfter, quiet > remedyAfter && a.kind.lasting && a.remedied(got):
			got.limit = fmt.Sprintf("nothing has changed for %.0f s", quiet.Seconds())
			if len(absent) > 0 {
				a.fed.said = append(a.fed.said, absent[0]+": its node does not answer")
			}
			return nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// remedied reports whether all that wait say what would help.
func (a *attempt) remedied(got *account) bool {
	verdict := Failed
	if got.open() != nil {
		verdict, _ = got.waiting()
	} else if got.running {
		verdict, _ = got.undone()
	}
	return verdict == Degraded
}

// done returns the contract of the job under test that is done everywhere.
func (a *attempt) done(jobs []standing) string {
	tested := a.scene.job.Name
	if a.after {
		tested += "-scores"
	}
	for _, j := range jobs {
		if !a.earlier[j.contract] && j.name == tested && doneEverywhere(jobs, a.scene.job.Parties, j.contract) {
			return j.contract
		}
	}
	return ""
}

// doneEverywhere reports whether all parties have a job and call it done.
func doneEverywhere(jobs []standing, parties []string, contract string) bool {
	n := 0
	for _, j := range jobs {
		if j.contract == contract && j.state == "done" {
			n++
		}
	}
	return n == len(parties)
}

// heard takes over how the command ended.
func (a *attempt) heard(got *account) {
	if a.command == nil {
		return
	}
	if got.running = !a.command.Over(); got.running {
		got.said = lastWords(a.command)
		return
	}
	got.code, got.said, got.excused = a.command.Code(), lastWords(a.command), a.killed
}

// look compares the result of a job that is done with the right one.
func (a *attempt) look(ctx context.Context, got *account, contract string) error {
	got.done = true
	var refused *refusedError
	var broken *brokenError
	for _, name := range a.scene.job.Parties {
		if _, err := a.fed.report(ctx, name, contract); errors.As(err, &refused) {
			got.unread = refused.Error()
		} else if err != nil {
			return err
		}
	}
	now, err := a.outcome(ctx, contract)
	switch {
	case errors.As(err, &refused):
		got.unread = refused.Error()
	case errors.As(err, &broken):
		got.wrong = broken.Error()
	case err != nil:
		return err
	case a.after:
		got.wrong = samePrediction(now, a.before, a.scene)
	default:
		got.wrong, got.off = a.scene.differs(now, a.usual.result, a.victim)
	}
	return nil
}

// outcome is what the job under test came to.
func (a *attempt) outcome(ctx context.Context, contract string) (*result, error) {
	if !a.after {
		return a.fed.resultOf(ctx, contract)
	}
	path := a.fed.scoresFile("command")
	if a.command.Code() != 0 { // the scores are at the node, where its owner finds them
		path = a.fed.JobFile(a.scene.proposer(), contract, "scores.csv")
	}
	r := &result{scores: make(map[string][]float64), errors: make(map[string]float64)}
	return r, a.fed.readScores(path, "test", r)
}

// samePrediction says how scores differ from those of another prediction with the same model.
func samePrediction(now, before *result, s *scene) string {
	a, b := now.scores["test"], before.scores["test"]
	if len(a) != len(b) {
		return fmt.Sprintf("%d scores, %d before the fault", len(a), len(b))
	}
	most := 1e-6
	if s.job.Privacy == sceneSealed { // six bits behind the point, the last of them rounded at random
		most = 1.0 / 32
	}
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= most) {
			return fmt.Sprintf("row %d has the score %v, before the fault %v", i+1, a[i], b[i])
		}
	}
	return ""
}
