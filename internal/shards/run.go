package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Times of a run.
const (
	tickTime     = 250 * time.Millisecond // between two looks at how the shards stand, where nothing is heard of before
	openTime     = 20 * time.Second       // for the links of a shard's session
	delegateTime = 10 * time.Minute       // for a session to begin after its delegations were signed, whatever clocks say
	waitTime     = 2 * time.Second        // until it is told that workers are awaited, and again
	silentTime   = 5 * time.Second        // without a word of the coordinator until it is asked whether it is still there
)

// Work is one job's shards, in one session of the job at one party.
type Work struct {
	Contract contract.InForce
	Self     int
	Vault    *vault.Vault // the job's folder
	Shards   []contract.Shard
	Parts    []keys.Hash // by shard: the digest of the rows that its worker reads; zero where this party has none
	// Digest is of all that the results depend on: those of an earlier session of the job are good if it is the same.
	Digest keys.Hash
	// Task returns what the algorithm has for the worker of a shard.
	Task func(shard int) ([]byte, error)
	// Disclose lists what a shard's session opens and does.
	Disclose func(shard int) ([]contract.Opening, []contract.Operation, error)
	// ResultFile names, in the vault, what a shard comes to; Size is how many bytes it has. Check refuses a result that
	// cannot be one.
	ResultFile func(shard int) string
	Size       func(shard int) int64
	Check      func(shard int, result []byte) error
	// Reserve refuses bytes of a file for which the node has no space.
	Reserve  func(bytes int64) error
	Payloads int64     // the most bytes of payloads that a session's transcript keeps, where the job's do
	Consent  keys.Hash // for transcripts

	// Ask sends a Request to another party's node. It is set at the party that coordinates, and nil elsewhere.
	Ask func(ctx context.Context, party int, r Request) (Response, error)
	// Alive reports, at the others, whether the party that coordinates is in the session still.
	Alive func(ctx context.Context) bool
	// Progress hears how far the run is: rows of all shards, and shards that are done at this party.
	Progress func(rows, shards int)
	// Passed hears what passed in a session whose result is kept.
	Passed func(Traffic)
	// Made hears, when all is done, what passed in the sessions whose results count, by shard.
	Made func([]Traffic)
	// Waiting hears, at the party that coordinates, which parties have no worker for the first shard that waits, and since
	// when; every waitTime.
	Waiting func(shard int, names []string, since time.Time)
}

// Request is what the coordinator asks of a party: how its shards stand, and to go on with some of them.
type Request struct {
	Offers  []Offer  `cbor:"1,keyasint,omitempty"` // delegate these
	Begin   []Begin  `cbor:"2,keyasint,omitempty"` // begin these
	Ended   bool     `cbor:"3,keyasint,omitempty"` // all shards are done at all parties, with these generations:
	Done    []uint32 `cbor:"4,keyasint,omitempty"` // by shard
	Release []Offer  `cbor:"5,keyasint,omitempty"` // these are done at all parties: their workers may go
}

// Offer names a session of a shard that is to begin.
type Offer struct {
	Shard      int    `cbor:"1,keyasint"`
	Generation uint32 `cbor:"2,keyasint"`
}

// Begin is an Offer with the delegations of all parties.
type Begin struct {
	Offer
	Delegations []string `cbor:"3,keyasint"`
}

// Response is how a party's shards stand, and its delegations for those that were offered, in their order; an empty
// one where there is none.
type Response struct {
	Standing    []Standing `cbor:"1,keyasint"`
	Delegations []string   `cbor:"2,keyasint,omitempty"`
	Absent      bool       `cbor:"3,keyasint,omitempty"` // it has not come to its shards yet
}

// Standing is how a shard stands at one party.
type Standing struct {
	Latest  uint32 `cbor:"1,keyasint,omitempty"` // the last generation that was delegated
	Done    uint32 `cbor:"2,keyasint,omitempty"` // the one whose result is kept
	Running bool   `cbor:"3,keyasint,omitempty"` // a session is under way
	Ready   bool   `cbor:"4,keyasint,omitempty"` // its worker waits for one
}

// run is Work under way. What is known of its shards is the slots', and what of the workers, the desk's.
type run struct {
	Work
	service *Service
	slots   *slots
	ctx     context.Context // ends with the run; sessions hang from it
	heard   chan struct{}   // holds one when the coordinator has asked
}

// Run has the workers of all parties make the results of all shards, and returns what the sessions were. What is done
// already of an earlier run of the same contract is kept. All parties of the job call it at the same time.
func (s *Service) Run(ctx context.Context, w Work) ([]Session, error) {
	h := w.Contract.Contract().Hash()
	known, err := openSlots(w.Vault, &w)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &run{Work: w, service: s, slots: known, ctx: ctx, heard: make(chan struct{}, 1)}
	defer known.sessions.Wait()
	defer cancel()
	defer known.finish() // a request or a result on its way writes nothing that a run which follows would not know of
	if _, on := s.runs.LoadOrStore(h, r); on {
		return nil, fmt.Errorf("a run of contract %s is under way already", h.Short())
	}
	defer s.runs.Delete(h)
	var undone []int
	for i, slot := range known.now() {
		if slot.Done == 0 {
			undone = append(undone, i)
		}
	}
	s.desk.open(h, undone)
	if w.Ask != nil {
		err = r.coordinate(ctx)
	} else {
		err = r.follow(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.desk.end(h, order{kind: OrderDone})
	known.finish()
	list, traffic := make([]Session, len(w.Shards)), make([]Traffic, len(w.Shards))
	for i, slot := range known.now() {
		list[i] = Session{Shard: w.Shards[i], Generation: slot.Done, Contract: slot.Contract, Head: slot.Head}
		traffic[i] = slot.Traffic
	}
	if w.Made != nil {
		w.Made(traffic)
	}
	return list, nil
}

// follow does what the coordinator asks, until all is done.
func (r *run) follow(ctx context.Context) error {
	silent := time.NewTimer(silentTime)
	defer silent.Stop()
	for {
		select {
		case <-r.slots.ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-silent.C:
			if !r.Alive(ctx) {
				return errors.New("the proposer's node has left the session: it no longer asks how the shards stand")
			}
			silent.Reset(silentTime)
		case <-r.heard:
			silent.Reset(silentTime)
		case <-r.slots.news:
			if err := r.slots.failed(); err != nil {
				return err
			}
		}
	}
}

// coordinate has shards begin wherever all parties have a worker that is ready, until all are done everywhere.
func (r *run) coordinate(ctx context.Context) error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	released := make([]bool, len(r.Shards))
	var waits waiting
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		case <-r.slots.news:
		}
		tick.Reset(tickTime)
		if err := r.slots.failed(); err != nil {
			return err
		}
		all, err := r.askAll(ctx, Request{})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(a Response) bool { return a.Absent }) {
			continue
		}
		next := planOf(all, released)
		if waits.due(next.missing != nil, time.Now()) {
			r.Waiting(next.waits, r.names(next.missing), waits.since)
		}
		if next.complete {
			_, err := r.askAll(ctx, Request{Ended: true, Done: next.done})
			return err
		}
		if len(next.release) > 0 {
			if _, err := r.askAll(ctx, Request{Release: next.release}); err != nil {
				return err
			}
			for _, o := range next.release {
				released[o.Shard] = true
			}
		}
		if len(next.offers) > 0 {
			if err := r.begin(ctx, next.offers); err != nil {
				return err
			}
		}
	}
}

// names are those of parties.
func (r *run) names(parties []int) (list []string) {
	for _, p := range parties {
		list = append(list, r.Contract.Contract().Parties[p].Name)
	}
	return list
}

// begin collects delegations for shards, and has those begin for which all parties have signed one.
func (r *run) begin(ctx context.Context, offers []Offer) error {
	all, err := r.askAll(ctx, Request{Offers: offers})
	if err != nil {
		return err
	}
	var list []Begin
	for k, o := range offers {
		b := Begin{Offer: o}
		for p := range all {
			if k >= len(all[p].Delegations) || all[p].Delegations[k] == "" {
				break // its worker has gone meanwhile
			}
			b.Delegations = append(b.Delegations, all[p].Delegations[k])
		}
		if len(b.Delegations) == len(all) {
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return nil
	}
	_, err = r.askAll(ctx, Request{Begin: list})
	return err
}

// askAll asks all parties, this one too, at the same time.
func (r *run) askAll(ctx context.Context, q Request) ([]Response, error) {
	all := make([]Response, len(r.Contract.Contract().Parties))
	errs := make([]error, len(all))
	var asking sync.WaitGroup
	for p := range all {
		asking.Go(func() {
			if p == r.Self {
				all[p], errs[p] = r.answer(q)
				return
			}
			all[p], errs[p] = r.Ask(ctx, p, q)
			if errs[p] == nil {
				errs[p] = r.sensible(p, q, all[p])
			}
		})
	}
	asking.Wait()
	return all, errors.Join(errs...)
}

// sensible refuses an answer that no honest party gives: what others would refuse because of it would look like the
// coordinator's fault, and a generation that cannot rise would be the shard's last.
func (r *run) sensible(party int, q Request, a Response) error {
	if a.Absent {
		return nil
	}
	c := r.Contract.Contract()
	p := contract.Party{Name: c.Parties[party].Name, ID: c.Parties[party].ID}
	if len(a.Standing) != len(r.Shards) {
		return fmt.Errorf("%s says how %d shards stand, the job has %d: %w", p.Name, len(a.Standing), len(r.Shards),
			contract.ErrDeviation)
	}
	for i, s := range a.Standing {
		if s.Latest > maxGeneration || s.Done > s.Latest {
			return fmt.Errorf("%s says that shard %d has had %d generations, and that generation %d is done: %w", p.Name, i,
				s.Latest, s.Done, contract.ErrDeviation)
		}
	}
	for i, o := range q.Offers {
		if i >= len(a.Delegations) || a.Delegations[i] == "" {
			continue
		}
		d, err := contract.ParseDelegation([]byte(a.Delegations[i]))
		if err == nil {
			err = d.By(p, c.Hash(), r.Shards[o.Shard], o.Generation)
		}
		if err != nil {
			return fmt.Errorf("what %s says is its delegation for shard %d: %w: %w", p.Name, o.Shard, err,
				contract.ErrDeviation)
		}
	}
	return nil
}

// Answer answers the coordinator of a job.
func (s *Service) Answer(h keys.Hash, q Request) (Response, error) {
	r := s.run(h)
	if r == nil { // it is still reading its table
		return Response{Absent: true}, nil
	}
	select {
	case r.heard <- struct{}{}:
	default:
	}
	return r.answer(q)
}

// answer does what the coordinator asks, and says how the shards stand.
func (r *run) answer(q Request) (a Response, err error) {
	if n := len(r.Shards); len(q.Offers) > n || len(q.Begin) > n || len(q.Release) > n {
		return a, fmt.Errorf("%d offers, %d shards to begin and %d that are done, there are %d", len(q.Offers), len(q.Begin),
			len(q.Release), n)
	}
	for _, o := range q.Offers {
		text, err := r.delegate(o)
		if err != nil {
			return a, err
		}
		a.Delegations = append(a.Delegations, text)
	}
	for _, b := range q.Begin {
		if err := r.start(b); err != nil {
			return a, err
		}
	}
	for _, o := range q.Release {
		if err := r.release(o); err != nil {
			return a, err
		}
	}
	if q.Ended {
		if err := r.slots.end(q.Done); err != nil {
			return a, err
		}
	}
	ready := make([]bool, len(r.Shards)) // before the slots are: a worker may wait yet while its session begins
	for i := range ready {
		_, ready[i] = r.service.desk.waiting(r.at(i))
	}
	for i, slot := range r.slots.now() {
		a.Standing = append(a.Standing, slot.standing(ready[i]))
	}
	return a, nil
}

// delegate signs a delegation for the key of the worker of a shard, if it is there and waits. The generation is on the
// disk before the delegation leaves; what an earlier one came to is no more.
func (r *run) delegate(o Offer) (string, error) {
	if o.Shard < 0 || o.Shard >= len(r.Shards) {
		return "", fmt.Errorf("shard %d is offered, there are %d", o.Shard, len(r.Shards))
	}
	key, there := r.service.desk.waiting(r.at(o.Shard))
	if !there {
		return "", nil
	}
	if err := r.slots.delegate(o, key); err != nil {
		return "", err
	}
	d, err := contract.NewDelegation(contract.Delegation{Contract: r.Contract.Contract().Hash(), Shard: r.Shards[o.Shard],
		Generation: o.Generation, Worker: key, Expires: r.service.config.Now().Add(delegateTime)}, r.service.config.Key)
	if err != nil {
		return "", err
	}
	return string(d.Text()), nil
}

// start begins a session of a shard whose delegations all parties have signed.
func (r *run) start(b Begin) error {
	if b.Shard < 0 || b.Shard >= len(r.Shards) {
		return fmt.Errorf("shard %d is to begin, there are %d", b.Shard, len(r.Shards))
	}
	c := r.Contract.Contract()
	if len(b.Delegations) != len(c.Parties) {
		return fmt.Errorf("%d delegations for shard %d, want %d", len(b.Delegations), b.Shard, len(c.Parties))
	}
	var list []*contract.Delegation
	for i, text := range b.Delegations {
		d, err := contract.ParseDelegation([]byte(text))
		if err != nil {
			return err
		}
		p := contract.Party{Name: c.Parties[i].Name, ID: c.Parties[i].ID}
		if err := errors.Join(d.By(p, c.Hash(), r.Shards[b.Shard], b.Generation),
			d.Fresh(p, r.service.config.Now())); err != nil {
			return err
		}
		list = append(list, d)
	}
	openings, operations, err := r.Disclose(b.Shard)
	if err != nil {
		return err
	}
	f, err := r.Contract.Shard(list, openings, operations)
	if err != nil {
		return err
	}
	if r.ctx.Err() != nil { // the run ends: nothing begins any more
		r.slots.finish()
	}
	if err := r.slots.begin(b.Offer, list[r.Self].Worker); err != nil {
		return err
	}
	go r.conduct(r.at(b.Shard), f)
	return nil
}

// release tells the worker of a shard that it is done at all parties: where fewer workers run at a time than there are
// shards, the next one waits for its place.
func (r *run) release(o Offer) error {
	if o.Shard < 0 || o.Shard >= len(r.Shards) {
		return fmt.Errorf("shard %d is said to be done, there are %d", o.Shard, len(r.Shards))
	}
	if err := r.slots.now()[o.Shard].isDone(o.Generation); err != nil {
		return err
	}
	r.service.desk.release(r.at(o.Shard))
	return nil
}

// at is the place of a shard's worker.
func (r *run) at(shard int) place { return place{r.Contract.Contract().Hash(), shard} }
