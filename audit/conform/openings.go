package conform

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/rss"
)

// Limits of what is kept of the openings of a sealed job.
const (
	mostOpenings = 1 << 18 // that are told apart; what comes after is counted each time
	nearOpenings = 64      // before and after the latest one in which the next is looked for
	nearSessions = 1 << 10 // in which its words may have been computed, unless it opened before
	mostLooks    = 1 << 26 // hashes for all that are looked for so: an honest job's take one or two each
)

// readiness follows how the openings of a sealed job come about. Before each the three say which one they are ready
// for: its number and the session that computed it. A number that opens again opens as it did, and counts once; one
// that opens under the words of two sessions is a finding.
type readiness struct {
	found *finding.Set
	kinds map[string]*openingsOfKind
	asked keys.Hash   // what the receiver asked for since, and signed
	told  []keys.Hash // what the three said since the opening before, in this session
	at    uint64      // the operation of the latest of it
	same  bool        // the parties have compared what they were told since
	kind  string      // of the opening under way
	sum   uint64      // its operation, or the latest of them
	now   *openingSeen
	again bool                 // it came in an earlier session
	heard map[string]bool      // what follows from an opening and was told
	rows  map[string]keys.Hash // what the three told of the coin of the rows that are kept out, in the first session
	first map[string]uint64    // its first operations in this session
	looks int                  // hashes computed to find openings
	ended bool                 // one was not found: the check has failed, and what comes after is not looked for
}

// openingsOfKind are those of one kind that a transcript shows.
type openingsOfKind struct {
	latest uint32
	seen   map[uint32]*openingSeen
	by     map[keys.Hash]uint32 // the number by the hash of what the three said when it opened first
}

type openingSeen struct {
	origin uint32
	pieces map[piece]keys.Hash // of what opens, where it is kept; the zero hash where not
}

// piece is a chunk of what opens.
type piece struct {
	kind  string
	chunk uint32
}

// newReadiness returns nothing for a job whose parties tell no readiness.
func newReadiness(c *contract.Contract, f *finding.Set) *readiness {
	ready := func(o contract.Operation) bool { return o.Kind == sealed.Ready }
	if c.Job.Privacy != keys.PrivacySealed || !slices.ContainsFunc(c.Operations, ready) {
		return nil
	}
	r := &readiness{found: f, kinds: make(map[string]*openingsOfKind), heard: make(map[string]bool),
		rows: make(map[string]keys.Hash)}
	for kind := range sealed.OpeningKinds() {
		r.kinds[kind] = &openingsOfKind{seen: make(map[uint32]*openingSeen), by: make(map[keys.Hash]uint32)}
	}
	return r
}

func (r *readiness) begin() {
	if r != nil {
		r.asked, r.told, r.at, r.same, r.kind, r.sum, r.now = keys.Hash{}, nil, 0, false, "", 0, nil
		r.first = make(map[string]uint64)
	}
}

// take takes in a record and reports whether it repeats what the party learned before.
func (r *readiness) take(rec *transcript.Record) (repeats bool) {
	if r == nil {
		return false
	}
	if rec.Kind == sealed.Ready {
		if rec.Operation != r.at { // who passes it on has it more than once
			r.told, r.at, r.same = append(r.told, rec.Sum()), rec.Operation, false
		}
		return false
	}
	if rec.Kind == contract.KindAsk {
		r.asked = rec.Sum()
		return false
	}
	if rec.Kind == contract.KindShared {
		r.same = true
		return false
	}
	if (rec.Kind == evidence.OpeningReach || rec.Kind == evidence.OpeningLambda) &&
		rec.Type == transcript.TypeReceived {
		repeats, r.heard[rec.Kind] = r.again && r.heard[rec.Kind], true
		return repeats
	}
	if rec.Kind == sealed.RowCommitment || rec.Kind == sealed.RowCoin {
		r.toss(rec)
		return false
	}
	kind := rec.Kind
	if kind == evidence.OpeningPace {
		kind = evidence.OpeningProgress
	}
	of := r.kinds[kind]
	if of == nil {
		return false
	}
	if rec.Operation != r.sum && !r.continues(kind) {
		r.start(rec, kind, of)
	}
	r.kind, r.sum = kind, rec.Operation
	opens := rec.Type == transcript.TypeOpened || rec.Type == transcript.TypeReceived && betweenThree(kind)
	if r.now == nil || !opens || rec.Class != contract.ClassOpening {
		return false
	}
	place := piece{rec.Kind, rec.Chunk}
	before, ok := r.now.pieces[place]
	if ok && before != rec.Sum() {
		r.found.Fail(finding.CheckOpenings,
			"record %d: operation %d (%s) opens to other words than the same opening did before",
			rec.Number, rec.Operation, rec.Kind)
		return false
	}
	r.now.pieces[place] = rec.Sum()
	return ok
}

// toss holds what one of the three told of the coin of the rows against what it told in the session before: rows are
// drawn once.
func (r *readiness) toss(rec *transcript.Record) {
	if _, ok := r.first[rec.Kind]; !ok {
		r.first[rec.Kind] = rec.Operation
	}
	which := fmt.Sprint(rec.Kind, " ", rec.Operation-r.first[rec.Kind])
	before, ok := r.rows[which]
	if ok && before != rec.Sum() {
		r.found.Fail(finding.CheckOpenings, "record %d: operation %d (%s) of session %d is another than in an earlier "+
			"session: the rows that are kept out are drawn once", rec.Number, rec.Operation, rec.Kind, rec.Session)
		return
	}
	r.rows[which] = rec.Sum()
}

// continues reports whether a record of a kind is of the opening under way although its operation is another: what is
// no sum takes one for each of the three, and one more for those outside.
func (r *readiness) continues(kind string) bool {
	return kind == r.kind && len(r.told) == 0 && (betweenThree(kind) || kind == sealed.Coin)
}

// betweenThree reports whether openings of a kind come of components that the three show each other. Nobody asks for
// them.
func betweenThree(kind string) bool {
	return kind == evidence.OpeningCheck || kind == evidence.OpeningProgress
}

// start begins an opening: the three have said that they are ready for the same one.
func (r *readiness) start(rec *transcript.Record, kind string, of *openingsOfKind) {
	told, asked := r.told, r.asked
	r.asked, r.told, r.now = keys.Hash{}, nil, nil
	if r.ended {
		return
	}
	if len(told) == 2*rss.Roles && r.unseen(rec, told[:rss.Roles]) {
		told = told[rss.Roles:]
	}
	if len(told) != rss.Roles || slices.ContainsFunc(told, func(h keys.Hash) bool { return h != told[0] }) {
		r.found.Fail(finding.CheckOpenings,
			"record %d: operation %d (%s) begins in session %d after %s that the words are ready, "+
				"want the same from each of the three", rec.Number, rec.Operation, rec.Kind, rec.Session,
			wording.Count(len(told), "message"))
		return
	}
	if !r.same {
		r.found.Fail(finding.CheckOpenings,
			"record %d: operation %d (%s) begins in session %d before the parties have compared "+
				"that they were told the same of the words that are ready", rec.Number, rec.Operation, rec.Kind, rec.Session)
		return
	}
	number, origin, ok := r.find(of, kind, rec.Session, told[0])
	if !ok {
		r.ended = true
		r.found.Fail(finding.CheckOpenings,
			"record %d: operation %d (%s) begins in session %d, and the three were ready for something else",
			rec.Number, rec.Operation, rec.Kind, rec.Session)
		return
	}
	words := int(rec.Encoding.Count(int64(rec.Size)))
	asks := !betweenThree(kind) && kind != sealed.Coin // these are for all three
	if asks && sha256.Sum256(protocol.EncodeAsk(kind, words, int(number))) != asked {
		r.found.Fail(finding.CheckOpenings,
			"record %d: operation %d (%s) opens %d numbers as opening %d in session %d, and its receiver "+
				"has not asked for that, or for something else", rec.Number, rec.Operation, rec.Kind, words, number, rec.Session)
		return
	}
	seen := of.seen[number]
	r.again = seen != nil
	switch {
	case seen != nil && seen.origin != origin:
		r.found.Fail(finding.CheckOpenings,
			"record %d: operation %d (%s) is opening %d under the words of session %d, and under those "+
				"of session %d it opened before: two roundings tell more than one", rec.Number, rec.Operation, rec.Kind,
			number, origin, seen.origin)
		return
	case seen == nil && len(of.seen) < mostOpenings:
		seen = &openingSeen{origin: origin, pieces: make(map[piece]keys.Hash)}
		of.seen[number], of.by[told[0]] = seen, number
	}
	of.latest, r.now = max(of.latest, number), seen
}

// unseen reports whether what the three said is of the check of the steps, which is between them alone: a party outside
// hears that they are ready for it, and then of the opening after it.
func (r *readiness) unseen(rec *transcript.Record, told []keys.Hash) bool {
	_, _, ok := r.find(r.kinds[evidence.OpeningCheck], evidence.OpeningCheck, rec.Session, told[0])
	return ok && !slices.ContainsFunc(told, func(h keys.Hash) bool { return h != told[0] })
}

// find tells which opening the three were ready for, from the hash of what they said: one that opened before, or one
// near the latest. The next one is tried first. It gives up when all that was looked for has taken too long.
func (r *readiness) find(o *openingsOfKind, kind string, session uint32, told keys.Hash) (number, origin uint32,
	ok bool) {
	if n, ok := o.by[told]; ok {
		return n, o.seen[n].origin, true
	}
	first := max(1, int64(o.latest)+1-nearOpenings)
	for origin := session; origin > 0 && session-origin < nearSessions; origin-- {
		for i := range int64(2 * nearOpenings) {
			n := int64(o.latest) + 1 + i
			if i >= nearOpenings {
				n = first + i - nearOpenings
			}
			if i >= nearOpenings && n > int64(o.latest) || n > math.MaxUint32 {
				continue
			}
			if r.looks++; r.looks > mostLooks {
				return 0, 0, false
			}
			if keys.Hash(sealed.ReadyHash(kind, uint32(n), origin)) == told {
				return uint32(n), origin, true
			}
		}
	}
	return 0, 0, false
}

// passed says what the check has shown.
func (r *readiness) passed() finding.Check {
	n := 0
	for _, of := range r.kinds {
		n += len(of.seen)
	}
	return finding.Check{Name: finding.CheckOpenings, Detail: wording.Count(n, "opening") +
		" of which all three held the words before any left, each under the words of one session, and that " +
		"the one who receives it had asked for"}
}
