package node

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// What a member may ask of a node. A call takes as many tokens as callCost says: the coordinator of hundreds of clients
// asks each of them about three times a second while it waits, in requests of some hundred kilobytes. Work is what
// reads a table or verifies a contract: a job takes three or four pieces of it of each party.
const (
	callsEach  = 200 // a second, of one member
	callsBurst = 2000
	callUnit   = 64 << 10 // bytes of a request that cost one more
	costly     = 20       // of a call that reads a model part or scores, verifies an ending, or starts a session

	workEvery = 2 * time.Second // of one member
	workBurst = 120

	callsAtOnce = 32              // of one member that are being answered, or wait
	workAtOnce  = 4               // of all members together; each has one at a time
	workWait    = 2 * time.Second // for others' work to end
	refusedTold = time.Minute     // between two lines of the log about refused calls
)

// rates holds the other members to what they may ask. Who is refused hears that the node is busy, waits and asks again.
type rates struct {
	now  func() time.Time
	told func(from keys.ID, refused int) // hears once a minute of a member's refused calls
	work chan struct{}                   // a slot for each work that is on

	mu      sync.Mutex
	members map[keys.ID]*memberRate
}

// memberRate is what one member has asked of late.
type memberRate struct {
	calls, work *rate.Limiter
	working     chan struct{} // holds one while work is on for it
	under       int           // calls that are being answered
	refused     int           // since the log was told
	toldAt      time.Time
}

// newRates are those of a node that nobody has asked anything.
func newRates(now func() time.Time, told func(from keys.ID, refused int)) *rates {
	return &rates{now: now, told: told, work: make(chan struct{}, workAtOnce), members: make(map[keys.ID]*memberRate)}
}

// of finds a member's rate; whoever is no member shares one with all like it, so that the map is no larger than the
// charters that were in force. The caller holds the lock.
func (r *rates) of(from keys.ID) *memberRate {
	m := r.members[from]
	if m == nil {
		m = &memberRate{
			calls: rate.NewLimiter(callsEach, callsBurst), work: rate.NewLimiter(rate.Every(workEvery), workBurst),
			working: make(chan struct{}, 1),
		}
		r.members[from] = m
	}
	return m
}

// callCost is how many tokens a call costs.
func callCost(method string, request int) int {
	cost := 1 + request/callUnit
	if method == methodPart || method == methodSign || method == methodEnd || method == methodStart {
		cost += costly
	}
	return cost
}

// admit lets a call in, or refuses it. leave must follow once a call that was let in is answered.
func (r *rates) admit(from keys.ID, cost int) (leave func(), err error) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.of(from)
	if m.under >= callsAtOnce || !m.calls.AllowN(now, cost) {
		return nil, r.refuse(from, m, now)
	}
	m.under++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		m.under--
	}, nil
}

// begin lets work begin for a member: one at a time for each, and a few for all. done must follow.
func (r *rates) begin(from keys.ID) (done func(), err error) {
	now := r.now()
	r.mu.Lock()
	m := r.of(from)
	if !m.work.AllowN(now, 1) {
		defer r.mu.Unlock()
		return nil, r.refuse(from, m, now)
	}
	r.mu.Unlock()
	patience := time.NewTimer(workWait)
	defer patience.Stop()
	for _, slot := range []chan struct{}{m.working, r.work} {
		select {
		case slot <- struct{}{}:
		case <-patience.C:
			if slot == r.work {
				<-m.working
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			return nil, r.refuse(from, m, now)
		}
	}
	return func() { <-r.work; <-m.working }, nil
}

// refuse counts a refused call, and tells the log once a minute. The caller holds the lock.
func (r *rates) refuse(from keys.ID, m *memberRate, now time.Time) error {
	m.refused++
	if since := now.Sub(m.toldAt); since >= refusedTold || since < 0 {
		r.told(from, m.refused)
		m.refused, m.toldAt = 0, now
	}
	return faults.Errorf(fault.CodeBusy, "this node is asked too much by you at once: it answers again in a moment")
}

// working runs what reads a table or verifies a contract for another member.
func working[T any](r *rates, from keys.ID, do func() (T, error)) (T, error) {
	done, err := r.begin(from)
	if err != nil {
		var none T
		return none, err
	}
	defer done()
	return do()
}
