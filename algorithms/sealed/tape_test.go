package sealed

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// tape is all pads of a run, word by word: fresh random words unless a test has replaced them.
type tape struct {
	seed  string
	blank rss.Use // a use whose pads are left out, all zeros; 0: none

	mu    sync.Mutex
	reels map[padName]*reel
	drawn map[padName]bool
	order map[rss.Role][]padName // pads as a party first read them
}

// padName names one pad.
type padName struct {
	session int
	unknown rss.Role
	use     rss.Use
	step    uint64
}

// reel is one pad's words, as many as were ever asked for.
type reel struct {
	words []uint64
	rest  *rand.ChaCha8
	read  int // words asked for in this run
}

// newTape returns a tape of fresh pads.
func newTape(seed string) *tape { return &tape{seed: seed, reels: make(map[padName]*reel)} }

// rewind starts a run with the same pads.
func (t *tape) rewind() {
	t.drawn, t.order = make(map[padName]bool), make(map[rss.Role][]padName)
	for _, r := range t.reels {
		r.read = 0
	}
}

// reel returns a pad.
func (t *tape) reel(name padName) *reel {
	if t.reels[name] == nil {
		text := fmt.Sprintf("%s %d %d %d %d", t.seed, name.session, name.unknown, name.use, name.step)
		t.reels[name] = &reel{rest: rand.NewChaCha8(keys.HashOf("tape", []byte(text)))}
	}
	return t.reels[name]
}

// source returns the pads as a party of the given role has them.
func (t *tape) source(r rss.Role, session int) rss.Source {
	return &playback{tape: t, role: r, session: session, given: make(map[padName]bool)}
}

// playback is a tape at one party.
type playback struct {
	*tape
	role    rss.Role
	session int
	given   map[padName]bool
}

// Pad implements rss.Source.
func (p *playback) Pad(unknown rss.Role, at rss.Place, use rss.Use) (rss.Pad, error) {
	step := at.Number
	name := padName{p.session, unknown, use, step}
	if unknown == p.role || p.given[name] {
		return nil, fmt.Errorf("the %s asks for pad %d of step %d, which the %s lacks, again or not at its place", p.role,
			use, step, unknown)
	}
	p.given[name] = true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawn[name] = true
	return &tapePad{p.tape, p.role, name}, nil
}

// tapePad is one pad of a tape.
type tapePad struct {
	*tape
	reader rss.Role
	name   padName
}

// Words implements rss.Pad.
func (p *tapePad) Words(dst []uint64, at int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.order[p.reader], p.name) {
		p.order[p.reader] = append(p.order[p.reader], p.name)
	}
	r := p.reel(p.name)
	r.read = max(r.read, at+len(dst))
	for len(r.words) < r.read {
		var b [8]byte
		r.rest.Read(b[:])
		r.words = append(r.words, binary.LittleEndian.Uint64(b[:]))
	}
	if p.name.use == p.blank {
		clear(dst)
		return
	}
	copy(dst, r.words[at:])
}

// patch is a change of one word of a pad: delta is added to bits [from, from+width) of it.
type patch struct {
	name        padName
	index       int
	from, width int
	delta       uint64
}

// apply makes a change. Of a pad that is left out there is nothing to change.
func (t *tape) apply(p patch) {
	w := &t.reels[p.name].words[p.index]
	mask := ^uint64(0) >> (64 - p.width) << p.from
	*w = *w&^mask | (*w+p.delta<<p.from)&mask
}
