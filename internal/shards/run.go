package shards

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
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

// maxGeneration is more generations than a shard ever has. A party that names more would have it the last.
const maxGeneration = 1 << 30

// What files take on the disk, in bytes.
const (
	leastFile    = 512     // one, however small it is
	sessionFiles = 1 << 20 // those of a session in which nothing passes
	frameFiles   = 512     // what tells of a frame, in a transcript and among payloads, beside its payload
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

// run is Work under way.
type run struct {
	Work
	service *Service
	ctx     context.Context // ends with the run; sessions hang from it
	news    chan struct{}   // holds one when there may be something to do
	ended   chan struct{}   // closed by the coordinator's last word
	heard   chan struct{}   // holds one when the coordinator has asked
	work    sync.WaitGroup  // sessions

	mu      sync.Mutex // a Service's is never taken while this one is held
	records []record
	running []uint32 // by shard: the generation of the session under way, 0: none
	offered []keys.ID
	rows    []int // by shard: how many its worker has done
	failure error // of the disk or of this party's own making: the run ends with it
	over    bool  // all is done, or the run has ended: nothing is delegated, begun or kept any more
}

// Run has the workers of all parties make the results of all shards, and returns what the sessions were. What is done
// already of an earlier run of the same contract is kept. All parties of the job call it at the same time.
func (s *Service) Run(ctx context.Context, w Work) ([]Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{Work: w, service: s, ctx: ctx, news: make(chan struct{}, 1), ended: make(chan struct{}),
		heard: make(chan struct{}, 1), records: make([]record, len(w.Shards)), running: make([]uint32, len(w.Shards)),
		offered: make([]keys.ID, len(w.Shards)), rows: make([]int, len(w.Shards))}
	defer r.work.Wait()
	defer cancel()
	defer r.close() // a request or a result on its way writes nothing that a run which follows would not know of
	for i := range r.records {
		rec, err := loadRecord(w.Vault, i)
		if err != nil {
			return nil, err
		}
		if rec.Done > 0 && rec.Digest == w.Digest {
			result, err := w.Vault.Load(w.ResultFile(i)) // nil where it is damaged
			if err != nil {
				return nil, err
			}
			if result == nil || resultHash(result) != rec.Result || w.Check(i, result) != nil {
				rec.Done = 0
			}
		} else {
			rec.Done = 0
		}
		r.records[i] = rec
		if rec.Done > 0 {
			r.rows[i] = w.Shards[i].Rows
		}
	}
	h := w.Contract.Contract().Hash()
	s.mu.Lock()
	if s.runs[h] != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("a run of contract %s is under way already", h.Short())
	}
	s.runs[h] = r
	delete(s.over, h) // an earlier session may have come to an end that another party has lost
	for i, rec := range r.records {
		if rec.Done == 0 {
			delete(s.done, place{h, i})
		}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.runs, h)
		s.mu.Unlock()
	}()
	var err error
	if w.Ask != nil {
		err = r.coordinate(ctx)
	} else {
		err = r.follow(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.End(h, "")
	r.close()
	list, traffic := make([]Session, len(w.Shards)), make([]Traffic, len(w.Shards))
	for i, rec := range r.records {
		list[i] = Session{Shard: w.Shards[i], Generation: rec.Done, Contract: rec.Contract, Head: rec.Head}
		traffic[i] = rec.Traffic
	}
	if w.Made != nil {
		w.Made(traffic)
	}
	return list, nil
}

// close has nothing delegated, begun or kept from now on.
func (r *run) close() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
}

// follow does what the coordinator asks, until all is done.
func (r *run) follow(ctx context.Context) error {
	silent := time.NewTimer(silentTime)
	defer silent.Stop()
	for {
		select {
		case <-r.ended:
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
		case <-r.news:
			if err := r.failed(); err != nil {
				return err
			}
		}
	}
}

// failed returns what the run cannot go on with.
func (r *run) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// coordinate has shards begin wherever all parties have a worker that is ready, until all are done everywhere.
func (r *run) coordinate(ctx context.Context) error {
	parties := len(r.Contract.Contract().Parties)
	tick := time.NewTimer(0)
	defer tick.Stop()
	var since, told time.Time // of a wait for workers
	released := make([]bool, len(r.Shards))
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		case <-r.news:
		}
		tick.Reset(tickTime)
		if err := r.failed(); err != nil {
			return err
		}
		all, err := r.askAll(ctx, Request{})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(a Response) bool { return a.Absent }) {
			continue
		}
		done := make([]uint32, len(r.Shards))
		var offers, release []Offer
		complete, awaited := true, false
		for i := range r.Shards {
			latest, running, ready := uint32(0), false, true
			done[i] = all[0].Standing[i].Done
			var missing []string
			for p := range parties {
				st := all[p].Standing[i]
				if st.Done != done[i] {
					done[i] = 0
				}
				if !st.Ready {
					missing = append(missing, r.Contract.Contract().Parties[p].Name)
				}
				latest, running, ready = max(latest, st.Latest), running || st.Running, ready && st.Ready
			}
			switch {
			case done[i] > 0 && !running:
				if !released[i] {
					release = append(release, Offer{Shard: i, Generation: done[i]})
				}
				continue
			case ready && !running:
				offers = append(offers, Offer{Shard: i, Generation: latest + 1})
			case !running && !awaited:
				awaited = true
				if since.IsZero() {
					since, told = time.Now(), time.Now()
				} else if time.Since(told) >= waitTime {
					told = time.Now()
					r.Waiting(i, missing, since)
				}
			}
			complete = false
		}
		if !awaited {
			since = time.Time{}
		}
		if complete {
			_, err := r.askAll(ctx, Request{Ended: true, Done: done})
			return err
		}
		if len(release) > 0 {
			if _, err := r.askAll(ctx, Request{Release: release}); err != nil {
				return err
			}
			for _, o := range release {
				released[o.Shard] = true
			}
		}
		if len(offers) > 0 {
			if err := r.begin(ctx, offers); err != nil {
				return err
			}
		}
	}
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
	s.mu.Lock()
	r := s.runs[h]
	s.mu.Unlock()
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
		if err := r.end(q.Done); err != nil {
			return a, err
		}
	}
	h := r.Contract.Contract().Hash()
	a.Standing = make([]Standing, len(r.Shards))
	r.service.mu.Lock()
	ready := make([]bool, len(r.Shards))
	for i := range ready {
		w := r.service.workers[place{h, i}]
		ready[i] = w != nil && !w.busy
	}
	r.service.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, rec := range r.records {
		a.Standing[i] = Standing{Latest: rec.Latest, Done: rec.Done, Running: r.running[i] > 0, Ready: ready[i]}
	}
	return a, nil
}

// end is the coordinator's last word, which must be what this party knows.
func (r *run) end(done []uint32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(done) != len(r.records) {
		return fmt.Errorf("%d shards are said to be done, there are %d", len(done), len(r.records))
	}
	for i, rec := range r.records {
		if done[i] != rec.Done || rec.Done == 0 || r.running[i] > 0 {
			return fmt.Errorf("generation %d of shard %d is said to be done, here it is %d", done[i], i, rec.Done)
		}
	}
	r.over = true
	select {
	case <-r.ended:
	default:
		close(r.ended)
	}
	return nil
}

// release tells the worker of a shard that it is done at all parties: where fewer workers run at a time than there are
// shards, the next one waits for its place.
func (r *run) release(o Offer) error {
	if o.Shard < 0 || o.Shard >= len(r.Shards) {
		return fmt.Errorf("shard %d is said to be done, there are %d", o.Shard, len(r.Shards))
	}
	r.mu.Lock()
	rec, running := r.records[o.Shard], r.running[o.Shard] > 0
	r.mu.Unlock()
	if o.Generation != rec.Done || rec.Done == 0 || running {
		return fmt.Errorf("generation %d of shard %d is said to be done, here it is %d", o.Generation, o.Shard, rec.Done)
	}
	r.service.release(place{r.Contract.Contract().Hash(), o.Shard})
	return nil
}

// delegate signs a delegation for the key of the worker of a shard, if it is there and waits. The generation is on the
// disk before the delegation leaves; what an earlier one came to is no more.
func (r *run) delegate(o Offer) (string, error) {
	if o.Shard < 0 || o.Shard >= len(r.Shards) {
		return "", fmt.Errorf("shard %d is offered, there are %d", o.Shard, len(r.Shards))
	}
	h := r.Contract.Contract().Hash()
	r.service.mu.Lock()
	w := r.service.workers[place{h, o.Shard}]
	var key keys.ID
	there := w != nil && !w.busy
	if there {
		key = w.key
	}
	r.service.mu.Unlock()
	if !there {
		return "", nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return "", fmt.Errorf("shard %d is offered, and all is done or over", o.Shard)
	}
	rec := r.records[o.Shard]
	if o.Generation > maxGeneration {
		return "", fmt.Errorf("generation %d of shard %d is offered, and no shard has more than %d", o.Generation, o.Shard,
			maxGeneration)
	}
	if o.Generation <= rec.Latest {
		return "", fmt.Errorf("generation %d of shard %d is offered, and generation %d was: they only rise", o.Generation,
			o.Shard, rec.Latest)
	}
	if r.running[o.Shard] > 0 {
		return "", fmt.Errorf("shard %d is offered, and a session of it is under way", o.Shard)
	}
	rec = record{Latest: o.Generation}
	if err := saveRecord(r.Vault, o.Shard, rec); err != nil {
		return "", r.broken(err)
	}
	r.records[o.Shard], r.offered[o.Shard], r.rows[o.Shard] = rec, key, 0
	d, err := contract.NewDelegation(contract.Delegation{Contract: h, Shard: r.Shards[o.Shard], Generation: o.Generation,
		Worker: key, Expires: r.service.config.Now().Add(delegateTime)}, r.service.config.Key)
	if err != nil {
		return "", err
	}
	return string(d.Text()), nil
}

// broken notes what the run cannot go on with. r.mu is held.
func (r *run) broken(err error) error {
	if r.failure == nil {
		r.failure = err
	}
	select {
	case r.news <- struct{}{}:
	default:
	}
	return err
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
	r.mu.Lock()
	defer r.mu.Unlock()
	switch rec := r.records[b.Shard]; {
	case rec.Latest != b.Generation || rec.Done > 0 || r.offered[b.Shard] != list[r.Self].Worker:
		return fmt.Errorf("generation %d of shard %d is to begin, which this party has not delegated last", b.Generation,
			b.Shard)
	case r.running[b.Shard] > 0 || r.over || r.ctx.Err() != nil:
		return fmt.Errorf("generation %d of shard %d is to begin, and is under way or over", b.Generation, b.Shard)
	}
	r.running[b.Shard], r.offered[b.Shard] = b.Generation, keys.ID{}
	r.work.Go(func() { r.conduct(b.Shard, f) })
	return nil
}

// conduct runs this party's end of a shard's session: the worker does its part, and the node passes its frames on.
func (r *run) conduct(shard int, f contract.InForce) {
	err := r.session(shard, f)
	if err != nil && r.ctx.Err() == nil {
		r.service.config.Log.Info("a session of a shard ended, and another one follows", "shard", shard,
			"generation", f.Contract().Shard.Generation, "error", err)
	}
	r.mu.Lock()
	r.running[shard] = 0
	r.mu.Unlock()
	r.service.notify(r.Contract.Contract().Hash())
}

// session is conduct until the worker's part is done, or an error.
func (r *run) session(shard int, f contract.InForce) error {
	c, at := f.Contract(), place{r.Contract.Contract().Hash(), shard}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	r.service.mu.Lock()
	w := r.service.workers[at]
	if w == nil || w.key != c.Parties[r.Self].ID {
		r.service.mu.Unlock()
		return errors.New("its worker has gone")
	}
	if r.service.used[w.key] { // at another shard, at the same time
		r.service.mu.Unlock()
		return errors.New("its worker's key had a session")
	}
	w.busy, r.service.used[w.key] = true, true
	r.service.mu.Unlock()
	again := func(err error) error {
		r.service.order(at, w, order{kind: OrderAgain})
		return err
	}
	peers := make([]keys.ID, len(c.Parties))
	var others []keys.ID
	for i, p := range r.Contract.Contract().Parties {
		if i != r.Self {
			peers[i] = p.ID
			others = append(others, p.ID)
		}
	}
	work, err := r.Task(shard)
	if err != nil {
		r.mu.Lock()
		r.broken(err)
		r.mu.Unlock()
		return again(err)
	}
	id := SessionID(c)
	opening, stop := context.WithTimeout(ctx, openTime)
	mesh, err := r.service.config.Open(opening, id, others)
	stop()
	if err != nil {
		return again(err)
	}
	defer mesh.Close()
	passing := &relay{at: at, ctx: ctx, mesh: mesh, peers: peers, taken: make([]bool, len(peers))}
	r.service.mu.Lock()
	r.service.relays[id] = passing
	r.service.mu.Unlock()
	defer func() {
		r.service.mu.Lock()
		delete(r.service.relays, id)
		r.service.mu.Unlock()
	}()
	task, err := cbor.Marshal(Task{Contract: r.Contract.Contract().Text(), Shard: c.Text(), Session: id, Self: r.Self,
		Work: work, Consent: r.Consent, Part: r.Parts[shard], Payloads: r.Payloads})
	if err != nil {
		return again(err)
	}
	maxFiles, err := filesOf(c, r.Self, r.Payloads)
	if err != nil {
		return again(err)
	}
	over := make(chan error, 1)
	h := &hearing{run: r, shard: shard, contract: c, folder: r.Vault.Path(Path(shard, c.Shard.Generation)),
		maxFiles: maxFiles, over: over}
	if !r.service.order(at, w, order{kind: OrderWork, task: task, said: h.said}) {
		return errors.New("its worker has gone")
	}
	select {
	case err = <-over:
	case <-w.gone:
		select {
		case err = <-over: // its last word
		default:
			err = errors.New("its worker has gone")
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	passing.drain(ctx)
	return err
}

// SessionID names the session of a shard to the transport.
func SessionID(c *contract.Contract) protocol.SessionID {
	h := c.Hash()
	return protocol.SessionID(keys.HashOf("hanse shard session v1", h[:]))
}

// filesOf is more bytes than the files of a shard's session have at a party, of which so many may be of payloads.
func filesOf(c *contract.Contract, self int, payloads int64) (int64, error) {
	frames, bytes, err := c.Passing(self)
	return sessionFiles + filesOfFrames(c, frames, bytes, payloads), err
}

// filesOfFrames is what files have of so many frames with so many bytes, of which so many may be kept.
func filesOfFrames(c *contract.Contract, frames, bytes, payloads int64) int64 {
	files := frames * frameFiles
	if c.Job.Record == contract.RecordFull {
		files += min(2*bytes, payloads) // what is received may be told of once more where it opens
	}
	return files
}

// NeedsDisk is about how many bytes of disk a worker of a party takes for the files of its session.
func NeedsDisk(c *contract.Contract, party int) (int64, error) {
	frames, bytes, err := c.ShardPassing(party)
	return sessionFiles + filesOfFrames(c, frames, bytes, math.MaxInt64)/int64(c.Job.Shards), err
}

// hearing hears what a worker says of its session.
type hearing struct {
	*run
	shard    int
	contract *contract.Contract
	folder   string // of the generation
	files    int64  // bytes of files so far
	maxFiles int64
	begun    bool // the folder is there
	over     chan<- error
}

// said takes what a worker says. An error ends the worker's stream.
func (h *hearing) said(s Said, data func(most int64) ([]byte, error), file func(path string) error) error {
	switch s.Kind {
	case SaidProgress:
		h.mu.Lock()
		h.rows[h.shard] = min(max(s.Done, 0), h.Shards[h.shard].Rows)
		h.mu.Unlock()
		h.report()
	case SaidFile:
		return h.file(s, file)
	case SaidFailed:
		h.over <- errors.New("its worker says: " + s.Text)
	case SaidResult:
		result, err := data(h.Size(h.shard))
		if err != nil {
			return err
		}
		err = h.done(result, s.Traffic)
		h.report()
		h.over <- err
	default:
		return fmt.Errorf("a worker says %.20q, which means nothing", s.Kind)
	}
	return nil
}

// file keeps a file of the session.
func (h *hearing) file(s Said, receive func(path string) error) error {
	folder, name := filepath.Split(s.Name)
	folder = strings.TrimSuffix(folder, "/")
	known := folder == "" && name == TranscriptFile || folder == PayloadFolder && filepath.IsLocal(name) && name != "." &&
		len(name) <= 100
	switch {
	case !known:
		return fmt.Errorf("a worker hands in a file %.40q: want %s, or one in %s", s.Name, TranscriptFile, PayloadFolder)
	case s.Size < 0 || s.Size > h.maxFiles-h.files:
		return fmt.Errorf("a worker hands in %d bytes more than %d, at most %d are kept of a session", s.Size, h.files,
			h.maxFiles)
	}
	if err := h.Reserve(s.Size); err != nil {
		return err
	}
	if err := h.begin(); err != nil {
		return err
	}
	h.files += max(s.Size, leastFile)
	return receive(filepath.Join(h.folder, folder, name))
}

// begin makes the folder of the generation, with the contract, which tells whose transcript is in it.
func (h *hearing) begin() error {
	if h.begun {
		return nil
	}
	h.begun = true
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(h.folder, ContractFile), h.contract.Text())
}

// done keeps a result: it is on the disk, and then the record that says so.
func (h *hearing) done(result []byte, t Traffic) error {
	if err := h.Check(h.shard, result); err != nil {
		return err
	}
	if !h.begun {
		return errors.New("its worker has handed in no transcript of its session")
	}
	head, err := headOf(filepath.Join(h.folder, TranscriptFile))
	if err != nil {
		return err
	}
	if err := durable.SyncDir(h.folder); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.records[h.shard].Latest != h.contract.Shard.Generation || h.run.over {
		return errors.New("another generation has begun, or the run is over")
	}
	if err := h.Vault.Save(h.ResultFile(h.shard), result); err != nil {
		return h.broken(err)
	}
	rec := record{Latest: h.contract.Shard.Generation, Done: h.contract.Shard.Generation, Digest: h.Digest,
		Contract: h.contract.Hash(), Head: head, Traffic: t, Result: resultHash(result)}
	if err := saveRecord(h.Vault, h.shard, rec); err != nil {
		return h.broken(err)
	}
	h.records[h.shard], h.rows[h.shard] = rec, h.Shards[h.shard].Rows
	if h.Passed != nil {
		h.Passed(t)
	}
	return nil
}

// report says how far the run is.
func (r *run) report() {
	if r.Progress == nil {
		return
	}
	rows, shards := 0, 0
	r.mu.Lock()
	for i, rec := range r.records {
		rows += r.rows[i]
		if rec.Done > 0 {
			shards++
		}
	}
	r.mu.Unlock()
	r.Progress(rows, shards)
}

// headOf returns the hash of the last record of a transcript.
func headOf(path string) (head keys.Hash, err error) {
	f, err := os.Open(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return head, err
	}
	if _, err := f.ReadAt(head[:], max(0, info.Size()-int64(len(head)))); err != nil {
		return head, fmt.Errorf("transcript %s has %d bytes: %w", path, info.Size(), err)
	}
	return head, nil
}
