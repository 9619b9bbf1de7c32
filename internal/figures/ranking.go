package figures

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// run is a run of rows with equal scores.
type run struct {
	score                float64
	rows                 int
	positives, negatives float64
}

// ranking is the rows by score, the highest first.
type ranking struct {
	order                []int // rows
	runs                 []run
	positives, negatives float64
}

// rank sorts rows by score. Labels are -1 and +1.
func rank(labels, scores []float64) *ranking {
	r := &ranking{order: make([]int, len(scores))}
	for i := range r.order {
		r.order[i] = i
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	different := 0
	for at, i := range r.order {
		if at == 0 || scores[r.order[at-1]] != scores[i] {
			different++
		}
	}
	r.runs = make([]run, 0, different)
	for _, i := range r.order {
		if len(r.runs) == 0 || r.runs[len(r.runs)-1].score != scores[i] {
			r.runs = append(r.runs, run{score: scores[i]})
		}
		last := &r.runs[len(r.runs)-1]
		last.rows++
		if labels[i] > 0 {
			last.positives++
			r.positives++
		} else {
			last.negatives++
			r.negatives++
		}
	}
	return r
}

// placements are, for each row in the ranking's order, DeLong's V10 of a positive and V01 of a negative (1988,
// equations 5 and 6): the share of the other class that it is ranked right of, a tie counting half.
func (r *ranking) placements() []float64 {
	v := make([]float64, 0, len(r.order))
	above, below := 0.0, r.negatives // positives above the run, negatives below its end
	labelled := make([]float64, len(r.runs))
	for i, run := range r.runs {
		below -= run.negatives
		labelled[i] = (below + run.negatives/2) / r.negatives
		v = append(v, (above+run.positives/2)/r.positives)
		above += run.positives
	}
	return append(labelled, v...)
}

// AUC returns the area under the ROC curve with its interval; nil where all labels are the same. See ranking.auc.
func AUC(labels, scores []float64) *Estimate { return rank(labels, scores).auc() }

// deLong returns the area under the ROC curve with the variance that each class brings to it (1988, equation 4).
func (r *ranking) deLong() (area, ofPositives, ofNegatives float64) {
	v := r.placements()
	tenth, first := v[:len(r.runs)], v[len(r.runs):]
	for i, run := range r.runs {
		area += run.positives * tenth[i]
	}
	area /= r.positives
	for i, run := range r.runs {
		ofPositives += run.positives * (tenth[i] - area) * (tenth[i] - area)
		ofNegatives += run.negatives * (first[i] - area) * (first[i] - area)
	}
	return area, ofPositives / (r.positives - 1) / r.positives, ofNegatives / (r.negatives - 1) / r.negatives
}

// fewOfClass is how many rows a class has at least whose variance is believed.
const fewOfClass = 30

// smallestVariance is what a variance of an area counts as zero below.
const smallestVariance = 1e-20

// auc returns the area under the ROC curve; nil where all labels are the same. Its interval has DeLong's variance,
// taken over to the logit of the area (Pepe, The Statistical Evaluation of Medical Tests, 2003, page 107), where a
// large area has no end beyond 1, and the t distribution's quantile with the degrees of freedom of Brunner and Munzel
// (Biometrical Journal 42, 2000, equation 4.7). Fewer than 30 rows of a class often show too small a variance: there it
// holds Newcombe's, too. Where the variance is zero, as when the classes are apart, the interval is Wilson's of as many
// rows as the smaller class has; a class of one row has no variance, and no interval.
func (r *ranking) auc() *Estimate {
	if r.positives == 0 || r.negatives == 0 {
		return nil
	}
	area, a, b := r.deLong()
	e := &Estimate{Value: area}
	if r.positives < 2 || r.negatives < 2 {
		return e
	}
	if a+b < smallestVariance {
		few := min(r.positives, r.negatives)
		e.Interval = Share(area*few, few).Interval
		return e
	}
	freedom := (a + b) * (a + b) / (a*a/(r.positives-1) + b*b/(r.negatives-1))
	logit, half := math.Log(area/(1-area)), student(freedom)*math.Sqrt(a+b)/(area*(1-area))
	e.Interval = &Interval{1 / (1 + math.Exp(half-logit)), 1 / (1 + math.Exp(-half-logit))}
	if min(r.positives, r.negatives) < fewOfClass {
		i := r.areasOfExponentials(area)
		e.Interval = &Interval{min(e.Interval[0], i[0]), max(e.Interval[1], i[1])}
	}
	return e
}

// areasOfExponentials are the ends of Newcombe's interval of an area (Statistics in Medicine 25, 2006, page 559, method
// 5): the areas whose own variance, if scores were exponential (Hanley, McNeil, Radiology 143, 1982), puts the found
// one at the border.
func (r *ranking) areasOfExponentials(found float64) Interval {
	size := (r.positives+r.negatives)/2 - 1
	end := func(outside float64) float64 {
		inside := found
		for range 50 { // halves the space between an area that is too far and one that is not
			area := (inside + outside) / 2
			variance := area * (1 - area) * (1 + size*(1-area)/(2-area) + size*area/(1+area)) / r.positives / r.negatives
			if math.Abs(area-found) <= z*math.Sqrt(variance) {
				inside = area
			} else {
				outside = area
			}
		}
		return inside
	}
	return Interval{end(0), end(1)}
}

// AUCDifference returns how much larger the area under the curve of one scoring is than that of another of the same
// rows; nil where all labels are the same. Its interval is put together from those of the two areas (Zou, Donner,
// Statistics in Medicine 27, 2008, equations 11 and 12), with DeLong's correlation of the areas (1988, equation 7).
func AUCDifference(labels, scores, others []float64) *Estimate {
	a, b := rank(labels, scores), rank(labels, others)
	mine, theirs := a.auc(), b.auc()
	if mine == nil {
		return nil
	}
	e := &Estimate{Value: mine.Value - theirs.Value}
	if mine.Interval == nil {
		return e
	}
	byRow := [2][]float64{make([]float64, len(labels)), make([]float64, len(labels))}
	for k, r := range []*ranking{a, b} {
		v, at := r.placements(), 0
		for i, run := range r.runs {
			for range run.rows {
				row := r.order[at]
				at++
				byRow[k][row] = v[len(r.runs)+i]
				if labels[row] > 0 {
					byRow[k][row] = v[i]
				}
			}
		}
	}
	together := 0.0 // the covariance of the areas
	for row, y := range labels {
		n := a.negatives
		if y > 0 {
			n = a.positives
		}
		together += (byRow[0][row] - mine.Value) * (byRow[1][row] - theirs.Value) / (n - 1) / n
	}
	correlation := 0.0
	_, a10, a01 := a.deLong()
	_, b10, b01 := b.deLong()
	if v, w := a10+a01, b10+b01; v > smallestVariance && w > smallestVariance {
		correlation = min(max(together/math.Sqrt(v*w), -1), 1)
	}
	half := func(x, y float64) float64 { return math.Sqrt(max(0, x*x-2*correlation*x*y+y*y)) }
	i, j := mine.Interval, theirs.Interval
	e.Interval = &Interval{
		e.Value - half(mine.Value-i[0], j[1]-theirs.Value), e.Value + half(i[1]-mine.Value, theirs.Value-j[0]),
	}
	return e.within(-1, 1)
}

// overChance returns the area of a guess, which is 0.5 whatever the rows, and how much larger a found one is; nil where
// there is none.
func overChance(found *Estimate) (guess, over *Estimate) {
	if found == nil {
		return nil, nil
	}
	guess, over = &Estimate{Value: 0.5}, &Estimate{Value: found.Value - 0.5}
	if i := found.Interval; i != nil {
		over.Interval = &Interval{i[0] - 0.5, i[1] - 0.5}
	}
	return guess, over
}

// smirnov is the 95 % quantile of the largest distance of two empirical distribution functions, in units of the root of
// 1/n + 1/m (Smirnov, Annals of Mathematical Statistics 19, 1948, page 281).
const smirnov = 1.3581

// ks returns the largest distance of the classes' distribution functions; nil where all labels are the same.
//
// It is a maximum, and lies too high: what is drawn again from the rows lies higher still, and no interval around it
// holds the truth. So each end stands by itself. The distance at the place where it is truly largest is no larger than
// the largest upper end of any place, each Newcombe's of a difference of shares (Statistics in Medicine 17, 1998, page
// 873, method 10). And the truth is no smaller than the found distance less what chance adds anywhere, which is
// Smirnov's quantile. A class of one row has no interval.
func (r *ranking) ks() *Estimate {
	if r.positives == 0 || r.negatives == 0 {
		return nil
	}
	e, upper := new(Estimate), 0.0
	var yes, no float64
	for _, run := range r.runs {
		yes, no = yes+run.positives, no+run.negatives
		f, g := Share(yes, r.positives), Share(no, r.negatives)
		d := f.Value - g.Value
		e.Value = max(e.Value, math.Abs(d))
		upper = max(upper, d+math.Hypot(f.Interval[1]-f.Value, g.Value-g.Interval[0]),
			math.Hypot(g.Interval[1]-g.Value, f.Value-f.Interval[0])-d)
	}
	if r.positives > 1 && r.negatives > 1 {
		chance := smirnov * math.Sqrt(1/r.positives+1/r.negatives)
		e.Interval = &Interval{max(0, e.Value-chance), min(1, max(e.Value, upper))}
	}
	return e
}

// averagePrecision returns the sum of precision over steps of recall; nil where all labels are the same. Its interval
// is Wilson's with the t distribution's quantile, of as many rows as give a share the variance that the bootstrap
// finds, and at most of the positive ones (Boyd, Eng, Page, ECML PKDD 2013, section 3.2, take these): rows that are
// drawn twice rank better, and so the middle of the draws lies too high.
func (r *ranking) averagePrecision() *Estimate {
	if r.positives == 0 || r.negatives == 0 {
		return nil
	}
	places := make([]int, 0, len(r.order)) // of rows, by their place in the ranking: their run
	label := make([]float64, 0, len(r.order))
	for i, run := range r.runs {
		for k := range run.rows {
			places = append(places, i)
			label = append(label, 0)
			if float64(k) < run.positives { // rows of a run are alike
				label[len(label)-1] = 1
			}
		}
	}
	average := func(counts []int32, out []float64) {
		var positives, yes, all, before float64
		sum := 0.0
		for at, c := range counts {
			yes += float64(c) * label[at]
			all += float64(c)
			if at+1 < len(places) && places[at+1] == places[at] {
				continue
			}
			if yes > before {
				sum += (yes - before) * yes / all
			}
			before = yes
		}
		positives = yes
		out[0] = math.NaN()
		if positives > 0 && positives < all {
			out[0] = sum / positives
		}
	}
	ones, value := make([]int32, len(label)), make([]float64, 1)
	for i := range ones {
		ones[i] = 1
	}
	average(ones, value)
	e := &Estimate{Value: value[0]}
	if drawn := bootstrap(len(label), 1, average)[0]; drawn != nil {
		rows := r.positives
		if v := stat.Variance(drawn, nil); v > 0 && e.Value < 1 {
			rows = min(rows, e.Value*(1-e.Value)/v)
		}
		e.Interval = wilson(e.Value*rows, rows, student(max(1, rows-1))).Interval
	}
	return e
}
