package attack

import (
	"math"
)

// Trial is one vector that an attack was tried on: what it has rebuilt, and the rows that are really in the vector.
type Trial struct {
	Rebuilt [][]float64 // rows that were rebuilt, the likeliest first; empty: none
	Guessed []float64   // the label that was rebuilt with each, NaN for none; nil: none at all; of no row: it alone was
	Proved  bool        // the attacker knows that the first is right
	Truth   [][]float64 // the rows in the vector
	Labels  []float64   // of Truth
	Group   int         // trials of one group share what was rebuilt: they are no guess of each other
}

// Ranges says how far columns and labels reach, which an attacker knows: what is beyond is cut to it.
type Ranges struct {
	Low, High           []float64 // by column
	LabelLow, LabelHigh float64
}

// RowScore is how well rows were rebuilt. A vector counts when every column of a row of it came out within 1 % of its
// range. The guess is the same with the truth of other vectors.
type RowScore struct {
	Vectors      int
	Proved       float64 // share of the vectors whose row the attacker knows to be right
	Share, RMS   float64 // vectors with a row rebuilt; error over all cells, in units of the columns' ranges
	ControlShare float64 // of a guess
	ControlRMS   float64 // of a guess
	Labelled     int     // vectors with a label rebuilt
	LabelShare   float64 // of them: within 1 % of the labels' range
	LabelControl float64 // of a guess
	Sample       [][2]float64
}

// ScoreRows scores an attack; trials without truth do not count. It returns nil when fewer than two are left.
func ScoreRows(trials []Trial, r Ranges, seed uint64) *RowScore {
	var scored []Trial
	for _, t := range trials {
		if len(t.Truth) > 0 {
			scored = append(scored, t)
		}
	}
	n := len(scored)
	if n < 2 {
		return nil
	}
	s := &RowScore{Vectors: n}
	order := newRand(seed, streamGuess).Perm(n)
	other := make([]int, n)
	for i, k := range order { // a cycle: nobody is its own guess
		next := 1
		for next < n-1 && scored[order[(i+next)%n]].Group == scored[k].Group {
			next++
		}
		other[k] = order[(i+next)%n]
	}
	squares, guessed, labelHits, labelGuesses, hits, luck := 0.0, 0.0, 0, 0, 0, 0
	for k, t := range scored {
		if t.Proved {
			s.Proved += 1 / float64(n)
		}
		hit, square, cells, at := r.nearest(&t, t.Truth)
		lucky, guess, _, _ := r.nearest(&t, scored[other[k]].Truth)
		squares, guessed = squares+square, guessed+guess
		if hit {
			hits++
		}
		if lucky {
			luck++
		}
		if cells != nil && len(s.Sample) < 400 {
			s.Sample = append(s.Sample, cells[k%len(cells)])
		}
		if at < len(t.Guessed) && !math.IsNaN(t.Guessed[at]) && len(t.Labels) > 0 && r.LabelHigh > r.LabelLow {
			s.Labelled++
			if r.labelled(t.Guessed[at], t.Labels) {
				labelHits++
			}
			if r.labelled(t.Guessed[at], scored[other[k]].Labels) {
				labelGuesses++
			}
		}
	}
	s.Share, s.ControlShare = float64(hits)/float64(n), float64(luck)/float64(n)
	s.RMS, s.ControlRMS = math.Sqrt(squares/float64(n)), math.Sqrt(guessed/float64(n))
	if s.Labelled > 0 {
		s.LabelShare, s.LabelControl = float64(labelHits)/float64(s.Labelled), float64(labelGuesses)/float64(s.Labelled)
	}
	return s
}

// nearest compares what was rebuilt with some rows: whether one came out, the mean squared error of the nearest pair,
// its cells, true and found, and which of the rebuilt rows it is. Where nothing was rebuilt the middle of the ranges
// stands in for it.
func (r *Ranges) nearest(t *Trial, truth [][]float64) (hit bool, square float64, cells [][2]float64, at int) {
	square = math.Inf(1)
	rebuilt := t.Rebuilt
	if len(rebuilt) == 0 {
		middle := make([]float64, len(r.Low))
		for i := range middle {
			middle[i] = (r.Low[i] + r.High[i]) / 2
		}
		rebuilt = [][]float64{middle}
	}
	for k, found := range rebuilt {
		for _, row := range truth {
			worst, total, varying := 0.0, 0.0, 0
			var pair [][2]float64
			for i, v := range row {
				width := r.High[i] - r.Low[i]
				if !(width > 0) {
					continue
				}
				f := min(max(found[i], r.Low[i]), r.High[i])
				if math.IsNaN(f) {
					f = r.Low[i]
				}
				e := math.Abs(f-v) / width
				worst, total, varying = max(worst, e), total+e*e, varying+1
				pair = append(pair, [2]float64{(v - r.Low[i]) / width, (f - r.Low[i]) / width})
			}
			if varying > 0 && total/float64(varying) < square {
				square, cells, at = total/float64(varying), pair, k
			}
			hit = hit || varying > 0 && worst <= 0.01
		}
	}
	if math.IsInf(square, 1) {
		return false, 0, nil, 0
	}
	return hit && len(t.Rebuilt) > 0, square, cells, at
}

// labelled reports whether a label is within 1 % of the range of one of some.
func (r *Ranges) labelled(found float64, truth []float64) bool {
	for _, y := range truth {
		if math.Abs(min(max(found, r.LabelLow), r.LabelHigh)-y) <= 0.01*(r.LabelHigh-r.LabelLow) {
			return true
		}
	}
	return false
}

// What counts as a gain of an attack.
const (
	// GainShare is the share of rows from which on an attack has gained something.
	GainShare = 0.01
	// ControlShare is the share of rows that the same attack must rebuild without protection, for its failure to mean
	// something.
	ControlShare = 0.5
	// KnownGain is how much more of a column's variance than by chance an attack must explain to have gained something.
	KnownGain = 0.1
)
