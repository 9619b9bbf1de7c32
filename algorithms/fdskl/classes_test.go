package fdskl

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// classJobs are one job of several classes for each way to train.
func classJobs() map[string]Params {
	return map[string]Params{
		"square, four": {Loss: "square", Features: 30, Lambda: 1e-3, Seed: "s", Classes: 4},
		"logistic, three": {Loss: "logistic", Features: 30, Lambda: 1e-3, Seed: "s", Iterations: 25, Sigma: 1,
			Classes: 3},
		"smooth hinge, seven": {Loss: "smooth-hinge", Features: 24, Lambda: 1e-3, Seed: "s", Iterations: 15, Classes: 7},
	}
}

// oneAgainstRest is the oracle: a training of two classes in one process for each class, with the job's features.
func oneAgainstRest(t *testing.T, f *fixture) (functions []Coefficients) {
	t.Helper()
	for k := range f.params.Classes {
		p := f.pooled()
		p.Params.Classes = 0
		labels := &joint.Labels{Classes: []string{"rest", "one"}}
		for _, y := range f.labels[0].Values {
			labels.Values = append(labels.Values, map[bool]float64{true: 1, false: -1}[y == float64(k)])
		}
		p.Labels = labels
		m, err := Train(t.Context(), p)
		mustDo(t, err)
		functions = append(functions, Coefficients{m.Alpha, m.Intercept})
	}
	return functions
}

// TestEachClassIsTrainedAgainstTheRest has the coefficients of a federation, of each class bit for bit those of two
// classes, it and all others, pooled in one process. No party but the label holder has any.
func TestEachClassIsTrainedAgainstTheRest(t *testing.T) {
	for name, p := range classJobs() {
		for _, privacy := range []string{Masked, Published} {
			t.Run(name+", "+privacy, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 4, 150, 1, p)
				f.privacy = privacy
				models, want := f.train(t), oneAgainstRest(t, f)
				for i, m := range models {
					holds := len(m.Functions()[0].Alpha) > 0
					if holds != (i == 0) || !slices.Equal(m.Classes, f.labels[0].Classes) {
						t.Errorf("party %d holds coefficients: %v; classes %q", i, holds, m.Classes)
					}
				}
				switch m := models[0]; {
				case privacy == Masked && !reflect.DeepEqual(m.Against, want):
					t.Error("the coefficients are not those of each class against the rest")
				case len(m.Against) != len(want) || !parameters.IsFinite(m.Objective):
					t.Errorf("%d functions, objective %v", len(m.Against), m.Objective)
				case !(m.TrainError < 0.6):
					t.Errorf("%v of the training labels are wrong", m.TrainError)
				}
			})
		}
	}
}

// TestClassesByNormalEquations compares with a straight solution: features from their definition in float64, and for
// each class least squares by an orthogonal factorisation.
func TestClassesByNormalEquations(t *testing.T) {
	f := newFixture(t, 3, 120, 1, classJobs()["square, four"])
	models, rows := f.train(t), f.newRows(t, 40)
	d, n := f.params.Features, f.rows
	features := func(rows []*kernel.Matrix) *mat.Dense {
		g := *f
		g.params.Sigma = models[0].Sigma
		o := &oracle{f: &g}
		for _, m := range rows {
			o.rows = append(o.rows, withStrays(m))
		}
		phi := mat.NewDense(rows[0].Rows, d+1, nil)
		for i := range d {
			column := make([]float64, rows[0].Rows)
			o.addFeature(column, i, 0, 1)
			phi.SetCol(i, column)
		}
		phi.SetCol(d, slices.Repeat([]float64{1}, rows[0].Rows))
		return phi
	}
	var own []*kernel.Matrix
	for _, p := range f.parts {
		own = append(own, p.Rows)
	}
	a, b := mat.NewDense(n+d, d+1, nil), mat.NewDense(n+d, 4, nil)
	a.Slice(0, n, 0, d+1).(*mat.Dense).Copy(features(own))
	for i := range d {
		a.Set(n+i, i, math.Sqrt(float64(f.params.Lambda)*float64(d)/2*float64(n)))
	}
	for j, y := range f.labels[0].Values {
		for k := range 4 {
			b.Set(j, k, -1)
		}
		b.Set(j, int(y), 1)
	}
	var w, want mat.Dense
	mustDo(t, w.Solve(a, b))
	want.Mul(features(rows), &w)
	got, _ := f.predict(t, f.federation(t), models, rows, 0)
	for j := range 40 {
		for k := range 4 {
			if diff := math.Abs(got[4*j+k] - want.At(j, k)); diff > 5e-3 {
				t.Fatalf("row %d, class %d: score %v, want %v", j, k, got[4*j+k], want.At(j, k))
			}
		}
	}
}

// TestScoresOfClasses open, as many for each row as there are classes, to whom the contract says: the same at the label
// holder and at another party, to what a sum of reals rounds, and as in one process.
func TestScoresOfClasses(t *testing.T) {
	for name, p := range classJobs() {
		for _, privacy := range []string{Masked, Published} {
			t.Run(name+", "+privacy, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 4, 60, 1, p)
				f.privacy = privacy
				links, learned := f.federation(t), make(openings, len(f.names))
				trained := f.disclose(t)
				links.declare(t, trained, 1)
				models := make([]*Model, len(f.names))
				must(t, links.run(func(ctx context.Context, i int, n joint.Network) (err error) {
					p := f.party(i, n, newVault())
					p.Opened = learned.opened(i)
					models[i], err = Train(ctx, p)
					return err
				}))
				checkOpenings(t, f, trained, learned, func(kind string) bool { return exact(f, kind) || kind == "class names" })

				rows := f.newRows(t, 19)
				var first []float64
				for _, receiver := range []int{0, 3} {
					d, err := Disclose(f.scoring(19, 19, receiver))
					mustDo(t, err)
					links.declare(t, d, 1)
					got, learned := f.predict(t, links, models, rows, receiver)
					checkOpenings(t, f, d, learned, func(kind string) bool { return kind == "angles" || kind == "scores" })
					if len(got) != 19*f.params.Classes || learned[receiver]["scores"] != int64(len(got)) {
						t.Fatalf("%d scores, %d counted", len(got), learned[receiver]["scores"])
					}
					if receiver == 0 {
						first = got
					}
					for i, v := range got {
						if math.Abs(v-first[i]) > 0x1p-35 {
							t.Fatalf("score %d is %v at party %d, %v at party 0", i, v, receiver, first[i])
						}
					}
				}
				if privacy != Masked {
					return
				}
				s, err := NewScorer(Scoring{Models: models, Network: Solo{}})
				mustDo(t, err)
				if pooled, err := s.Score(t.Context(), rows); err != nil || !slices.Equal(pooled, first) {
					t.Errorf("pooled scores are others: %v", err)
				}
			})
		}
	}
}

// TestClassesResume kills each party at each of its writes: all end in the same model.
func TestClassesResume(t *testing.T) {
	for _, loss := range []string{"logistic", "square"} {
		t.Run(loss, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 3, 40, 1, Params{Loss: loss, Features: 24, Lambda: 1e-6, Seed: "s", Iterations: 23, Classes: 3})
			f.workers = 1
			testResume(t, &resumption{fixture: f, links: f.federation(t)})
		})
	}
}

// classModel is goldenModel with four classes.
func classModel() *Model {
	m := goldenModel()
	m.Params.Classes, m.Classes = 4, []string{"a", "b", "c", "d"}
	m.Alpha, m.Intercept = nil, 0
	for k := range 4 {
		m.Against = append(m.Against, Coefficients{Alpha: []float64{0.1, float64(k), -2, 5}, Intercept: 0.5 - float64(k)})
	}
	return m
}

// TestClassModelsDecode to what they were; those whose functions are not those of their classes are refused.
func TestClassModelsDecode(t *testing.T) {
	m, err := DecodeModel([]byte(bytesOf(t, classModel())))
	mustDo(t, err)
	if !reflect.DeepEqual(m.Against, classModel().Against) || !slices.Equal(m.Classes, classModel().Classes) {
		t.Errorf("decoded %+v", m)
	}
	passive := classModel()
	passive.Held, passive.Against = nil, nil
	if _, err := DecodeModel([]byte(bytesOf(t, passive))); err != nil {
		t.Errorf("a passive party's part: %v", err)
	}
	for _, c := range []struct {
		spoil func(m *Model)
		want  string
	}{
		{func(m *Model) { m.Against = m.Against[:3] }, "model part: functions of 3 classes, the job has 4"},
		{func(m *Model) { m.Params.Classes, m.Classes = 0, m.Classes[:2] }, "model part: functions of 4 classes, the job " +
			"has 2"},
		{func(m *Model) { m.Classes = m.Classes[:3] }, "model part: names of 3 classes, want 4"},
		{func(m *Model) { m.Classes[3] = "a" }, `model part: two classes are called "a"`},
		{func(m *Model) { m.Alpha = []float64{1, 2, 3} }, "model part: one function for 4 classes, want 4"},
		{func(m *Model) { m.Against[2].Alpha[1] = math.NaN() }, "model part: coefficient 2 is NaN, want a finite number"},
		{func(m *Model) { m.Against[2].Alpha = nil }, "model part: 0 coefficients for 4 features"},
		{func(m *Model) { m.Against[3].Intercept = math.Inf(1) }, "model part: intercept is +Inf, want a finite number"},
		{func(m *Model) { m.Against = nil }, "model part: 0 coefficients for 4 features"},
		{func(m *Model) { m.Params.Classes = 65 }, "model part: classes is 65, want 2 to 64"},
		{func(m *Model) { m.Params.Classes = -4 }, "model part: classes is -4, want 2 to 64"},
	} {
		m := classModel()
		c.spoil(m)
		_, err := DecodeModel([]byte(bytesOf(t, m)))
		wantError(t, err, c.want)
	}
}

// TestHostileClasses are refused by whom they reach: labels that are no class's place, a label holder of another number
// of classes than agreed, and names that it tells others.
func TestHostileClasses(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(l *joint.Labels)
		want  string
	}{
		{"no number", func(l *joint.Labels) { l.Values[3] = math.NaN() },
			"p0 has no label for 1 of 40 rows, and no other party is active"},
		{"infinite", func(l *joint.Labels) { l.Values[3] = math.Inf(1) },
			"p0: the label of row 4 is class number +Inf, want a whole number from 0 below 3"},
		{"below", func(l *joint.Labels) { l.Values[3] = -1 },
			"p0: the label of row 4 is class number -1, want a whole number from 0 below 3"},
		{"between", func(l *joint.Labels) { l.Values[3] = 0.5 },
			"p0: the label of row 4 is class number 0.5, want a whole number from 0 below 3"},
		{"beyond", func(l *joint.Labels) { l.Values[3] = 3 },
			"p0: the label of row 4 is class number 3, want a whole number from 0 below 3"},
		{"more classes", func(l *joint.Labels) { l.Classes = append(l.Classes, "another") },
			"p0 has labels of 4 classes, the job says 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, 3, 40, 1, Params{Features: 6, Classes: 3})
			c.spoil(f.labels[0])
			_, err := Train(t.Context(), f.pooledAs("p0"))
			wantError(t, err, c.want)
		})
	}
	told := func(names ...string) []byte {
		data, err := description{Scale: 1, Classes: names}.encode(1 << 16)
		mustDo(t, err)
		return data
	}
	for _, c := range []struct {
		data []byte
		want string
	}{
		{told("a", "b"), "p0's description of the target: names of 2 classes, want 3"},
		{told("a", "b", "b"), `p0's description of the target: two classes are called "b"`},
		{told("a", "b", "\x00"), `p0's description of the target: the class "\x00" holds a control character`},
	} {
		f := newFixture(t, 3, 40, 1, Params{Features: 6, Classes: 3})
		errs := f.federation(t).run(func(ctx context.Context, i int, n joint.Network) error {
			if i == 0 {
				n = &liar{n, "target", c.data}
			}
			_, err := Train(ctx, f.party(i, n, newVault()))
			return err
		})
		wantError(t, errs[1], c.want)
	}
}

// pooledAs is pooled by another name.
func (f *fixture) pooledAs(name string) *Party {
	p := f.pooled()
	p.Names, p.Params.Active = []string{name}, []string{name}
	return p
}

// TestClassParameters are complete, or refused.
func TestClassParameters(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // the error, or nothing
		n    int    // Params.Classes
	}{
		{"", "", 0},
		{"classes = 2", "", 0},
		{"classes = 4", "", 4},
		{"classes = 64", "", 64},
		{"classes = 0", "classes is 0, want 2 to 64", 0},
		{"classes = 1", "classes is 1, want 2 to 64", 0},
		{"classes = -3", "classes is -3, want 2 to 64", 0},
		{"classes = 65", "classes is 65, want 2 to 64", 0},
		{"classes = 3\ntarget = \"regression\"", `classes is 3 and target "regression": numbers have no classes; leave one ` +
			`of the two out`, 0},
		{"classes = 3\nschedule = \"doubly-stochastic\"", `schedule is "doubly-stochastic" with 3 classes: it tells two ` +
			`apart; want schedule "fixed"`, 0},
	} {
		p, err := ParseParams(fmt.Appendf(nil, "active = [\"a\"]\nlabel = \"y\"\n%s\n", c.text), []string{"a", "b"})
		switch {
		case c.want != "":
			wantError(t, err, c.want)
		case err != nil || p.Classes != c.n || p.Scores() != max(1, c.n) || p.ClassCount() != max(2, c.n):
			t.Errorf("%q: %d classes, %d scores: %v", c.text, p.Classes, p.Scores(), err)
		}
	}
	_, err := ParseParams([]byte("active = [\"a\", \"b\"]\nlabel = \"y\"\nclasses = 3\n"), []string{"a", "b"})
	wantError(t, err, "2 parties are active with 3 classes: three or more take one party that holds all labels")
}

// TestClassOfScores is the largest, the first of several; of one score, whether it is above 0.
func TestClassOfScores(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		want   int
	}{{[]float64{-1, -3, -0.5}, 2}, {[]float64{2, 5, 5}, 1}, {[]float64{0.1}, 1}, {[]float64{0}, 0}} {
		if got := joint.Class(c.scores); got != c.want {
			t.Errorf("class %d of %v, want %d", got, c.scores, c.want)
		}
	}
	m := &Model{Params: Params{Classes: 3}}
	if got := TestError([]float64{1, 2, 3, 3, 2, 1, 1, 2, 1, 0, 0, 0}, []float64{2, 1, 1, math.NaN()}, m); got != 1.0/3 {
		t.Errorf("test error %v", got)
	}
}
