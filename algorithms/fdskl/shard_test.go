package fdskl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// sharding is a training whose rows are summed in shards, each in a federation of its own, which its contract holds.
type sharding struct {
	*fixture
	shards  []Shard
	nets    []*federation
	vaults  []*memory
	learned openings
}

// spans cuts rows into n shards of whole blocks.
func spans(t testing.TB, rows, block, n int) (list []Shard) {
	t.Helper()
	all, err := joint.Cut(rows, block, n)
	mustDo(t, err)
	for _, s := range all {
		list = append(list, Span(s))
	}
	return list
}

// newSharding cuts a fixture's rows into shards of blocks of so many rows.
func (f *fixture) newSharding(t testing.TB, block, n int) *sharding {
	t.Helper()
	list := spans(t, f.rows, block, n)
	s := &sharding{fixture: f, shards: list, learned: make(openings, len(f.names))}
	for i := range f.names {
		s.learned.opened(i)
		s.vaults = append(s.vaults, newVault())
	}
	for _, shard := range list {
		o := f.outline()
		o.Shard = &shard
		d, err := Disclose(o)
		mustDo(t, err)
		net := f.federation(t)
		net.declare(t, d, len(f.params.Active))
		s.nets = append(s.nets, net)
	}
	return s
}

// note is a Party.Opened of party i, over all sessions.
func (s *sharding) note(i int) func(string, int64) {
	return func(kind string, n int64) { s.learned[i][kind] += n }
}

// sum makes the sums of a shard with all parties, each of which has got its part of what has begun as bytes.
func (s *sharding) sum(t testing.TB, at int, begun []*Begun) ([]Sums, error) {
	sums := make([]Sums, len(s.names))
	for i, err := range s.nets[at].run(func(ctx context.Context, i int, n joint.Network) error {
		shard := s.shards[at]
		data, err := begun[i].Model.Encode()
		if err != nil {
			return err
		}
		m, err := DecodeModel(data)
		if err != nil {
			return err
		}
		got, err := SumRows(ctx, Summing{Self: i, Begun: m, Rows: s.rows, Shard: shard, Labels: begun[i].Of(shard),
			Matrices: []*kernel.Matrix{s.parts[i].Rows.Cut(shard.Lo, shard.Hi)}, Network: n, Workers: s.workers,
			Opened: s.note(i)})
		if err != nil {
			return err
		}
		if (got != nil) != (s.labels[i] != nil) {
			return fmt.Errorf("%s gets %d vectors of sums", s.names[i], len(got))
		}
		sums[i], err = DecodeSums(LengthsOfSums(s.params, s.names[i]), got.Encode())
		return err
	}) {
		if err != nil {
			return nil, fmt.Errorf("shard %d, party %d: %w", at, i, err)
		}
	}
	return sums, nil
}

// train trains in the nodes' own session, in which change may change the shards' sums, and returns the models.
func (s *sharding) train(t testing.TB, change func(sums [][]Sums)) ([]*Model, []error) {
	t.Helper()
	o := s.outline()
	o.InShards = true
	d, err := Disclose(o)
	mustDo(t, err)
	node := s.federation(t)
	node.declare(t, d, len(s.params.Active))
	begun, ready := make([]*Begun, len(s.names)), make(chan int, len(s.names))
	type result struct {
		sums [][]Sums // by shard and party
		err  error
	}
	summed := make(chan result)
	go func() {
		var r result
		for range s.names {
			<-ready
		}
		for at := range s.shards {
			sums, err := s.sum(t, at, begun)
			if r.sums = append(r.sums, sums); err != nil {
				r.err = err
				break
			}
		}
		if change != nil && r.err == nil {
			change(r.sums)
		}
		for range s.names {
			summed <- r
		}
	}()
	models := make([]*Model, len(s.names))
	errs := node.run(func(ctx context.Context, i int, n joint.Network) (err error) {
		p := s.party(i, n, s.vaults[i])
		p.Opened = s.note(i)
		p.Scored = func([]float64) { t.Error("scores of a training in shards") }
		p.Sums = func(_ context.Context, b *Begun) (list []Sums, err error) {
			begun[i] = b
			ready <- i
			r := <-summed
			for at := range r.sums {
				if r.err == nil {
					list = append(list, r.sums[at][i])
				}
			}
			return list, r.err
		}
		models[i], err = Train(ctx, p)
		return err
	})
	if len(errs) == 0 || errs[0] == nil {
		whole, err := Disclose(s.outline())
		if err != nil || !slices.Equal(d.Openings, whole.Openings) {
			t.Errorf("in shards %+v opens, else %+v, %v", d.Openings, whole.Openings, err)
		}
		checkOpenings(t.(*testing.T), s.fixture, d, s.learned, func(kind string) bool { return exact(s.fixture, kind) })
	}
	return models, errs
}

// TestShardsTrainTheSameModel: whatever the number of shards, coefficients and the chosen regulariser are bit for bit
// those of a training without any; every session sends what its contract lists, and all of them together open what
// the training's says.
func TestShardsTrainTheSameModel(t *testing.T) {
	for name, p := range map[string]Params{
		"two classes":                {Loss: "square", Features: 30, Lambda: 1e-4, Iterations: 15},
		"a given width":              {Loss: "square", Features: 30, Lambda: 1e-4, Sigma: 1.5, Kernel: "laplace"},
		"three classes":              {Features: 24, Classes: 3, Lambda: 1e-3},
		"regression":                 {Target: joint.Regression, Features: 30, Lambda: 1e-3},
		"two classes, lambda chosen": {Loss: "square", Features: 30},
		"regression, lambda chosen":  {Target: joint.Regression, Features: 30},
		"four classes, the same":     {Features: 24, Classes: 4, Loss: "square"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.Seed = "s"
			f := newFixture(t, 3, 83, 1, p)
			want := f.train(t)
			for _, n := range []int{1, 2, 4, 8} {
				got, errs := f.newSharding(t, 5, n).train(t, nil)
				must(t, errs)
				for i, m := range got {
					w := want[i]
					same := func(a, b Coefficients) bool {
						return slices.Equal(a.Alpha, b.Alpha) && a.Intercept == b.Intercept
					}
					if !slices.EqualFunc(m.Functions(), w.Functions(), same) || m.Lambda != w.Lambda || m.Sigma != w.Sigma ||
						!slices.Equal(m.Held, w.Held) {
						t.Errorf("%d shards: %s has another function, or lambda %v in place of %v", n, f.names[i], m.Lambda, w.Lambda)
					}
				}
				// Features of sums are rounded to 2^-12.
				if a, b := got[0].Objective, want[0].Objective; !(math.Abs(a-b) < 1e-3*b) {
					t.Errorf("%d shards: the objective is %v, want about %v", n, a, b)
				}
				a, b := got[0].TrainError, want[0].TrainError
				if p.Target == joint.Regression && !(math.Abs(a-b) < 1e-3*b) || p.Target != joint.Regression && !math.IsNaN(a) {
					t.Errorf("%d shards: the training error is %v, without shards %v", n, a, b)
				}
			}
		})
	}
}

// TestSumsDoNotDependOnTheCut: for any cut, at any block, of rows of any job, the shards' sums are those of one shard.
func TestSumsDoNotDependOnTheCut(t *testing.T) {
	fixtures := []*fixture{newFixture(t, 2, 60, 1, Params{Target: joint.Regression, Features: 8, Sigma: 1}),
		newFixture(t, 3, 60, 1, Params{Classes: 3, Features: 6, Loss: "square", Sigma: 1, Lambda: 1})}
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(fixtures).Draw(rt, "job")
		labels := f.labels[0].Values
		if f.params.Target == joint.Regression {
			labels = describe(joint.Regression, f.labels[0]).standardised(labels)
		}
		sum := func(s Shard, blockBytes, workers int) Sums {
			p := f.pooled()
			// One party that has all parts would be several tables: the first one's columns do.
			m := &Model{Names: p.Names, Params: p.Params, Privacy: Masked, Sigma: 1, Owner: f.parts[0].Owner,
				Phase: f.parts[0].Phase, Normaliser: f.parts[0].Normaliser, Scale: 1, Classes: f.labels[0].Classes}
			sums, err := SumRows(t.Context(), Summing{Begun: m, Rows: f.rows, Shard: s, Labels: labels[s.Lo:s.Hi],
				Matrices: []*kernel.Matrix{f.parts[0].Rows.Cut(s.Lo, s.Hi)}, Network: Solo{}, Workers: workers,
				blockBytes: blockBytes})
			mustDo(rt, err)
			return sums
		}
		want := sum(Shard{0, f.rows}, blockBytes, 1)
		var got Sums
		for lo := 0; lo < f.rows; {
			hi := rapid.IntRange(lo+1, f.rows).Draw(rt, "end")
			s := sum(Shard{lo, hi}, rapid.IntRange(1, 200).Draw(rt, "block"), 2)
			if got == nil {
				got = s
			} else if err := got.Add(s); err != nil {
				rt.Fatal(err)
			}
			lo = hi
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			rt.Fatal("the sums are others than those of one shard")
		}
	})
}

// TestWrongSumsOfShardsAreRefused: a worker that lost a shard's rows, has a shard twice, or of another job, stops the
// training at the label holder.
func TestWrongSumsOfShardsAreRefused(t *testing.T) {
	f := newFixture(t, 3, 60, 1, Params{Loss: "square", Features: 6, Sigma: 1})
	for name, c := range map[string]struct {
		change func(sums [][]Sums)
		want   string
	}{
		"a shard is missing": {func(s [][]Sums) { s[1][0] = Sums{make([]uint64, 43), make([]uint64, 43)} },
			"the shards' sums are of 40 rows, the job has 60"},
		"a shard twice": {func(s [][]Sums) {
			s[0][0] = Sums{slices.Clone(s[0][0][0]), s[0][0][1]}
			if err := (Sums{s[0][0][0]}).Add(Sums{s[1][0][0]}); err != nil {
				t.Error(err)
			}
		}, "the shards' sums are of 80 rows, the job has 60"},
		"no rows are kept out": {func(s [][]Sums) { s[1][0] = Sums{s[1][0][0], make([]uint64, 43)} }, ""},
		"of a job whose lambda is a number": {func(s [][]Sums) { s[1][0] = s[1][0][:1] },
			"shard 1: sums of 1 vectors, want 2"},
		"of other features": {func(s [][]Sums) { s[2][0] = Sums{s[2][0][0][1:], s[2][0][1]} },
			"shard 2: 42 words of sums, want 43 for 6 features and 1 right sides"},
	} {
		_, errs := f.newSharding(t, 20, 3).train(t, c.change)
		if errs[0] == nil || c.want != "" && errs[0].Error() != c.want ||
			c.want == "" && !strings.HasPrefix(errs[0].Error(), "the shards' sums are of ") {
			t.Errorf("%s: error is %v, want %s", name, errs[0], c.want)
		}
	}
}

// TestShardsAreOfSomeJobsAlone: others are refused before anything is sent, in shards and in the nodes' own session.
func TestShardsAreOfSomeJobsAlone(t *testing.T) {
	p := Params{Active: []string{"a"}, Label: "y", Loss: "square"}
	for _, c := range []struct {
		change    func(p *Params)
		privacy   string
		encrypted bool
		want      string
	}{
		{func(p *Params) { p.Schedule = DoublyStochastic }, Masked, false, `schedule is "doubly-stochastic": rows are ` +
			`summed in shards with schedule "fixed" alone, the other picks rows from the whole table`},
		{func(p *Params) { p.Active = []string{"a", "b"} }, Masked, false,
			`2 parties are active: rows are summed in shards for one, several need the rows again`},
		{func(p *Params) { p.Loss = "logistic" }, Masked, false,
			`loss is "logistic": rows are summed in shards for the loss "square" alone, the others need them again: ` +
				"say that loss, or leave shards out"},
		{func(*Params) {}, Published, false, `privacy is "published": a job in shards is "masked" or "sealed"`},
		{func(*Params) {}, Masked, true,
			`sums are under homomorphic encryption: a job in shards has them under masks`},
	} {
		p := p
		c.change(&p)
		p = p.WithDefaults()
		wantError(t, CheckSharded(p, c.privacy, c.encrypted), c.want)
		if c.encrypted {
			continue
		}
		m := &Model{Names: []string{"a", "b"}, Params: p, Privacy: c.privacy, Sigma: 1}
		_, err := SumRows(t.Context(), Summing{Begun: m, Rows: 10, Shard: Shard{0, 10}})
		wantError(t, err, c.want)
		_, err = Train(t.Context(), &Party{Names: m.Names, Params: p, Privacy: c.privacy, Rows: 10,
			Sums: func(context.Context, *Begun) ([]Sums, error) { t.Error("sums are asked for"); return nil, nil }})
		wantError(t, err, c.want)
	}
	if err := CheckSharded(p.WithDefaults(), Masked, false); err != nil {
		t.Error(err)
	}
}

// TestSumRowsRefuses what does not fit together, before anything is sent.
func TestSumRowsRefuses(t *testing.T) {
	f := newFixture(t, 3, 47, 1, Params{Loss: "square", Features: 6, Sigma: 1})
	shard := Shard{Lo: 8, Hi: 16}
	rows := f.parts[0].Rows.Cut(shard.Lo, shard.Hi)
	for _, c := range []struct {
		change func(p *Summing)
		want   string
	}{
		{func(p *Summing) { p.Shard = Shard{Lo: 40, Hi: 48} }, "a shard of rows 40 to 48, the job has 47"},
		{func(p *Summing) { p.Shard = Shard{Lo: 8, Hi: 8} }, "a shard of rows 8 to 8, the job has 47"},
		{func(p *Summing) { p.Shard.Hi = 20 }, "p0 has columns of 8 rows, want 12"},
		{func(p *Summing) { p.Labels = p.Labels[1:] }, "p0 is active and has no labels for its 8 rows"},
		{func(p *Summing) { p.Labels = nil }, "p0 is active and has no labels for its 8 rows"},
		{func(p *Summing) { p.Labels[3] = 0.5 },
			"p0: the label of row 4 is 0.5, want -1 or 1 for classes and a finite number for a regression"},
		{func(p *Summing) { p.Matrices = nil }, "0 tables of a shard, want one"},
		{func(p *Summing) { p.Matrices = append(p.Matrices, rows) }, "2 tables of a shard, want one"},
	} {
		p := Summing{Begun: &Model{Names: f.names, Params: f.params, Privacy: Masked, Sigma: 1, Owner: f.parts[0].Owner,
			Normaliser: f.parts[0].Normaliser, Classes: f.labels[0].Classes}, Rows: 47, Shard: shard,
			Labels: slices.Clone(f.labels[0].Values[8:16]), Matrices: []*kernel.Matrix{rows}}
		c.change(&p)
		_, err := SumRows(t.Context(), p)
		wantError(t, err, c.want)
	}
}

// TestAShardOpensItsAnglesAlone: what a shard's contract lists are the sums that open its rows' angles, of the kind and
// class that they have without shards, and the nodes' own session has none of them.
func TestAShardOpensItsAnglesAlone(t *testing.T) {
	f := newFixture(t, 4, 5000, 1, Params{Loss: "square"})
	shards, err := Shards(f.params, f.rows, 2)
	mustDo(t, err)
	whole := f.disclose(t)
	at := slices.IndexFunc(whole.Operations, func(o contract.Operation) bool { return o.Kind == KindAngles })
	want := whole.Operations[at]
	var count, bytes int64
	for _, s := range shards {
		own, span := f.outline(), Span(s)
		own.Shard = &span
		d, err := Disclose(own)
		if err != nil || len(d.Operations) != 1 || len(d.Openings) != 1 {
			t.Fatalf("a shard does %+v and opens %+v, %v", d.Operations, d.Openings, err)
		}
		o := d.Operations[0]
		if o.Kind != want.Kind || o.Class != want.Class || o.Encoding != want.Encoding || o.Root != want.Root ||
			o.Stage != 1 || d.Openings[0].Count*2 != o.Bytes || d.Openings[0].To != "p0" {
			t.Errorf("a shard does %+v and opens %+v, the training does %+v", o, d.Openings, want)
		}
		count, bytes = count+o.Count, bytes+o.Bytes
	}
	if count != want.Count || bytes != want.Bytes {
		t.Errorf("shards do %d sums of %d bytes, the training %d of %d", count, bytes, want.Count, want.Bytes)
	}
	gathers := f.outline()
	gathers.InShards = true
	d, err := Disclose(gathers)
	mustDo(t, err)
	rest := slices.DeleteFunc(slices.Clone(whole.Operations), func(o contract.Operation) bool {
		return o.Kind == KindAngles || o.Kind == KindResumePoint
	})
	for _, o := range rest {
		same := func(p contract.Operation) bool { return fmt.Sprint(p) == fmt.Sprint(o) }
		if o.Kind != contract.KindShared && !slices.ContainsFunc(d.Operations, same) {
			t.Errorf("the nodes' own session lacks %+v", o)
		}
	}
	if len(d.Operations) != len(rest) {
		t.Errorf("the nodes' own session does %+v, want %+v", d.Operations, rest)
	}
}

// TestVectorsAreReadAsWritten, of lengths that the reader knows, and any other bytes are refused.
func TestVectorsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vectors := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64(), 0, 9), 0, 4).Draw(rt, "vectors")
		var lengths []int
		for _, v := range vectors {
			lengths = append(lengths, len(v))
		}
		data := EncodeVectors(vectors...)
		got, err := DecodeVectors("vectors", data, lengths...)
		if err != nil || !slices.EqualFunc(got, vectors, slices.Equal) {
			rt.Fatalf("read as %v, %v", got, err)
		}
		n := rapid.IntRange(0, len(data)+20).Draw(rt, "bytes")
		if other := append(data[:min(n, len(data)):len(data)], make([]byte, max(0, n-len(data)))...); n != len(data) {
			if _, err := DecodeVectors("vectors", other, lengths...); err == nil {
				rt.Fatalf("%d bytes pass for %d", n, len(data))
			}
		}
	})
	_, err := DecodeVectors("vectors", []byte{2, 0}, 1<<40)
	wantError(t, err, "vectors of 2 bytes and version 2, want 8796093022209 bytes of version 1")
	_, err = DecodeSums(LengthsOfSums(Params{Active: []string{"a"}, Features: 6}, "b"), Sums{{1}}.Encode())
	wantError(t, err, "sums of a shard of 9 bytes and version 1, want 1 bytes of version 1")
}

// TestSumsOfOtherShapesAreRefused: a shard's sums with another number of words stop the training.
func TestSumsOfOtherShapesAreRefused(t *testing.T) {
	s := Sums{make([]uint64, 3), make([]uint64, 2)}
	for _, c := range []struct {
		more Sums
		want string
	}{
		{Sums{make([]uint64, 3)}, "sums of 1 vectors, want 2"},
		{Sums{make([]uint64, 3), make([]uint64, 3)}, "sums with 3 words in vector 1, want 2"},
		{nil, "sums of 0 vectors, want 2"},
	} {
		if err := s.Add(c.more); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}

// TestFollowerFindsEveryAngleOfAShard: who follows the session of a shard knows what opens in its session.
func TestFollowerFindsEveryAngleOfAShard(t *testing.T) {
	f := newFixture(t, 4, 40, 1, Params{Loss: "square", Features: 30, Sigma: 1})
	shard := Shard{Lo: 12, Hi: 31}
	links := f.federation(t)
	outline := f.outline()
	outline.Shard = &shard
	o := &observer{follower: Follow(outline), angles: make(map[trace.Angle]float64)}
	defer o.follower.Close()
	links.recorder = o
	errs := links.run(func(ctx context.Context, i int, n joint.Network) error {
		m := &Model{Names: f.names, Params: f.params, Privacy: Masked, Sigma: 1, Owner: f.parts[i].Owner,
			Phase: f.parts[i].Phase, Normaliser: f.parts[i].Normaliser, Classes: f.labels[0].Classes}
		p := Summing{Self: i, Begun: m, Rows: f.rows, Shard: shard, Network: n,
			Matrices: []*kernel.Matrix{f.parts[i].Rows.Cut(shard.Lo, shard.Hi)}}
		if f.labels[i] != nil {
			p.Labels = f.labels[i].Values[shard.Lo:shard.Hi]
		}
		_, err := SumRows(ctx, p)
		return err
	})
	if o.err != nil {
		t.Fatalf("the follower: %v; sessions end with %v", o.err, errs)
	}
	must(t, errs)
	angles := make(map[trace.Angle]float64)
	for a, turns := range o.angles {
		angles[trace.Angle{Row: a.Row + shard.Lo, Frequency: a.Frequency}] = turns
	}
	if want := shard.Rows() * f.params.Angles(); len(angles) != want {
		t.Errorf("%d angles opened, want %d", len(angles), want)
	}
	checkAngles(t, f, angles)
}

// mustDo ends the test on an error.
func mustDo(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
