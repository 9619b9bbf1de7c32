package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/secagg/rss"
)

// forgeries are changes of a checkpoint's sizes, counts and marks.
func forgeries() map[string]func(s *state) {
	return map[string]func(s *state){
		"another version":     func(s *state) { s.Version-- },
		"the next stage":      func(s *state) { s.Stage++ },
		"the stage before":    func(s *state) { s.Stage-- },
		"stage 200":           func(s *state) { s.Stage = 200 },
		"another session":     func(s *state) { s.Session++ },
		"another system":      func(s *state) { s.Rests++ },
		"a row more":          func(s *state) { s.Number++ },
		"a block less":        func(s *state) { s.Number -= 4 },
		"2^32 rows more":      func(s *state) { s.Number += 1 << 32 },
		"all numbers":         func(s *state) { s.Number = math.MaxInt },
		"no reach":            func(s *state) { s.Reach = 0 },
		"less than no reach":  func(s *state) { s.Reach = -1 },
		"a large reach":       func(s *state) { s.Reach = math.MaxFloat64 },
		"a slightly larger":   func(s *state) { s.Reach *= 1 + 1e-9 },
		"no vectors":          func(s *state) { s.Words = nil },
		"a vector less":       func(s *state) { s.Words = s.Words[:max(0, len(s.Words)-1)] },
		"100,000 vectors":     func(s *state) { s.Words = make([][]byte, 100_000) },
		"a word less":         func(s *state) { s.Words[0] = s.Words[0][:max(0, len(s.Words[0])-8)] },
		"a byte less":         func(s *state) { s.Words[1] = s.Words[1][:max(0, len(s.Words[1])-1)] },
		"a word more":         func(s *state) { s.Words[1] = append(s.Words[1], 1, 2, 3, 4, 5, 6, 7, 8) },
		"no intercepts":       func(s *state) { s.Intercepts = nil },
		"an intercept more":   func(s *state) { s.Intercepts = append(s.Intercepts, 1) },
		"numbers that aren't": func(s *state) { s.Intercepts = []float64{math.NaN()} },
	}
}

// TestTheForgerOfCheckpoints changes each checkpoint of each of the three in turn, as often as there are forgeries, and
// has them go on: they end with the coefficients of their system, or in an error with a sentence, and never hang.
func TestTheForgerOfCheckpoints(t *testing.T) {
	for name, change := range map[string]func(p *fdskl.Params){
		"square, auto":   func(p *fdskl.Params) { p.Lambda = 0 },
		"classes":        func(p *fdskl.Params) { p.Classes = 3 },
		"logistic, auto": func(p *fdskl.Params) { p.Loss, p.Outer, p.Lambda = "logistic", 3, 0 },
	} {
		if name == "classes" && !drawn.All {
			continue
		}
		for _, kind := range []string{kindWindows + rss.SuffixIn, kindProduct + rss.SuffixIn, kindCheck + rss.SuffixIn} {
			t.Run(name+", at "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := fdskl.Params{Features: 6, Iterations: 4, Sigma: 1, Lambda: 1e-2, Ring: ringSmall}
					change(&p)
					f := newFixture(t, 3, 47, p)
					f.block, f.save, f.window = 4, 1, 10
					f.forge(t, kind)
				})
			})
		}
	}
}

// forge trains until the label holder dies at its last message but one of a kind, and goes on from each forgery of what
// is left.
func (f *fixture) forge(t *testing.T, kind string) {
	testNetwork := f.testNetwork(t)
	models := make([]*fdskl.Model, len(f.names))
	session := func(number uint32, l life) (frames []int, err error) {
		testNetwork.session = number - 1
		return testNetwork.live(l, f.vaults, []string{kind}, func(
			ctx context.Context, i int, n joint.SealedNetwork) (err error) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			models[i], err = Train(ctx, f.party(i, n, number))
			return err
		})
	}
	f.forget()
	frames, err := session(1, life{party: nobody})
	must(t, err)
	f.forget()
	last := max(1, frames[0]-1) // of this kind but one
	if _, err := session(1, life{party: 0, frame: last}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	var left []map[string][]byte
	for _, v := range f.vaults {
		left = append(left, maps.Clone(v.files))
	}
	went, stopped := 0, 0
	for who := range left {
		for _, file := range Checkpoints() {
			if left[who][file] == nil {
				continue
			}
			for name, forge := range forgeries() {
				s := new(state)
				must(t, checkpoint.Decode(left[who][file], s, checkpoint.Limits{Bytes: maxState}))
				forge(s)
				data, err := checkpoint.Encode(s)
				must(t, err)
				f.forget()
				for i, v := range f.vaults {
					v.files = maps.Clone(left[i])
				}
				f.vaults[who].files[file] = data
				what := fmt.Sprintf("%s of %s at p%d", name, file, who)
				if _, err := session(2, life{party: nobody}); err != nil {
					stopped++
					continue
				}
				went++
				if bytes.Equal(f.vaults[who].files[file], data) && file == stageSystem.file(0) { // nobody has looked at it
					f.vaults[who].files[file] = left[who][file]
				}
				if f.solved(t, models); t.Failed() {
					t.Fatal(what)
				}
			}
		}
	}
	if left[0][stageSystem.file(0)] == nil && f.params.Outer > 0 { // there are no checkpoints before
		return
	}
	if went == 0 || stopped == 0 {
		t.Errorf("%d trainings went on and %d stopped: the test says little", went, stopped)
	}
}

// FuzzSums: a checkpoint of sums in words of 32 bits is taken as long as each of its vectors is to be, or refused.
func FuzzSums(f *testing.F) {
	tr, vault := sumsTrainer(f)
	acc, err := tr.assembler.savedSums(point{})
	must(f, err)
	acc.next = 4
	must(f, tr.assembler.saveSums(1, acc))
	f.Add(vault.files[stageSums.file(1)], uint32(4))
	f.Add([]byte{0xa0}, uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, number uint32) {
		vault.files[stageSums.file(0)], vault.files[stageSums.file(1)] = data, data
		from := point{stage: stageSums, session: 1, number: int(number)}
		if s, err := tr.checkpoints.load(stageSums.file(0)); err == nil && s != nil {
			from.session = s.Session
		}
		got, err := tr.assembler.savedSums(from)
		if err != nil {
			return
		}
		if got.next != int(number) || got.next > tr.Rows || len(got.parts) != 2 {
			t.Fatalf("%d parts of %d rows", len(got.parts), got.next)
		}
		for i, p := range got.parts {
			want := acc.following(i, got.lifted)
			if len(p.window) != triangle(tr.features) || len(p.squares) != 0 || p.total.Len() != tr.assembler.sumsOf(1) ||
				len(p.sides) != len(want.labels)*tr.sides*tr.features {
				t.Fatalf("part %d has vectors of other lengths", i)
			}
		}
	})
}

// sumsTrainer is the label holder of a job that chooses its lambda, with its vault.
func sumsTrainer(t testing.TB) (*trainer, *vaultInMemory) {
	f := newFixture(t, 3, 47, fdskl.Params{Features: 6, Iterations: 2, Sigma: 1, Ring: ringSmall})
	f.block, f.window = 4, 10
	tr := f.labelHolder(t)
	return tr, f.vaults[0]
}
