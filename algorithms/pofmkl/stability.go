package pofmkl

import (
	"fmt"
	"maps"
	"slices"
)

// StepBound returns what step must be below for the mean square of theta's error to fall, in a job of
// so many clients:
//
//	1 / ((1 + lambda) (m/(xi K) + n - 1/K))    with draws of the clients' own
//	1 / ((1 + lambda) m n)                     with a common bin
//
// of m bins and n rounds_per_upload, and 1/xi the mean over clients.
//
// A round adds to theta_i less its optimum, e, the sum over K n rows of
// -eta/(p K) g where their bin was drawn, with g = 2 z z^T e + noise, E g = 2 R e, |z_i| = 1, p >= xi/m.
// So E|e|^2 changes by
//
//	-4 eta n e^T R e + 4 eta^2 n (e^T R e / (p K) + (n - 1/K) e^T R R e)
//
// which is below 0 for all e as R's eigenvalues are at most 1. They come close to 1 in wide kernels, and
// with xi = 1 p is m/xi: then the bound is close to the truth. It is made of public numbers alone.
// A common bin is in or out for all K n rows at once: with p = 1/m the second term has (K n) (K n - 1)/p pairs of
// rows where it had (K n) (K n - 1).
// Gradients that are clipped keep theta from growing faster than linearly beyond it, not from growing.
func (p Params) StepBound(clients int) float64 {
	if p.CommonBin {
		return 1 / ((1 + p.Lambda) * float64(p.Bins()) * float64(p.RoundsPerUpload))
	}
	k := float64(clients)
	inverse := (k - float64(len(p.Explores))) / p.Explore // 1/xi, summed over clients
	for _, name := range slices.Sorted(maps.Keys(p.Explores)) {
		inverse += 1 / p.Explores[name]
	}
	return 1 / ((1 + p.Lambda) * (float64(p.Bins())*inverse/(k*k) + float64(p.RoundsPerUpload) - 1/k))
}

// StepWarning says that step is not below StepBound, or nothing. It does not stop a job: clients weigh the
// kernels that diverge less.
func (p Params) StepWarning(clients int) string {
	bound := p.StepBound(clients)
	if clients < 1 || p.Step < bound {
		return ""
	}
	if p.CommonBin {
		return fmt.Sprintf("step is %.3g, want one below %.3g: with a common bin, one of %d, and rounds_per_upload %d "+
			"the error of wide kernels grows from round to round", p.Step, bound, p.Bins(), p.RoundsPerUpload)
	}
	return fmt.Sprintf("step is %.3g, want one below %.3g: with %d bins, explore %v, %d clients and rounds_per_upload "+
		"%d the error of wide kernels grows from round to round",
		p.Step, bound, p.Bins(), p.Explore, clients, p.RoundsPerUpload)
}
