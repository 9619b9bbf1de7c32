package regret

import "math"

// Bound is Theorem 2 of the POF-MKL paper: what the regret of a whole federation, equation 12, stays
// below. Losses are squared errors of labels from 0 to 1.
type Bound struct {
	Clients, Kernels, Bins int     // K, N and m = ceil(N/M)
	Step, WeightStep       float64 // eta, and eta_k of all clients
	Explore                float64 // xi of all clients
	Gradient               float64 // L: no gradient is longer
	Norm                   float64 // C: no coefficients in question are longer
}

// At returns the bound after t rounds, equation 36 with probabilities at their least, xi/m:
//
//	K C^2/(2 eta) + (eta/2) L^2 t K m/xi + K (ln N/eta_k + eta_k t/2)
//
// It holds against the best function of the random features. Against that of the kernel itself equation 14
// adds Distance.
func (b Bound) At(t int) float64 {
	k, rounds := float64(b.Clients), float64(t)
	descent := k*b.Norm*b.Norm/(2*b.Step) + b.Step/2*b.Gradient*b.Gradient*rounds*k*float64(b.Bins)/b.Explore
	return descent + k*(math.Log(float64(b.Kernels))/b.WeightStep+b.WeightStep*rounds/2)
}

// Tuned returns the bound after t rounds with the steps that make it least, each chosen for t.
func (b Bound) Tuned(t int) float64 {
	rounds := float64(t)
	b.Step = b.Norm / b.Gradient * math.Sqrt(b.Explore/(rounds*float64(b.Bins)))
	b.WeightStep = math.Sqrt(2 * math.Log(float64(b.Kernels)) / rounds)
	return b.At(t)
}

// Distance is the last term of equation 14, epsilon L K T C, with epsilon = 1/sqrt(T) as the paper sets it.
func (b Bound) Distance(t int) float64 {
	return math.Sqrt(float64(t)) * b.Gradient * float64(b.Clients) * b.Norm
}

// RoundsToMatter returns the number of rounds at which the tuned bound falls to a loss of so much for each
// client and round: before, it says less than that losses are not negative. The tuned bound is c sqrt(T).
func (b Bound) RoundsToMatter(loss float64) float64 {
	c := b.Tuned(1) / float64(b.Clients) / loss
	return c * c
}

// FeaturesToHold returns the D at which Theorem 2's probability rises to one half after t rounds, for inputs of so
// many columns and a kernel exp(-|x|^2/(2 sigma)):
//
//	1 - 2^8 (s/epsilon)^2 exp(-D epsilon^2/(4(d+2))), epsilon = 1/sqrt(t)
//
// s^2 is the mean square of the kernel's frequencies, d/sigma.
func FeaturesToHold(t, columns int, sigma float64) float64 {
	rounds, d := float64(t), float64(columns)
	return 4 * (d + 2) * rounds * math.Log(2*256*rounds*d/sigma)
}
