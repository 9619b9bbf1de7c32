package pofmkl

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// The kinds of what goes between a server and its clients.
const (
	KindModel   = "model"   // theta, to the clients
	KindUpdates = "updates" // the sum of uploads
)

// Uploads returns how many sums of uploads a job has: rounds by rounds_per_upload, rounded up.
func (p Params) Uploads() int {
	return (p.Rounds + p.RoundsPerUpload - 1) / p.RoundsPerUpload
}

// roundsOf returns how many rounds the t-th upload holds, t from 0: the last one may have fewer.
func (p Params) roundsOf(t int) int {
	return min(p.RoundsPerUpload, p.Rounds-t*p.RoundsPerUpload)
}

// UpdateSum says how the uploads of up to so many clients are added: 2ND reals of magnitude at most
// SumBound, with as many digits after the point, up to 62, as the total of them all leaves in 64
// bits. A total is off by at most 2^-(Bits+1) for each client in it.
func UpdateSum(p Params, clients int) federated.Sum {
	s := federated.Sum{Kind: KindUpdates, N: p.Words(), Bits: 62, Bound: p.SumBound()}
	for s.Bits > 0 && math.RoundToEven(math.Ldexp(s.Bound, s.Bits))*float64(clients) >= 1<<63 {
		s.Bits--
	}
	return s
}
