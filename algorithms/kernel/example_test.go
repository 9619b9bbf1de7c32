package kernel_test

import (
	"fmt"
	"log"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// Two parties hold one column each of the same four rows. The labels are an exclusive or, which
// no linear model can learn.
func Example() {
	const features = 256
	columns := []kernel.Column{
		{Name: "abroad", Values: []float64{0, 0, 1, 1}},
		{Name: "late", Values: []float64{0, 1, 0, 1}},
	}
	labels := []float64{-1, 1, 1, -1}

	joint := make([]uint16, len(labels)*features/2)
	for p := range columns {
		own := columns[p : p+1]
		scale, err := kernel.Fit(own, nil, kernel.FitOptions{Numeric: kernel.MinMax})
		if err != nil {
			log.Fatal(err)
		}
		x, err := scale.Apply(own)
		if err != nil {
			log.Fatal(err)
		}
		k := kernel.Kernel{Kind: kernel.Gaussian, Sigma: 0.5}
		m, err := kernel.NewMap(k, kernel.Seed{1}, keys.ID{byte(p + 1)}, x.Dense, x.Binary, 0, features/2)
		if err != nil {
			log.Fatal(err)
		}
		turns := make([]uint16, len(joint))
		if err := m.Turns(x, 0, x.Rows, nil, turns, 1); err != nil {
			log.Fatal(err)
		}
		for i, t := range turns {
			joint[i] += t // a secure sum, when it is for real
		}
	}

	table := kernel.Cosines()
	equations, err := kernel.NewGram(table, features)
	if err != nil {
		log.Fatal(err)
	}
	if err := equations.Add(joint, labels, 1); err != nil {
		log.Fatal(err)
	}
	f, err := equations.Solve(1e-6, 1)
	if err != nil {
		log.Fatal(err)
	}
	for r, y := range labels {
		score := f.Intercept + table.DotPairs(joint[r*features/2:(r+1)*features/2], f.Alpha)
		fmt.Printf("%+.0f %+.2f\n", y, score)
	}
	// Output:
	// -1 -1.00
	// +1 +1.00
	// +1 +1.00
	// -1 -1.00
}
