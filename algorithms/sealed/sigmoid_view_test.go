package sealed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/secagg/rss"
)

// curved tells which pad a sigmoid's message to the subject is under; false of other messages. A turn has a word of the
// pad for itself.
func (r *replay) curved(m *message) (list []cover, ok bool, err error) {
	use, negative, each := rss.Use(0), true, max(1, 64/m.bits)
	switch {
	case m.kind == kindTurns && m.role == rss.Keeper:
		use, negative, each = useTurnOne, false, 1
	case m.kind == kindTurns:
		use, negative, each = useTurnTwo, false, 1
	case m.kind == kindSines:
		use = useSines
	case (m.kind == kindProbabilities || m.kind == kindSlopes) && m.role == rss.Keeper:
		use = useSecondary
	case m.kind == kindProbabilities || m.kind == kindSlopes:
		use = usePrimary
	default:
		return nil, false, nil
	}
	c, err := r.claim(m, use, 0, len(m.words), negative)
	if err != nil {
		return nil, true, err
	}
	c.each = each
	r.covered[c.name] = (len(m.words) + each - 1) / each
	return []cover{c}, true, nil
}

// rounds tells of the pads under which nothing is sent: they round factors.
func (name padName) rounds() bool { return name.use == useDraws || name.use == useOwnDraws }

// TestASigmoidsMessagesDiscloseNothing replays sigmoids with other terms, of other scores, at the two others: each of
// the three receives the same words and ends with the same shares; see replay. Every pad that it lacks covers one of
// the messages to it, or rounds factors.
func TestASigmoidsMessagesDiscloseNothing(t *testing.T) {
	for _, c := range []struct{ job, kind string }{{"bins", kindProbabilities}, {"cosines, 32", kindProbabilities},
		{"cosines, 64", kindProbabilities}, {"bins", kindSlopes}} {
		for _, role := range roleOrder() {
			t.Run(fmt.Sprintf("%s, %s, the %s", c.job, c.kind, role), func(t *testing.T) {
				t.Parallel()
				if err := replaySigmoid(t, c.job, c.kind, role, 0); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestAMissingPadOfASigmoidIsFound leaves out one pad at a time, and wants the replay to fail at the party that the pad
// hides something from, and at no other. Keeper and helper change places, so that each is the late one.
func TestAMissingPadOfASigmoidIsFound(t *testing.T) {
	for use, from := range map[rss.Use][]rss.Role{useTurnOne: {rss.LabelHolder}, useTurnTwo: {rss.LabelHolder},
		useSines: {rss.Keeper, rss.Helper}, useSecondary: {rss.Helper}, usePrimary: {rss.Keeper}} {
		for _, role := range roleOrder() {
			t.Run(fmt.Sprintf("%d, the %s", use, role), func(t *testing.T) {
				t.Parallel()
				err := replaySigmoid(t, "bins", kindProbabilities, role, use)
				switch hides := slices.Contains(from, role); {
				case hides && (err == nil || !strings.Contains(err.Error(), "depends on the others' inputs")):
					t.Errorf("the %s can tell, and the replay says %v", role, err)
				case !hides && err != nil:
					t.Error(err)
				}
			})
		}
	}
}

// replaySigmoid returns how a party could tell two inputs of the others apart, nil when it could not.
func replaySigmoid(t *testing.T, job, kind string, role rss.Role, blank rss.Use) error {
	r := &replay{role: role, subject: int(role), tape: newTape("sigmoid")}
	r.tape.blank = blank
	const rows = 5
	run := func(second bool, heard func(m *message) error) (string, error) {
		r.begin()
		l := newSigmoidLab(t, job, kind, 1)
		l.source = r.tape.source
		l.deal(t, make([]float64, rows)) // for the scales; the terms are drawn
		for i := range l.terms {
			seed := uint64(i)
			if second && i != r.subject {
				seed += 10
			}
			rng := rand.New(rand.NewPCG(seed, 2))
			for j := range l.terms[i] {
				l.terms[i][j] = rng.Uint64()
			}
		}
		l.heard = func(i int, m *message) error {
			if i != r.subject {
				return nil
			}
			return heard(m)
		}
		all := ""
		for l.order = range 2 {
			if err := l.run(t); err != nil {
				return "", err
			}
			all += fmt.Sprint(l.shares[r.subject])
		}
		return all, nil
	}
	cover := func(m *message) ([]cover, error) {
		list, ok, err := r.curved(m)
		if !ok {
			return nil, fmt.Errorf("%s is no message of a sigmoid", m)
		}
		return list, err
	}
	done := func() error {
		if r.at != len(r.log) {
			return fmt.Errorf("%d messages came, %d in the first run", r.at, len(r.log))
		}
		for name := range r.tape.drawn {
			if name.unknown == r.role && !name.rounds() && r.tape.reel(name).read != r.covered[name] {
				return fmt.Errorf("pad %d was read for %d words and covers %d", name.use, r.tape.reel(name).read,
					r.covered[name])
			}
		}
		return nil
	}
	first, err := run(false, func(m *message) error {
		r.log = append(r.log, message{m.way, m.kind, m.role, m.bits, slices.Clone(m.words)})
		_, err := cover(m)
		return err
	})
	if err != nil {
		return err
	}
	r.at = len(r.log)
	if err := done(); err != nil {
		return err
	}
	for r.sweeps = 0; r.sweeps == 0 || len(r.patches) > 0; r.sweeps++ {
		for _, p := range r.patches {
			r.tape.apply(p)
		}
		if r.sweeps == maxSweeps {
			return fmt.Errorf("after %d sweeps %d words still differ", r.sweeps, len(r.patches))
		}
		if _, err := run(true, func(m *message) error {
			want, err := r.next(m)
			if err != nil {
				return err
			}
			list, err := cover(m)
			if err != nil {
				return err
			}
			for _, c := range list {
				if err := r.correct(m, want, c); err != nil {
					return err
				}
			}
			copy(m.words, want.words)
			return nil
		}); err != nil {
			return err
		}
	}
	second, err := run(true, func(m *message) error {
		want, err := r.next(m)
		if err == nil && !slices.Equal(m.words, want.words) {
			err = fmt.Errorf("%s differs from the first run's", m)
		}
		if err != nil {
			return err
		}
		_, err = cover(m)
		return err
	})
	switch {
	case err != nil:
		return err
	case first != second:
		return fmt.Errorf("the shares of the %s differ", role)
	case r.sweeps == 1:
		return fmt.Errorf("the second run's messages were those of the first: the replay says nothing")
	}
	t.Logf("%d messages of %d words, solved in %d runs", len(r.log), r.words(), r.sweeps)
	return done()
}

// What a row has of a toy's pads, beside two words: row number i has the i-th of all combinations of their bits.
const (
	toyTurns = 4 // bits of each of two
	toySines = 4 // words
)

// toySigmoid is the Source of a toy: a turn of four bits, with two sines, in words of one or two bits. One use may be
// left out. What rounds factors is the same in all rows: what holds for each way to round holds on the mean, too.
type toySigmoid struct {
	ring  int
	blank rss.Use
	draws uint64
}

// waves are those of the toy.
func (s toySigmoid) waves() waves {
	return waves{turn: toyTurns, sines: toySines / 2, ring: s.ring, products: 5}
}

// rows is how many combinations of all pads' bits there are, and of the bits of a view.
func (s toySigmoid) rows() int { return 1 << (2*toyTurns + (toySines+2)*s.ring) }

// Pad implements rss.Source.
func (s toySigmoid) Pad(_ rss.Role, _ rss.Place, use rss.Use) (rss.Pad, error) {
	return toyCurve{s, use}, nil
}

// toyCurve is a pad of it.
type toyCurve struct {
	toySigmoid
	use rss.Use
}

// Words implements rss.Pad.
func (p toyCurve) Words(dst []uint64, at int) {
	for i := range dst {
		n := uint64(at + i)
		switch p.use {
		case useTurnOne:
			dst[i] = n
		case useTurnTwo:
			dst[i] = n >> toyTurns
		case useSines:
			dst[i] = n / toySines >> (2*toyTurns + p.ring*int(n%toySines))
		case usePrimary:
			dst[i] = n >> (2*toyTurns + p.ring*toySines)
		case useSecondary:
			dst[i] = n >> (2*toyTurns + p.ring*(toySines+1))
		default:
			dst[i] = p.draws * (uint64(p.use)<<8 + n%toySines + 1) >> 20
		}
		if p.use == p.blank {
			dst[i] = 0
		}
	}
}

// toyRun shares the sigmoids of terms, each in units of the toy's turn, under all combinations of pads, and counts what
// each of the three sees: the pads that it has, and all words that it receives.
func (l *sigmoidLab) toyRun(t *testing.T, terms [rss.Roles]uint64, source toySigmoid, late rss.Role) [rss.Roles][]int {
	t.Helper()
	all, w := source.rows(), source.waves()
	views := [rss.Roles][]uint64{make([]uint64, all), make([]uint64, all), make([]uint64, all)}
	see := func(r rss.Role, words []uint64, bits int) {
		each := len(words) / all
		for i, x := range words {
			views[r][i/each] = views[r][i/each]<<bits | x&(1<<bits-1)
		}
	}
	early := rss.Keeper + rss.Helper - late
	for _, pad := range []struct {
		use        rss.Use
		known      [2]rss.Role
		each, bits int
	}{
		{useTurnOne, [2]rss.Role{rss.Keeper, rss.Helper}, 1, w.turn},
		{useTurnTwo, [2]rss.Role{rss.Keeper, rss.Helper}, 1, w.turn},
		{useSines, [2]rss.Role{rss.LabelHolder, early}, toySines, w.ring},
		{usePrimary, [2]rss.Role{rss.LabelHolder, rss.Helper}, 1, w.ring},
		{useSecondary, [2]rss.Role{rss.LabelHolder, rss.Keeper}, 1, w.ring},
	} {
		words := make([]uint64, pad.each*all)
		toyCurve{source, pad.use}.Words(words, 0)
		for _, r := range pad.known {
			see(r, words, pad.bits)
		}
	}
	lab := newLab(l.names, func(rss.Role, int) rss.Source { return source })
	var mu sync.Mutex
	received := make(map[string][]uint64)
	lab.heard = func(i int, m *message) error {
		mu.Lock()
		defer mu.Unlock()
		received[fmt.Sprint(m.kind, m.role, i)] = slices.Clone(m.words)
		return nil
	}
	must(t, lab.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		tr, err := newTrainer(l.party(i, n, 1))
		if err != nil {
			return err
		}
		c := &curve{setting: tr.setting, waves: w, kind: l.kind, rows: all, late: late, step: tr.three.Begin("toy")}
		unit := tr.sz + tr.bs + turnRange - w.turn
		_, err = c.share(ctx, slices.Repeat([]uint64{terms[i]<<unit + uint64(i+1)<<(unit-2)}, all))
		return err
	}))
	for _, m := range []struct {
		kind     string
		from, to rss.Role
		bits     int
	}{
		{kindTurns, rss.Keeper, rss.LabelHolder, w.turn}, {kindTurns, rss.Helper, rss.LabelHolder, w.turn},
		{kindSines, rss.LabelHolder, late, w.ring},
		{l.kind, rss.Keeper, rss.Helper, w.ring}, {l.kind, rss.Helper, rss.Keeper, w.ring},
	} {
		key := fmt.Sprint(m.kind, m.from, int(m.to))
		see(m.to, received[key], m.bits)
		delete(received, key)
	}
	if len(received) > 0 {
		t.Fatalf("there are %d messages more", len(received))
	}
	var count [rss.Roles][]int
	for r := range count {
		count[r] = make([]int, all)
		for _, v := range views[r] {
			count[r][v]++
		}
	}
	return count
}

// TestToySigmoidViewsAreEquallyFrequent goes through all pads of a turn of four bits and two sines: whatever the score
// is and however it is shared out, each view of each of the three comes once.
func TestToySigmoidViewsAreEquallyFrequent(t *testing.T) {
	for _, kind := range []string{kindProbabilities, kindSlopes} {
		for _, late := range []rss.Role{rss.Keeper, rss.Helper} {
			t.Run(fmt.Sprintf("%s, the %s is late", kind, late), func(t *testing.T) {
				t.Parallel()
				l := newSigmoidLab(t, "bins", kind, 1)
				for x := range uint64(1 << toyTurns) {
					ring := 1
					switch {
					case drawn.All && x%5 == 0:
						ring = 2
					case !drawn.All && x%5 != 0:
						continue
					}
					for _, own := range []uint64{0, 6} {
						terms := [rss.Roles]uint64{own, 3 * own, x - 4*own}
						for r, views := range l.toyRun(t, terms, toySigmoid{ring, 0, 0x9e3779b97f4a7c15 + x}, late) {
							if v := slices.IndexFunc(views, func(n int) bool { return n != 1 }); v >= 0 {
								t.Fatalf("terms %v: view %b of the %s comes %d times, want once", terms, v, rss.Role(r),
									views[v])
							}
						}
					}
				}
			})
		}
	}
}

// TestToySigmoidViewsDiscloseWithoutAPad leaves out one pad at a time: the party that lacks it can tell inputs of the
// others apart, and the other two cannot.
func TestToySigmoidViewsDiscloseWithoutAPad(t *testing.T) {
	for _, kind := range []string{kindProbabilities, kindSlopes} {
		for _, late := range []rss.Role{rss.Keeper, rss.Helper} {
			for use, from := range map[rss.Use]rss.Role{useTurnOne: rss.LabelHolder, useTurnTwo: rss.LabelHolder,
				useSines: late, useSecondary: rss.Helper, usePrimary: rss.Keeper} {
				if !drawn.All && late == rss.Keeper != (kind == kindSlopes) {
					continue
				}
				t.Run(fmt.Sprintf("%s, the %s is late, %d", kind, late, use), func(t *testing.T) {
					t.Parallel()
					l := newSigmoidLab(t, "bins", kind, 1)
					for r := range rss.Role(rss.Roles) {
						var seen [][]int
						for _, x := range []uint64{0, 3, 4, 9} {
							for _, one := range []uint64{0, 7} {
								var terms [rss.Roles]uint64
								terms[r], terms[(r+1)%rss.Roles], terms[(r+2)%rss.Roles] = 5, one, x-one
								views := l.toyRun(t, terms, toySigmoid{1, use, 0x9e3779b97f4a7c15}, late)[r]
								if !slices.ContainsFunc(seen, func(v []int) bool { return slices.Equal(v, views) }) {
									seen = append(seen, views)
								}
							}
						}
						if discloses := len(seen) > 1; discloses != (r == from) {
							t.Errorf("without pad %d the %s tells %d kinds of inputs apart", use, r, len(seen))
						}
					}
				})
			}
		}
	}
}
