package graph

import (
	"fmt"
	"math"
)

// MaxParties is the largest number of parties that Pick considers.
const MaxParties = 100_000

// Tolerance says what a sum must withstand, as fractions of the parties: each at least 0 and below
// 1, and the number of parties it stands for rounded down. Neither may depend on the graph.
type Tolerance struct {
	Corrupt float64 // parties that tell the server everything
	Dropout float64 // parties that stop answering
}

// Choice is what Pick chose.
type Choice struct {
	Degree    int  // how many neighbours each party has
	Threshold int  // how many of them recover a secret of the party, 1..Degree
	Complete  bool // all parties are neighbours
}

// targets are the binary logarithms of the probabilities that a graph fails any of its parties.
type targets struct{ secure, connected, correct float64 }

var paper = targets{secure: -40, connected: -40, correct: -20}

// Pick returns the degree and the threshold for a sum of n parties, 2 <= n <= MaxParties. Up to
// complete parties are all neighbours with a threshold of more than two thirds, whatever is to be
// withstood. Beyond, it is the smallest degree that the package's conditions allow; or all are
// neighbours, when nothing less will do; or an error that names the fractions, when that will not
// do either.
func Pick(n, complete int, t Tolerance) (Choice, error) {
	if n < 2 || n > MaxParties {
		return Choice{}, fmt.Errorf("pick a graph: %d parties, want 2 to %d", n, MaxParties)
	}
	if !fraction(t.Corrupt) || !fraction(t.Dropout) {
		return Choice{}, fmt.Errorf("pick a graph: corrupt %v and dropout %v, want fractions of at least 0 and below 1", t.Corrupt, t.Dropout)
	}
	if n <= complete {
		return Choice{Degree: n - 1, Threshold: 2*(n-1)/3 + 1, Complete: true}, nil
	}
	return newPicker(n, t, paper).pick(t)
}

// fraction is false for NaN too.
func fraction(f float64) bool { return f >= 0 && f < 1 }

// picker knows one sum: its parties, and how many of them are corrupt and drop out.
type picker struct {
	n, corrupt, dropout int
	want                targets
	log                 factorials
}

func newPicker(n int, t Tolerance, want targets) *picker {
	return &picker{n: n, corrupt: share(t.Corrupt, n), dropout: share(t.Dropout, n), want: want, log: newFactorials(n)}
}

// share returns f of n, rounded down; what is missing to a whole by the rounding of f is forgiven.
func share(f float64, n int) int { return int(f*float64(n) + 1e-9) }

// pick tries the complete graph first. If that fails, C+2D >= n-1; a party with k neighbours, c of
// them corrupt and d dropped, then expects c+2d >= k, whereas 2t > k+c and k-d >= t want c+2d < k
// nearly always. So no k will do.
func (p *picker) pick(t Tolerance) (Choice, error) {
	all := Choice{Degree: p.n - 1, Threshold: (p.n-1+p.corrupt)/2 + 1, Complete: true}
	if all.Degree-p.dropout < all.Threshold {
		return Choice{}, fmt.Errorf("pick a graph: no threshold of %d parties withstands corrupt %v and dropout %v, want corrupt + 2 dropout well below 1", p.n, t.Corrupt, t.Dropout)
	}
	margin := 2 // 2t-k; it grows with k, as the corrupt neighbours do
	for k := 2; k < p.n-1; k += 2 {
		for margin <= k && p.insecure(k, margin) > p.want.secure {
			margin += 2
		}
		threshold := (k + margin) / 2
		if margin <= k && p.cut(k) <= p.want.connected && p.lost(k, threshold) <= p.want.correct {
			return Choice{Degree: k, Threshold: threshold}, nil
		}
	}
	return all, nil
}

// insecure bounds log2 of the probability that a party of k neighbours has at least margin corrupt
// ones, margin = 2t-k.
func (p *picker) insecure(k, margin int) float64 {
	return log2(p.n) + p.log.tail(p.n-1, p.corrupt, k, margin)
}

// lost bounds log2 of the probability that of a party's k neighbours fewer than t answer: that more
// than k-t drop out.
func (p *picker) lost(k, threshold int) float64 {
	return log2(p.n) + p.log.tail(p.n-1, p.dropout, k, k-threshold+1)
}

// cut bounds log2 of the probability that what is left falls apart: that two runs of k/2 parties
// are gone, at one of n(n-1)/2 pairs of places.
func (p *picker) cut(k int) float64 {
	gone := min(p.n, p.corrupt+p.dropout)
	return log2(p.n) + log2(p.n-1) - 1 + p.log.tail(p.n, gone, k, k)
}

func log2(n int) float64 { return math.Log2(float64(n)) }
