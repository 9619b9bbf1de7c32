package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// life is what happens to a job of which all goes well, at the second party, up to each step.
func (m *members) life(t testing.TB) []Event {
	t.Helper()
	part, digest := m.part(1, 1)
	return []Event{
		Consented{By: consent(), Data: keys.Hash{7}},
		Countersigned{m.signed(t)},
		Opened{Number: 1, Now: began},
		Stored{Session: 1, Part: part, Report: []byte("{}")},
		Recorded{Bytes: 4096},
		Finished{Session: 1, Report: []byte("{}")},
		Signs{Ending: m.done(t, 1), Digest: digest},
		Ended{Ending: m.agreed(t, 1), Now: began.Add(time.Hour)},
	}
}

// TestTransitions: from each step of a job's life, what each event comes to. A state: it happens, and the job stands
// so; words: it is refused with them.
func TestTransitions(t *testing.T) {
	m := newMembers(t, false)
	_, digest := m.part(1, 1)
	steps := []string{"proposed", "consented", "countersigned", "opened", "stored", "recorded", "finished", "signed",
		"done"}
	events := []struct {
		name  string
		event Event
		want  []string // after each step; the last holds for the rest
	}{
		{"an approval", Approved{[]string{"a"}}, []string{"proposed", "is agreed, not", "is agreed, not",
			"is running, not", "is running, not", "is running, not", "is running, not", "is running, not", "is done, not"}},
		{"a consent", Consented{By: consent()}, []string{"agreed", "is agreed, not waiting for consent", "is agreed, not",
			"is running, not", "is running, not", "is running, not", "is running, not", "is running, not", "is done, not"}},
		{"the first session", Opened{Number: 1, Now: began}, []string{"nobody has consented to job \"trial\" here",
			"running", "running", "session 1 was opened before", "session 1 was opened before", "session 1 was opened before",
			"session 1 was opened before", "session 1 was opened before", "job \"trial\" is done"}},
		{"the second session", Opened{Number: 2, Now: began}, []string{"nobody has consented", "running", "running",
			"running", "running", "running", "running", "running", "job \"trial\" is done"}},
		{"a session far ahead", Opened{Number: 1 << 20, Now: began.Add(time.Hour)}, []string{"nobody has consented",
			"session 1048576 is asked for, the last one was 0", "the last one was 0", "the last one was 1",
			"the last one was 1", "the last one was 1", "the last one was 1", "the last one was 1", "is done"}},
		{"a closing session", Opened{Number: 2, Closes: 1, Now: began}, []string{"is to close on the parts of session 1",
			"keeps that of session 0", "keeps that of session 0", "keeps that of session 0", "running", "running", "running",
			"running", "is done"}},
		{"a part of no session", Stored{Session: 2, Report: []byte("{}")}, []string{"nothing comes of session 2"}},
		{"an end of no session", Finished{Session: 2, Report: []byte("{}")}, []string{"nothing comes of session 2"}},
		{"the end to sign", Signs{m.done(t, 1), digest}, []string{"is of session 1, the last that ended well here is 0",
			"here is 0", "here is 0", "here is 0", "here is 0", "here is 0", "running", "running", "job \"trial\" is done"}},
		{"another's part to sign", Signs{m.done(t, 1), keys.Hash{9}}, []string{"here is 0", "here is 0", "here is 0",
			"here is 0", "here is 0", "here is 0", "names another part of this party's", "names another part", "is done"}},
		{"a word to sign", Signs{m.word(t, 0, contract.OutcomeCancelled, ""), keys.Hash{}}, []string{
			"is signed by whoever ends the job"}},
		{"the end", Ended{Ending: m.agreed(t, 1), Now: began}, []string{"done"}},
		{"an end that nobody signed", Ended{Ending: m.done(t, 1)}, []string{"bank, insurer, telco must still sign it"}},
		{"a word", Ended{Ending: m.word(t, 0, contract.OutcomeCancelled, "enough"), Now: began}, []string{"cancelled",
			"cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "done"}},
		{"an end to come", Awaits{m.agreed(t, 1)}, []string{"proposed", "agreed", "agreed", "running", "running", "running",
			"running", "running", "done"}},
		{"a pause", Shown{Paused, "a link broke"}, []string{"paused", "paused", "paused", "paused", "paused", "paused",
			"paused", "paused", "done"}},
		{"a remark", Remarked{"it waits"}, []string{"proposed", "agreed", "agreed", "running", "running", "running",
			"running", "running", "done"}},
		{"a death", Died{keys.Hash{1}}, []string{"proposed", "agreed", "agreed", "running", "running", "running", "running",
			"running", "done"}},
		{"a word to go on", Resumed{}, []string{"hanse approve trial consents to it", "does not hold job \"trial\" back",
			"does not hold", "does not hold", "does not hold", "does not hold", "does not hold", "does not hold",
			"is done already: nothing is left to resume"}},
		{"a removal", Removed{began}, []string{"is proposed: only a job that has ended", "is agreed: only", "is agreed: only",
			"is running: only", "is running: only", "is running: only", "is running: only", "is running: only", "done"}},
		{"nothing works on it", Shed{}, []string{"proposed", "agreed", "agreed", "running", "running", "running", "running",
			"running", "done"}},
	}
	for _, e := range events {
		for i, step := range steps {
			d := newMemory()
			j := m.create(t, 1, d)
			mustApply(t, j, m.life(t)[:i]...)
			before := j.Record()
			_, err := j.Apply(e.event)
			want := e.want[min(i, len(e.want)-1)]
			if slices.Contains(States(), State(want)) {
				if err != nil || j.State() != State(want) {
					t.Errorf("%s after %s: %s, %v, want %s", e.name, step, j.State(), err, want)
				}
			} else if err == nil || !strings.Contains(err.Error(), want) || j.Record() != before {
				t.Errorf("%s after %s: %v, want words %q and no change", e.name, step, err, want)
			}
			if again := m.open(t, 1, d.again()); again.State() != j.State() {
				t.Errorf("%s after %s: %s, and read again %s", e.name, step, j.State(), again.State())
			}
		}
	}
}

// TestEffects: what the node has to do when a job ends, is ended otherwise, or is removed.
func TestEffects(t *testing.T) {
	m := newMembers(t, false)
	cancelled, refused := m.word(t, 0, contract.OutcomeCancelled, ""), m.word(t, 2, contract.OutcomeRefused, "")
	again, other := m.word(t, 0, contract.OutcomeCancelled, "anew"), m.word(t, 2, contract.OutcomeCancelled, "")
	if again.Beats(cancelled) == false {
		cancelled, again = again, cancelled
	}
	ends := func(e *contract.Ending) Event { return Ended{Ending: e, Now: began} }
	for _, c := range []struct {
		name   string
		events []Event
		want   []Deed // of the last
	}{
		{"done", []Event{ends(m.agreed(t, 1))}, []Deed{Tidy, Announce}},
		{"done twice", []Event{ends(m.agreed(t, 1)), ends(m.agreed(t, 1))}, nil},
		{"done of a later session", []Event{ends(m.agreed(t, 1)), ends(m.agreed(t, 2))}, []Deed{Spread, Tidy, Announce}},
		{"cancelled", []Event{ends(cancelled)}, []Deed{Stop, Tidy, Announce, Forget}},
		{"done, of a job that was cancelled", []Event{ends(cancelled), ends(m.agreed(t, 1))}, []Deed{Spread, Tidy, Announce}},
		{"cancelled, of a job that is done", []Event{ends(m.agreed(t, 1)), ends(cancelled)}, nil},
		{"cancelled, of a job that was refused", []Event{ends(refused), ends(cancelled)},
			[]Deed{Spread, Stop, Tidy, Announce, Forget}},
		{"refused, of a job that was cancelled", []Event{ends(cancelled), ends(refused)}, nil},
		{"cancelled once more with other words", []Event{ends(cancelled), ends(again)}, nil},
		{"removed", []Event{ends(cancelled), Removed{began}}, []Deed{Clear}},
	} {
		j := m.create(t, 1, newMemory())
		mustApply(t, j, c.events[:len(c.events)-1]...)
		var got []Deed
		for _, e := range mustApply(t, j, c.events[len(c.events)-1]) {
			got = append(got, e.Do)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// Two parties cancel at once: the others say of the second that it is the same, and are told no second time.
	first, second := cancelled, other
	if !second.Beats(first) {
		first, second = second, first
	}
	j := m.create(t, 1, newMemory())
	mustApply(t, j, ends(first))
	for _, e := range mustApply(t, j, ends(second)) {
		if e.Do == Announce {
			t.Error("the same outcome is announced twice")
		}
	}
}

// TestClientsOfAProposer: who alone signs that a job over clients is done has no other store one end after another, and
// says nothing of one that a party's owner ended before it had a session.
func TestClientsOfAProposer(t *testing.T) {
	m := newMembers(t, true)
	j := m.create(t, 1, newMemory())
	mustApply(t, j, Ended{Ending: m.agreed(t, 1), Now: began}, Ended{Ending: m.agreed(t, 2), Now: began})
	if got := j.Ending().Session; got != 1 {
		t.Errorf("the end of session %d stands, want of the first that was told", got)
	}
	j = m.create(t, 1, newMemory())
	mustApply(t, j, Ended{Ending: m.word(t, 1, contract.OutcomeCancelled, "no"), Now: began},
		Ended{Ending: m.agreed(t, 1), Now: began})
	if j.State() != Cancelled {
		t.Errorf("a job that its owner cancelled before it began is %s", j.State())
	}
	j = m.create(t, 1, newMemory())
	mustApply(t, j, Consented{By: consent()}, Opened{Number: 1, Now: began},
		Ended{Ending: m.word(t, 1, contract.OutcomeCancelled, "no"), Now: began}, Ended{Ending: m.agreed(t, 1), Now: began})
	if j.State() != Done {
		t.Errorf("a job that had a session is %s", j.State())
	}
}

// TestClaimedSessions: no party brings the number of sessions near its end, neither by what it says of the last one nor
// by the one it starts.
func TestClaimedSessions(t *testing.T) {
	if got := Claimed(7, 1<<32-1); got != 7+claimAhead {
		t.Errorf("after session 7 a claim of the last number counts as %d", got)
	}
	if got := Claimed(9, 3); got != 3 {
		t.Errorf("a claim of session 3 counts as %d", got)
	}
	c, year := &Consent{At: began}, 365*24*time.Hour
	for _, tc := range []struct {
		number uint32
		after  time.Duration
		want   bool
	}{
		{1, 0, true}, {sessionsFree, -time.Hour, true}, {1 << 20, time.Hour, false},
		{1<<32 - 1, year, false}, {1<<32 - 1, 3 * year, true},
	} {
		if got := c.plausible(tc.number, began.Add(tc.after)); got != tc.want {
			t.Errorf("session %d after %s is plausible: %v", tc.number, tc.after, got)
		}
	}
	const session = 10 * time.Second // the coordinator of a job that keeps breaking waits so long
	if perSecond := claimAhead / session.Seconds(); perSecond > sessionRate {
		t.Errorf("claims move the number by %v a second, and %d pass", perSecond, sessionRate)
	}
}

// TestDamage: what is damaged and can be had from elsewhere is had from there, and no consent comes of damage.
func TestDamage(t *testing.T) {
	m := newMembers(t, false)
	life := m.life(t)
	for _, c := range []struct {
		file  string
		after int // events of the life
		want  func(j *Job, d *memory) error
	}{
		{ContractFile, 6, func(j *Job, d *memory) error {
			if _, ok := j.InForce(); !ok || j.State() != Running || len(d.files[ContractFile]) == 0 {
				return fmt.Errorf("it is %s, in force %v", j.State(), ok)
			}
			return nil
		}},
		{RecordFile, 6, func(j *Job, d *memory) error {
			r := j.Record()
			_, err := j.Apply(Signs{m.done(t, 1), keys.Hash{}})
			if r.Consent != nil || !r.Damaged || r.State != Proposed || !faults.WithCode(fault.CodeUnsigned)(err) {
				return fmt.Errorf("the record is %+v, signs %v", r, err)
			}
			if _, err := j.Apply(Opened{Number: 9, Now: began}); !faults.WithCode(fault.CodeUnsigned)(err) {
				return fmt.Errorf("it opens a session: %v", err)
			}
			mustApply(t, j, Consented{By: consent()})
			if r := j.Record(); !r.Renewed || r.Damaged {
				return fmt.Errorf("consented to anew the record is %+v", r)
			}
			return nil
		}},
		{RecordFile, 8, func(j *Job, d *memory) error {
			if r := j.Record(); r.State != Done || !r.Damaged || !r.Ended.Equal(d.Time(EndingFile)) {
				return fmt.Errorf("the record is %+v", r)
			}
			return nil
		}},
		{EndingFile, 8, func(j *Job, d *memory) error {
			_, err := j.Apply(Opened{Number: 9, Now: began})
			if j.Ending() != nil || !j.State().Final() || !faults.WithCode(fault.CodeEnded)(err) {
				return fmt.Errorf("it is %s, opens %v", j.State(), err)
			}
			mustApply(t, j, Ended{Ending: m.agreed(t, 1), Now: began})
			if j.Ending() == nil || j.Record().Reason != "" {
				return fmt.Errorf("asked for again it is %+v", j.Record())
			}
			return nil
		}},
	} {
		d := newMemory()
		j := m.create(t, 1, d)
		mustApply(t, j, life[:c.after]...)
		d = d.again()
		d.damaged[c.file] = true
		if err := c.want(m.open(t, 1, d), d); err != nil {
			t.Errorf("%s, after %d events: %v", c.file, c.after, err)
		}
	}
	d := newMemory()
	m.create(t, 1, d)
	d.damaged[ContractFile] = true
	delete(d.files, ContractCopy)
	var damaged *vault.DamagedError
	if _, _, err := Open(d, m.folder(), nil); !errors.As(err, &damaged) {
		t.Errorf("without a contract: %v", err)
	}
}

// TestLostParts: a part that is damaged before all have signed for it is made anew, and one that all signed for is not.
func TestLostParts(t *testing.T) {
	m := newMembers(t, false)
	_, digest := m.part(1, 1)
	d := newMemory()
	j := m.create(t, 1, d)
	mustApply(t, j, m.life(t)[:6]...)
	mustApply(t, j, Opened{Number: 2, Closes: 1, Now: began}, Kept{From: 1, To: 2})
	if data, _, err := j.Part(); err != nil || keys.HashOf("part", data) != digest {
		t.Errorf("before the closing session has ended its part is %q, %v", data, err)
	}
	d.damaged[Draft(1)] = true
	mustApply(t, j, Finished{Session: 2, Report: []byte("{}")})
	if data, _, err := j.Part(); err != nil || keys.HashOf("part", data) != digest {
		t.Errorf("the closing session kept %q, %v", data, err)
	}
	mustApply(t, j, Lost{Session: 2, Why: errKilled})
	if r := j.Record(); r.Finished != 0 || r.Stored != 1 {
		t.Errorf("who has lost the part of session 2 has %+v", r)
	}
	if _, err := j.Apply(Kept{From: 1, To: 2}); !faults.IsDamage(err) {
		t.Errorf("it keeps what is damaged: %v", err)
	}
	mustApply(t, j, Lost{Session: 1, Why: errKilled})
	if r := j.Record(); r.Stored != 0 || d.files[Draft(1)] != nil {
		t.Errorf("who has lost the part of session 1 has %+v, files %v", r, d.Names())
	}
	if _, err := j.Apply(Opened{Number: 3, Closes: 1, Now: began}); !faults.WithCode(fault.CodeUnsigned)(err) {
		t.Errorf("it closes on a part that is gone: %v", err)
	}
}

// TestOwnFaults: a party with a fault of its own comes to no session for a while, longer each time, until it is mended.
func TestOwnFaults(t *testing.T) {
	j := newMembers(t, false).create(t, 1, newMemory())
	own, at := errors.New("the disk is full"), began
	for _, want := range []time.Duration{2, 4, 8, 16, 30, 30} {
		mustApply(t, j, Broken{Why: &fault.Fault{Code: fault.CodeDisk}, Own: own, Now: at})
		if j.Ailing(at.Add(want*time.Second)) == nil || j.Ailing(at.Add(want*time.Second+1)) != nil {
			t.Errorf("it does not stay away for %d s", want)
		}
		at = at.Add(time.Hour)
	}
	if j.Why() == nil {
		t.Error("others are not told why")
	}
	mustApply(t, j, Broken{Now: at})
	if j.Why() != nil || j.Ailing(at) != nil {
		t.Error("a fault that is nobody's keeps it away")
	}
}

// TestDeaths: two in a row without a checkpoint in between, or eight in all, hold a job back until its owner resumes
// it.
func TestDeaths(t *testing.T) {
	m := newMembers(t, false)
	for _, c := range []struct {
		name string
		mark func(death int) keys.Hash
		want int // deaths until it is held
	}{
		{"without a checkpoint", func(int) keys.Hash { return keys.Hash{1} }, 2},
		{"with one each", func(death int) keys.Hash { return keys.Hash{byte(death)} }, 8},
	} {
		j := m.create(t, 1, newMemory())
		mustApply(t, j, Consented{By: consent()})
		for death := 1; death <= c.want; death++ {
			if j.Deadly() != nil {
				t.Fatalf("%s: it is held back after %d deaths", c.name, death-1)
			}
			mustApply(t, j, Opened{Number: uint32(death), Now: began}, Died{c.mark(death)}, Died{c.mark(death)})
			if got := j.Record().Deaths.InAll; got != uint32(death) {
				t.Errorf("%s: %d deaths count as %d", c.name, death, got)
			}
		}
		if j.Deadly() == nil || j.State() != Paused || !strings.Contains(j.Record().Reason, "hanse resume trial") {
			t.Errorf("%s: after %d deaths it is %+v", c.name, c.want, j.Record())
		}
		mustApply(t, j, Resumed{})
		if j.Deadly() != nil || j.Record().Reason != "" {
			t.Errorf("%s: resumed it is %+v", c.name, j.Record())
		}
	}
	j := m.create(t, 1, newMemory())
	mustApply(t, j, Consented{By: consent()}, Opened{Number: 1, Now: began}, Stored{Session: 1, Report: []byte("{}")},
		Died{keys.Hash{1}})
	if got := j.Record().Deaths.InAll; got != 0 {
		t.Errorf("a session whose part is stored counts as %d deaths", got)
	}
}

// TestAFullDisk: what commits to something does not happen, what does not is shown all the same, and the end stands.
func TestAFullDisk(t *testing.T) {
	m := newMembers(t, false)
	d := newMemory()
	j := m.create(t, 1, d)
	mustApply(t, j, m.life(t)[:6]...)
	d.full = true
	before := j.Record()
	_, digest := m.part(1, 1)
	for _, e := range []Event{Opened{Number: 2, Now: began}, Signs{m.done(t, 1), digest},
		Ended{Ending: m.agreed(t, 1), Now: began}, Known{5}} {
		if _, err := j.Apply(e); err == nil || j.Record() != before || j.Ending() != nil {
			t.Errorf("%T: %v, the record is %+v", e, err, j.Record())
		}
	}
	effects, err := j.Apply(Shown{Paused, "no space left"})
	if err != nil || j.State() != Paused || len(effects) != 1 || effects[0].Do != Complain {
		t.Errorf("it is %s, %v, %v", j.State(), effects, err)
	}
}

// TestTheFolderOfAJob: what a node writes into a real folder it reads again, and so do those who run no node; with the
// version of the program that wrote it for others to tell.
func TestTheFolderOfAJob(t *testing.T) {
	m := newMembers(t, false)
	dir := filepath.Join(t.TempDir(), m.folder())
	v, err := vault.Open(dir, vault.Options{Owner: m.contract.Hash()})
	if err != nil {
		t.Fatal(err)
	}
	j := m.create(t, 1, Folder{v})
	mustApply(t, j, m.life(t)...)
	again := m.open(t, 1, Folder{v})
	if again.State() != Done || again.Ending().Hash() != j.Ending().Hash() || again.Record().Data != (keys.Hash{7}) {
		t.Errorf("read again it is %+v", again.Record())
	}
	r, err := ReadRecord(dir)
	if err != nil || r.State != Done || WrittenBy(dir) != "v1.0.0" {
		t.Errorf("the record is %+v, %v, written by %q", r, err, WrittenBy(dir))
	}
	if state, _ := ReadStanding(dir, m.contract, "insurer"); state != Done {
		t.Errorf("by its folder it is %s", state)
	}
	if c, err := ReadContract(dir, m.contract.Hash()); err != nil || c.Hash() != m.contract.Hash() {
		t.Errorf("its contract cannot be read: %v", err)
	}
	if err := Again(dir); err != nil {
		t.Fatal(err)
	}
	v, err = vault.Open(dir, vault.Options{Owner: m.contract.Hash()})
	if err != nil {
		t.Fatal(err)
	}
	if back := m.open(t, 1, Folder{v}); back.State() != Agreed || back.Ending() != nil || back.Record().Consent == nil {
		t.Errorf("put back it is %+v", back.Record())
	}
}

// TestTheEndIsSaidWhenThePartIsThere: who waits for the end of a job finds this party's part in its place.
func TestTheEndIsSaidWhenThePartIsThere(t *testing.T) {
	m := newMembers(t, false)
	d := &watchedDisk{memory: newMemory()}
	j := m.create(t, 1, d)
	d.watch = func(name string) {
		select {
		case <-j.Final():
			t.Errorf("%s is written after the end was said", name)
		default:
		}
	}
	mustApply(t, j, m.life(t)...)
	<-j.Final()
	if d.files["model.hanse"] == nil {
		t.Error("there is no part")
	}
}

// watchedDisk says what is saved.
type watchedDisk struct {
	*memory
	watch func(name string)
}

func (d *watchedDisk) Save(name string, data []byte) error {
	if d.watch != nil {
		d.watch(name)
	}
	return d.memory.Save(name, data)
}
