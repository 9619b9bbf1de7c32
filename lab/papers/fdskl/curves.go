package fdskl

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// Curve is how one method's error falls with time.
type Curve struct {
	Method string  `json:"method"`
	Points []Point `json:"points"`
}

// Figure3 is the error on the test rows against the time, on one set.
type Figure3 struct {
	Set     string  `json:"set"`
	Rows    int     `json:"rows_train"`
	Sigma   float64 `json:"sigma"`
	Steps   Steps   `json:"steps"`
	Curves  []Curve `json:"curves"`
	Missing string  `json:"missing,omitempty"` // why a method is not there
}

// Figure3 trains every kernel method for longer and longer, or on more and more rows, with one split.
func (l *Lab) Figure3(ctx context.Context, s sets.Benchmark, steps Steps) (*Figure3, error) {
	const seed = 1
	r, err := readRows(s, l.Rows, seed)
	if err != nil {
		return nil, err
	}
	f := &Figure3{Set: s.Name, Rows: r.train.Len(), Sigma: r.sigma, Steps: steps}
	for _, way := range []struct {
		name   string
		points func() ([]Point, error)
	}{
		{NameOwn, func() ([]Point, error) {
			return series(halves(l.Iterations, 6), func(n int) (Point, error) {
				return l.own(ctx, r, n, steps,
					seed)
			})
		}},
		{NameFixed, func() ([]Point, error) {
			return series(halves(s.Features, 5), func(n int) (Point, error) { return l.fixed(ctx, r, n, seed) })
		}},
		{NameConstant, func() ([]Point, error) {
			return l.descentCurve(ctx, r, rivals.Constant(steps.Constant), steps.Width, seed)
		}},
		{NameDiminishing, func() ([]Point, error) {
			return l.descentCurve(ctx, r, rivals.Diminishing(steps.Gamma, steps.Turn), steps.Width, seed)
		}},
	} {
		if !l.asked(way.name) {
			continue
		}
		points, err := way.points()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		f.add(l, way.name, points)
	}
	return f, l.addMachines(ctx, f, r)
}

// add adds a curve and tells of it.
func (f *Figure3) add(l *Lab, method string, points []Point) {
	f.Curves = append(f.Curves, Curve{method, points})
	last := points[len(points)-1]
	l.say("%s, %s: %.4f after %.2f CPU s", f.Set, method, last.Error, last.CPUSeconds)
}

// addMachines adds the support vector machines, on a sixteenth, a quarter and all of the rows.
func (l *Lab) addMachines(ctx context.Context, f *Figure3, r *rows) error {
	sizes := []int{f.Rows / 16, f.Rows / 4, f.Rows}
	if l.SVM && l.asked(NameLIBSVM) {
		points, err := series(sizes, func(n int) (Point, error) {
			few, err := r.head(n, 1)
			if err != nil {
				return Point{}, err
			}
			return l.libsvm(ctx, few)
		})
		if err != nil {
			return err
		}
		f.add(l, NameLIBSVM, points)
	}
	if !l.asked(NamePPSVMV) {
		return nil
	}
	for rivals.MatrixBytes(sizes[len(sizes)-1]) > l.Memory {
		most := sizes[len(sizes)-1]
		f.Missing = fmt.Sprintf("%s on %d rows would hold a matrix of %.1f GB", NamePPSVMV, most,
			float64(rivals.MatrixBytes(most))/1e9)
		if sizes = sizes[:len(sizes)-1]; len(sizes) == 0 {
			return nil
		}
	}
	points, err := series(sizes, func(n int) (Point, error) {
		few, err := r.head(n, 1)
		if err != nil {
			return Point{}, err
		}
		at, _, err := l.ppsvmv(ctx, few)
		return at, err
	})
	if err != nil {
		return err
	}
	f.add(l, NamePPSVMV, points)
	return nil
}

// descentCurve runs DSG once and looks at it now and then.
func (l *Lab) descentCurve(
	ctx context.Context, r *rows, step func(int) float64, width float64, seed uint64,
) ([]Point, error) {
	d := l.dsg(r, r.train, r.split.TrainLabels, step, width*r.sigma, seed)
	return series(halves(l.Iterations, 6), func(n int) (Point, error) {
		err := d.to(ctx, n)
		return Point{n, d.seconds, rivals.Errors(d.Scores(r.test), r.split.TestLabels)}, err
	})
}

// series makes a point of each size.
func series(sizes []int, point func(size int) (Point, error)) ([]Point, error) {
	var points []Point
	for _, n := range sizes {
		at, err := point(n)
		if err != nil {
			return nil, err
		}
		points = append(points, at)
	}
	return points, nil
}

// halves lists at most so many sizes up to n, each half of the next.
func halves(n, count int) []int {
	var sizes []int
	for ; n > 0 && len(sizes) < count; n /= 2 {
		sizes = append([]int{n}, sizes...)
	}
	return sizes
}
