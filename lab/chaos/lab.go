package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/keys"
)

// Options are what a run is asked for.
type Options struct {
	Program  string            // the hanse program to disturb
	Kinds    []string          // names of kinds; none: all
	Trials   int               // of each kind
	Seed     uint64            // of the first trial of each kind; each further one has the next
	Dir      string            // where trials work, each in a folder of its own
	Keep     bool              // keep all these folders, not those of failures alone
	Limit    time.Duration     // of one trial
	Progress func(line string) // hears how far the run has come; it may be nil

	// Build builds hanse from its sources, for a program with a clock that can be shifted.
	Build func(ctx context.Context, path string, flags ...string) error
}

// Result is what one trial came to.
type Result struct {
	Kind    string  `json:"kind"`
	Seed    uint64  `json:"seed"`
	Job     string  `json:"job,omitempty"`
	Victim  string  `json:"victim,omitempty"`
	Moment  string  `json:"moment,omitempty"`
	Fault   string  `json:"fault,omitempty"`
	Verdict Verdict `json:"verdict"`
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
	Folder  string  `json:"folder,omitempty"` // when it was kept
}

// lab is a run under way.
type lab struct {
	Options
	program string
	shifted string // the program with a clock that can be shifted, once it is built
	scenes  map[string]*scene
	usuals  map[string]*usual
}

// usual is what a job comes to without a fault.
type usual struct {
	length     time.Duration // of the command that proposes it
	consent    time.Duration // until all have consented by hand, about
	prediction time.Duration // of the command that predicts with its model
	changes    map[string]int
	result     *result
}

// Run carries trials out one after the other.
func Run(ctx context.Context, o Options) (*Report, error) {
	list, err := chosen(o.Kinds)
	if err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	l := &lab{Options: o, program: o.Program, scenes: make(map[string]*scene), usuals: make(map[string]*usual)}
	report := &Report{Seed: o.Seed}
	for _, k := range list {
		report.Kinds = append(report.Kinds, k.name)
		var unable error
		if k.unable != nil {
			unable = k.unable(ctx, l)
		}
		for i := range l.Trials {
			r := Result{Kind: k.name, Seed: l.Seed + uint64(i), Verdict: Skipped}
			if unable != nil {
				r.What = unable.Error()
			} else if err := l.try(ctx, k, &r); err != nil {
				return report, fmt.Errorf("%s, seed %d: %w", k.name, l.Seed+uint64(i), err)
			}
			report.Trials = append(report.Trials, r)
			l.Progress(fmt.Sprintf("%-14s seed %-4d %-8s %5.1f s  %s", r.Kind, r.Seed, r.Verdict, r.Seconds, r.story()))
		}
	}
	return report, nil
}

// try carries one trial out in a folder, which is kept when it failed.
func (l *lab) try(ctx context.Context, k *kind, r *Result) error {
	a, err := newAttempt(l, k, r.Seed)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(l.Dir, fmt.Sprintf("%s-%d-", k.name, r.Seed))
	if err != nil {
		return err
	}
	if *r, err = a.run(ctx, dir); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if r.Verdict.Bad() || l.Keep {
		r.Folder = dir
		return nil
	}
	return os.RemoveAll(dir)
}

// scene returns a scene, made once.
func (l *lab) scene(name string) (*scene, error) {
	if s, ok := l.scenes[name]; ok {
		return s, nil
	}
	s, err := newScene(name)
	if err == nil {
		l.scenes[name] = s
	}
	return s, err
}

// usualConsent is about how long it takes until all have consented by hand.
const usualConsent = 700 * time.Millisecond

// usual runs a scene's job without a fault, once.
func (l *lab) usual(ctx context.Context, s *scene) (_ *usual, err error) {
	if u, ok := l.usuals[s.name]; ok {
		return u, nil
	}
	l.Progress("a run without a fault: " + s.name)
	dir, err := os.MkdirTemp(l.Dir, "usual-"+s.name+"-")
	if err != nil {
		return nil, err
	}
	f, err := s.found(dir, l.program)
	if err != nil {
		return nil, err
	}
	defer func() {
		f.End(syscall.SIGTERM, stopPatience)
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	u := &usual{consent: usualConsent, changes: make(map[string]int)}
	if err := f.measure(ctx, u); err != nil {
		return nil, fmt.Errorf("%s without a fault: %w", s.name, err)
	}
	l.Progress(fmt.Sprintf("%s: %.1f s, prediction %.1f s", s.name, u.length.Seconds(), u.prediction.Seconds()))
	l.usuals[s.name] = u
	return u, nil
}

// measure runs a federation's job without a fault and a prediction behind it.
func (f *federation) measure(ctx context.Context, u *usual) error {
	if err := f.startAll(ctx); err != nil {
		return err
	}
	counting, stop := context.WithCancel(ctx)
	type count struct {
		name string
		n    int
	}
	counts := make(chan count, len(f.Names))
	for _, name := range f.Names {
		watch := newChanges(f.NodeDir(name))
		go func() { counts <- count{name, watch.count(counting)} }()
	}
	began := time.Now()
	c, err := f.propose("command")
	if err == nil {
		err = c.Wait(ctx)
	}
	u.length = time.Since(began)
	stop()
	for range f.Names {
		n := <-counts
		u.changes[n.name] = n.n
	}
	if err != nil {
		return err
	}
	if c.Code() != 0 {
		return fmt.Errorf("the command ended with %d: %s", c.Code(), lastWords(c))
	}
	began = time.Now()
	if u.result, err = f.resultOf(ctx, contractOf(c)); err != nil {
		return err
	}
	u.prediction = time.Since(began) / 2 // it predicts two tables
	return nil
}

// proposeChange puts a change of the charter that one member has signed into that member's node folder; the nodes carry
// it round.
func (f *federation) proposeChange() error {
	draft := f.Charter.Next()
	draft.Created = time.Now()
	draft.Rules.MinContributors = 4
	c, err := keys.NewCharter(draft)
	if err != nil {
		return err
	}
	if err := c.Sign(f.Keys[0]); err != nil {
		return err
	}
	_, err = enrol.Propose(f.NodeDir(f.Names[0]), c)
	return err
}
