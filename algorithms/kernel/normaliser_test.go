package kernel

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func numbers(name string, values ...float64) Column { return Column{Name: name, Values: values} }

func mustFit(t testing.TB, columns []Column, rows []int, s Scaling) *Normaliser {
	t.Helper()
	n, err := Fit(columns, rows, FitOptions{Numeric: s})
	must(t, err)
	return n
}

func mustApply(t testing.TB, n *Normaliser, columns ...Column) *Matrix {
	t.Helper()
	m, err := n.Apply(columns)
	must(t, err)
	must(t, m.Validate())
	return m
}

func TestScalings(t *testing.T) {
	train := numbers("age", 20, 30, 30, 60)
	later := numbers("age", 10, 25, 30, 45, 70)
	deviation := 15.0 // the root of (225 + 25 + 25 + 625) / 4
	tests := []struct {
		scaling Scaling
		want    []float64
	}{
		{MinMax, []float64{-0.25, 0.125, 0.25, 0.625, 1.25}},
		{Standard, []float64{-25 / deviation, -10 / deviation, -5 / deviation, 10 / deviation, 35 / deviation}},
		{Rank, []float64{0.125, 0.3125, 0.5, 0.6875, 0.875}},
	}
	for _, test := range tests {
		m := mustApply(t, mustFit(t, []Column{train}, nil, test.scaling), later)
		for i, v := range m.Values {
			if math.Abs(v-test.want[i]) > 1e-15 {
				t.Errorf("%s: row %d is %v, want %v", test.scaling, i, v, test.want[i])
			}
		}
	}
}

// TestAutoTakesALogarithmOfOutliers chooses a scaling for each column: outliers squeeze counts, but neither grades nor
// rare zeros and ones.
func TestAutoTakesALogarithmOfOutliers(t *testing.T) {
	even, counts, grades, rare := make([]float64, 400), make([]float64, 400), make([]float64, 400), make([]float64, 400)
	for i := range even {
		even[i], counts[i], grades[i] = float64(i), float64(i%60), 1
		if i%100 == 0 {
			counts[i], grades[i], rare[i] = float64(7000*(i/100)), float64(i/100+2), 1
		}
	}
	columns := []Column{numbers("even", even...), numbers("counts", counts...), numbers("grades", grades...),
		numbers("rare", rare...)}
	n := mustFit(t, columns, nil, Auto)
	for i, want := range []Scaling{MinMax, Log, MinMax, MinMax} {
		if s := n.Columns[i]; s.Scaling != want || s.Binary != (s.Column == "rare") {
			t.Errorf("%s is %s, binary %v, want %s", s.Column, s.Scaling, s.Binary, want)
		}
	}

	// The definition, in a straight line: the median of the sorted values, and half of what lies between the quarters.
	slices.Sort(counts)
	median, half := counts[200], (counts[299]-counts[100])/2
	log := func(v float64) float64 {
		return math.Log((v-median)/half + math.Sqrt((v-median)*(v-median)/half/half+1))
	}
	low, high := log(counts[0]), log(counts[399])
	later := []float64{0, 1, 100, 21000, 1e9}
	m := mustApply(t, n, numbers("even", 0, 0, 0, 0, 0), numbers("counts", later...), numbers("grades", 1, 1, 1, 1, 1),
		numbers("rare", 0, 0, 0, 0, 0))
	for r, v := range later {
		if got, want := m.Values[3*r+1], (log(v)-low)/(high-low); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v becomes %v, want %v", v, got, want)
		}
	}
	mostly := make([]float64, 400)
	for i := range 10 {
		mostly[i] = float64(i * i)
	}
	n = mustFit(t, []Column{numbers("mostly", mostly...)}, nil, Auto)
	if s := n.Columns[0]; s.Scaling != Log || s.Shift != 0 || s.Divisor != 1 {
		t.Errorf("a column of which most is zero has scale %+v", s)
	}
}

func TestTwoValuedColumnsAreBinary(t *testing.T) {
	n := mustFit(t, []Column{numbers("late", 2, 5, 5, 2)}, nil, MinMax)
	m := mustApply(t, n, numbers("late", 5, 2, 8, 3.5))
	if len(m.Dense) != 0 || !slices.Equal(m.Binary, []string{"late"}) {
		t.Fatalf("design is %v and %v", m.Dense, m.Binary)
	}
	if !slices.Equal(m.Starts, []uint32{0, 1, 1, 1, 1}) || !slices.Equal(m.Set, []uint16{0}) {
		t.Errorf("set cells are %v %v", m.Starts, m.Set)
	}
	if want := []Stray{{2, 0, 2}, {3, 0, 0.5}}; !slices.Equal(m.Strays, want) {
		t.Errorf("strays are %v, want %v", m.Strays, want)
	}
}

func TestCategoriesAreOneHot(t *testing.T) {
	job := Column{Name: "job", Codes: []int32{2, 0, 2, 1}, Levels: []string{"clerk", "pilot", "smith"}}
	n := mustFit(t, []Column{job, numbers("sex", 0, 1, 1, 0)}, []int{0, 1, 2}, MinMax)
	other := Column{Name: "job", Codes: []int32{0, 1}, Levels: []string{"smith", "clerk"}}
	m := mustApply(t, n, numbers("sex", 1, 0), other)
	if want := []string{"job=clerk", "job=smith", "sex"}; !slices.Equal(m.Binary, want) {
		t.Fatalf("binary columns are %v, want %v", m.Binary, want)
	}
	if !slices.Equal(m.Starts, []uint32{0, 2, 3}) || !slices.Equal(m.Set, []uint16{1, 2, 0}) {
		t.Errorf("set cells are %v %v", m.Starts, m.Set)
	}
}

// TestMissingCellsAreALevel fits a column of which some cells are missing: they are a category like the others.
func TestMissingCellsAreALevel(t *testing.T) {
	job := Column{Name: "job", Codes: []int32{-1, 1, 0}, Levels: []string{"clerk", "pilot"}}
	_, err := Fit([]Column{job}, nil, FitOptions{Numeric: MinMax})
	wantError(t, err, `column "job", row 1: the cell is missing: fill it, or choose what missing cells become`)
	o := FitOptions{Numeric: MinMax, Level: true}
	n, err := Fit([]Column{job}, nil, o)
	must(t, err)
	m := mustApply(t, n, Column{Name: "job", Codes: []int32{0, -1}, Levels: []string{"pilot"}})
	want := []string{"job=", "job=clerk", "job=pilot"}
	if !slices.Equal(m.Binary, want) || !slices.Equal(m.Set, []uint16{2, 0}) {
		t.Errorf("binary columns are %q, set %v", m.Binary, m.Set)
	}
}

// TestUnseenLevelsAreAllZeros scores rows with a level that training did not meet, and with a missing cell where it met
// none: no column is set, and they are counted. In a strict column they are errors.
func TestUnseenLevelsAreAllZeros(t *testing.T) {
	job := Column{Name: "job", Codes: []int32{0, 1}, Levels: []string{"clerk", "pilot"}}
	later := Column{Name: "job", Codes: []int32{1, -1, 0, 1}, Levels: []string{"pilot", "smith"}}
	n := mustFit(t, []Column{job}, nil, MinMax)
	m := mustApply(t, n, later)
	if !slices.Equal(m.Starts, []uint32{0, 0, 0, 1, 1}) || !slices.Equal(m.Set, []uint16{1}) {
		t.Errorf("set cells are %v %v", m.Starts, m.Set)
	}
	if got := n.Unseen([]Column{later}); len(got) != 1 || got[0].Column != "job" || got[0].Rows != 3 ||
		!slices.Equal(got[0].Levels, []string{"smith", ""}) {
		t.Errorf("unseen levels are %+v", got)
	}
	if got := n.Unseen([]Column{job}); got != nil {
		t.Errorf("unseen levels of the training rows are %+v", got)
	}
	strict, err := Fit([]Column{job}, nil, FitOptions{Numeric: MinMax, Strict: true})
	must(t, err)
	_, err = strict.Apply([]Column{later})
	wantError(t, err, `column "job", row 1: level "smith" does not occur in the training rows, which have clerk, pilot`)
	later.Codes[0] = -1
	_, err = strict.Apply([]Column{later})
	wantError(t, err,
		`column "job", row 1: the cell is missing, as none was in the training rows, which have clerk, pilot: fill it`)
}

// TestNumbersThatTrainingNeverSaw counts those beyond the training's, under each scaling; the training's own are none,
// however they round.
func TestNumbersThatTrainingNeverSaw(t *testing.T) {
	trained := []float64{.1, .30000000000000004, 7e-3, 1e6, .7, .9, 12, 13, 15, 17, 19}
	for _, c := range []struct {
		scaling Scaling
		values  []float64
		later   []float64
		rows    int
		says    string
	}{
		{MinMax, trained, []float64{.1, 1e6, 2e6, -1, math.NaN(), 3}, 2,
			`column "x": 2 rows with numbers that training never saw (2000000; it had 0.007 to 1000000)`},
		{Standard, trained, []float64{1e6, 7e-3, -3e6}, 1,
			`column "x": 1 row with numbers that training never saw (-3000000; it had 0.007 to 1000000)`},
		{Rank, trained, []float64{1e6, 7e-3, 1000001}, 1,
			`column "x": 1 row with numbers that training never saw (1000001; it had 0.007 to 1000000)`},
		{Auto, trained, []float64{1e6, 7e-3, 0, 5e9}, 2,
			`column "x": 2 rows with numbers that training never saw (5000000000; it had 0.007 to 1000000)`},
		{MinMax, []float64{0, 1, 1}, []float64{0, 1, .5, 2}, 2,
			`column "x": 2 rows with numbers that training never saw (2; it had 0 to 1)`},
		{MinMax, []float64{3, 3, 3}, []float64{4}, 0, ""}, // the model has no such column
	} {
		o := FitOptions{Numeric: c.scaling, Fill: Median, DropConstant: true}
		n, err := Fit([]Column{{Name: "x", Values: slices.Clone(c.values)}}, nil, o)
		must(t, err)
		if got := n.Unseen([]Column{{Name: "x", Values: c.values}}); got != nil {
			t.Errorf("%s: of the training's own rows %v", c.scaling, got)
		}
		got := n.Unseen([]Column{{Name: "x", Values: c.later}})
		if c.rows == 0 && got == nil {
			continue
		}
		if len(got) != 1 || got[0].Rows != c.rows || got[0].String() != c.says {
			t.Errorf("%s: %v, want %d rows and %s", c.scaling, got, c.rows, c.says)
		}
	}
	for _, c := range []struct {
		value float64
		of    int // rows
		want  bool
	}{{10, 1, false}, {11, 100, false}, {15, 100, false}, {15.1, 100, true}, {-5.1, 100, true}, {11, 19, true}} {
		u := (&Normaliser{[]Scale{{Column: "x", Scaling: MinMax, Divisor: 10}}}).Unseen(
			[]Column{{Name: "x", Values: []float64{c.value}}})
		if got := len(u) > 0 && u[0].Notable(c.of); got != c.want {
			t.Errorf("%v in one of %d rows, trained on 0 to 10, is notable: %v", c.value, c.of, got)
		}
	}
	day := Unseen{Column: "since", Rows: 2, Range: &Range{Low: 18262, High: 19357.5, Farthest: 20000.2, Days: true}}
	if got := day.String(); got != `column "since": 2 rows with numbers that training never saw (2024-10-04; it had `+
		`2020-01-01 to 2022-12-31)` {
		t.Error(got)
	}
}

// TestUnseenColumnsAreInOrder puts levels first, and of numbers the farthest.
func TestUnseenColumnsAreInOrder(t *testing.T) {
	rows := []Column{
		{Name: "near", Values: []float64{0, 5, 10}},
		{Name: "far", Values: []float64{0, 5, 10}},
		{Name: "job", Codes: []int32{0, 1, 1}, Levels: []string{"clerk", "pilot"}},
	}
	n := mustFit(t, rows, nil, MinMax)
	rows[0].Values, rows[1].Values = []float64{0, 5, 11}, []float64{0, 5, 1e4}
	rows[2] = Column{Name: "job", Codes: []int32{0, 0, 0}, Levels: []string{"smith"}}
	var order []string
	for _, u := range n.Unseen(rows) {
		order = append(order, u.Column)
	}
	if !slices.Equal(order, []string{"job", "far", "near"}) {
		t.Errorf("columns are %v", order)
	}
}

// TestMissingNumbers fits columns of which some cells are missing, on some rows: only those count.
func TestMissingNumbers(t *testing.T) {
	hole := math.NaN()
	x := numbers("x", 10, hole, 20, 60, 1e6, hole)
	rows := []int{0, 1, 2, 3}
	for _, c := range []struct {
		fill Fill
		want float64
	}{{Mean, 30}, {Median, 20}} {
		n, err := Fit([]Column{x}, rows, FitOptions{Numeric: MinMax, Fill: c.fill, Indicate: true})
		must(t, err)
		if s := n.Columns[0]; *s.Fill != c.want || !s.Indicator || s.Shift != 10 || s.Divisor != 50 {
			t.Errorf("%s: scale %+v, fill %v", c.fill, s, *s.Fill)
		}
		m := mustApply(t, n, numbers("x", hole, 10, hole))
		if at := (c.want - 10) / 50; !slices.Equal(m.Values, []float64{at, 0, at}) ||
			!slices.Equal(m.Binary, []string{"x="}) || !slices.Equal(m.Starts, []uint32{0, 1, 1, 2}) {
			t.Errorf("%s: %v %v %v", c.fill, m.Values, m.Binary, m.Starts)
		}
	}

	// Two values and holes, one value and holes, and no value at all.
	columns := []Column{numbers("two", 0, hole, 1, 1), numbers("one", 5, hole, 5, 5),
		numbers("none", hole, hole, hole, hole),
		{Name: "text", Codes: []int32{-1, -1, -1, -1}}}
	n, err := Fit(columns, nil, FitOptions{Numeric: MinMax, Fill: Median, Indicate: true, Level: true})
	must(t, err)
	if m := mustApply(t, n, columns...); len(m.Dense) != 0 || !slices.Equal(m.Binary, []string{"two", "two=", "one="}) ||
		!slices.Equal(m.Set, []uint16{0, 1, 2, 0, 0}) || len(m.Strays) != 0 {
		t.Errorf("design is %v and %v: %v", m.Dense, m.Binary, m.Set)
	}

	// Where the training had none a fill is known all the same; where missing cells are refused they stay so.
	whole := numbers("x", 1, 2, 9)
	n, err = Fit([]Column{whole}, nil, FitOptions{Numeric: MinMax, Fill: Median, Indicate: true})
	must(t, err)
	if m := mustApply(t, n, numbers("x", hole)); m.Values[0] != 0.125 || len(m.Binary) != 0 {
		t.Errorf("a hole where training had none is %v", m.Values)
	}
	_, err = mustFit(t, []Column{whole}, nil, MinMax).Apply([]Column{numbers("x", hole)})
	wantError(t, err,
		`column "x", row 1: the cell is missing, and the training says nothing of what to put there: fill it`)
}

func TestFitIgnoresHeldOutRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 6, 30).Draw(t, "values")
		s := rapid.SampledFrom([]Scaling{MinMax, Standard, Rank}).Draw(t, "scaling")
		values[0], values[1], values[2] = 1, 2, 3
		rows := []int{0, 1, 2, 4}
		one, err := Fit([]Column{numbers("x", values...)}, rows, FitOptions{Numeric: s})
		must(t, err)
		values[3], values[5] = 1e6, -1e6
		two, err := Fit([]Column{numbers("x", values...)}, rows, FitOptions{Numeric: s})
		must(t, err)
		a, b := one.Columns[0], two.Columns[0]
		if a.Shift != b.Shift || a.Divisor != b.Divisor || !slices.Equal(a.Ranks, b.Ranks) ||
			!slices.Equal(a.Knots, b.Knots) {
			t.Fatalf("a held-out row changed %v to %v", a, b)
		}
	})
}

// TestRankIsMidRank holds the interpolated rank against its definition, by counting.
func TestRankIsMidRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ints := rapid.SliceOfN(rapid.IntRange(-5, 5), 2, 40).Draw(t, "values")
		ints[0], ints[1] = -6, 6
		values := make([]float64, len(ints))
		for i, v := range ints {
			values[i] = float64(v)
		}
		n, err := Fit([]Column{numbers("x", values...)}, nil, FitOptions{Numeric: Rank})
		must(t, err)
		last := 0.0
		for v := -7.0; v <= 7; v += 0.25 {
			got := n.Columns[0].rank(v)
			if got < last {
				t.Fatalf("rank falls to %v at %v", got, v)
			}
			last = got
			if want, known := countedRank(values, v); known && got != want {
				t.Fatalf("rank of %v is %v, want %v", v, got, want)
			}
		}
	})
}

func countedRank(values []float64, v float64) (rank float64, known bool) {
	less, equal := 0.0, 0.0
	for _, w := range values {
		if w < v {
			less++
		}
		if w == v {
			equal++
		}
	}
	return (less + equal/2) / float64(len(values)), equal > 0
}

func TestConstantColumns(t *testing.T) {
	columns := []Column{
		numbers("x", 1, 2, 3), numbers("fee", 4, 4, 9),
		{Name: "land", Codes: []int32{1, 1, 0}, Levels: []string{"at", "de"}},
	}
	_, err := Fit(columns, []int{0, 1}, FitOptions{Numeric: MinMax})
	wantError(t, err, `column "fee" is constant on the training rows: leave it out, or let the job drop constant columns`)
	n, err := Fit(columns, []int{0, 1}, FitOptions{Numeric: Standard, DropConstant: true})
	must(t, err)
	m := mustApply(t, n, columns...)
	if !slices.Equal(m.Dense, []string{"x"}) || len(m.Binary) != 0 {
		t.Errorf("design is %v and %v", m.Dense, m.Binary)
	}
}

func TestFitRefuses(t *testing.T) {
	fit := func(rows []int, columns ...Column) error {
		_, err := Fit(columns, rows, FitOptions{Numeric: MinMax})
		return err
	}
	good := numbers("x", 1, 2)
	tests := []struct {
		err  error
		want string
	}{
		{fit(nil), `the table has no columns`},
		{fit(nil, numbers("", 1, 2)), `a column has no name`},
		{fit(nil, good, numbers("x", 1, 3)), `column "x" occurs twice`},
		{fit(nil, good, numbers("y", 1)), `column "y" has 1 rows and column "x" has 2`},
		{fit(nil, numbers("x", 1, math.NaN())), `column "x", row 2: the cell is missing: fill it, or choose what missing cells become`},
		{fit(nil, numbers("x", math.Inf(-1), 1)), `column "x", row 1: the value is -Inf: give a finite number`},
		{fit(nil, Column{Name: "x", Values: []float64{1}, Codes: []int32{0}}), `column "x" has both numbers and categories`},
		{fit(nil, Column{Name: "x", Codes: []int32{0, 2}, Levels: []string{"a", "b"}}),
			`column "x", row 2: code 2 names none of the 2 levels`},
		{fit([]int{}, good), `there are no training rows to normalise by`},
		{fit([]int{0, 2}, good), `training row 3 does not exist: the table has 2 rows`},
		{fit(nil, numbers("x", -1e308, 1e308)), `column "x" from -1e+308 to 1e+308 cannot be scaled: shift -1e+308 and divisor +Inf must be finite, and the divisor positive`},
		{fit(nil, numbers("a=b", 1, 2, 3), Column{Name: "a", Codes: []int32{0, 1, 1}, Levels: []string{"b", "c"}}),
			`name "a=b" is empty or occurs twice`},
	}
	for _, test := range tests {
		wantError(t, test.err, test.want)
	}
}

func TestApplyRefuses(t *testing.T) {
	job := Column{Name: "job", Codes: []int32{0, 1, 0}, Levels: []string{"clerk", "pilot"}}
	age := numbers("age", 20, 30, 60)
	n, err := Fit([]Column{job, age}, nil, FitOptions{Numeric: MinMax, Strict: true})
	must(t, err)
	apply := func(columns ...Column) error {
		_, err := n.Apply(columns)
		return err
	}
	one := func(level string) Column { return Column{Name: "job", Codes: []int32{0}, Levels: []string{level}} }
	tests := []struct {
		err  error
		want string
	}{
		{apply(age), `column "job" is missing: the model was trained with it`},
		{apply(one("smith"), numbers("age", 1)), `column "job", row 1: level "smith" does not occur in the training rows, which have clerk, pilot`},
		{apply(numbers("job", 1), numbers("age", 1)), `column "job" is categorical in one of training and prediction, and numeric in the other`},
		{apply(one("pilot"), numbers("age", 1e300)), `column "age", row 1: 1e+300 lies absurdly far outside the training rows, which are near 20 and spread by 40`},
	}
	for _, test := range tests {
		wantError(t, test.err, test.want)
	}
	var cell *CellError
	if !errors.As(apply(one("smith"), numbers("age", 1)), &cell) || cell.Column != "job" || cell.Row != 0 {
		t.Errorf("the cell is reported as %+v", cell)
	}
}

func TestNormaliserValidateRefuses(t *testing.T) {
	tests := []struct {
		scale Scale
		want  string
	}{
		{Scale{Column: "x", Scaling: "auto"}, `normaliser, column "x": unknown scaling "auto"`},
		{Scale{Column: "x", Scaling: Log, Divisor: 1}, `normaliser, column "x": low 0 and span 0 must be finite, and the span positive`},
		{Scale{Column: "x", Scaling: MinMax}, `normaliser, column "x": shift 0 and divisor 0 must be finite, and the divisor positive`},
		{Scale{Column: "x", Scaling: Standard, Shift: math.NaN(), Divisor: 1}, `normaliser, column "x": shift NaN and divisor 1 must be finite, and the divisor positive`},
		{Scale{Column: "x", Scaling: Standard, Divisor: 1, Binary: true}, `normaliser, column "x": only scaling "minmax" makes binary columns`},
		{Scale{Column: "x", Scaling: Rank, Knots: []float64{1, 2}}, `normaliser, column "x": it has 2 knots and 0 ranks: want as many of each, from 2 to 16777216`},
		{Scale{Column: "x", Scaling: Rank, Knots: []float64{2, 1}, Ranks: []float64{0.2, 0.6}}, `normaliser, column "x": knot 2 does not lie above the one before`},
		{Scale{Column: "x", Scaling: Rank, Knots: []float64{1, 2}, Ranks: []float64{0, 0.6}}, `normaliser, column "x": knot 1 is 1 with rank 0: want a finite knot and a rank in (0, 1)`},
		{Scale{Column: "x", Scaling: OneHot, Levels: []string{"a"}},
			`normaliser, column "x": it has 1 levels: want two or more`},
		{Scale{Column: "x", Scaling: OneHot, Levels: []string{"a", "a"}}, `normaliser, column "x": level "a" occurs twice`},
	}
	for _, test := range tests {
		n := &Normaliser{Columns: []Scale{test.scale}}
		wantError(t, n.Validate(), test.want)
	}
}
