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

// Sending is a kind of message a party sends, with its payload bytes at most.
type Sending struct {
	From  string
	Kind  string
	Class string
	Bytes int64
}

// Disclosure is what a job opens to whom and what leaves each machine, from public numbers alone.
type Disclosure struct {
	Openings []Opening
	Sendings []Sending
	Memory   int64 // bytes that the largest active party holds beside its own table
}

// The classes of sendings, as frames name them.
const (
	classMasked    = "masked"
	classPublished = "published"
	classControl   = "control"
)

// discloser collects a Disclosure.
type discloser struct {
	Disclosure
	params  Params
	privacy string
	parties []string
	columns []int // feature columns of each party
	rows    int64
}

// DiscloseTraining tells what a training over rows opens and sends; columns[i] is the number of
// feature columns of parties[i].
func DiscloseTraining(p Params, privacy string, parties []string, columns []int, rows int) Disclosure {
	d := &discloser{params: p, privacy: privacy, parties: parties, columns: columns, rows: int64(rows)}
	d.target()
	if p.Sigma == 0 {
		d.sum("distances", p.Active[0], medianPairs, 8)
		d.open(p.Active[0], "distances", medianPairs, "distances of sampled pairs of rows, for the kernel width")
		d.tell("width-known", 8)
		d.tell("width", 8)
	}
	d.tell("resume-point", int64(len(p.Active)+len(parties))*slots*8)
	if p.Schedule == DoublyStochastic {
		d.stochastic()
	} else {
		d.fixed()
	}
	return d.Disclosure
}

// DisclosePrediction tells what scoring rows with a trained model opens and sends.
func DisclosePrediction(p Params, privacy string, parties []string, columns []int, rows int, receiver string) Disclosure {
	d := &discloser{params: p, privacy: privacy, parties: parties, columns: columns, rows: int64(rows)}
	for k, a := range p.Active {
		d.angles(a, int64(rows)*d.features(k))
	}
	if len(p.Active) > 1 || receiver != p.Active[0] {
		d.sum("scores", receiver, int64(rows), 8)
	}
	d.open(receiver, "scores", int64(rows), "the predictions themselves")
	return d.Disclosure
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
	d.tell("target", targetLimit)
}

// fixed lists the openings of the fixed schedule.
func (d *discloser) fixed() {
	for k, a := range d.params.Active {
		n := d.rows * d.features(k)
		d.angles(a, n)
		d.Memory = max(d.Memory, 2*n)
	}
	if len(d.params.Active) > 1 {
		d.joint()
	}
}

// joint lists the openings of a solution by several active parties.
func (d *discloser) joint() {
	evaluations := int64(maxEvaluations(d.params.Iterations))
	for _, a := range d.params.Active {
		d.sum("scores", a, evaluations*d.rows, 8)
		d.sum("derivatives", a, evaluations*d.rows, 8)
		d.open(a, "scores", evaluations*d.rows, "the score of every row whose label it owns, once a solver step, at most")
		d.open(a, "derivatives", evaluations*d.rows, "the loss derivative of every row, once a solver step, at most: labels follow from it")
	}
	products := evaluations * int64(lbfgs.MaxDots(solverHistory))
	d.sum("products", d.params.Active[0], products*wideDigits, 8)
	d.tell("products", products*8)
	d.sum("objective", d.params.Active[0], evaluations*wideDigits, 8)
	d.tell("objective", evaluations*8)
	for _, p := range d.parties {
		d.open(p, "products", products+evaluations, "inner products of the solver's vectors and the value of the objective, at most")
		d.open(p, "labelled", d.othersActive(p)*d.rows, "which rows each active party has a label for")
	}
	d.tell("labelled", int64(len(d.params.Active))*((d.rows+7)/8))
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
	for k, a := range d.params.Active {
		n := d.stochasticAngles(k, batch)
		d.angles(a, n)
		d.Memory = max(d.Memory, 2*n)
		scores := d.features(k) / int64(d.params.BlockFeatures) * batch
		if len(d.params.Active) > 1 {
			d.sum("scores", a, scores, 8)
		}
		d.open(a, "scores", scores, "the running model's score of each row it picked")
	}
	d.tell("batch", int64(d.params.Iterations)*batch*4)
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

// angles records n angles opened to an active party, by the privacy mode.
func (d *discloser) angles(to string, n int64) {
	if d.privacy == Published {
		for _, p := range d.parties {
			if p != to {
				d.send(p, "published-angles", classPublished, 8*n)
				d.send(p, "published-phases", classPublished, 8*n)
				d.open(p, "partial angles", n, "as a parent in the trees: partial sums of other parties' angles under masks that repeat from row to row, from which their columns' differences follow exactly")
			}
		}
	} else {
		d.sum("angles", to, n, 2)
	}
	unknown := 0
	for i, p := range d.parties {
		if p != to {
			unknown += d.columns[i]
		}
	}
	per := n / max(d.rows, 1)
	d.open(to, "angles", n, fmt.Sprintf(
		"about %d angles a row against %d columns of the other parties: enough to rebuild the differences of all their rows, and with min-max scaling the rows themselves", per, unknown))
}

// sum records a sum of n words of the given size that opens to a party: everybody else sends it once.
func (d *discloser) sum(kind, to string, n int64, size int64) {
	class := classMasked
	if d.privacy == Published {
		class, size = classPublished, 8
	}
	for _, p := range d.parties {
		if p != to {
			d.send(p, kind, class, n*size)
		}
	}
}

// tell records a broadcast of bytes: along the tree any party may have to pass it on to all others.
func (d *discloser) tell(kind string, bytes int64) {
	for _, p := range d.parties {
		d.send(p, kind, classControl, bytes*int64(len(d.parties)-1))
	}
}

// send adds bytes to a party's budget for a kind of message.
func (d *discloser) send(from, kind, class string, bytes int64) {
	for i, s := range d.Sendings {
		if s.From == from && s.Kind == kind && s.Class == class {
			d.Sendings[i].Bytes += bytes
			return
		}
	}
	d.Sendings = append(d.Sendings, Sending{From: from, Kind: kind, Class: class, Bytes: bytes})
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
