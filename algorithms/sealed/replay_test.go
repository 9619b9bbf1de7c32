package sealed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/secagg/rss"
)

// The uses of the pads of rss.Party's own steps, as that package numbers them.
const (
	padRho rss.Use = iota + 1
	padV
	padT
	padM
	padN
	padM0
	padInput
	padReshare
)

// replay shows that what one party receives tells it nothing of the others' inputs.
//
// A first run with inputs I1 takes its pads from a tape and writes down every word that the subject receives. Then the
// others' inputs become I2, and the tape of the one key that the subject lacks is solved for, so that the subject
// receives the same words again: where a message comes out as w + e and is wanted as w, e is taken off the one word of
// the tape that covers it. The subject is handed w meanwhile, so that its own part never changes. A changed word may
// change later messages, so this is repeated until nothing differs; it ends since each message's own pad word enters it
// plainly, and the messages and pads have an order in which every message depends on its own and earlier pads alone.
// In the last run the tapes stay as they are, nothing is handed over, and all must be the same by itself: the words
// received, the subject's model part, and every byte of its checkpoints.
//
// This is why it proves something. Every pad of that key covers exactly one message to the subject, as long as itself;
// that is counted. With the view fixed, each pad word is then determined by what is sent under it and by earlier words:
// for each of the two inputs exactly one tape gives the view, but for bits that no message has. As all tapes are
// equally likely (that key streams are uniform is what AES-128-CTR is trusted with), every view is as likely with I1 as
// with I2. The tapes of the other two keys are the subject's own and stay.
//
// Openings are the exception, and what each job opens is listed: there the subject is given what opened in
// the first run, as whoever shows that messages tell no more than openings must give it. The one opening that all are
// told, the bound, is the first run's for whoever the subject is, and so is the one by which the label holder chooses a
// regulariser.
type replay struct {
	role     rss.Role
	subject  int // the party of the role
	tape     *tape
	log      []message           // what the subject received in the first run
	openings []string            // the kinds of openings in it
	public   map[string][]uint64 // what opened in it, to whomever, and that others are told of, by kind
	at       int                 // how much of it came in this run
	covered  map[padName]int     // words of a pad that have covered something in this run
	messages map[rss.Use]int     // that pads of a use have covered in this run
	patches  []patch
	sweeps   int
	run      func(heard func(int, *message) error, second bool) (string, error)
}

// cover is the pad under some words of a message.
type cover struct {
	name     padName
	lo, hi   int  // words of the message
	each     int  // of them under one of the pad
	negative bool // the pad is subtracted
}

// begin starts a run.
func (r *replay) begin() {
	r.at, r.patches, r.covered, r.messages = 0, nil, make(map[padName]int), make(map[rss.Use]int)
	r.tape.rewind()
}

// record writes down a message of the first run.
func (r *replay) record(i int, m *message) error {
	if m.way == wayOpening && (m.kind == kindBound || m.kind == kindValidation) {
		r.public[m.kind] = slices.Clone(m.words)
	}
	if i != r.subject {
		return nil
	}
	if m.way == wayOpening || m.way == wayShown {
		r.openings = append(r.openings, m.kind)
	}
	r.log = append(r.log, message{m.way, m.kind, m.role, m.bits, slices.Clone(m.words)})
	_, err := r.covers(m)
	return err
}

// solve compares a message with the first run's, notes what is to change on the tape, and hands over the first
// run's words.
func (r *replay) solve(i int, m *message) error {
	if m.way == wayOpening {
		copy(m.words, r.public[m.kind])
	}
	if i != r.subject {
		return nil
	}
	want, err := r.next(m)
	if err != nil {
		return err
	}
	list, err := r.covers(m)
	if err != nil {
		return err
	}
	if list == nil && !m.opens() && m.kind != kindPace { // which says what opened, and is verified in the end
		list = []cover{{hi: len(m.words), each: 1}}
	}
	for _, c := range list {
		if err := r.correct(m, want, c); err != nil {
			return err
		}
	}
	copy(m.words, want.words)
	return nil
}

// verify holds a message against the first run's; only what opens is handed over.
func (r *replay) verify(i int, m *message) error {
	if m.way == wayOpening {
		copy(m.words, r.public[m.kind])
	}
	if i != r.subject {
		return nil
	}
	want, err := r.next(m)
	if err != nil {
		return err
	}
	if m.opens() {
		copy(m.words, want.words)
	}
	if !slices.Equal(m.words, want.words) {
		return fmt.Errorf("%s differs from the first run's", m)
	}
	_, err = r.covers(m)
	return err
}

// next returns the first run's message in the place of one.
func (r *replay) next(m *message) (*message, error) {
	if r.at == len(r.log) {
		return nil, fmt.Errorf("%s comes after all messages of the first run", m)
	}
	want := &r.log[r.at]
	r.at++
	if want.way != m.way || want.kind != m.kind || want.role != m.role || len(want.words) != len(m.words) {
		return nil, fmt.Errorf("%s comes where %s came in the first run", m, want)
	}
	return want, nil
}

// covers tells which pads a message to the subject is under: the claim that all this is about. Openings and
// broadcasts have none.
func (r *replay) covers(m *message) ([]cover, error) {
	whole := func(use rss.Use, negative bool) ([]cover, error) {
		c, err := r.claim(m, use, 0, len(m.words), negative)
		return []cover{c}, err
	}
	switch {
	case m.way == wayPadded:
		m.role = rss.Keeper // who adds the pad
		return whole(useRotation, false)
	case m.way != wayDirect:
		return nil, nil
	case m.kind == kindFactors:
		return r.halves(m, useFirst, useSecond)
	case m.kind == kindReshare && r.role == rss.Keeper:
		return whole(useOne, true)
	case m.kind == kindReshare:
		return whole(useTwo, true)
	case m.kind == kindTurns && m.role == rss.Keeper:
		return whole(useTurnOne, false)
	case m.kind == kindTurns:
		return whole(useTurnTwo, false)
	case m.kind == kindSines:
		return whole(useSines, true)
	case (m.kind == kindProbabilities || m.kind == kindSlopes) && r.role == rss.Keeper:
		return whole(usePrimary, true)
	case m.kind == kindProbabilities || m.kind == kindSlopes:
		return whole(useSecondary, true)
	case slices.Contains([]string{kindWeighed, kindGained, kindSteep, kindStretched}, m.kind):
		return whole(padReshare, true)
	case strings.HasSuffix(m.kind, rss.SuffixIn) && r.messages[padV] == r.messages[padRho]:
		return whole(padV, false)
	case strings.HasSuffix(m.kind, rss.SuffixIn):
		return whole(padRho, false)
	case strings.HasSuffix(m.kind, rss.SuffixOut):
		return r.halves(m, padT, padN)
	case strings.HasSuffix(m.kind, rss.SuffixCarry):
		if _, ok := r.pending(m.role, padM0); ok {
			return whole(padM0, true)
		}
		return whole(padM, true)
	}
	return whole(padInput, true)
}

// halves is a message of which one pad covers the first half and another the second.
func (r *replay) halves(m *message, a, b rss.Use) ([]cover, error) {
	n := len(m.words)
	first, err := r.claim(m, a, 0, n/2, true)
	if err != nil {
		return nil, err
	}
	second, err := r.claim(m, b, n/2, n, true)
	return []cover{first, second}, err
}

// claim takes for words of a message the pad of a use that its sender has read first of those that cover nothing yet. A
// word of a pad is of 64 bits, and covers four turns of angles, one of a score, two numbers of 32 bits, or one of 48 or
// 64.
func (r *replay) claim(m *message, use rss.Use, lo, hi int, negative bool) (cover, error) {
	name, ok := r.pending(m.role, use)
	if !ok {
		return cover{}, fmt.Errorf("the %s has read no pad %d that the %s lacks and that covers nothing else", m.role, use,
			r.role)
	}
	each := 64 / m.bits
	if m.kind == kindTurns {
		each = 1
	}
	r.covered[name] = (hi - lo + each - 1) / each
	r.messages[use]++
	return cover{name, lo, hi, each, negative}, nil
}

// pending returns the first pad of a use that a party has read and that covers nothing yet.
func (r *replay) pending(from rss.Role, use rss.Use) (padName, bool) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	for _, name := range r.tape.order[from] {
		if _, done := r.covered[name]; !done && name.unknown == r.role && name.use == use {
			return name, true
		}
	}
	return padName{}, false
}

// correct notes how a pad must change for the words that it covers to come out as wanted.
func (r *replay) correct(m, want *message, c cover) error {
	for j := range m.words[c.lo:c.hi] {
		delta := want.words[c.lo+j] - m.words[c.lo+j]
		if delta == 0 {
			continue
		}
		if c.name.use == 0 || c.name.use == r.tape.blank {
			return fmt.Errorf("%s depends on the others' inputs, and no pad covers it", m)
		}
		if c.negative {
			delta = -delta
		}
		r.patches = append(r.patches, patch{name: c.name, index: j / c.each, from: m.bits * (j % c.each), width: m.bits,
			delta: delta})
	}
	return nil
}

// done checks that everything came, and that each pad of the key has covered a message.
func (r *replay) done() error {
	if r.at != len(r.log) {
		return fmt.Errorf("%d messages came, %d in the first run", r.at, len(r.log))
	}
	for name := range r.tape.drawn {
		words := r.covered[name]
		secret := []rss.Use{useMultiple, useBlind, useBlur, useDraws, useOwnDraws} // numbers under which nothing is sent
		if slices.Contains(secret, name.use) {
			continue
		}
		if read := r.tape.reel(name).read; name.unknown == r.role && read != words {
			return fmt.Errorf("pad %d of step %d, which the %s lacks, was read for %d words and covers %d", name.use,
				name.step, r.role, read, words)
		}
	}
	return nil
}

// words is how many words the subject received.
func (r *replay) words() int {
	n := 0
	for _, m := range r.log {
		n += len(m.words)
	}
	return n
}
