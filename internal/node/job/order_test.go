package job

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// world is a federation of one job, whose messages come in any order, twice or never, and whose nodes are killed at any
// write and start again. Beside the jobs it keeps what has left each node: that cannot be taken back.
type world struct {
	*members
	t      *rapid.T
	disks  []*memory
	jobs   []*Job
	told   []*contract.Ending // endings that have left some node
	opened []uint32           // by party: the last session that it opened
	asked  []bool             // by party: somebody has consented, whatever came of it
	agreed []bool             // by party: it has consented
	signed []map[uint32]keys.Hash
	known  []*contract.Ending // by party: the ending that it has said to stand
	before []uint32           // by party: the last session of its transcript when its record was damaged
	broken []bool             // by party: what it kept of a session was damaged
}

// newWorld is a job that has been proposed to all.
func newWorld(t *rapid.T, m *members) *world {
	w := &world{members: m, t: t, opened: make([]uint32, 3), asked: make([]bool, 3), agreed: make([]bool, 3),
		known: make([]*contract.Ending, 3), before: make([]uint32, 3), broken: make([]bool, 3)}
	for i := range m.keys {
		d := newMemory()
		must(t, Create(d, m.config(i), m.contract, Record{State: Proposed}))
		w.disks = append(w.disks, d)
		w.jobs = append(w.jobs, New(d, m.folder(), m.config(i), m.contract, Record{State: Proposed}))
		w.signed = append(w.signed, make(map[uint32]keys.Hash))
	}
	return w
}

// apply has an event happen at a party. Where the event kills it, it starts again, and stands as before or as after.
func (w *world) apply(i int, e Event) error {
	before := w.jobs[i].at()
	_, err := w.jobs[i].Apply(e)
	if _, ok := e.(Consented); ok {
		w.asked[i], w.agreed[i] = true, w.agreed[i] || err == nil
	}
	if err != nil && w.jobs[i].at() != before {
		w.t.Fatalf("%T was refused, and changed the job of %d: %v", e, i, err)
	}
	if !w.disks[i].dead {
		w.check(i)
		return err
	}
	after := before
	if _, refused := e.decide(&after); refused != nil {
		after = before
	}
	w.restart(i)
	if got := w.jobs[i].at(); !committed(got, before) && !committed(got, after) {
		w.t.Fatalf("killed in %T party %d stands at %+v, before %+v, after %+v", e, i, got.record, before.record,
			after.record)
	}
	w.check(i)
	return cmp.Or(err, errKilled)
}

// committed reports whether two standings have committed to the same.
func committed(a, b standing) bool {
	same := func(a, b *contract.Ending) bool {
		return (a == nil) == (b == nil) && (a == nil || a.Hash() == b.Hash())
	}
	x, y := a.record, b.record
	return same(a.ending, b.ending) && (x.Consent == nil) == (y.Consent == nil) && x.Session == y.Session &&
		x.Stored == y.Stored && x.Finished == y.Finished && x.SignedSession == y.SignedSession && x.Signed == y.Signed &&
		x.Known == y.Known && x.Removed.Equal(y.Removed)
}

// restart starts a party's node again.
func (w *world) restart(i int) {
	w.disks[i] = w.disks[i].again()
	j, _, err := Open(w.disks[i], w.folder(), func(*contract.Contract) Config { return w.config(i) })
	if err != nil {
		w.t.Fatal(err)
	}
	w.jobs[i] = j
	if _, err := j.Apply(Died{Mark: keys.Hash{byte(len(w.told))}}); err != nil {
		w.t.Fatal(err)
	}
}

// damage damages files of a party, whose node starts again.
func (w *world) damage(i int, names ...string) {
	w.disks[i] = w.disks[i].again()
	for _, name := range names {
		w.disks[i].damaged[name] = true
		switch {
		case name == RecordFile: // its transcript is whole, and begins no session again
			w.before[i], w.opened[i] = max(w.before[i], w.opened[i]), 0
			w.asked[i], w.agreed[i] = false, false
		case name == EndingFile:
			w.known[i] = nil // it is asked for again
		case name != ContractFile && name != ReportFile:
			w.broken[i] = true
		}
	}
	ended := w.jobs[i].Ending() != nil
	w.restart(i)
	r := w.jobs[i].Record()
	switch {
	case ended && !r.State.Final():
		w.t.Fatalf("after damage to %v a job that had ended is %s", names, r.State)
	case slices.Contains(names, RecordFile) && r.Consent != nil:
		w.t.Fatalf("after damage to %v there is a consent", names)
	}
	w.check(i)
}

// check holds a party against what it has said before.
func (w *world) check(i int) {
	s := w.jobs[i].at()
	over, final := false, false
	select {
	case <-w.jobs[i].Over():
		over = true
	default:
	}
	select {
	case <-w.jobs[i].Final():
		final = true
	default:
	}
	switch before := w.known[i]; {
	case final != (s.ending != nil) || over != s.isOver():
		w.t.Fatalf("party %d has the end %v; final %v, over %v", i, s.ending, final, over)
	case before != nil && s.ending == nil:
		w.t.Fatalf("party %d has said that the job is %s, and has no end", i, before.Outcome)
	case before != nil && before.Hash() != s.ending.Hash() && !s.ending.Beats(before):
		w.t.Fatalf("party %d stood by %s, and stands by %s, which does not beat it", i, before.Outcome, s.ending.Outcome)
	case s.ending != nil && (s.record.State != State(s.ending.Outcome) || s.record.Ended.IsZero()):
		w.t.Fatalf("party %d has an end that is %s, and the record %+v", i, s.ending.Outcome, s.record)
	case s.record.Session < w.opened[i]:
		w.t.Fatalf("party %d has opened session %d, and its last is %d", i, w.opened[i], s.record.Session)
	case w.agreed[i] && s.record.Consent == nil:
		w.t.Fatalf("party %d has forgotten its consent", i)
	}
	w.known[i] = s.ending
	if s.ending == nil || s.ending.Outcome != contract.OutcomeDone || w.contract.Job.OverClients() {
		return
	}
	// What it signed for stays, whatever it was killed at.
	if at := s.ending.Session; w.signed[i][at] == s.ending.Hash() && !w.broken[i] {
		data, name, err := w.jobs[i].Part()
		if want, _ := w.part(i, at); err != nil || string(data) != string(want) {
			w.t.Fatalf("party %d has signed for its part of session %d, and keeps %q in %s, %v", i, at, data, name, err)
		}
	}
}

// heard has a party take an ending, as its node does: while a session is on it waits.
func (w *world) heard(i int, e *contract.Ending) {
	if e.Outcome == contract.OutcomeDone && w.jobs[i].State() == Running && rapid.Bool().Draw(w.t, "in session") {
		w.apply(i, Awaits{e})
		return
	}
	w.apply(i, Ended{Ending: e, Now: began.Add(time.Hour)})
}

// publish keeps the end that a party stands by as one that others can hear of.
func (w *world) publish(i int) {
	e := w.jobs[i].Ending()
	if e != nil && !slices.ContainsFunc(w.told, func(o *contract.Ending) bool { return o.Hash() == e.Hash() }) {
		w.told = append(w.told, e)
	}
}

// sign asks a party for its signature under an end, and reports whether it gave it.
func (w *world) sign(i int, e *contract.Ending) bool {
	ended := w.jobs[i].Ending() != nil
	_, digest := w.part(i, e.Session) // of clients' servers the part is a file of their own
	if !w.contract.Job.OverClients() {
		data, _, _ := w.jobs[i].Part()
		digest = keys.HashOf("part", data)
	}
	if w.apply(i, Signs{Ending: e, Of: w.jobs[i].Record().Finished, Digest: digest}) != nil {
		return false
	}
	before, did := w.signed[i][e.Session]
	switch {
	case ended:
		w.t.Fatalf("party %d signs the end of a job that has ended there", i)
	case did && before != e.Hash():
		w.t.Fatalf("party %d signs two ends of session %d", i, e.Session)
	}
	w.signed[i][e.Session] = e.Hash()
	return true
}

// settle has a party bring the job to its end, as far as the others sign. Over columns it may tell others of the end
// before it stands by that itself, and go on with sessions: a liar. Who settles over clients can be no such liar, since
// it alone signs, and others store one end of its.
func (w *world) settle(i int) {
	at := w.jobs[i].Record().Finished
	if at == 0 || w.contract.Job.OverClients() && i > 0 {
		return
	}
	e := w.done(w.t, at)
	if rapid.IntRange(0, 9).Draw(w.t, "a lie") == 0 { // who settles names another part of the last party's
		lie := *e
		lie.Parts = slices.Clone(e.Parts)
		lie.Parts[len(lie.Parts)-1].Digest = keys.Hash{byte(i + 1)}
		var err error
		if e, err = contract.NewEnding(w.contract, lie); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, p := range w.contract.Enders() {
		k := w.contract.Job.Index(p.Name)
		if !w.sign(k, e) {
			return
		}
		e.Sign(w.keys[k])
	}
	if w.contract.Job.OverClients() || rapid.Bool().Draw(w.t, "honest") {
		w.apply(i, Ended{Ending: e, Now: began.Add(time.Hour)})
		w.publish(i)
		return
	}
	w.told = append(w.told, e)
}

// session has all parties go through the next session, as far as nothing comes in between.
func (w *world) session() {
	next := max(slices.Max(w.opened), slices.Max(w.before)) + 1
	for i := range w.jobs {
		part, _ := w.part(i, next)
		comes := []Event{Consented{By: consent()}, Opened{Number: next, Now: began},
			Stored{Session: next, Part: part, Report: []byte("{}")}, Finished{Session: next, Report: []byte("{}")}}
		if w.contract.Job.OverClients() {
			comes = slices.Delete(comes, 2, 3)
		}
		for _, e := range comes {
			if rapid.IntRange(0, 19).Draw(w.t, "breaks") == 0 {
				break
			}
			err := w.apply(i, e)
			if _, opens := e.(Opened); opens && err == nil {
				w.opened[i] = next
			}
			if _, consents := e.(Consented); !consents && err != nil {
				break
			}
		}
	}
}

// step has one thing happen that a federation can bring.
func (w *world) step() {
	i := rapid.IntRange(0, 2).Draw(w.t, "party")
	r := w.jobs[i].Record()
	session := uint32(max(0, int(slices.Max(w.opened))+rapid.IntRange(-2, 1).Draw(w.t, "session")))
	over := w.contract.Job.OverClients()
	switch rapid.SampledFrom([]string{"consent", "countersign", "open", "open", "store", "store", "keep", "finish",
		"session", "session", "settle", "settle", "word", "hear", "hear", "pause", "remark", "restart", "kill", "lose",
		"resume", "remove", "shed", "full", "damage"}).Draw(w.t, "what") {
	case "consent":
		w.apply(i, Consented{By: consent()})
	case "countersign":
		if !slices.Contains(w.agreed, false) {
			w.apply(i, Countersigned{w.members.signed(w.t)})
		}
	case "open":
		if err := w.apply(i, Opened{Number: session, Now: began}); err == nil {
			if session <= w.opened[i] || !w.asked[i] {
				w.t.Fatalf("party %d opens session %d after %d, having consented %v", i, session, w.opened[i], w.asked[i])
			}
			w.opened[i] = session
		}
	case "store":
		if part, _ := w.part(i, r.Session); !over && r.Session > w.before[i] {
			w.apply(i, Stored{Session: r.Session, Part: part, Report: []byte("{}")})
		}
	case "keep":
		if next := r.Session + 1; r.Stored > 0 && w.apply(i, Opened{Number: next, Closes: r.Stored, Now: began}) == nil {
			w.opened[i] = next
			w.apply(i, Kept{From: r.Stored, To: next}) // its part of the closing session is another than part says
			w.apply(i, Stored{Session: next, Part: func() []byte { p, _ := w.part(i, next); return p }(), Report: []byte("{}")})
		}
	case "finish":
		if (over || r.Stored == r.Session) && r.Session > w.before[i] {
			w.apply(i, Finished{Session: r.Session, Report: []byte("{}")})
		}
	case "session":
		w.session()
	case "settle":
		w.settle(i)
	case "word": // of a job over clients, once it has begun: see TestClientsOfAProposer
		if (r.Session > 0 || !over || r.Damaged) && rapid.IntRange(0, 5).Draw(w.t, "ends") == 0 {
			out := rapid.SampledFrom([]contract.Outcome{contract.OutcomeCancelled, contract.OutcomeFailed,
				contract.OutcomeExpired, contract.OutcomeRefused}).Draw(w.t, "outcome")
			if w.jobs[i].Ending() == nil {
				w.apply(i, Ended{Ending: w.word(w.t, i, out, ""), Now: began.Add(time.Hour)})
				w.publish(i)
			}
		}
	case "hear":
		if len(w.told) > 0 {
			w.heard(i, rapid.SampledFrom(w.told).Draw(w.t, "ending"))
		}
	case "pause":
		w.apply(i, Shown{Paused, "a link broke"})
	case "remark":
		w.apply(i, Remarked{"it waits"})
	case "restart":
		w.restart(i)
	case "kill":
		w.disks[i].kill = w.disks[i].writes + rapid.IntRange(1, 4).Draw(w.t, "write")
		w.disks[i].stored = rapid.Bool().Draw(w.t, "stored")
	case "lose":
		if r.Finished > 0 && w.signed[i][r.Finished] == (keys.Hash{}) && w.jobs[i].Ending() == nil {
			w.disks[i].SetAside(Draft(r.Finished), errKilled)
			w.apply(i, Lost{Session: r.Finished})
		}
	case "resume":
		w.apply(i, Resumed{})
	case "remove":
		w.apply(i, Removed{began})
	case "shed":
		w.apply(i, Shed{})
	case "damage":
		if rapid.IntRange(0, 3).Draw(w.t, "damaged") == 0 {
			files := []string{ContractFile, RecordFile, EndingFile, ReportFile, Draft(r.Finished), w.config(i).Part}
			names := rapid.SliceOfNDistinct(rapid.SampledFrom(files), 1, 2, rapid.ID).Draw(w.t, "files")
			w.damage(i, slices.DeleteFunc(names, func(name string) bool { return w.disks[i].files[name] == nil })...)
		}
	case "full":
		w.disks[i].full = !w.disks[i].full && rapid.IntRange(0, 3).Draw(w.t, "full") == 0
	}
	w.publish(i)
}

// TestEveryOrder: whatever order events come in, at whatever write nodes are killed, nobody takes back what has left
// its node, and all come to stand by one end.
func TestEveryOrder(t *testing.T) {
	for name, overClients := range map[string]bool{"over columns": false, "over clients": true} {
		t.Run(name, func(t *testing.T) { testEveryOrder(t, newMembers(t, overClients)) })
	}
}

// orders is how many orders each check of TestEveryOrder draws.
const orders = 10

func testEveryOrder(t *testing.T, m *members) {
	outcomes := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		for range orders {
			w := newWorld(t, m)
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				w.step()
			}
			outcomes[w.end()]++
		}
	})
	for _, end := range []string{"", "cancelled", "done"} {
		if outcomes[end] == 0 {
			t.Errorf("no order came to the end %q: %v", end, outcomes)
		}
	}
}

// end has all parties there again, and hear of all ends. It returns the outcome that they all stand by.
func (w *world) end() (outcome string) {
	for i := range w.jobs {
		w.restart(i)
		w.check(i)
		w.publish(i)
	}
	for range 2 {
		for i := range w.jobs {
			for _, e := range w.told {
				w.apply(i, Ended{Ending: e, Now: began.Add(time.Hour)})
				w.publish(i)
			}
		}
	}
	first := w.jobs[0].Ending()
	for i, j := range w.jobs {
		e := j.Ending()
		if (e == nil) != (first == nil) || e != nil && e.Hash() != first.Hash() {
			w.t.Fatalf("party %d stands by %+v, the first by %+v", i, e, first)
		}
		if e != nil {
			outcome = string(e.Outcome)
		}
	}
	return outcome
}

// driver brings a job at one party to its end, whatever it stands at: what a federation does with it next.
type driver struct {
	*members
	ends *contract.Ending // by which the job ends; nil: it is done
	at   int              // after so many events, where ends is not nil
}

// next is the next event, nil when there is none.
func (d *driver) next(t testing.TB, j *Job, after int) Event {
	s := j.at()
	r := s.record
	part, _ := d.part(1, r.Session)
	switch {
	case s.ending != nil && !r.Removed.IsZero():
		return nil
	case s.ending != nil:
		return Removed{began}
	case d.ends != nil && after >= d.at:
		return Ended{Ending: d.ends, Now: began, Report: []byte("{}")}
	case r.State == Proposed:
		return Consented{By: consent(), Data: keys.Hash{7}}
	case s.inForce.Contract() == nil:
		return Countersigned{d.signed(t)}
	case r.Session == 0 || r.State == Paused && r.Finished < r.Session:
		return Opened{Number: r.Session + 1, Now: began}
	case r.Stored < r.Session:
		return Stored{Session: r.Session, Part: part, Report: []byte("{}")}
	case r.Recorded < 100*int64(r.Session):
		return Recorded{100 * int64(r.Session)}
	case r.Finished < r.Session:
		return Finished{Session: r.Session, Report: []byte("{}")}
	case r.SignedSession < r.Session:
		return Signs{d.done(t, r.Session), r.Finished, keys.HashOf("part", part)}
	}
	return Ended{Ending: d.agreed(t, r.Session), Now: began}
}

// run brings the job to its end, with a kill at a write, and returns how many writes it took.
func (d *driver) run(t *testing.T, kill int, stored bool) (writes int) {
	disk := newMemory()
	j := d.create(t, 1, disk)
	disk.writes, disk.kill, disk.stored = 0, kill, stored
	events := 0
	for ; ; events++ {
		e := d.next(t, j, events)
		if e == nil {
			break
		}
		if _, err := j.Apply(e); err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("write %d, stored %v: %T: %v", kill, stored, e, err)
		}
		if disk.dead {
			writes += disk.writes
			disk = disk.again()
			j = d.open(t, 1, disk)
			mustApply(t, j, Died{})
		}
		if events > 100 {
			t.Fatalf("write %d, stored %v: the job stands still at %+v", kill, stored, j.Record())
		}
	}
	want := Done
	if d.ends != nil {
		want = State(d.ends.Outcome)
	}
	if j.State() != want {
		t.Errorf("write %d, stored %v: it is %s, want %s", kill, stored, j.State(), want)
	}
	if again := d.open(t, 1, disk.again()); !committed(again.at(), j.at()) || again.State() != j.State() {
		t.Errorf("write %d, stored %v: read again it is %+v, and was %+v", kill, stored, again.Record(), j.Record())
	}
	if want == Done {
		data, name, err := j.Part()
		if part, _ := d.part(1, j.Ending().Session); err != nil || string(data) != string(part) {
			t.Errorf("write %d, stored %v: %s has %q, %v", kill, stored, name, data, err)
		}
		if slices.ContainsFunc(disk.Names(), func(name string) bool { return name[:min(6, len(name))] == Drafts }) &&
			disk.files["model.hanse"] == nil {
			t.Errorf("write %d, stored %v: it keeps %v", kill, stored, disk.Names())
		}
	}
	return writes + disk.writes
}

// TestKillsAtWrites kills a party at every write of a job's life, done and not done, and has it brought to its end all
// the same: of a job that is done, and of one that a party ends after each event.
func TestKillsAtWrites(t *testing.T) {
	m := newMembers(t, false)
	drivers := []driver{{members: m}}
	for at := range 8 {
		drivers = append(drivers, driver{m, m.word(t, 0, contract.OutcomeCancelled, "enough"), at},
			driver{m, m.word(t, 1, contract.OutcomeFailed, ""), at})
	}
	for _, d := range drivers {
		writes := d.run(t, 0, false)
		if d.ends == nil && writes < 12 {
			t.Fatalf("the whole job made %d writes", writes)
		}
		for kill := 1; kill <= writes; kill++ {
			d.run(t, kill, false)
			d.run(t, kill, true)
		}
	}
}
