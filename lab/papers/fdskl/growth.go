package fdskl

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// Growth is the time to train on more and more rows of one set, in processor seconds of all parties.
type Growth struct {
	Set     string        `json:"set"`
	Curves  []Curve       `json:"curves"`
	Kernel  []KernelTimes `json:"ppsvmv_times"` // of PP-SVMV's points
	Limit   int64         `json:"ppsvmv_memory_bytes"`
	Most    int           `json:"ppsvmv_most_rows"` // that fit the limit
	Refused string        `json:"ppsvmv_refused,omitempty"`
}

// Figure5 trains on the first rows of a set, as many as listed and all in the end.
func (l *Lab) Figure5(ctx context.Context, s sets.Benchmark, sizes []int, steps Steps) (*Growth, error) {
	const seed = 1
	all, err := readRows(s, l.Rows, seed)
	if err != nil {
		return nil, err
	}
	curves := []Curve{{Method: NameOwn}, {Method: NameFixed}, {Method: NamePPSVMV}}
	g := &Growth{Set: s.Name, Limit: l.Memory, Curves: curves}
	for g.Most = 1; rivals.MatrixBytes(g.Most+1) <= l.Memory; g.Most++ {
	}
	var fit []int
	for _, n := range sizes {
		if n < all.train.Len() {
			fit = append(fit, n)
		}
	}
	for _, n := range append(fit, all.train.Len()) {
		r, err := all.head(n, seed)
		if err != nil {
			return nil, err
		}
		for k, train := range []func() (Point, error){
			func() (Point, error) { return l.own(ctx, r, l.Iterations, steps, seed) },
			func() (Point, error) { return l.fixed(ctx, r, s.Features, seed) },
			func() (Point, error) {
				if n > g.Most {
					return Point{}, nil
				}
				at, times, err := l.ppsvmv(ctx, r)
				g.Kernel = append(g.Kernel, times)
				return at, err
			},
		} {
			at, err := train()
			if err != nil {
				return nil, fmt.Errorf("%s, %d rows: %w", g.Curves[k].Method, n, err)
			}
			if at.Size == 0 {
				g.Refused = fmt.Sprintf("the kernel matrix of %d rows would take %.1f GB", n,
					float64(rivals.MatrixBytes(n))/1e9)
				continue
			}
			at.Size = n
			g.Curves[k].Points = append(g.Curves[k].Points, at)
			l.say("%s, %d rows, %s: %.2f CPU s, error %.4f", s.Name, n, g.Curves[k].Method, at.CPUSeconds, at.Error)
		}
	}
	return g, nil
}
