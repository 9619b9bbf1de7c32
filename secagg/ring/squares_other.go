//go:build !amd64

package ring

// Instructions says what sums of products are computed with.
func Instructions() string { return plainGo }

// vectorSquares is AddSquares and AddSquares16 with vector instructions, and false where there are none.
func vectorSquares[T total, N number](_ []T, _ []N, _, _ int) bool { return false }
