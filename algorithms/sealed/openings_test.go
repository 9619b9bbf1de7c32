package sealed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// witness notes what every party adds to every opening, over all sessions. What it adds leaves it from then on, whether
// or not it arrives: so it must be the same whenever it is added again.
type witness struct {
	mu     sync.Mutex
	added  map[string][]uint64 // by party, kind and number
	times  map[string]int
	faults []string
}

// newWitness returns one who has seen nothing.
func newWitness() *witness {
	return &witness{added: make(map[string][]uint64), times: make(map[string]int)}
}

// wrap puts the witness between a party and its network.
func (w *witness) wrap(_ int, n *sessionNetwork) joint.SealedNetwork {
	return &witnessed{SealedNetwork: n, session: n.Session, witness: w, self: n.Self()}
}

// witnessed is a joint.SealedNetwork that a witness looks at.
type witnessed struct {
	joint.SealedNetwork
	*witness
	session *protocol.Session
	self    int
	number  uint32
}

// Broadcast implements joint.SealedNetwork.
func (n *witnessed) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	got, err := n.SealedNetwork.Broadcast(ctx, kind, root, data, limit)
	if kind == kindReady && err == nil {
		n.number = binary.BigEndian.Uint32(got[1:])
	}
	if kind == kindCoin && root == n.self {
		n.note(n.self, kind, n.number, wordsOf(data))
	}
	return got, err
}

// SumPacked implements joint.SealedNetwork.
func (n *witnessed) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	n.note(n.self, kind, n.number, v)
	return n.SealedNetwork.SumPacked(ctx, kind, root, bits, v)
}

// Three implements joint.SealedNetwork.
func (n *witnessed) Three(parties [rss.Roles]int) (*rss.Party, error) {
	s, role := n.session, rss.Role(slices.Index(parties[:], n.self))
	if role == rss.Outside {
		return n.SealedNetwork.Three(parties)
	}
	var with [rss.Roles]rss.Derive
	for r, i := range parties {
		if i != n.self {
			with[r] = s.Pair(i).Derive
		}
	}
	return rss.New(role, &witnessedWire{rss.NewWire(s, parties), n, role}, rss.NewPads(role, with, s.Shared), 2), nil
}

// witnessedWire is a Wire that a witness looks at.
type witnessedWire struct {
	rss.Wire
	*witnessed
	role rss.Role
}

// Show implements rss.Wire.
func (w *witnessedWire) Show(ctx context.Context, kind string, from, to rss.Role, bits, n int, words []uint64) error {
	if from == w.role {
		w.note(w.self, kind, w.number, words)
	}
	return w.Wire.Show(ctx, kind, from, to, bits, n, words)
}

// Vouch implements rss.Wire.
func (w *witnessedWire) Vouch(ctx context.Context, kind string, from, to rss.Role, digest *keys.Hash) error {
	if from == w.role {
		w.note(w.self, kind, w.number, wordsOf(digest[:]))
	}
	return w.Wire.Vouch(ctx, kind, from, to, digest)
}

// addition names what a party adds to an opening.
func addition(party int, kind string, number uint32) string {
	return fmt.Sprintf("party %d: %s, number %d", party, kind, number)
}

// note compares what a party adds with what it added before.
func (w *witness) note(party int, kind string, number uint32, v []uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := addition(party, kind, number)
	w.times[key]++
	if before, ok := w.added[key]; ok && !slices.Equal(before, v) {
		w.faults = append(w.faults, key+" left twice with other words")
	}
	w.added[key] = slices.Clone(v)
}

// count is how many numbers of a kind of opening a party added to.
func (w *witness) count(kind string, party int) int {
	n := 0
	for key := range w.added {
		if strings.HasPrefix(key, fmt.Sprintf("party %d: %s, ", party, kind)) {
			n++
		}
	}
	return n
}

// repeated is how many openings a party added to more than once.
func (w *witness) repeated(party int) int {
	n := 0
	for key, times := range w.times {
		if strings.HasPrefix(key, fmt.Sprintf("party %d: ", party)) && times > 1 {
			n++
		}
	}
	return n
}

// want wants every number to have left each party of the three once, and as many of each kind as a contract lists.
func (w *witness) want(t testing.TB, what string, most map[string]int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, fault := range w.faults {
		t.Errorf("%s: %s", what, fault)
	}
	for i := range rss.Roles {
		for _, kind := range []string{kindBound, kindScores, kindProgress, kindProgress + rss.SuffixVouched} {
			if n := w.count(kind, i); n != most[kind] {
				t.Errorf("%s: p%d added to %d openings of %s, want %d", what, i, n, kind, most[kind])
			}
		}
	}
}

// task is a job with openings that is interrupted.
type task struct {
	*fixture
	testNetwork *federation
	vaults      func() []*vaultInMemory
	forget      func()
	part        func(ctx context.Context, i int, n joint.SealedNetwork) error
	models      []*fdskl.Model // of a prediction
	openings    map[string]int // of each kind, as its contract has them
}

// openingKinds are the kinds of frames around an opening.
func openingKinds() []string {
	return []string{kindHeld, kindReady, kindBound, kindScores, kindReach, kindCommitment, kindCoin, kindCheck,
		kindProgress, kindProgress + rss.SuffixVouched, kindPace, kindRowCommitment, kindRowCoin}
}

// blocks is how many openings the predictions of tasks have.
const blocks = 3

// tasks are a training that opens the progress of its steps, a prediction of blocks of rows and one of rows that a
// party outside asks for one by one.
func tasks(t testing.TB) map[string]*task {
	t.Helper()
	all := make(map[string]*task)
	for _, name := range []string{"training", "prediction", "requests", "prediction to the label holder",
		"prediction in shards"} {
		p := fdskl.Params{Iterations: 2, Lambda: 1e-2, Loss: "logistic", Outer: 3}
		if name == "training" {
			p.BinParams = fdskl.BinParams{Bins: 2, MinCell: 2}
		} else {
			p.Features, p.Sigma = 4, 1
		}
		f := newFixture(t, 4, 21, p)
		f.block = 8
		k := &task{fixture: f, testNetwork: f.testNetwork(t),
			vaults: func() []*vaultInMemory { return f.vaults }, forget: f.forget,
			openings: f.trainingOpenings()}
		k.part = func(ctx context.Context, i int, n joint.SealedNetwork) error {
			_, err := Train(ctx, f.party(i, n, k.testNetwork.session))
			return err
		}
		if name != "training" {
			k.predicts(t, name)
		}
		all[name] = k
	}
	return all
}

// trainingOpenings are those of a training that takes all its steps, as a witness counts them.
func (f *fixture) trainingOpenings() map[string]int {
	most := map[string]int{kindBound: 1}
	if f.params.Outer > 0 {
		most[kindProgress] = len(progressSteps(f.params))
		most[kindProgress+rss.SuffixVouched] = most[kindProgress]
	}
	return most
}

// predicts makes a task a prediction with the model that its training gives.
func (k *task) predicts(t testing.TB, name string) {
	t.Helper()
	models, _, err := k.live(t, k.testNetwork, life{party: nobody})
	must(t, err)
	receiver := 3
	if name == "prediction to the label holder" {
		receiver = 0
	}
	o := k.prediction(k.rows, k.rows/blocks, receiver)
	o.InShards = name == "prediction in shards"
	d, err := Disclose(o)
	must(t, err)
	k.testNetwork.declare(t, d)
	k.models, k.openings = models, map[string]int{kindScores: blocks}
	k.vaults, k.forget = func() []*vaultInMemory { return k.scoring }, k.forgetScoring
	k.part = func(ctx context.Context, i int, n joint.SealedNetwork) error {
		return k.scoreBlocks(ctx, i, n, models[i], receiver, name)
	}
}

// anew are the words of scores that shards make anew for every session, where they are made again: those of the three
// add up to the same scores, and say the same rows.
func (k *task) anew(i int) func(number, n int) (ScoreWords, error) {
	role, session := rolesOf(k.params, k.names, i).role, k.testNetwork.session
	return func(number, n int) (ScoreWords, error) {
		if role == rss.Outside {
			return nil, nil
		}
		draw := rand.New(rand.NewPCG(uint64(session), uint64(number)))
		words := make(ScoreWords, n)
		for j := range words {
			parts := [rss.Roles]uint64{draw.Uint64(), draw.Uint64(), uint64(100*number + j)}
			parts[2] -= parts[0] + parts[1]
			words[j] = parts[role]
		}
		return words, nil
	}
}

// scoreBlocks is a party's part of a session of a prediction: all blocks, or, where they are asked for one by one,
// those from the last fixed one on.
func (k *task) scoreBlocks(ctx context.Context, i int, n joint.SealedNetwork, m *fdskl.Model, receiver int,
	name string) error {
	singly := name == "requests"
	p := Scoring{Self: i, Receiver: receiver, Model: m, Network: n, Vault: k.scoring[i],
		Session: k.testNetwork.session, Openings: blocks, Singly: singly, Workers: 1}
	if name == "prediction in shards" {
		p.Words = k.anew(i)
	}
	s, err := NewScorer(ctx, p)
	if err != nil {
		return err
	}
	from := 1
	if singly {
		from = max(1, s.Fixed())
	}
	size := k.rows / blocks
	for number := from; number <= blocks; number++ {
		var rows []*kernel.Matrix
		for _, p := range k.parts[i] {
			rows = append(rows, p.Rows)
		}
		var ids []string
		for j := range size {
			ids = append(ids, fmt.Sprint("row ", number, j))
		}
		if _, err := s.Score(ctx, number, size, rows, ids); err != nil {
			return err
		}
	}
	return nil
}

// interrupted lives the given lives and then to the end, before a witness.
func (k *task) interrupted(t testing.TB, lives ...life) *witness {
	t.Helper()
	k.forget()
	w := newWitness()
	k.testNetwork.wrap = w.wrap
	for _, l := range append(lives, life{party: nobody}) {
		_, err := k.testNetwork.live(l, k.vaults(), openingKinds(), k.part)
		if err != nil && (err != errKilled || l.party == nobody) {
			t.Fatalf("%+v: %v", lives, err)
		}
		if err == nil {
			break
		}
	}
	w.want(t, fmt.Sprintf("%+v", lives), k.openings)
	return w
}

// TestKilledOpeningsLeaveOnce kills each of the three, and the receiver, at every frame about an opening (of
// predictions, every third, unless the test is to be thorough) and at every write around it, once with what is under
// way and once without, and again in the session after: whatever leaves for an opening is the same in all sessions,
// and as many leave as the contract has.
func TestKilledOpeningsLeaveOnce(t *testing.T) {
	for name, k := range tasks(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k.forget()
			frames, err := k.testNetwork.live(life{party: nobody}, k.vaults(), openingKinds(), k.part)
			must(t, err)
			var writes []int
			for _, v := range k.vaults() {
				writes = append(writes, v.writes)
			}
			again, every := 0, 3 // with what is under way and without in turn
			if drawn.All {
				every = 1
			}
			for i := range frames {
				next := (i + 1) % len(frames)
				for at := 1; at <= frames[i]; at += every {
					again += k.interrupted(t, life{party: i, frame: at}, life{party: next, frame: 1 + at/2}).repeated(1)
				}
				// the even ones are stored; those of the next session are odd where these are even
				for at := 1; at <= writes[i]; at++ {
					again += k.interrupted(t, life{party: i, write: at}, life{party: i, write: at + 1}).repeated(1)
					again += k.interrupted(t, life{party: i, write: at}, life{party: next, write: 2},
						life{party: i, frame: 5}).repeated(1)
				}
			}
			if again == 0 {
				t.Error("no opening was ever sent again: the kills came at the wrong moments")
			}
			t.Logf("%v frames about openings, %v writes; sent again %d times", frames, writes, again)
		})
	}
}

// repeater is a party that wants an opening under a second rounding: it stops once the opening has come, changes what
// its vault says, or what it tells, and takes part in the next session.
type repeater struct {
	party  int
	files  []string                 // prefixes of what it removes from its vault
	says   func(list []byte) []byte // what it says it holds; nil: what it holds
	refuse string                   // what another party's error says; empty: it gets what it had
	namer  int                      // who that other party is
}

// lyingHolder is a joint.SealedNetwork of a party that says what it likes of what it holds.
type lyingHolder struct {
	joint.SealedNetwork
	self int
	says func(list []byte) []byte
}

// Broadcast implements joint.SealedNetwork.
func (n *lyingHolder) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if kind == kindHeld && root == n.self {
		data = n.says(slices.Clone(data))
	}
	return n.SealedNetwork.Broadcast(ctx, kind, root, data, limit)
}

// repeaters are ways to ask again for an opening of a kind that has left.
func repeaters(kind string) map[string]repeater {
	entry := func(h held) func([]byte) []byte {
		return func(list []byte) []byte {
			at := len(list) - heldSize
			if at > 0 { // of a training: the coin and the check come after the progress
				at -= 2 * heldSize
			}
			copy(list[at:], h.encode())
			return list
		}
	}
	more := "and this party never was ready for it"
	if kind == kindProgress { // which opens once in a scorecard's training
		more = "of progress, 2 openings have left, the last of session 1; the contract has 1"
	}
	lacks := "is not held, for which it was ready: it has left, and is not computed anew"
	return map[string]repeater{
		"forgets its openings": {files: []string{joint.FilePrefix + "left-", joint.FilePrefix + "opening-"}, refuse: lacks,
			namer: 1},
		"forgets everything":         {files: []string{joint.FilePrefix}, refuse: lacks, namer: 2},
		"forgets its checkpoints":    {files: []string{joint.FilePrefix + "system", joint.FilePrefix + "outer"}},
		"forgets that it has left":   {files: []string{joint.FilePrefix + "left-" + kind}},
		"says that it holds nothing": {says: entry(held{}), refuse: lacks, namer: 1},
		"says that it was another session": {says: entry(held{left: 1, origin: 77}),
			refuse: "unless its own state was lost; it is not computed anew", namer: 1},
		"says that more have left": {says: entry(held{left: 2, origin: 1}),
			refuse: more, namer: 2},
		"says more than there are": {says: entry(held{left: 9, origin: 1}),
			refuse: "of " + kind + ", 9 openings have left, the last of session 1; the contract has", namer: 2},
		"says too little": {says: func([]byte) []byte { return nil }, refuse: "0 bytes, want", namer: 1},
	}
}

// TestRepeatersGetTheSameWordsOrNothing: a label holder asks again for what it has, the progress of a step, or scores.
func TestRepeatersGetTheSameWordsOrNothing(t *testing.T) {
	for name, kind := range map[string]string{"training": kindProgress, "prediction to the label holder": kindScores} {
		for what, r := range repeaters(kind) {
			t.Run(name+", it "+what, func(t *testing.T) {
				t.Parallel()
				k := tasks(t)[name]
				k.forget()
				w := newWitness()
				k.testNetwork.wrap = w.wrap
				if err := k.stopAfterOpening(r.party); err != errKilled {
					t.Fatal(err)
				}
				k.vaults()[r.party].forget(r.files...)
				k.testNetwork.wrap = func(i int, n *sessionNetwork) joint.SealedNetwork {
					seen := w.wrap(i, n)
					if i == r.party && r.says != nil {
						return &lyingHolder{SealedNetwork: seen, self: i, says: r.says}
					}
					return seen
				}
				errs := k.testNetwork.run(k.part)
				for _, fault := range w.faults {
					t.Error(fault)
				}
				if r.refuse == "" {
					must(t, first(errs))
					if n := w.times[addition(1, kind, 1)]; n != 2 {
						t.Errorf("the keeper sent its words %d times, want 2", n)
					}
					return
				}
				err := errs[r.namer]
				var d *rss.DeviationError
				if !errors.As(err, &d) || !slices.Equal(d.Parties, []string{"p0"}) || !errors.Is(err, contract.ErrDeviation) ||
					!strings.Contains(err.Error(), r.refuse) {
					t.Errorf("p%d's error is %v, want a deviation of p0: %s", r.namer, err, r.refuse)
				}
				if n := w.times[addition(1, kind, 1)] + w.times[addition(2, kind, 1)]; n != 2 {
					t.Errorf("keeper and helper sent their words %d times, want 2", n)
				}
			})
		}
	}
}

// stopAfterOpening runs a session that a party leaves when the first progress, or the first scores, have come to it.
func (k *task) stopAfterOpening(party int) error {
	wrap := k.testNetwork.wrap
	k.testNetwork.wrap = func(i int, n *sessionNetwork) joint.SealedNetwork {
		seen := wrap(i, n)
		if i == party {
			return &sated{seen}
		}
		return seen
	}
	return ended(k.testNetwork.run(k.part))
}

// sated is a joint.SealedNetwork that ends once progress or scores have come.
type sated struct{ joint.SealedNetwork }

// Broadcast implements joint.SealedNetwork.
func (n *sated) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	got, err := n.SealedNetwork.Broadcast(ctx, kind, root, data, limit)
	if err == nil && kind == kindPace {
		return nil, errKilled
	}
	return got, err
}

// SumPacked implements joint.SealedNetwork.
func (n *sated) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	err := n.SealedNetwork.SumPacked(ctx, kind, root, bits, v)
	if err == nil && kind == kindScores {
		return errKilled
	}
	return err
}

// TestSendersCountOverAllSessions: a receiver who starts sessions again and again gets no more than the contract's
// count, of which it cannot ask for older ones either.
func TestSendersCountOverAllSessions(t *testing.T) {
	k := tasks(t)["requests"]
	k.forget()
	must(t, first(k.testNetwork.run(k.part)))
	models := k.models
	for _, c := range []struct {
		number int
		want   string
	}{
		{blocks + 1, "opening 4 of scores is refused: the contract lists 3, over all sessions"},
		{blocks - 1, "opening 2 of scores is refused: 3 have opened, and each opens once"},
		{0, "opening 0 of scores is refused: the contract lists 3, over all sessions"},
		{blocks, ""},
	} {
		w := newWitness()
		k.testNetwork.wrap = w.wrap
		errs := k.testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			s, err := NewScorer(ctx, Scoring{Self: i, Receiver: 3, Model: models[i], Network: n, Vault: k.scoring[i],
				Session:  k.testNetwork.session,
				Openings: blocks, Singly: true, Workers: 1})
			if err == nil {
				_, err = s.Score(ctx, c.number, k.rows/blocks, nil, nil)
			}
			return err
		})
		for i := range rss.Roles {
			if fmt.Sprint(errs[i]) != c.want && !(errs[i] == nil && c.want == "") {
				t.Errorf("number %d: p%d says %v, want %s", c.number, i, errs[i], c.want)
			}
			if n := w.count(kindScores, i); c.want != "" && n != 0 {
				t.Errorf("number %d: p%d sent %d vectors", c.number, i, n)
			}
		}
	}
}

// TestAgreementOnOpenings lists what three parties can say, and what follows.
func TestAgreementOnOpenings(t *testing.T) {
	none, waits := held{}, held{next: 3}
	first, second := held{left: 1, origin: 3}, held{left: 2, origin: 4}
	both := held{left: 1, origin: 3, next: 4}
	for _, c := range []struct {
		name  string
		all   [rss.Roles]held
		fixed int
		want  *conflict
	}{
		{"nothing yet", [rss.Roles]held{}, 0, nil},
		{"one waits", [rss.Roles]held{waits, none, none}, 0, nil},
		{"two wait", [rss.Roles]held{waits, waits, none}, 0, nil},
		{"all wait", [rss.Roles]held{waits, waits, waits}, 1, nil},
		{"all wait, for words of two sessions", [rss.Roles]held{waits, {next: 2}, waits}, 0, nil},
		{"one has marked it", [rss.Roles]held{first, waits, waits}, 1, nil},
		{"all have marked it", [rss.Roles]held{first, first, first}, 1, nil},
		{"and wait for the next", [rss.Roles]held{both, both, first}, 1, nil},
		{"and all wait for the next", [rss.Roles]held{both, both, both}, 2, nil},
		{"and one has marked the next", [rss.Roles]held{both, second, both}, 2, nil},
		{"one has marked it, another lacks it", [rss.Roles]held{waits, first, none}, 0,
			&conflict{1, 3, rss.Keeper, rss.Helper}},
		{"another has words of another session", [rss.Roles]held{{next: 2}, first, waits}, 0,
			&conflict{1, 3, rss.Keeper, rss.LabelHolder}},
		{"two have marked other words", [rss.Roles]held{first, first, {left: 1, origin: 2}}, 0,
			&conflict{1, 3, rss.LabelHolder, rss.Helper}},
		{"one is two behind", [rss.Roles]held{second, second, waits}, 0, &conflict{2, 4, rss.LabelHolder, rss.Helper}},
	} {
		fixed, got := agreement(c.all)
		if fixed != c.fixed || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: fixed up to %d, conflict %v, want %d and %v", c.name, fixed, got, c.fixed, c.want)
		}
	}
}

// TestDamagedRecordsAreNamed: a record that is none of this job, or lost, is no reason to compute anew.
func TestDamagedRecordsAreNamed(t *testing.T) {
	for what, c := range map[string]struct {
		change func(files map[string][]byte)
		want   string
	}{
		"no CBOR": {func(f map[string][]byte) { f["sealed-left-progress"] = []byte{1} }, "sealed-left-progress: "},
		"a version": {func(f map[string][]byte) {
			f["sealed-left-progress"] = []byte("\xa4\x01\x02\x02\x08\x03\x01\x04\x01")
		},
			"version is 2, this program reads version 1"},
		"a number": {func(f map[string][]byte) {
			f["sealed-left-progress"] = []byte("\xa4\x01\x01\x02\x08\x03\x09\x04\x01")
		}, "sealed-left-progress: opening 9 of session 1 is none of this job"},
		"a session": {func(f map[string][]byte) {
			f["sealed-left-progress"] = []byte("\xa4\x01\x01\x02\x08\x03\x01\x04\x18\x63")
		}, "opening 1 of session 99 is none of this job"},
		"the other's": {func(f map[string][]byte) { f["sealed-left-progress"] = f["sealed-left-bound"] },
			"is none of this job"},
		"lost words": {func(f map[string][]byte) { delete(f, "sealed-opening-progress-1") },
			"opening 1 of progress has left, and its 2 words are not on this node's disk"},
	} {
		t.Run(what, func(t *testing.T) {
			k := tasks(t)["training"]
			k.forget()
			k.testNetwork.wrap = newWitness().wrap
			if err := k.stopAfterOpening(0); err != errKilled {
				t.Fatal(err)
			}
			c.change(k.fixture.vaults[1].files)
			if errs := k.testNetwork.run(k.part); errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) {
				t.Errorf("error is %v, want %s", errs[1], c.want)
			}
		})
	}
}

// TestFilesHaveOnePrefix, by which the node removes them.
func TestFilesHaveOnePrefix(t *testing.T) {
	for name, k := range tasks(t) {
		k.forget()
		k.testNetwork.wrap = nil
		must(t, first(k.testNetwork.run(k.part)))
		for i, v := range k.vaults() {
			for _, file := range slices.Sorted(maps.Keys(v.files)) {
				if !strings.HasPrefix(file, joint.FilePrefix) && file != "width" {
					t.Errorf("%s: p%d keeps %s", name, i, file)
				}
			}
		}
	}
}
