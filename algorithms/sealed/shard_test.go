package sealed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/secagg/rss"
)

// sharding is a training whose rows are summed in shards, each in a federation of its own.
type sharding struct {
	*fixture
	shards []Shard
	nets   []*federation
	sums   [][]Sums // by shard and party
	watch  *watch   // nil: nobody
}

// spans cuts rows into n shards of whole blocks.
func spans(t testing.TB, rows, block, n int) (list []Shard) {
	t.Helper()
	all, err := joint.Cut(rows, block, n)
	must(t, err)
	for _, s := range all {
		list = append(list, fdskl.Span(s))
	}
	return list
}

// newSharding cuts a fixture's rows into n shards.
func (f *fixture) newSharding(t testing.TB, n int) *sharding {
	t.Helper()
	list := spans(t, f.rows, f.block, n)
	s := &sharding{fixture: f, shards: list}
	for _, shard := range list {
		o := f.outline()
		o.Shard = &shard
		d, err := Disclose(o)
		must(t, err)
		net := newFederation(t, f.names)
		net.declare(t, d)
		s.nets, s.sums = append(s.nets, net), append(s.sums, make([]Sums, len(f.names)))
	}
	return s
}

// sum makes the sums of a shard with all parties.
func (s *sharding) sum(at int, begun []*Begun) error {
	return first(s.nets[at].run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
		shard := s.shards[at]
		p := Summing{Self: i, Begun: begun[i].Model, Rows: s.rows, Shard: shard, Labels: begun[i].Of(shard, s.rows),
			Coin: begun[i].Coin, Network: n, Workers: 2, blockRows: s.block, windowRows: s.window}
		if parts := s.parts[i]; len(parts) > 0 {
			p.Matrices = []*kernel.Matrix{parts[0].Rows.Cut(shard.Lo, shard.Hi)}
		}
		t, err := p.summer()
		if err != nil {
			return err
		}
		if s.watch != nil {
			t.columns = &overseen{source: t.columns, watch: s.watch, role: t.role, features: t.features, from: shard.Lo}
		}
		s.sums[at][i], err = t.sumRows(ctx, p.Labels)
		return err
	}))
}

// train trains with the shards' sums and returns all model parts.
func (s *sharding) train(t *testing.T) []*fdskl.Model {
	t.Helper()
	o := s.outline()
	o.InShards = true
	d, err := Disclose(o)
	must(t, err)
	node := newFederation(t, s.names)
	node.declare(t, d)
	s.forget()
	begun, ready := make([]*Begun, len(s.names)), make(chan int, len(s.names))
	summed := make(chan error)
	go func() {
		var err error
		for range s.names {
			<-ready
		}
		for at := range s.shards {
			if err == nil {
				err = s.sum(at, begun)
			}
		}
		for range s.names {
			summed <- err
		}
	}()
	models := make([]*fdskl.Model, len(s.names))
	must(t, first(node.run(func(ctx context.Context, i int, n joint.SealedNetwork) (err error) {
		p := s.party(i, n, node.session)
		p.Sums = func(_ context.Context, b *Begun) ([]Sums, error) {
			begun[i] = b
			ready <- i
			if err := <-summed; err != nil {
				return nil, err
			}
			var list []Sums
			for at := range s.shards {
				if got := s.sums[at][i]; got != nil {
					list = append(list, got)
				}
			}
			return list, nil
		}
		models[i], err = Train(ctx, p)
		return err
	})))
	spentAll(t, node)
	for _, net := range s.nets {
		spentAll(t, net)
	}
	return models
}

// TestShardsAddUp: whatever the number of shards, the system is what all rows add up to, row after row in whole
// numbers, and the coefficients are those of the steps on it; each session sends what its contract lists.
func TestShardsAddUp(t *testing.T) {
	for name, f := range windowed(t) {
		if f.params.Loss != kernel.Square.String() {
			continue
		}
		for _, n := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s, %d shards", name, n), func(t *testing.T) {
				s := f.newSharding(t, n)
				s.watch = f.newWatch()
				models := s.train(t)
				f.exact(t, s.watch, name)
				f.solved(t, models)
			})
		}
	}
}

// added returns what the rows of all shards add up to: twice the products of features, the features, the features times
// labels, and the labels, in the ring of sums.
func (s *sharding) added(t *testing.T) []uint64 {
	t.Helper()
	var all [rss.Roles]Sums
	out := make([][]uint64, 4)
	for role, i := range rolesOf(s.params, s.names, 0).parties {
		for at := range s.shards {
			if all[role] == nil {
				all[role] = s.sums[at][i]
			} else if err := all[role].Add(s.sums[at][i]); err != nil {
				t.Fatal(err)
			}
		}
		terms := [][]uint64{rss.New(rss.Role(role), nil, nil, 1).TwiceGram(all[role][0]), nil, all[role][3], nil}
		for k, term := range terms {
			if out[k] == nil {
				out[k] = make([]uint64, len(term))
			}
			for j, w := range term {
				out[k][j] += w
			}
		}
	}
	label, keeper := all[rss.LabelHolder], all[rss.Keeper]
	for _, k := range []int{1, 4} {
		out[(k+1)/2] = append(out[(k+1)/2], rss.Reconstruct(rss.Share{X: label[k], Y: label[k+1]},
			rss.Share{X: keeper[k], Y: keeper[k+1]})...)
	}
	words, bits := slices.Concat(out...), s.labelHolder(t).sums.k
	for i := range words {
		words[i] &= ^uint64(0) >> (wordBits - bits)
	}
	return words
}

// TestShardsOfBinsAreTheSame: bins are not rounded, so that their sums are the same words for any number of shards.
func TestShardsOfBinsAreTheSame(t *testing.T) {
	for _, ring := range []int{ringCompact, ringDefault} {
		f := newFixture(t, 4, 47, fdskl.Params{Iterations: 4, Lambda: 1e-2, Ring: ring,
			BinParams: fdskl.BinParams{Bins: 2, MinCell: 2, ZScores: "p3"}})
		f.block = 4
		var want []uint64
		for _, n := range []int{1, 2, 4, 8} {
			s := f.newSharding(t, n)
			f.solved(t, s.train(t))
			got := s.added(t)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("ring %d: %d shards add up to other words than one", ring, n)
			}
		}
	}
}

// TestSumRowsRefuses what does not fit together, before anything is sent.
func TestSumRowsRefuses(t *testing.T) {
	f := newFixture(t, 3, 47, fdskl.Params{Features: 6, Iterations: 2, Sigma: 1, Lambda: 1e-2, Ring: ringSmall})
	logistic := newFixture(t, 3, 47, fdskl.Params{Features: 6, Iterations: 2, Sigma: 1, Lambda: 1e-2, Loss: "logistic"})
	shard := Shard{Lo: 8, Hi: 16}
	rows := f.parts[0][0].Rows.Cut(shard.Lo, shard.Hi)
	for _, c := range []struct {
		change func(p *Summing)
		want   string
	}{
		{func(p *Summing) { p.Begun = &fdskl.Model{Names: f.names, Params: logistic.params} },
			"loss is \"logistic\": rows are summed in shards for the loss \"square\" alone, the others need them again: " +
				"say that loss, or leave shards out"},
		{func(p *Summing) { p.Shard = Shard{Lo: 40, Hi: 48} }, "a shard of rows 40 to 48, the job has 47"},
		{func(p *Summing) { p.Shard = Shard{Lo: 8, Hi: 8} }, "a shard of rows 8 to 8, the job has 47"},
		{func(p *Summing) { p.Shard.Hi = 20 }, "the table of the shard has 8 rows, want 12"},
		{func(p *Summing) { p.Labels = p.Labels[1:] }, "7 labels of the shard, want 8"},
		{func(p *Summing) { p.Matrices = append(p.Matrices, rows) }, "2 tables of a shard, want one"},
	} {
		p := Summing{Self: 0, Begun: &fdskl.Model{Names: f.names, Params: f.params}, Rows: 47, Shard: shard,
			Matrices: []*kernel.Matrix{rows}, Labels: make([]uint64, 8), Network: newTracer(f.outline())}
		c.change(&p)
		if _, err := SumRows(t.Context(), p); err == nil || err.Error() != c.want {
			t.Errorf("error is %v\nwant     %s", err, c.want)
		}
	}
}

// TestSumsAreReadAsWritten: at each party the sums of a shard come back from their bytes, and bytes of another size, or
// of another party, are refused by one that knows the job.
func TestSumsAreReadAsWritten(t *testing.T) {
	for name, p := range map[string]fdskl.Params{
		"small": {Ring: ringSmall}, "compact": {Ring: ringCompact}, "classes": {Classes: 3, Ring: ringSmall},
		"kept out": {Ring: ringSmall}, "64, classes, kept out": {Classes: 3},
	} {
		p.Features, p.Iterations, p.Sigma = 6, 4, 1
		if !strings.Contains(name, "kept out") {
			p.Lambda = 1e-2
		}
		f := newFixture(t, 4, 47, p)
		f.block = 8
		s := f.newSharding(t, 2)
		s.train(t)
		for i, party := range f.names {
			want := s.sums[1][i]
			data := want.Encode()
			lengths, err := LengthsOfSums(f.params, f.names, f.rows, party)
			must(t, err)
			got, err := fdskl.DecodeSums(lengths, data)
			if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s: sums of %s come back with error %v, or as others", name, party, err)
			}
			refused := [][]byte{nil, data[:len(data)-1], append(slices.Clone(data), 0), slices.Concat([]byte{2}, data[1:])}
			for _, other := range [][]byte{Sums{{1}}.Encode(), s.sums[1][(i+3)%4].Encode()} {
				if len(other) != len(data) {
					refused = append(refused, other)
				}
			}
			for _, data := range refused {
				if _, err := fdskl.DecodeSums(lengths, data); err == nil {
					t.Errorf("%s: %d bytes pass for sums of %s", name, len(data), party)
				}
			}
		}
	}
}

// TestSumsOfManyRowsAreCoarser: of more than two million rows the sums have fewer bits behind the point, and the
// coefficients are those of the same system; bins and words of 32 bits have room for that.
func TestSumsOfManyRowsAreCoarser(t *testing.T) {
	const rows = 1<<21 + 7
	for name, p := range map[string]fdskl.Params{
		"cosines": {Features: 2, Iterations: 3, Sigma: 1, Lambda: 1e-2, Ring: ringSmall},
		"bins":    {Iterations: 3, Lambda: 1e-2, BinParams: fdskl.BinParams{Bins: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			size := rows
			if !drawn.All {
				size = 50
			}
			f := newFixture(t, 3, size, p)
			f.block, f.save = 4080, 0
			s, err := scalesOf(f.params, rows)
			must(t, err)
			if s.sums.sz != 19 {
				t.Errorf("sums have %d bits behind the point, want 19", s.sums.sz)
			}
			if !drawn.All {
				return
			}
			many := f.newSharding(t, 2)
			many.watch = f.newWatch()
			models := many.train(t)
			f.exact(t, many.watch, name)
			f.solved(t, models)
		})
	}
}
