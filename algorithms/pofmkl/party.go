package pofmkl

import "github.com/hanse-project/hanse/algorithms/federated"

// The kinds of what goes between a server and its clients.
const (
	KindModel   = "model"   // theta, to the clients
	KindUpdates = "updates" // the sum of uploads
)

// Uploads returns how many sums of uploads a job has: rounds by rounds_per_upload, rounded up.
func (p Params) Uploads() int {
	return federated.Uploads(p.Rounds, p.RoundsPerUpload)
}

// roundsOf returns how many rounds the t-th upload holds, t from 0: the last one may have fewer.
func (p Params) roundsOf(t int) int {
	return federated.RoundsOf(t, p.Rounds, p.RoundsPerUpload)
}

// UpdateSum says how the longest uploads, of up to so many clients, are added: UploadWords reals of magnitude at
// most SumBound, as fine as fits.
func UpdateSum(p Params, clients int) federated.Sum {
	return federated.Finest(KindUpdates, p.UploadWords(), p.SumBound(), clients)
}

// updateSum is UpdateSum for the t-th upload, t from 0.
func updateSum(p Params, t, clients int) federated.Sum {
	s := UpdateSum(p, clients)
	s.N = p.uploadWords(len(p.Moved(t)))
	return s
}
