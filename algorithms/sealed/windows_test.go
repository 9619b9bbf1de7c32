package sealed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// watch keeps each party's shares of the features that count: of a block that is made again, the latest.
type watch struct {
	mu     sync.Mutex
	shares [rss.Roles][]rss.Share // by row
	lo     []int                  // where each session began to make features, at the keeper
}

// overseen is a source that a watch looks at.
type overseen struct {
	source
	*watch
	role     rss.Role
	features int
	from     int // the first of the source's rows
}

// each implements source.
func (w *overseen) each(ctx context.Context, lo, hi, size int, take func(b *block, z rss.Share) error,
	behind func(ctx context.Context, row int) error) error {
	if w.role == rss.Keeper {
		w.lo = append(w.lo, lo)
	}
	return w.source.each(ctx, lo, hi, size, func(b *block, z rss.Share) error {
		if w.role != rss.Outside {
			w.mu.Lock()
			for j := b.lo; j < b.hi; j++ {
				w.shares[w.role][w.from+j] = z.Slice((j-b.lo)*w.features, (j-b.lo+1)*w.features).Clone()
			}
			w.mu.Unlock()
		}
		return take(b, z)
	}, behind)
}

// newWatch returns one who has seen nothing.
func (f *fixture) newWatch() *watch {
	w := new(watch)
	for r := range w.shares {
		w.shares[r] = make([]rss.Share, f.rows)
	}
	return w
}

// trainUnder is Train with a watch at the source of the features.
func (f *fixture) trainUnder(ctx context.Context, w *watch, i int, n joint.SealedNetwork, session uint32) error {
	p := f.party(i, n, session)
	p.Party.Network = network{n}
	begun, err := fdskl.Begin(ctx, p.Party)
	if err != nil {
		return err
	}
	t, err := newTrainer(p)
	if err != nil {
		return err
	}
	t.begun = begun
	t.angles.turns = func(lo, hi int) ([]uint16, error) { return begun.Turns(begun.Matrices(), lo, hi) }
	t.columns = &overseen{source: t.columns, watch: w, role: t.role, features: t.features}
	_, err = t.train(ctx)
	return err
}

// exact holds the system in the three's checkpoints against the features that a watch has seen, row after row in whole
// numbers: each entry is what the rows add up to, rounded down or up.
func (f *fixture) exact(t *testing.T, w *watch, what string) {
	t.Helper()
	tr := f.labelHolder(t)
	d, each := f.params.Features, f.params.Scores()
	lengths := []int{d * d, d, 0, runs - 1}
	if tr.loss == kernel.Square {
		lengths[2] = runs * each * d
	}
	if tr.candidates != nil {
		tr.checker.heldOut = f.keptOut(t)
		lengths = append(lengths, d*d, 2*each*d)
	}
	var shares [rss.Roles][]rss.Share
	var reach float64
	for r, i := range tr.parties {
		s, err := newParts(&setting{Party: f.party(i, nil, 0)}).checkpoints.load(stageSystem.file(0))
		if err == nil && s == nil {
			err = fmt.Errorf("no system")
		}
		if err == nil {
			shares[r], err = s.shares(lengths...)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		reach = s.Reach
	}
	value := func(i int) []uint64 { return rss.Reconstruct(shares[rss.LabelHolder][i], shares[rss.Keeper][i]) }
	gram, means := value(0), value(1)
	var labels [][]uint64
	if tr.sharesLabels() {
		for k := range each {
			_, words := tr.assembler.labels(tr.begun.Targets(k))
			labels = append(labels, words)
		}
	}
	z := make([][]int64, f.rows)
	for j := range z {
		for _, word := range rss.Reconstruct(w.shares[rss.LabelHolder][j], w.shares[rss.Keeper][j]) {
			z[j] = append(z[j], int64(int32(uint32(word)))<<(tr.sums.sz-tr.sz))
		}
	}
	rounded := func(name string, i int, got, want int64, by int) {
		t.Helper()
		if low := want >> by; got != low && got != low+1 {
			t.Fatalf("%s: %s %d is %d, the rows add up to %d", what, name, i, got, low)
		}
	}
	for part := range tr.assembler.parts() {
		var in func(row int) bool // nil: all are
		if tr.checker.heldOut != nil {
			in = func(row int) bool { return tr.checker.heldOut[row] == (part == 1) }
		}
		held := value(0)
		sides := make([]uint64, each*d)
		switch {
		case tr.checker.heldOut != nil:
			held = value(4)
			both := value(5)
			sides = both[each*d:]
			if part == 0 {
				for i := range held {
					held[i] = gram[i] - held[i]
				}
				for i := range sides {
					sides[i] = both[i] - sides[i]
				}
			}
		case len(labels) > 0:
			for i, word := range value(2)[:each*d] {
				sides[i] = uint64(int64(word) >> tr.precisionOf(reach).extra())
			}
		}
		for i := range d {
			for j := range d {
				var sum int64
				for r, row := range z {
					if in == nil || in(r) {
						sum += 2 * (row[i] - int64(means[i])) * (row[j] - int64(means[j]))
					}
				}
				rounded("entry", i*d+j, int64(held[i*d+j]), sum, 1+2*tr.sums.sz+tr.p-gramBits)
			}
			for k, y := range labels {
				var sum int64
				for r, row := range z {
					if in == nil || in(r) {
						m := int64(means[i])
						if in == nil {
							m = 0
						}
						sum += (row[i] - m) * (int64(y[r]) << (tr.sums.sy - tr.sy))
					}
				}
				rounded("side", k*d+i, int64(sides[k*d+i]), sum, tr.sums.sz+tr.sums.sy+tr.p-gramBits)
			}
		}
	}
}

// windowed are jobs whose sums are lifted in many windows, of all rows and of those kept out.
func windowed(t testing.TB) map[string]*fixture {
	t.Helper()
	p := fdskl.Params{Features: 6, Iterations: 2, Sigma: 1, Lambda: 1e-2, Ring: ringSmall}
	with := func(change func(p *fdskl.Params)) *fixture {
		q := p
		change(&q)
		f := newFixture(t, 4, 47, q)
		f.block, f.save, f.window = 4, 1, 10
		return f
	}
	return map[string]*fixture{
		"square":         with(func(p *fdskl.Params) {}),
		"auto":           with(func(p *fdskl.Params) { p.Lambda = 0 }),
		"classes":        with(func(p *fdskl.Params) { p.Classes = 3 }),
		"classes, auto":  with(func(p *fdskl.Params) { p.Classes, p.Lambda = 4, 0 }),
		"regression":     with(func(p *fdskl.Params) { p.Target, p.Lambda = joint.Regression, 0 }),
		"logistic":       with(func(p *fdskl.Params) { p.Loss, p.Outer = "logistic", 2 }),
		"logistic, auto": with(func(p *fdskl.Params) { p.Loss, p.Outer, p.Lambda = "logistic", 2, 0 }),
		"a public bound": with(func(p *fdskl.Params) { p.Bound = boundPublic }),
	}
}

// lifting are the kinds of the frames around a cut; all, if the test is to be thorough.
func lifting() []string {
	if drawn.All {
		return nil
	}
	return []string{kindWindows + rss.SuffixIn, kindWindows + rss.SuffixCarry, kindWindows + rss.SuffixOut}
}

// TestTheReaperAtTheCuts kills each party at every frame by which windows are lifted, before the first and behind the
// last of a cut among them, and takes the newest checkpoints from another: no row is lost, and none counts twice.
func TestTheReaperAtTheCuts(t *testing.T) {
	for name, f := range windowed(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testNetwork := f.testNetwork(t)
			session := func(l life, w *watch) ([]int, error) {
				return testNetwork.live(l, f.vaults, lifting(), func(ctx context.Context, i int, n joint.SealedNetwork) error {
					return f.trainUnder(ctx, w, i, n, testNetwork.session)
				})
			}
			w := f.newWatch()
			frames, err := session(life{party: nobody}, w)
			must(t, err)
			f.exact(t, w, "nobody")
			went, began := 0, make(map[int]bool)
			every := 2
			if drawn.All {
				every = 1
			}
			for i, most := range frames {
				for at := 1 + i%every; at <= most; at += every {
					f.forget()
					w := f.newWatch()
					what := fmt.Sprintf("p%d at frame %d of %d", i, at, most)
					if _, err := session(life{party: i, frame: at}, w); err != errKilled {
						t.Fatalf("%s: %v", what, err)
					}
					if at%3 == 0 { // one of the others is behind by one
						f.vaults[(i+1)%rss.Roles].forget(f.newest(t, (i+1)%rss.Roles))
					}
					second := w
					if f.haveSystem(t) { // which stays, whatever features a loss but the square makes again
						second = f.newWatch()
					}
					if _, err := session(life{party: nobody}, second); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					f.exact(t, w, what)
					if last := w.lo[len(w.lo)-1]; last > 0 {
						went++
						began[last] = true
					}
				}
			}
			if f.params.Loss == "square" && (went == 0 || len(began) < 4) {
				t.Errorf("%d trainings have gone on, at %v: the test says little", went, began)
			}
			t.Logf("%v frames, %d trainings went on, at %v", frames, went, began)
		})
	}
}

// haveSystem reports whether all three have a system.
func (f *fixture) haveSystem(t *testing.T) bool {
	t.Helper()
	for _, i := range rolesOf(f.params, f.names, 0).parties {
		kept := newParts(&setting{Party: f.party(i, nil, 0)}).checkpoints
		if s, err := kept.load(stageSystem.file(0)); err != nil || s == nil {
			return false
		}
	}
	return true
}

// newest is the file of a party's newest sums.
func (f *fixture) newest(t *testing.T, i int) string {
	t.Helper()
	file, number := "none", 0
	for place := range slots {
		s, err := newParts(&setting{Party: f.party(i, nil, 0)}).checkpoints.load(stageSums.file(place))
		must(t, err)
		if s != nil && s.Number > number {
			file, number = stageSums.file(place), s.Number
		}
	}
	return file
}

// keyring keeps the keys of all pads of all sessions.
type keyring struct {
	mu   sync.Mutex
	of   map[string]string // who has drawn a key, by the key: parties of a session
	twos int               // keys that two have drawn
}

// TestNoPadsKeyComesTwice kills trainings among their windows, each more than once, and looks at every key of pads that
// any of the three has drawn in any session: two of one session have it, and nobody else.
func TestNoPadsKeyComesTwice(t *testing.T) {
	for name, f := range windowed(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testNetwork := f.testNetwork(t)
			k := &keyring{of: make(map[string]string)}
			testNetwork.wrap = func(i int, n *sessionNetwork) joint.SealedNetwork {
				return &keyed{n, k, i, testNetwork.session, t}
			}
			for _, at := range []int{4, 7, 5, 8, 3} { // later deaths come among fewer frames, or not at all
				if _, err := testNetwork.live(life{party: at % rss.Roles, frame: at}, f.vaults, lifting(), func(ctx context.Context,
					i int, n joint.SealedNetwork) error {
					_, err := Train(ctx, f.party(i, n, testNetwork.session))
					return err
				}); err != errKilled && err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := f.live(t, testNetwork, life{party: nobody}); err != nil {
				t.Fatal(err)
			}
			if k.twos < 50 {
				t.Errorf("two of the three have %d keys in common: the test says little", k.twos)
			}
			t.Logf("%d keys, of which two have %d", len(k.of), k.twos)
		})
	}
}

// keyed is a joint.SealedNetwork whose pads' keys go into a keyring.
type keyed struct {
	*sessionNetwork
	*keyring
	self    int
	session uint32
	t       *testing.T
}

// Three implements joint.SealedNetwork.
func (n *keyed) Three(parties [rss.Roles]int) (*rss.Party, error) {
	role := rss.Role(slices.Index(parties[:], n.self)) // -1 is outside
	if role == rss.Outside {
		return n.sessionNetwork.Three(parties)
	}
	var with [rss.Roles]rss.Derive
	for r, i := range parties {
		if i == n.self {
			continue
		}
		derive, pair := n.Session.Pair(i).Derive, fmt.Sprintf("session %d, p%d and p%d", n.session, min(i, n.self),
			max(i, n.self))
		with[r] = func(label string, size int) ([]byte, error) {
			key, err := derive(label, size)
			n.note(string(key), pair, fmt.Sprintf(", of p%d", n.self))
			return key, err
		}
	}
	return rss.New(role, rss.NewWire(n.Session, parties), rss.NewPads(role, with, n.Session.Shared), 2), nil
}

// note puts a key into the keyring.
func (n *keyed) note(key, pair, by string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch before := n.of[key]; {
	case before == "":
		n.of[key] = pair + by
	case !strings.HasPrefix(before, pair) || before == pair+by || before == pair:
		n.t.Errorf("a key of %s%s comes again: it was of %s", pair, by, before)
	default:
		n.of[key] = pair
		n.twos++
	}
}

// TestAWindowThatLiesIsFound: one of the three whose windows are others than the contract's sends other counts, or has
// other pads, or waits for what nobody sends, until the others give up: nobody has a system.
func TestAWindowThatLiesIsFound(t *testing.T) {
	for name := range windowed(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, named := windowed(t)[name], 0
				for who := range rss.Roles {
					for _, window := range []int{4, 12, 20, 1 << 20} {
						f.forget()
						errs := f.testNetwork(t).run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
							ctx, cancel := context.WithTimeout(ctx, time.Hour)
							defer cancel()
							p := f.party(i, n, 1)
							if i == who {
								p.WindowRows = window
							}
							_, err := Train(ctx, p)
							return err
						})
						for i, err := range errs[:rss.Roles] {
							if f.vaults[i].files[stageSystem.file(0)] != nil {
								t.Errorf("windows of %d at p%d, and p%d has a system; the errors are %v", window, who, i, errs)
							}
							if i == who || !errors.Is(err, contract.ErrDeviation) {
								continue
							}
							if named++; !strings.Contains(err.Error(), f.names[who]) {
								t.Errorf("windows of %d at p%d, and p%d says %v", window, who, i, err)
							}
						}
					}
				}
				if named == 0 {
					t.Error("nobody names who lies")
				}
			})
		})
	}
}
