package fdskl

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
)

// Opening is a kind of value that a party learns by design, with how many.
type Opening struct {
	To      string
	Kind    string
	Count   int64
	Meaning string
}

// Disclosure is what a job opens to whom and what its parties do together, from public numbers
// alone.
type Disclosure struct {
	Openings   []Opening
	Operations []Operation
	Memory     int64 // bytes that the largest active party holds beside its own table
}

// discloser collects a Disclosure.
type discloser struct {
	Disclosure
	params  Params
	privacy string
	parties []string
	columns []int // feature columns of each party
	rows    int64
	stage   int64
	blocks  int64 // in how many sums the rows' angles open to each active party
}

// DiscloseTraining tells what a training over rows opens and does; columns[i] is the number of
// feature columns of parties[i].
func DiscloseTraining(p Params, privacy string, parties []string, columns []int, rows int) Disclosure {
	d := &discloser{params: p, privacy: privacy, parties: parties, columns: columns, rows: int64(rows)}
	d.beginning()
	if p.Schedule == DoublyStochastic {
		d.tell("resume-point", Anyone, classControl, int64(len(p.Active)), slots*8)
		d.stage++
		d.stochastic()
	} else {
		d.tell("resume-point", Anyone, classControl, int64(len(p.Active)), 8)
		d.stage++
		d.fixed()
	}
	d.confirm(1) // the resume points, and all that was told before
	return d.Disclosure
}

// DisclosePrediction tells what scoring rows with a trained model opens and does, in the given number
// of batches.
func DisclosePrediction(p Params, privacy string, parties []string, columns []int, rows, batches int, receiver string) Disclosure {
	d := &discloser{params: p, privacy: privacy, parties: parties, columns: columns, rows: int64(rows), blocks: int64(batches), stage: 1}
	for k := range p.Active {
		d.angles(k, int64(rows)*d.features(k))
	}
	if len(p.Active) > 1 || receiver != p.Active[0] {
		d.sum("scores", receiver, d.blocks, int64(rows))
	}
	d.open(receiver, "scores", int64(rows), "the predictions themselves")
	return d.Disclosure
}

// DiscloseBeginning tells what the beginning of a training opens and does; see Begin. stage is that of what
// comes next.
func DiscloseBeginning(p Params, privacy string, parties []string) (disclosure Disclosure, stage int64) {
	d := &discloser{params: p, privacy: privacy, parties: parties}
	d.beginning()
	return d.Disclosure, d.stage
}

// beginning lists what the target and the kernel's width open.
func (d *discloser) beginning() {
	d.target()
	if d.params.Sigma == 0 {
		d.width()
	}
	d.stage++
}

// features returns how many features belong to the k-th active party.
func (d *discloser) features(k int) int64 {
	if d.params.Schedule == Fixed {
		_, n := share(d.params.Features, len(d.params.Active), k)
		return int64(n)
	}
	blocks := (d.params.Iterations - k + len(d.params.Active) - 1) / len(d.params.Active)
	return int64(max(blocks, 0) * d.params.BlockFeatures)
}

// target lists what all learn of the label's column.
func (d *discloser) target() {
	meaning := "the label's name for each class"
	if d.params.Target == Regression {
		meaning = "mean and standard deviation of the target"
	}
	for _, p := range d.parties {
		if p != d.params.Active[0] {
			d.open(p, d.params.targetKind(), 2, meaning)
		}
	}
	d.stage++
	d.tell("target", d.params.Active[0], classOpening, 1, targetLimit)
}

// width lists what finding the kernel's width opens.
func (d *discloser) width() {
	leader := d.params.Active[0]
	d.stage++
	d.tell("width-known", leader, classControl, 1, 8)
	d.confirm(1)
	d.stage++
	pairs, meaning := int64(medianPairs), "distances of sampled pairs of rows, for the kernel width"
	if d.privacy == Sealed {
		pairs, meaning = 1, "the mean squared distance of sampled pairs of rows, for the kernel width"
	}
	d.sum("distances", leader, 1, pairs)
	d.open(leader, "distances", pairs, meaning)
	d.stage++
	d.tell("width", leader, classOpening, 1, 8)
}

// fixed lists the openings of the fixed schedule.
func (d *discloser) fixed() {
	size := int64(blockRows(int(d.rows), blockBytes, d.params.Features))
	d.blocks = (d.rows + size - 1) / size
	for k := range d.params.Active {
		n := d.rows * d.features(k)
		d.angles(k, n)
		d.Memory = max(d.Memory, 2*n)
	}
	if len(d.params.Active) > 1 {
		d.joint()
	}
}

// joint lists the openings of a solution by several active parties.
func (d *discloser) joint() {
	actives := int64(len(d.params.Active))
	d.stage++
	d.tell("labelled", Anyone, classOpening, actives, (d.rows+7)/8)
	d.stage++
	d.tell("solver-point", Anyone, classControl, int64(len(d.parties)), slots*8)
	d.confirm(1)
	d.stage++
	evaluations := int64(maxEvaluations(d.params.Iterations))
	for _, a := range d.params.Active {
		d.sum("scores", a, evaluations, evaluations*d.rows)
		d.sum("derivatives", a, evaluations, evaluations*d.rows)
		d.open(a, "scores", evaluations*d.rows, "the score of every row whose label it owns, once a solver step, at most")
		d.open(a, "derivatives", evaluations*d.rows, "the loss derivative of every row, once a solver step, at most: labels follow from it")
	}
	products := int64(lbfgs.MaxDots(solverHistory))
	d.scalars("products", solverSums*evaluations, products)
	d.scalars("objective", evaluations, 1)
	for _, p := range d.parties {
		d.open(p, "products", (products+1)*evaluations, "inner products of the solver's vectors and the value of the objective, at most")
		d.open(p, "labelled", d.othersActive(p)*d.rows, "which rows each active party has a label for")
	}
}

// solverSums is how often the solver asks for inner products, at most, for each evaluation.
const solverSums = 2

// scalars records sums of up to n scalars that the leader tells to all; see sumScalars.
func (d *discloser) scalars(kind string, count, n int64) {
	leader := d.params.Active[0]
	d.sum(kind, leader, count, count*n*wideDigits)
	d.tell(kind+total, leader, classOpening, count, n*8)
	d.confirmClear(count)
}

// othersActive counts the active parties beside p.
func (d *discloser) othersActive(p string) int64 {
	n := int64(len(d.params.Active))
	if slices.Contains(d.params.Active, p) {
		n--
	}
	return n
}

// stochastic lists the openings of the paper's schedule.
func (d *discloser) stochastic() {
	batch := min(int64(d.params.Batch), d.rows)
	d.blocks = int64(d.params.Iterations)
	d.tell("batch", Anyone, classOpening, int64(d.params.Iterations), batch*4)
	d.confirmClear(int64(d.params.Iterations))
	for k, a := range d.params.Active {
		n := d.stochasticAngles(k, batch)
		d.angles(k, n)
		d.Memory = max(d.Memory, 2*n)
		turns := d.features(k) / int64(d.params.BlockFeatures)
		if len(d.params.Active) > 1 {
			d.sum("scores", a, turns, turns*batch)
		}
		d.open(a, "scores", turns*batch, "the running model's score of each row it picked")
	}
}

// stochasticAngles bounds the angles that open to the k-th active party: in every iteration at most
// those of the batch, over the party's features so far, and in all at most every angle once.
func (d *discloser) stochasticAngles(k int, batch int64) int64 {
	actives, r := len(d.params.Active), int64(d.params.BlockFeatures)
	var n int64
	for t := range d.params.Iterations {
		n += batch * r * int64((t+actives-k)/actives)
	}
	return min(n, d.rows*d.features(k))
}

// angles records n angles opened to the k-th active party, by the privacy mode.
func (d *discloser) angles(k int, n int64) {
	to := d.params.Active[k]
	if d.privacy == Published {
		d.published(k, n)
	} else {
		d.add(Operation{Kind: "angles", Collective: sum, Root: to, Class: classMasked, Encoding: asTurns16,
			Shape: d.shape(n), Count: d.blocks, Bytes: 2 * n})
	}
	unknown := 0
	for i, p := range d.parties {
		if p != to {
			unknown += d.columns[i]
		}
	}
	d.open(to, "angles", n, fmt.Sprintf(
		"about %d angles a row against %d columns of the other parties: enough to rebuild the differences of all their rows, and with min-max scaling the rows themselves", n/max(d.rows, 1), unknown))
}

// shape returns rows and features of n angles, when all rows have as many.
func (d *discloser) shape(n int64) []int64 {
	if d.rows == 0 || n%d.rows != 0 {
		return []int64{n}
	}
	return []int64{d.rows, n / d.rows}
}

// published records the two sums of Algorithm 3 for n angles of the k-th active party, one pair for each
// party whose phase may stay in an angle.
func (d *discloser) published(k int, n int64) {
	to := d.params.Active[k]
	root := slices.Index(d.parties, to)
	features := d.excluded(k, root)
	for l, p := range d.parties {
		if p == to || features[l] == 0 {
			continue
		}
		share := n // of the growing schedule, all at most
		if d.params.Schedule == Fixed {
			share = d.rows * features[l]
		}
		for tree, kind := range []string{"published-angles", "published-phases"} {
			d.add(Operation{Kind: kind, Collective: sum, Root: to, Tree: int64(tree + 1), Excluded: p, Class: classPublished,
				Encoding: asFloat64, Shape: d.shape(share), Count: d.blocks, Bytes: 8 * share})
		}
	}
	for _, p := range d.parties {
		if p != to {
			d.open(p, "partial angles", n, "as a parent in the trees: partial sums of other parties' angles under masks that repeat from row to row, from which their columns' differences follow exactly")
		}
	}
}

// excluded counts, by party, the features of the k-th active party that keep the party's phase.
func (d *discloser) excluded(k, root int) []int64 {
	e := newExcluder(d.params.Seed, len(d.parties), root)
	counts := make([]int64, len(d.parties))
	for _, r := range runsOf(d.params, k) {
		for i := range r.Count {
			counts[e.of(r.First+i)]++
		}
	}
	return counts
}

// sum records sums of n reals together that open to a party.
func (d *discloser) sum(kind, to string, count, n int64) {
	o := Operation{Kind: kind, Collective: sum, Root: to, Class: classMasked, Encoding: asFixed64, Shape: []int64{n}, Count: count, Bytes: 8 * n}
	switch d.privacy {
	case Published:
		o.Class, o.Encoding = classPublished, asFloat64
	case Sealed:
		o.Encoding, o.Bytes = fmt.Sprintf("packed%d", SealedWidth), (SealedWidth*n+7)/8
	}
	d.add(o)
}

// tell records count broadcasts of at most so many bytes each.
func (d *discloser) tell(kind, from, class string, count, bytes int64) {
	d.add(Operation{Kind: kind, Collective: broadcast, Root: from, Class: class, Encoding: asBytes, Count: count, Bytes: count * bytes})
}

// confirm records so many comparisons of what was told.
func (d *discloser) confirm(n int64) {
	for i := range d.Operations {
		if o := &d.Operations[i]; o.Kind == kindShared {
			o.Count, o.Bytes = o.Count+n, o.Bytes+n*sharedSize
			return
		}
	}
	d.add(Operation{
		Kind: kindShared, Collective: exchange, Class: classControl, Encoding: asBytes, Count: n, Bytes: n * sharedSize,
	})
}

// confirmClear records comparisons where sums have no masks that depend on what was told.
func (d *discloser) confirmClear(n int64) {
	if d.privacy == Published {
		d.confirm(n)
	}
}

// add records an operation of the current stage.
func (d *discloser) add(o Operation) {
	if o.Count == 0 {
		return
	}
	o.Stage = d.stage
	d.Operations = append(d.Operations, o)
}

// open adds values to what a party learns.
func (d *discloser) open(to, kind string, count int64, meaning string) {
	if count == 0 {
		return
	}
	for i, o := range d.Openings {
		if o.To == to && o.Kind == kind {
			d.Openings[i].Count += count
			return
		}
	}
	d.Openings = append(d.Openings, Opening{To: to, Kind: kind, Count: count, Meaning: meaning})
}
