package pofmkl

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// Moved returns the kernels that an upload moves, numbered from 0, ascending; uploads number from 0 too. These are
// all kernels, of which a client's upload is 0 on those that it did not draw, unless the job has a common bin.
//
// The common bin is ours and not the paper's. In Algorithm 2 each client sorts the kernels by its weights, and
// draws one of m bins with probability q_j (equation 8). Which bin it drew tells what suits it, so that a masked
// upload has zeros in the other kernels' places and 2ND words, whatever M is. With common_bin the
// kernels are cut into m = ceil(N/M) bins in a random order, one bin is drawn with probability 1/m, order and draw
// anew for each upload and from the job's public seed: all parties compute the same bin, nobody's weights have a
// part in it, and an upload is its 2MD words.
//
// What stays of the paper: predictions (equation 6), weights (7), and an update eta grad_i / p_i (9) whose
// expectation over the draw is eta grad_i of every kernel, since each is in the bin with p_i = 1/m. What is lost:
// a client no longer sends more often what suits it, which for xi = 1, where q_j = 1/m too, it did not do. What
// changes is that all clients' draws are one. A kernel rests for m uploads on average and then moves by
// m eta times the clients' mean gradient, where with draws of their own K/m clients move it a little in each.
// So the mean of theta is the same and its spread larger, and step must be smaller: see StepBound. A kernel's part
// of a total is of all clients, no longer of the K/m that drew it.
//
// The order is that of 64-bit words, one for each kernel, of the stream ChaCha8 (C2SP chacha8rand); the next word
// of it, times m, gives the bin, which is uniform but for 2^-52. The last bin has fewer kernels where M does
// not divide N.
func (p Params) Moved(upload int) []int {
	moved := make([]int, p.Kernels())
	for i := range moved {
		moved[i] = i
	}
	if !p.CommonBin {
		return moved
	}
	seed, number := p.PublicSeed(), binary.BigEndian.AppendUint64(nil, uint64(upload))
	stream := rand.NewChaCha8(keys.HashOf("hanse pofmkl common bin v1", seed[:], number))
	place := make([]uint64, len(moved))
	for i := range place {
		place[i] = stream.Uint64()
	}
	slices.SortStableFunc(moved, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
	j, _ := bits.Mul64(stream.Uint64(), uint64(p.Bins()))
	bin := moved[int(j)*p.Chosen : min(int(j+1)*p.Chosen, len(moved))]
	slices.Sort(bin)
	return bin
}

// uploadWords returns the words of an upload that moves so many kernels.
func (p Params) uploadWords(kernels int) int { return 2 * kernels * p.Features }

// UploadWords returns the length of the longest upload: 2ND, or 2MD with a common bin.
func (p Params) UploadWords() int {
	if p.CommonBin {
		return p.uploadWords(p.Chosen)
	}
	return p.Words()
}
