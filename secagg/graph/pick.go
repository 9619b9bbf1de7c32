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
	Threshold int  // how many of them recover a secret of the party, Least()..Degree
	Complete  bool // all parties are neighbours
	Corrupt   int  // how many corrupt ones may be among a party's neighbours
}

// Least returns the smallest threshold t that protects a party with k = Degree neighbours, c = Corrupt
// of them corrupt: the smallest with 2t > k+c, which is (k+c)/2 + 1 rounded down. It is the same for
// graphs, where c is exceeded with probability 2^-40, and for complete ones, where c is the number of
// all corrupt parties and never exceeded.
//
// A party has two secrets, of which its neighbours may open one: its own mask's when they are told that
// it stayed, the keys of its shared masks when they are told that it left. A lying server tells some
// of them the one and the others the other. The c corrupt ones answer for both, each of the k-c honest
// ones for one. So there are at most (k-c) + 2c = k+c answers, and two secrets take 2t. With 2t > k+c
// the server gets one of them at most; with 2t <= k+c it gets both, and the party's vector.
//
// The same inequality hides the party among others: t-c of those who open its own mask are honest
// neighbours, whose own vectors are in the same total. Nothing that opens has fewer than t-c+1 honest
// vectors in it, which are two at least, since 2(t-c) > k-c >= 0.
func (c Choice) Least() int { return (c.Degree+c.Corrupt)/2 + 1 }

// targets are the binary logarithms of the probabilities that a graph fails any of its parties.
type targets struct{ secure, connected, correct float64 }

var paper = targets{secure: -40, connected: -40, correct: -20}

// Pick is PickAmong for a sum in which all parties take part.
func Pick(n, complete int, t Tolerance) (Choice, error) { return PickAmong(n, n, complete, t) }

// PickAmong returns the degree and the threshold for a sum of n of so many parties, 2 <= n <= parties <=
// MaxParties. The corrupt are a fraction of all the parties, whoever takes part: whoever picks the n may
// pick all of the corrupt. The fewer take part, the more neighbours each has, and the higher the threshold.
//
// Up to complete parties are all neighbours, with a threshold of more than two thirds, and of Least at
// least. Beyond, it is the smallest degree that the package's conditions allow; or all are neighbours,
// when nothing less will do. With all parties there, it is an error, which names the fractions, when that
// will not do either. With fewer, those who drop out may be among those who do not take part: then it is
// an error when there is no threshold at all, which is with fewer than two honest parties (see Floor).
func PickAmong(n, parties, complete int, t Tolerance) (Choice, error) {
	if n < 2 || parties < n || parties > MaxParties {
		return Choice{}, fmt.Errorf("pick a graph: %d of %d parties, want 2 to %d", n, parties, MaxParties)
	}
	for _, f := range []float64{t.Corrupt, t.Dropout} {
		if !(f >= 0 && f < 1) { // also refuses NaN
			return Choice{}, fmt.Errorf("pick a graph: corrupt %v and dropout %v, want fractions of at least 0 and below 1",
				t.Corrupt, t.Dropout)
		}
	}
	if floor := Floor(parties, t); n < floor {
		return Choice{}, fmt.Errorf("pick a graph: %d of %d parties, of whom %d may be corrupt, want at least %d",
			n, parties, share(t.Corrupt, parties), floor)
	}
	p := newPicker(n, t, paper)
	p.corrupt = share(t.Corrupt, parties)
	if n <= complete {
		all := p.all()
		all.Threshold = max(all.Threshold, 2*(n-1)/3+1)
		return all, nil
	}
	return p.pick(t, n == parties)
}

// Floor returns the fewest of so many parties that may take part in a sum: all who may be corrupt, and
// two. It is where the threshold of a complete graph needs all neighbours; with fewer, none is enough.
func Floor(parties int, t Tolerance) int { return share(t.Corrupt, parties) + 2 }

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

// all is the complete graph with its least threshold.
func (p *picker) all() Choice {
	c := Choice{Degree: p.n - 1, Complete: true, Corrupt: p.corrupt}
	c.Threshold = c.Least()
	return c
}

// pick tries the complete graph first. If that fails, C+2D >= n-1; a party with k neighbours, c of
// them corrupt and d dropped, then expects c+2d >= k, whereas 2t > k+c and k-d >= t want c+2d < k
// nearly always. So no k will do.
func (p *picker) pick(t Tolerance, everybody bool) (Choice, error) {
	all := p.all()
	if everybody && all.Degree-p.dropout < all.Threshold {
		return Choice{}, fmt.Errorf("pick a graph: no threshold of %d parties withstands corrupt %v and dropout %v, "+
			"want corrupt + 2 dropout well below 1", p.n, t.Corrupt, t.Dropout)
	}
	margin := 2 // 2t-k; it grows with k, as the corrupt neighbours do
	for k := 2; k < p.n-1; k += 2 {
		for margin <= k && p.around(p.corrupt, k, margin) > p.want.secure {
			margin += 2
		}
		threshold := (k + margin) / 2
		if margin <= k && p.cut(k) <= p.want.connected && p.around(p.dropout, k, k-threshold+1) <= p.want.correct {
			return Choice{Degree: k, Threshold: threshold, Corrupt: margin - 1}, nil
		}
	}
	return all, nil
}

// around bounds log2 of the probability that any party has at least x of the marked ones among its k
// neighbours. A party is not secure with x = 2t-k corrupt ones; its secrets are lost when more than k-t
// neighbours drop out.
func (p *picker) around(marked, k, x int) float64 {
	return math.Log2(float64(p.n)) + p.log.tail(p.n-1, marked, k, x)
}

// cut bounds log2 of the probability that what is left falls apart: that two runs of k/2 parties
// are gone, at one of n(n-1)/2 pairs of places.
func (p *picker) cut(k int) float64 {
	gone := min(p.n, p.corrupt+p.dropout)
	return math.Log2(float64(p.n)) + math.Log2(float64(p.n-1)) - 1 + p.log.tail(p.n, gone, k, k)
}
