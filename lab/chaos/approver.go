package chaos

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
)

// approver approves jobs by hand at every party: at the others after a drawn while, at the victim only when it is
// allowed to. It notes who has signed before.
type approver struct {
	a      *attempt
	cancel context.CancelFunc
	ended  chan struct{}
	delays map[string]time.Duration

	mu       sync.Mutex
	allowed  bool
	approved map[string]bool // by party and contract
	early    map[string]bool // parties that signed before
}

// newApprover starts to look.
func newApprover(ctx context.Context, a *attempt) *approver {
	ctx, cancel := context.WithCancel(ctx)
	p := &approver{
		a: a, cancel: cancel, ended: make(chan struct{}), delays: make(map[string]time.Duration),
		approved: make(map[string]bool), early: make(map[string]bool),
	}
	for _, name := range a.scene.job.Parties {
		p.delays[name] = time.Duration(a.draw.Int64N(int64(300 * time.Millisecond)))
	}
	go p.run(ctx)
	return p
}

// run looks at all parties until the trial ends.
func (p *approver) run(ctx context.Context) {
	defer close(p.ended)
	seen := make(map[string]time.Time)
	for ctx.Err() == nil {
		for _, name := range p.a.scene.job.Parties {
			if name == p.a.scene.proposer() {
				continue
			}
			jobs, err := p.a.fed.ask(ctx, name)
			if err != nil {
				continue
			}
			for _, j := range jobs {
				p.decide(ctx, name, &j, seen)
			}
		}
		pause(ctx, pollEvery/5)
	}
}

// decide looks at one job at one party.
func (p *approver) decide(ctx context.Context, name string, j *node.JobInfo, seen map[string]time.Time) {
	key := name + " " + j.Contract
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.State != job.Proposed {
		if !p.approved[key] && (!final(j.State) || j.State == job.Done) {
			p.early[name+" is "+stateName(j.State)] = true
		}
		return
	}
	if seen[key].IsZero() {
		seen[key] = time.Now()
	}
	if time.Since(seen[key]) < p.delays[name] || name == p.a.victim && !p.allowed {
		return
	}
	p.approved[key] = true // it may be taken though its answer is lost
	d := node.Decision{Yes: true}
	if client, err := p.a.fed.Client(name); err == nil && d.Contract.UnmarshalText([]byte(j.Contract)) == nil {
		client.Decide(ctx, d)
	}
}

// allow lets the victim approve from now on.
func (p *approver) allow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = true
}

// found lists who signed before anybody there approved.
func (p *approver) found() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.early))
}

// stop ends it.
func (p *approver) stop() {
	p.cancel()
	<-p.ended
}
