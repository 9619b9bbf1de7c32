package shards

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// errKilled is what the writes of a killed process come to.
var errKilled = errors.New("the process was killed at this write")

// memory is a disk in memory, whose process can be killed at a write.
type memory struct {
	files  map[string][]byte
	left   int  // writes until the process is killed at one; 0: at none
	stored bool // what it is killed at is done
	dead   bool
}

func (m *memory) Path(name string) string { return name }

func (m *memory) Load(name string) ([]byte, error) { return bytes.Clone(m.files[name]), nil }

func (m *memory) Save(name string, data []byte) error {
	if m.left == 1 {
		m.dead = true
	}
	m.left = max(0, m.left-1)
	if !m.dead || m.stored {
		m.files[name] = bytes.Clone(data)
	}
	if m.dead {
		m.stored = false
		return errKilled
	}
	return nil
}

// again is the disk as the process finds it when it starts again.
func (m *memory) again() *memory { return &memory{files: maps.Clone(m.files)} }

// TestSlot: from each step of a shard's life at a party, what each event comes to. The name of a step: the slot is as
// after that step; words: it is refused with them, and as before.
func TestSlot(t *testing.T) {
	key, other := keys.ID{1}, keys.ID{2}
	fresh := slot{shard: contract.Shard{Index: 1, Of: 2, First: 60, Rows: 40}}
	kept := record{Latest: 3, Done: 3, Result: keys.Hash{3}}
	with := func(change func(s *slot)) slot {
		s := fresh
		s.Latest = 3
		change(&s)
		return s
	}
	steps := []struct {
		name string
		slot slot
	}{
		{"new", fresh},
		{"delegated", with(func(s *slot) { s.offered = key })},
		{"running", with(func(s *slot) { s.running = true })},
		{"broken off", with(func(*slot) {})}, // and so it is read from the disk after a kill
		{"kept", with(func(s *slot) { s.record, s.rows, s.running = kept, 40, true })},
		{"done", with(func(s *slot) { s.record, s.rows = kept, 40 })},
		{"delegated at the end", with(func(s *slot) { s.offered, s.over = key, true })},
		{"running at the end", with(func(s *slot) { s.running, s.over = true, true })},
		{"done at the end", with(func(s *slot) { s.record, s.rows, s.over = kept, 40, true })},
		{"delegated anew", slot{shard: fresh.shard, record: record{Latest: 4}, offered: other}},
		{"half done", with(func(s *slot) { s.running, s.rows = true, 20 })},
		{"all rows done", with(func(s *slot) { s.running, s.rows = true, 40 })},
		{"half done at the end", with(func(s *slot) { s.running, s.rows, s.over = true, 20, true })},
		{"all rows done at the end", with(func(s *slot) { s.running, s.rows, s.over = true, 40, true })},
		{"new at the end", slot{shard: fresh.shard, over: true}},
		{"broken off at the end", with(func(s *slot) { s.over = true })},
		{"kept at the end", with(func(s *slot) { s.record, s.rows, s.running, s.over = kept, 40, true, true })},
	}
	const rise, way, end, not, past, here = "they only rise", "a session of it is under way", "all is done or over",
		"which this party has not delegated last", "is under way or over", "of shard 1 is said to be done, here it is "
	plain := func(do func(slot) slot) func(slot) (slot, error) {
		return func(s slot) (slot, error) { return do(s), nil }
	}
	keep := func(generation uint32) func(slot) (slot, error) {
		rec := kept
		rec.Latest, rec.Done = generation, generation
		return func(s slot) (slot, error) { return s.keep(rec) }
	}
	isDone := func(generation uint32) func(slot) (slot, error) {
		return func(s slot) (slot, error) { return s, s.isDone(generation) }
	}
	const none = "another generation has begun, or the run is over"
	for _, e := range []struct {
		name  string
		event func(slot) (slot, error)
		want  []string // after each of the first nine steps; the last holds for the rest
	}{
		{"the next generation is offered", func(s slot) (slot, error) { return s.delegate(4, other) },
			[]string{"delegated anew", "delegated anew", way, "delegated anew", way, "delegated anew", end}},
		{"the same generation is offered", func(s slot) (slot, error) { return s.delegate(3, key) },
			[]string{"delegated", rise, rise, rise, rise, rise, end}},
		{"an older generation is offered", func(s slot) (slot, error) { return s.delegate(0, key) },
			[]string{rise, rise, rise, rise, rise, rise, end}},
		{"a last generation is offered", func(s slot) (slot, error) { return s.delegate(maxGeneration+1, key) },
			[]string{"no shard has more than", "no shard has more than", "no shard has more than", "no shard has more than",
				"no shard has more than", "no shard has more than", end}},
		{"it is to begin", func(s slot) (slot, error) { return s.begin(3, key) },
			[]string{not, "running", not, not, not, not, past, not}},
		{"it is to begin with another key", func(s slot) (slot, error) { return s.begin(3, other) }, []string{not}},
		{"an older generation is to begin", func(s slot) (slot, error) { return s.begin(2, key) }, []string{not}},
		{"a later generation is to begin", func(s slot) (slot, error) { return s.begin(4, key) }, []string{not}},
		{"rows", plain(func(s slot) slot { return s.progress(20) }),
			[]string{"new", "delegated", "half done", "broken off", "kept", "done", "delegated at the end",
				"half done at the end", "done at the end"}},
		{"more rows than there are", plain(func(s slot) slot { return s.progress(1000) }),
			[]string{"new", "delegated", "all rows done", "broken off", "kept", "done", "delegated at the end",
				"all rows done at the end", "done at the end"}},
		{"less rows than none", plain(func(s slot) slot { return s.progress(-1) }),
			[]string{"new", "delegated", "running", "broken off", "kept", "done", "delegated at the end", "running at the end",
				"done at the end"}},
		{"a result", keep(3), []string{none, none, "kept", none}},
		{"the result of an older generation", keep(2), []string{none}},
		{"the result of a later generation", keep(4), []string{none}},
		{"the session is over", plain(slot.stop), []string{"new", "delegated", "broken off", "broken off", "done", "done",
			"delegated at the end", "broken off at the end", "done at the end"}},
		{"all is over", plain(slot.finish), []string{"new at the end", "delegated at the end", "running at the end",
			"broken off at the end", "kept at the end", "done at the end", "delegated at the end", "running at the end",
			"done at the end"}},
		{"it is said to be done", isDone(3), []string{here + "0", here + "0", here + "0", here + "0", here + "3", "done",
			here + "0", here + "0", "done at the end"}},
		{"an older generation is said to be done", isDone(2), []string{here + "0", here + "0", here + "0", here + "0",
			here + "3", here + "3", here + "0", here + "0", here + "3"}},
		{"no generation is said to be done", isDone(0), []string{here + "0", here + "0", here + "0", here + "0", here + "3",
			here + "3", here + "0", here + "0", here + "3"}},
	} {
		for i, step := range steps[:9] {
			want := e.want[min(i, len(e.want)-1)]
			got, err := e.event(step.slot)
			at, words := step.slot, want
			for _, s := range steps {
				if s.name == want {
					at, words = s.slot, ""
				}
			}
			if !reflect.DeepEqual(got, at) || (err == nil) != (words == "") ||
				err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("%s, %s: %+v, %v, want %q", step.name, e.name, got, err, want)
			}
		}
	}
}

// TestARecordIsOnTheDiskFirst: at whatever write of a shard's life a node is killed, the shard stands as before the
// event or as after it when the node starts again; what was delegated stays so, and what counts as done is whole.
func TestARecordIsOnTheDiskFirst(t *testing.T) {
	work := &Work{Shards: []contract.Shard{{Of: 1, Rows: 60}}, ResultFile: result,
		Check: func(int, []byte) error { return nil }}
	for write := 1; write <= 6; write++ {
		for _, stored := range []bool{false, true} {
			d := &memory{files: map[string][]byte{}, left: write, stored: stored}
			s, err := openSlots(d, work)
			must(t, err)
			given, kept := uint32(0), uint32(0)
			for g := uint32(1); g <= 2 && err == nil; g++ {
				data := []byte{byte(g)}
				if err = s.delegate(Offer{Generation: g}, keys.ID{byte(g)}); err != nil {
					break
				}
				given, kept = g, 0
				must(t, s.begin(Offer{Generation: g}, keys.ID{byte(g)}))
				if err = s.keep(0, record{Latest: g, Done: g, Result: resultHash(data)}, data); err == nil {
					kept = g
				}
				s.stop(0)
			}
			if !errors.Is(err, errKilled) || !errors.Is(s.failed(), errKilled) || len(s.news) != 1 {
				t.Fatalf("write %d: %v, and the run hears %v", write, err, s.failed())
			}
			again, err := openSlots(d.again(), work)
			must(t, err)
			now, before := again.now()[0], s.now()[0]
			name := fmt.Sprintf("write %d, stored %v", write, stored)
			if before.Latest != given || before.Done != kept {
				t.Errorf("%s: %+v counts, which is not on the disk", name, before.record)
			}
			if now.Latest < given || !stored && (now.Latest != given || now.Done != kept) {
				t.Errorf("%s: generation %d is delegated and %d kept, and read is %+v", name, given, kept, now.record)
			}
			if data, _ := d.Load(result(0)); now.Done > 0 && (!bytes.Equal(data, []byte{byte(now.Done)}) || now.rows != 60) {
				t.Errorf("%s: generation %d is done with the result of %v, %d rows", name, now.Done, data, now.rows)
			}
		}
	}
}
