package ring

// Word is a word of a ring: sums and products of it wrap modulo 2^32 or modulo 2^64.
type Word interface{ uint32 | uint64 }

// AddSquares adds to t the upper triangle of the product of a matrix's transpose and itself:
// t[PairIndex(i, j, d)] += sum over rows of u_i u_j, for i <= j. u has d columns; t has d (d + 1) / 2 words, row after
// row of the triangle.
func AddSquares[W Word](t, u []W, d, workers int) {
	addSquares(t, u, d, workers)
}

// addSquares is AddSquares and AddSquares16.
func addSquares[T total, N number](t []T, u []N, d, workers int) {
	if d < 1 || len(u) < d {
		return
	}
	t, u = First(t, d*(d+1)/2), First(u, (len(u)+d-1)/d*d)
	if !vectorSquares(t, u, d, workers) {
		plainSquares(t, u, d, workers)
	}
}

// AddSquares16 is AddSquares for whole numbers of 16 bits with a sign, into sums of 64. The numbers are at most
// MaxNumber16 in size.
func AddSquares16(t []int64, u []int16, d, workers int) { addSquares(t, u, d, workers) }

// MaxNumber16 bounds the numbers that AddSquares16 takes, in size: hundreds of their products fit 32 bits.
const MaxNumber16 = 1 << 11

// PairIndex returns where entry (i, j), i <= j, of the upper triangle of a d by d matrix is in a slice of its
// rows, one after the other.
func PairIndex(i, j, d int) int { return i*d - i*(i+1)/2 + j }

// plainGo is what Instructions says where there are none.
const plainGo = "plain Go"
