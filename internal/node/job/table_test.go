package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
		Signs{Ending: m.done(t, 1), Of: 1, Digest: digest},
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
		{"the end to sign", Signs{m.done(t, 1), 1, digest}, []string{"is of session 1, the last that ended well here is 0",
			"here is 0", "here is 0", "here is 0", "here is 0", "here is 0", "running", "running", "job \"trial\" is done"}},
		{"an end to sign, the part not looked at", Signs{m.done(t, 1), 0, digest}, []string{"here is 0", "here is 0",
			"here is 0", "here is 0", "here is 0", "here is 0", "here is 1", "here is 1", "is done"}},
		{"another's part to sign", Signs{m.done(t, 1), 1, keys.Hash{9}}, []string{"here is 0", "here is 0", "here is 0",
			"here is 0", "here is 0", "here is 0", "names another part of this party's", "names another part", "is done"}},
		{"a word to sign", Signs{Ending: m.word(t, 0, contract.OutcomeCancelled, "")}, []string{
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
			_, err := j.Apply(Signs{m.done(t, 1), 1, keys.Hash{}})
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
	// With the end damaged, too, a job that has ended is not proposed anew; neither where its record had not come yet.
	for _, name := range []string{RecordFile, ContractFile} {
		d := newMemory()
		j := m.create(t, 1, d)
		mustApply(t, j, life[:7]...)
		before := d.files[RecordFile]
		mustApply(t, j, life[7])
		d = d.again()
		d.files[RecordFile], d.damaged[EndingFile], d.damaged[name] = before, true, true
		for range 2 {
			j = m.open(t, 1, d)
			_, err := j.Apply(Consented{By: consent()})
			if j.Ending() != nil || !j.State().Final() || err == nil || j.Record().Reason != endDamaged {
				t.Errorf("%s and the end damaged: it is %+v, consents %v", name, j.Record(), err)
			}
			d = d.again()
		}
		mustApply(t, j, Ended{Ending: m.agreed(t, 1), Now: began})
		if data, _, err := j.Part(); j.State() != Done || err != nil || len(data) == 0 {
			t.Errorf("%s and the end damaged: told of the end again it is %s and keeps %q, %v", name, j.State(), data, err)
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
	mustApply(t, j, Lost{Session: 2})
	if r := j.Record(); r.Finished != 0 || r.Stored != 1 {
		t.Errorf("who has lost the part of session 2 has %+v", r)
	}
	if _, err := j.Apply(Kept{From: 1, To: 2}); !faults.IsDamage(err) {
		t.Errorf("it keeps what is damaged: %v", err)
	}
	mustApply(t, j, Lost{Session: 1})
	if r := j.Record(); r.Stored != 0 {
		t.Errorf("who has lost the part of session 1 has %+v", r)
	}
	if _, err := j.Apply(Opened{Number: 3, Closes: 1, Now: began}); !faults.WithCode(fault.CodeUnsigned)(err) {
		t.Errorf("it closes on a part that is gone: %v", err)
	}
	// The scores of a prediction are one file: lost after a closing session they are for the session that made them, too.
	m = newMembers(t, false)
	m.contract.Job.Task = contract.TaskPredict
	j = m.create(t, 1, newMemory())
	mustApply(t, j, Consented{By: consent()}, Opened{Number: 1, Now: began}, Stored{Session: 1, Report: []byte("{}")},
		Opened{Number: 2, Closes: 1, Now: began}, Kept{From: 1, To: 2}, Finished{Session: 2, Report: []byte("{}")},
		Lost{Session: 2})
	if r := j.Record(); r.Finished != 0 || r.Stored != 0 {
		t.Errorf("who has lost the scores of a prediction has %+v", r)
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
	for _, e := range []Event{Opened{Number: 2, Now: began}, Signs{m.done(t, 1), 1, digest},
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
	must(t, err)
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
	must(t, Again(Folder{v}))
	v, err = vault.Open(dir, vault.Options{Owner: m.contract.Hash()})
	must(t, err)
	if back := m.open(t, 1, Folder{v}); back.State() != Agreed || back.Ending() != nil || back.Record().Consent == nil {
		t.Errorf("put back it is %+v", back.Record())
	}
}

// slow is a Disk that waits at one file.
type slow struct {
	*memory
	at      string
	reached chan struct{}
	goOn    chan struct{}
}

func (d *slow) Save(name string, data []byte) error {
	if name == d.at {
		close(d.reached)
		<-d.goOn
	}
	return d.memory.Save(name, data)
}

// TestWhoWaitsForTheEndHasThePart: while the part of a job that is done is brought into its place, whoever asks how the
// job stands waits for no disk, and nobody hears that the job has ended.
func TestWhoWaitsForTheEndHasThePart(t *testing.T) {
	m := newMembers(t, false)
	d := &slow{memory: newMemory(), at: "model.hanse", reached: make(chan struct{}), goOn: make(chan struct{})}
	j := m.create(t, 1, d)
	mustApply(t, j, m.life(t)[:7]...)
	done := make(chan error)
	go func() {
		_, err := j.Apply(Ended{Ending: m.agreed(t, 1), Now: began})
		done <- err
	}()
	<-d.reached
	asked := make(chan bool)
	go func() { asked <- j.IsOver() }()
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.Error("who asks how the job stands waits for the disk")
	}
	select {
	case <-j.Final():
		t.Error("the end is told before the part is in its place")
	case <-j.Over():
		t.Error("the end is told before the part is in its place")
	default:
	}
	close(d.goOn)
	must(t, <-done)
	<-j.Final()
}

// TestWhatIsSignedForStays: a party that has signed for its parts of two sessions keeps both when the job is cancelled,
// also where its record was damaged, and has the one of which it is told that all have signed.
func TestWhatIsSignedForStays(t *testing.T) {
	m := newMembers(t, false)
	for name, damaged := range map[string]bool{"two sessions": false, "a damaged record": true} {
		for told := uint32(1); told <= 2; told++ {
			d := newMemory()
			j := m.create(t, 1, d)
			mustApply(t, j, Consented{By: consent()})
			for n := uint32(1); n <= 2; n++ {
				part, digest := m.part(1, n)
				mustApply(t, j, Opened{Number: n, Now: began}, Stored{Session: n, Part: part, Report: []byte("{}")},
					Finished{Session: n, Report: []byte("{}")}, Signs{m.done(t, n), n, digest})
			}
			if damaged {
				d = d.again()
				d.damaged[RecordFile] = true
				j = m.open(t, 1, d)
			}
			mustApply(t, j, Ended{Ending: m.word(t, 0, contract.OutcomeCancelled, ""), Now: began})
			j = m.open(t, 1, d.again())
			mustApply(t, j, Ended{Ending: m.agreed(t, told), Now: began})
			want, _ := m.part(1, told)
			if data, _, err := j.Part(); j.State() != Done || err != nil || string(data) != string(want) {
				t.Errorf("%s: told that session %d is done it is %s and keeps %q, %v", name, told, j.State(), data, err)
			}
		}
	}
	// Over clients a party of which nobody knows whether it had a session takes the end that the proposer tells.
	m = newMembers(t, true)
	d := newMemory()
	j := m.create(t, 1, d)
	mustApply(t, j, Consented{By: consent()}, Opened{Number: 1, Now: began},
		Ended{Ending: m.word(t, 1, contract.OutcomeCancelled, "no"), Now: began})
	d = d.again()
	d.damaged[RecordFile] = true
	j = m.open(t, 1, d)
	mustApply(t, j, Ended{Ending: m.agreed(t, 1), Now: began})
	if j.State() != Done {
		t.Errorf("a job that had a session, and whose record was damaged, is %s", j.State())
	}
}

// crowded is a Disk that several goroutines come to while it writes.
type crowded struct {
	mu sync.Mutex
	*memory
}

func (d *crowded) Save(name string, data []byte) error {
	time.Sleep(50 * time.Microsecond)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory.Save(name, data)
}

func (d *crowded) Load(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory.Load(name)
}

// TestAtTheSameTime: of events that come at once, and of which one alone may happen, one happens; the disk says what
// the memory says.
func TestAtTheSameTime(t *testing.T) {
	m := newMembers(t, false)
	_, digest := m.part(1, 1)
	lie := *m.done(t, 1)
	lie.Parts = slices.Clone(lie.Parts)
	lie.Parts[0].Digest = keys.Hash{1}
	other, err := contract.NewEnding(m.contract, lie)
	must(t, err)
	for range 50 {
		d := &crowded{memory: newMemory()}
		j := m.create(t, 1, d)
		once := func(what string, events ...Event) {
			t.Helper()
			var happened atomic.Int64
			var all sync.WaitGroup
			for _, e := range events {
				all.Go(func() {
					if _, err := j.Apply(e); err == nil {
						happened.Add(1)
					}
				})
			}
			all.Wait()
			if n := happened.Load(); n != 1 {
				t.Fatalf("%s happens %d times", what, n)
			}
			if again := m.open(t, 1, d.memory.again()); !committed(again.at(), j.at()) {
				t.Fatalf("after %s the disk says %+v, the memory %+v", what, again.Record(), j.Record())
			}
		}
		once("a consent", Consented{By: consent()}, Consented{By: consent()})
		once("the first session", Opened{Number: 1, Now: began}, Opened{Number: 1, Now: began})
		mustApply(t, j, m.life(t)[3:6]...)
		once("a signature", Signs{m.done(t, 1), 1, digest}, Signs{other, 1, digest})
		once("the second session", Opened{Number: 2, Now: began}, Opened{Number: 2, Now: began})
		mustApply(t, j, Ended{Ending: m.word(t, 0, contract.OutcomeCancelled, ""), Now: began})
		once("a removal", Opened{Number: 3, Now: began}, Removed{began}, Removed{began})
	}
}

// TestWhatEventsLeave: beside the state, what an event changes of the record, of the files and of what is in memory.
func TestWhatEventsLeave(t *testing.T) {
	m := newMembers(t, false)
	life, later := m.life(t), began.Add(time.Hour)
	failed := m.word(t, 1, contract.OutcomeFailed, "")
	broken := Broken{Why: &fault.Fault{Code: fault.CodeDisk}, Own: errors.New("the disk is full"), Now: began}
	deadly := []Event{life[0], Opened{Number: 1, Now: began}, Died{keys.Hash{1}}, Opened{Number: 2, Now: began},
		Died{keys.Hash{1}}}
	then := func(events []Event, more ...Event) []Event { return append(slices.Clone(events), more...) }
	for _, c := range []struct {
		name   string
		events []Event
		holds  func(j *Job, r Record, d *memory) bool
	}{
		{"approvals go with the consent", []Event{Approved{[]string{"a"}}, life[0]},
			func(_ *Job, r Record, _ *memory) bool { return r.Pending == nil && r.Data == keys.Hash{7} }},
		{"approvals wait for more", []Event{Approved{[]string{"a"}}},
			func(_ *Job, r Record, _ *memory) bool { return slices.Equal(r.Pending.Approvals, []string{"a"}) }},
		{"a session takes back why it stood still", then(life[:2], broken, life[2]),
			func(j *Job, r Record, _ *memory) bool {
				return j.Why() == nil && j.Ailing(began) != nil && r.Reason == ""
			}},
		{"a part has its report", life[:4],
			func(_ *Job, _ Record, d *memory) bool { return d.files[ReportFile] != nil && d.files[Draft(1)] != nil }},
		{"an end has its report", then(life[:4], Finished{Session: 1, Report: []byte("second")}),
			func(_ *Job, _ Record, d *memory) bool { return string(d.files[ReportFile]) == "second" }},
		{"a good end takes back the deaths", then(deadly[:4], Finished{Session: 2}),
			func(_ *Job, r Record, _ *memory) bool { return r.Deaths == Deaths{} }},
		{"a session that has ended well is no death", then(life[:3], Finished{Session: 1}, Died{keys.Hash{1}}),
			func(_ *Job, r Record, _ *memory) bool { return r.Deaths.InAll == 0 }},
		{"a remark says nothing of a session", then(life[:3], Shown{Running, "it is on"}, Remarked{"it waits"}),
			func(_ *Job, r Record, _ *memory) bool { return r.Reason == "it is on" }},
		{"who resumes a job counts no death twice", then(deadly, broken, Resumed{}, Shown{Running, ""}, Died{keys.Hash{1}}),
			func(j *Job, r Record, _ *memory) bool { return r.Deaths == Deaths{Last: 2} && j.Ailing(began) == nil }},
		{"who resumes it for its memory has said so for good", then(deadly, Resumed{Short: true},
			Opened{Number: 3, Now: began}, Died{}, Opened{Number: 4, Now: began}, Died{}, Shown{Running, "it is on"}, Resumed{}),
			func(_ *Job, r Record, _ *memory) bool { return r.Anyway && r.Reason == "it is on" }},
		{"nothing is awaited of a job that has ended", then(life, Awaits{m.agreed(t, 1)}),
			func(j *Job, _ Record, _ *memory) bool { return j.Awaited() == nil && !j.IsEnding() }},
		{"the owner reads why this node ended a job", then(life[:3], Ended{Ending: failed, Cause: "the whole of it",
			Adds: []string{"and more"}, Report: []byte("third"), Now: later}),
			func(_ *Job, r Record, d *memory) bool {
				return r.Reason == "the whole of it; and more" && string(d.files[ReportFile]) == "third" && r.Ended.Equal(later)
			}},
		{"numbers are kept", then(life[:6], Known{5}, Recorded{9}),
			func(_ *Job, r Record, _ *memory) bool { return r.Known == 5 && r.Recorded == 9 }},
		{"a removal has its day", then(life, Removed{later}),
			func(_ *Job, r Record, _ *memory) bool { return r.Removed.Equal(later) }},
		{"a reason is one line", then(life[:3], Shown{Paused, "a\nb" + strings.Repeat("c", maxReason)}),
			func(_ *Job, r Record, _ *memory) bool {
				return !strings.Contains(r.Reason, "\n") && len(r.Reason) <= maxReason
			}},
		{"a job that is shed has its contract on the disk", then(life, Shed{}, life[1]),
			func(j *Job, _ Record, d *memory) bool {
				_, ok := j.InForce()
				return !ok && j.Brief() && string(j.Text()) == string(d.files[ContractFile])
			}},
	} {
		d := newMemory()
		j := m.create(t, 1, d)
		for i, e := range c.events {
			if _, err := j.Apply(e); err != nil {
				t.Fatalf("%s: event %d: %v", c.name, i, err)
			}
		}
		if !c.holds(j, j.Record(), d) {
			t.Errorf("%s: the record is %+v, the files are %v", c.name, j.Record(), d.Names())
		}
		again := m.open(t, 1, d.again()).Record()
		if r := j.Record(); again.Pending != nil != (r.Pending != nil) || again.Deaths != r.Deaths ||
			again.Anyway != r.Anyway || again.Reason != r.Reason || again.Recorded != r.Recorded {
			t.Errorf("%s: read again it is %+v, and was %+v", c.name, again, r)
		}
	}
	for _, e := range []Event{Stored{}, Finished{}, Kept{}} {
		if _, err := m.create(t, 1, newMemory()).Apply(e); err == nil {
			t.Errorf("%T of no session happens", e)
		}
	}
	clients := newMembers(t, true).create(t, 1, newMemory())
	mustApply(t, clients, life[0], Opened{Number: 1, Now: began})
	clients.now.record.Stored = 1
	if _, err := clients.Apply(Opened{Number: 2, Closes: 1, Now: began}); err == nil {
		t.Error("a job over clients closes on a part")
	}
}

// TestWritesOfAnEnd: the report comes before the end, the end stands whatever becomes of the writes after it, and that
// one failed is the first that is done about it.
func TestWritesOfAnEnd(t *testing.T) {
	m := newMembers(t, false)
	for kill := 1; kill <= 5; kill++ {
		d := newMemory()
		j := m.create(t, 1, d)
		mustApply(t, j, m.life(t)[:7]...)
		delete(d.files, ReportFile)
		d.writes, d.kill, d.stored = 0, kill, true
		effects, err := j.Apply(Ended{Ending: m.agreed(t, 1), Report: []byte("{}"), Now: began})
		stands := kill > 2
		switch {
		case (d.files[EndingFile] != nil) != (kill >= 2) || d.files[ReportFile] == nil:
			t.Errorf("killed at write %d it has %v", kill, d.Names())
		case stands != (err == nil) || stands != (j.Ending() != nil):
			t.Errorf("killed at write %d it ends with %v, and has the end %v", kill, err, j.Ending())
		case stands && (effects[0].Do != Complain || effects[0].Err == nil):
			t.Errorf("killed at write %d it does %v", kill, effects)
		}
	}
}

// TestWhatOpenDoes: what it makes good on the disk, what it sets aside, and what it leaves to the node.
func TestWhatOpenDoes(t *testing.T) {
	m := newMembers(t, false)
	life, removed := m.life(t), Removed{began}
	for _, c := range []struct {
		name   string
		events []Event
		change func(d *memory)
		want   []Deed
		aside  []string
		holds  func(j *Job, r Record, d *memory) bool
	}{
		{"a job under way", life[:6], func(*memory) {}, nil, nil,
			func(j *Job, _ Record, d *memory) bool { _, ok := j.InForce(); return ok && d.writes == 0 }},
		{"a job that is done", life, func(*memory) {}, []Deed{Tidy}, nil,
			func(_ *Job, r Record, _ *memory) bool { return r.Ended.Equal(began.Add(time.Hour)) }},
		{"a removed one", append(slices.Clone(life), removed), func(*memory) {}, []Deed{Tidy, Clear}, nil,
			func(_ *Job, r Record, _ *memory) bool { return r.State == Done }},
		{"a part that cannot be promoted", life[:7], func(d *memory) {
			d.files[EndingFile], d.damaged[Draft(1)] = m.agreed(t, 1).Text(), true
		}, []Deed{Complain, Tidy}, nil, func(_ *Job, r Record, d *memory) bool { return d.files[Draft(1)] != nil }},
		{"an end whose record had not come", life[:7], func(d *memory) { d.files[EndingFile] = m.agreed(t, 1).Text() },
			[]Deed{Tidy}, nil, func(j *Job, r Record, d *memory) bool {
				return r.State == Done && r.Ended.Equal(d.Time(EndingFile)) && d.files["model.hanse"] != nil &&
					d.files[Draft(1)] == nil
			}},
		{"an end that not all have signed", life[:7], func(d *memory) { d.files[EndingFile] = m.done(t, 1).Text() }, nil,
			[]string{EndingFile}, func(j *Job, _ Record, _ *memory) bool { return j.Ending() == nil }},
		{"a damaged record", life[:3], func(d *memory) { d.damaged[RecordFile] = true }, nil, []string{RecordFile},
			func(_ *Job, r Record, d *memory) bool { return r.State == Proposed && !d.damaged[RecordFile] }},
		{"a damaged contract", life[:3], func(d *memory) { d.damaged[ContractFile] = true }, nil, nil,
			func(_ *Job, _ Record, d *memory) bool { return !d.damaged[ContractFile] }},
		{"a copy that was changed", life[:3], func(d *memory) { d.files[ContractCopy] = []byte("mine") }, nil, nil,
			func(_ *Job, _ Record, d *memory) bool {
				return string(d.files[ContractCopy]) == string(d.files[ContractFile])
			}},
	} {
		d := newMemory()
		mustApply(t, m.create(t, 1, d), c.events...)
		d = d.again()
		c.change(d)
		j, effects, err := Open(d, m.folder(), func(*contract.Contract) Config { return m.config(1) })
		must(t, err)
		var got []Deed
		for _, e := range effects {
			got = append(got, e.Do)
		}
		if !slices.Equal(got, c.want) || !slices.Equal(d.aside, c.aside) || !c.holds(j, j.Record(), d) {
			t.Errorf("%s: does %v, sets %v aside, the record is %+v, the files are %v", c.name, got, d.aside, j.Record(),
				d.Names())
		}
		// Nothing is left to write when it starts once more, and nothing is written of what is as it was.
		writes := d.writes
		j = m.open(t, 1, d)
		mustApply(t, j, Shown{j.State(), j.Record().Reason})
		if d.writes != writes {
			t.Errorf("%s: started once more it makes %d writes", c.name, d.writes-writes)
		}
	}
	other := newMembers(t, false)
	d := newMemory()
	m.create(t, 1, d)
	d.files[ContractFile], d.files[ContractCopy] = other.contract.Text(), other.contract.Text()
	if _, _, err := Open(d, m.folder(), nil); !faults.IsDamage(err) {
		t.Errorf("with another job's contract: %v", err)
	}
	if _, ok := New(newMemory(), m.folder(), m.config(1), m.signed(t).Contract(), Record{}).InForce(); !ok {
		t.Error("a job that all have signed is not in force")
	}
}
