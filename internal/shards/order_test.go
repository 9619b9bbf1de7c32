package shards

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// world is a job of two shards at three parties, whose workers, coordinator and disks do what they like in any order.
// Beside the parties it keeps what has left each: that cannot be taken back.
type world struct {
	t       *rapid.T
	job     keys.Hash
	shards  []contract.Shard
	members [3]*member
	late    []sitting // that are over, and whose workers answer yet
}

// member is one party.
type member struct {
	disk     *memory
	digest   keys.Hash
	slots    *slots
	desk     *desk
	workers  [2]*worker
	keys     [2]keys.ID            // that the workers have said last
	sessions [2]*sitting           // under way
	given    [2]map[uint32]keys.ID // by generation: the key it is delegated to, in all lives of the node
	drawn    []keys.ID             // keys that its workers have said
	had      map[keys.ID]Offer     // the session that each had, in this life of the node
	begun    map[Offer]bool
	counted  map[Offer]bool // whose traffic is counted
	released [2]bool        // by shard: a worker that comes is told that it is done
	over     bool           // and so it is at all shards, until the next run
	last     []record       // what stays, once all is done or the run has ended
}

// sitting is one party's part in a session of a shard.
type sitting struct {
	party  int
	of     Offer
	slots  *slots // of the run that began it
	record record
	result []byte
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, job: keys.HashOf("job"),
		shards: []contract.Shard{{Of: 2, Rows: 60}, {Index: 1, Of: 2, First: 60, Rows: 40}}}
	for p := range w.members {
		w.members[p] = &member{disk: &memory{files: map[string][]byte{}}, desk: newDesk(),
			given: [2]map[uint32]keys.ID{{}, {}}, had: make(map[keys.ID]Offer), begun: make(map[Offer]bool),
			counted: make(map[Offer]bool)}
		w.begins(p)
	}
	return w
}

// begins has a party's run begin.
func (w *world) begins(p int) {
	m := w.members[p]
	var err error
	if m.slots, err = openSlots(m.disk, &Work{Shards: w.shards, Digest: m.digest, ResultFile: result,
		Check: func(int, []byte) error { return nil }}); err != nil {
		w.t.Fatal(err)
	}
	var undone []int
	for i, s := range m.slots.now() {
		if m.released[i] = m.released[i] && s.Done > 0; s.Done == 0 {
			undone = append(undone, i)
		}
	}
	m.desk.open(w.job, undone)
	m.last, m.over = nil, false
}

// ends ends a party's run and has the next one begin on what the disk has then. Sessions that were on may be answered
// yet.
func (w *world) ends(p int, then func(m *member)) {
	m := w.members[p]
	m.slots.finish()
	m.last = records(m.slots)
	for i := range m.sessions {
		if rapid.Bool().Draw(w.t, "answers at the end") {
			w.answersNow(p, i)
		}
		w.stops(p, i)
	}
	w.check(p)
	if err := m.slots.delegate(Offer{Generation: m.last[0].Latest + 1}, keys.ID{1}); err == nil {
		w.t.Fatalf("party %d delegates when its run has ended", p)
	}
	then(m)
	w.begins(p)
}

// killed starts a party's node again where a write has killed it, and reports whether one has.
func (w *world) killed(p int) bool {
	m := w.members[p]
	if !m.disk.dead {
		return false
	}
	m.disk, m.desk, m.released, m.had = m.disk.again(), newDesk(), [2]bool{}, make(map[keys.ID]Offer)
	m.workers, m.sessions, m.over = [2]*worker{}, [2]*sitting{}, false
	w.begins(p)
	return true
}

// records are those of slots.
func records(s *slots) (list []record) {
	for _, slot := range s.now() {
		list = append(list, slot.record)
	}
	return list
}

// comes has a worker come, who says later that it is ready.
func (w *world) comes(p, shard int) {
	m := w.members[p]
	came := m.desk.come(place{w.job, shard})
	if (came == nil) != (m.workers[shard] != nil) {
		w.t.Fatalf("shard %d of party %d has two workers, or none", shard, p)
	}
	if came == nil {
		return
	}
	m.workers[shard] = came
	if (len(came.order) > 0) != (m.over || m.released[shard]) {
		w.t.Fatalf("a worker of shard %d that comes to party %d has %d orders", shard, p, len(came.order))
	}
}

// leaves has a worker leave, or die. Its session is over a while later.
func (w *world) leaves(p, shard int) {
	m := w.members[p]
	if m.workers[shard] != nil {
		m.desk.leave(place{w.job, shard}, m.workers[shard])
		m.workers[shard] = nil
	}
}

// ready has a worker say that it is ready, with a new key or one that was said before.
func (w *world) ready(p, shard int, again bool) {
	m := w.members[p]
	if m.workers[shard] == nil {
		return
	}
	key := keys.ID{byte(len(m.drawn)), byte(len(m.drawn) >> 8), byte(p + 1)}
	if again && len(m.drawn) > 0 {
		key = rapid.SampledFrom(m.drawn[max(0, len(m.drawn)-3):]).Draw(w.t, "key")
	}
	m.drawn = append(m.drawn, key)
	if m.desk.ready(m.workers[shard], key) {
		m.keys[shard] = key
	}
}

// offers has a party delegate a generation, if it does.
func (w *world) offers(p int, o Offer) {
	m := w.members[p]
	key, there := m.desk.waiting(place{w.job, o.Shard})
	if !there || w.fails(p, m.slots.delegate(o, key)) {
		return
	}
	for g := range m.given[o.Shard] {
		if g >= o.Generation {
			w.t.Fatalf("party %d delegates %+v, and generation %d was", p, o, g)
		}
	}
	if !slices.Contains(m.drawn, key) {
		w.t.Fatalf("party %d delegates %+v to a key that no worker has said", p, o)
	}
	m.given[o.Shard][o.Generation] = key
}

// fails reports whether an event was refused, or has killed the node.
func (w *world) fails(p int, err error) bool { return w.killed(p) || err != nil }

// session is what the session of a generation comes to at all parties: it follows from all that is delegated.
func (w *world) session(o Offer) (comes []byte, ok bool) {
	h := keys.HashOf("session", []byte{byte(o.Shard), byte(o.Generation)})
	for _, m := range w.members {
		key, given := m.given[o.Shard][o.Generation]
		if !given {
			return nil, false
		}
		h = keys.HashOf("session", h[:], key[:])
	}
	return h[:], true
}

// starts has a party begin a generation that all have delegated.
func (w *world) starts(p int, o Offer) {
	m := w.members[p]
	comes, ok := w.session(o)
	key := m.given[o.Shard][o.Generation]
	if !ok || m.slots.begin(o, key) != nil {
		return
	}
	if m.begun[o] || m.sessions[o.Shard] != nil {
		w.t.Fatalf("party %d begins %+v twice, or beside another one", p, o)
	}
	m.begun[o] = true
	s := sitting{party: p, of: o, slots: m.slots, result: comes, record: record{Latest: o.Generation, Done: o.Generation,
		Digest: m.digest, Contract: keys.Hash(comes), Result: resultHash(comes)}}
	m.sessions[o.Shard] = &s
	if _, err := m.desk.engage(place{w.job, o.Shard}, key); err != nil {
		w.stops(p, o.Shard)
		return
	}
	if before, twice := m.had[key]; twice || m.keys[o.Shard] != key {
		w.t.Fatalf("the key of a worker of party %d has the sessions %+v and %+v, or is another's", p, before, o)
	}
	m.had[key] = o
}

// stops ends a party's part in a session.
func (w *world) stops(p, shard int) {
	m := w.members[p]
	if s := m.sessions[shard]; s != nil {
		m.sessions[shard] = nil
		w.late = append(w.late, *s)
		s.slots.stop(shard)
	}
}

// answers has a worker hand in what its session came to, in time or late.
func (w *world) answers(s sitting) {
	m := w.members[s.party]
	current := s.slots == m.slots && m.last == nil && m.sessions[s.of.Shard] != nil && m.sessions[s.of.Shard].of == s.of
	if w.fails(s.party, s.slots.keep(s.of.Shard, s.record, s.result)) {
		return
	}
	if m.counted[s.of] || !current {
		w.t.Fatalf("the answer of %+v at party %d is counted twice, or late", s.of, s.party)
	}
	m.counted[s.of] = true
}

// answersNow has a worker hand in what the session that is under way came to.
func (w *world) answersNow(p, shard int) {
	if s := w.members[p].sessions[shard]; s != nil {
		w.answers(*s)
	}
}

// isTold has a party hear that a generation is done at all.
func (w *world) isTold(p int, o Offer) {
	m := w.members[p]
	s := m.slots.now()[o.Shard]
	if s.isDone(o.Generation) != nil {
		return
	}
	if s.Done != o.Generation || o.Generation == 0 || m.sessions[o.Shard] != nil {
		w.t.Fatalf("party %d takes it that %+v is done, and it is %+v", p, o, s)
	}
	m.desk.release(place{w.job, o.Shard})
	m.released[o.Shard] = true
}

// allDone has a party hear the coordinator's last word.
func (w *world) allDone(p int, done []uint32) error {
	m := w.members[p]
	if err := m.slots.end(done); err != nil {
		return err
	}
	m.last = records(m.slots)
	for i, rec := range m.last {
		if rec.Done != done[i] || done[i] == 0 || m.sessions[i] != nil {
			w.t.Fatalf("party %d takes it that all is done with %v, and has %+v", p, done, m.last)
		}
	}
	m.desk.end(w.job, order{kind: OrderDone})
	m.released, m.over = [2]bool{}, true
	return nil
}

// coordinate has an honest coordinator look once at how the shards stand, and do what follows.
func (w *world) coordinate() plan {
	all := make([]Response, 3)
	for p, m := range w.members {
		for i, s := range m.slots.now() {
			_, ready := m.desk.waiting(place{w.job, i})
			all[p].Standing = append(all[p].Standing, s.standing(ready))
		}
	}
	next := planOf(all, make([]bool, 2))
	for p := range w.members {
		for _, o := range next.release {
			w.isTold(p, o)
		}
		for _, o := range next.offers {
			w.offers(p, o)
		}
	}
	for p := range w.members {
		for _, o := range next.offers {
			w.starts(p, o)
		}
	}
	return next
}

// check holds a party against what it has said before.
func (w *world) check(p int) {
	m := w.members[p]
	rows := 0
	for i, s := range m.slots.now() {
		for g := range m.given[i] {
			if g > s.Latest {
				w.t.Fatalf("party %d has delegated generation %d of shard %d, and says %+v", p, g, i, s.record)
			}
		}
		if on := m.sessions[i]; s.running != (on != nil) || on != nil && on.of.Generation != s.Latest {
			w.t.Fatalf("party %d has the session %+v, and says %+v", p, on, s)
		}
		if rows += s.rows; s.rows < 0 || s.rows > w.shards[i].Rows || s.Done > 0 && s.rows != w.shards[i].Rows {
			w.t.Fatalf("party %d counts %d rows of shard %d: %+v", p, s.rows, i, s)
		}
		kept, _ := loadRecord(m.disk, i)
		if kept.Latest != s.Latest || s.Done > 0 && !reflect.DeepEqual(kept, s.record) {
			w.t.Fatalf("party %d says %+v, and has on the disk %+v", p, s.record, kept)
		}
		if s.Done == 0 {
			continue
		}
		comes, _ := w.session(Offer{i, s.Done})
		if data, _ := m.disk.Load(result(i)); s.Done != s.Latest || s.Digest != m.digest || !bytes.Equal(data, comes) {
			w.t.Fatalf("party %d says that %+v is done, and has what another session came to, or of other rows", p, s.record)
		}
	}
	if rows > 100 {
		w.t.Fatalf("party %d counts %d rows of 100", p, rows)
	}
	if m.last != nil && !reflect.DeepEqual(m.last, records(m.slots)) {
		w.t.Fatalf("party %d has said %+v, and says %+v", p, m.last, records(m.slots))
	}
}

// each has something happen at each party and shard.
func (w *world) each(happens func(p, shard int)) {
	for p := range w.members {
		for shard := range w.shards {
			happens(p, shard)
		}
	}
}

// step is one event, drawn.
func (w *world) step() {
	p, shard := rapid.IntRange(0, 2).Draw(w.t, "party"), rapid.IntRange(0, 1).Draw(w.t, "shard")
	m := w.members[p]
	latest := m.slots.now()[shard].Latest
	o := Offer{shard, uint32(max(0, int(latest)+rapid.SampledFrom([]int{-2, -1, 0, 0, 0, 1}).Draw(w.t, "generation")))}
	switch rapid.SampledFrom([]string{"all ready", "all ready", "round", "round", "round", "all answer", "all answer",
		"all stop", "all stop", "comes", "again", "leaves", "offer", "all offer", "begin", "rows", "rows", "answer", "late",
		"late", "stop", "told", "end", "kill", "run", "rows change", "put back"}).Draw(w.t, "event") {
	case "comes":
		w.comes(p, shard)
	case "all ready":
		w.each(w.comes)
		w.each(func(p, shard int) { w.ready(p, shard, false) })
	case "again":
		w.ready(p, shard, true)
	case "leaves":
		w.leaves(p, shard)
	case "round":
		if next := w.coordinate(); next.complete {
			if err := w.allDone(p, next.done); err != nil {
				w.t.Fatal(err)
			}
		}
	case "offer":
		w.offers(p, o)
	case "all offer":
		for p := range w.members {
			w.offers(p, Offer{shard, latest + 1})
		}
	case "begin":
		w.starts(p, o)
	case "rows":
		m.slots.progress(shard, rapid.IntRange(-100, 100).Draw(w.t, "rows"))
	case "answer":
		w.answersNow(p, shard)
	case "all answer":
		w.each(w.answersNow)
	case "late":
		if len(w.late) > 0 {
			w.answers(rapid.SampledFrom(w.late[max(0, len(w.late)-6):]).Draw(w.t, "sitting"))
		}
	case "stop":
		w.stops(p, shard)
	case "all stop":
		w.each(w.stops)
	case "told":
		w.isTold(p, o)
	case "end":
		done := []uint32{m.slots.now()[0].Done, m.slots.now()[1].Done}
		done[shard] = o.Generation
		w.allDone(p, done)
	case "kill":
		m.disk.left, m.disk.stored = rapid.IntRange(1, 3).Draw(w.t, "write"), rapid.Bool().Draw(w.t, "stored")
	case "run":
		w.ends(p, func(*member) {})
	case "rows change":
		w.ends(p, func(m *member) { m.digest[0]++ })
	case "put back": // an earlier copy of what the shard came to
		w.ends(p, func(m *member) { m.disk.files[result(shard)] = []byte("earlier") })
	}
}

// TestAnyOrder: workers come, say that they are ready, answer, die and come again, with old keys too; the coordinator
// says what it likes, twice and late; nodes are killed at any write and begin again. No generation is delegated twice,
// no key has two sessions, no answer is counted twice or late, what is done is of one session and of today's rows, and
// what a party has said to be done stays so. Whatever has happened, an honest coordinator has all shards done soon.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		all := func() {
			for p := range w.members {
				w.check(p)
			}
		}
		for range rapid.IntRange(60, 120).Draw(t, "steps") {
			w.step()
			all()
		}
		for p := range w.members {
			w.members[p].disk.left = 0
			w.ends(p, func(*member) {})
		}
		var next plan
		for range 3 {
			w.each(func(p, shard int) {
				w.answersNow(p, shard)
				w.stops(p, shard)
				w.comes(p, shard)
				w.ready(p, shard, false)
			})
			next = w.coordinate()
			all()
		}
		if !next.complete {
			t.Fatalf("the shards are not done: %+v", next)
		}
		for p := range w.members {
			must(t, w.allDone(p, next.done))
		}
		for _, s := range w.late {
			w.answers(s)
		}
		w.each(func(p, shard int) {
			w.comes(p, shard)
			w.ready(p, shard, false)
			w.offers(p, Offer{shard, w.members[p].last[shard].Latest + 1})
		})
		all()
	})
}
