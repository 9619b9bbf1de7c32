package fdskl

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/protocol/contract"
)

// witness is what a job sends, written down by hand from the protocol's description: nothing of it is taken from the
// code that sends, nor from the network that counts.
type witness struct {
	params  Params
	privacy string
	parties []string
	rows    int64
	stage   int64
	blocks  int64 // in how many sums the rows' angles open to each active party
	list    []contract.Operation
}

// traceTraining lists the operations of a training.
func traceTraining(p Params, privacy string, parties []string, rows int) []contract.Operation {
	t := &witness{params: p, privacy: privacy, parties: parties, rows: int64(rows)}
	t.beginning()
	actives := int64(len(p.Active))
	if p.Schedule == DoublyStochastic {
		t.note("resume-point", "*", "control", actives, 2*8)
		t.stage++
		t.growing()
	} else {
		t.note("resume-point", "*", "control", actives, 8)
		t.stage++
		t.fixed()
	}
	t.confirm(1)
	return t.list
}

// tracePrediction lists the operations of a prediction.
func tracePrediction(p Params, privacy string, parties []string, rows, batch int,
	receiver string) []contract.Operation {
	t := &witness{params: p, privacy: privacy, parties: parties, rows: int64(rows),
		blocks: int64((rows + batch - 1) / batch), stage: 1}
	for k := range p.Active {
		t.angles(k, t.rows*t.frequencies(k))
	}
	if len(p.Active) > 1 || receiver != p.Active[0] {
		t.sum("scores", receiver, t.blocks, t.rows*int64(max(1, p.Classes)))
	}
	return t.list
}

// beginning is the target, and the median of distances unless the width is known.
func (t *witness) beginning() {
	leader := t.params.Active[0]
	t.stage++
	t.note("target", leader, "opening", 1, int64(max(1024, 512*t.params.Classes)))
	t.stage++
	if t.params.Sigma != 0 {
		return
	}
	t.note("width-known", leader, "control", 1, 8)
	t.confirm(1)
	t.stage++
	pairs := int64(1000)
	if t.privacy == Sealed {
		pairs = 1
	}
	t.sum("distances", leader, 1, pairs)
	t.stage++
	t.note("width", leader, "opening", 1, 8)
	t.stage++
}

// frequencies is how many frequencies belong to the k-th active party.
func (t *witness) frequencies(k int) int64 {
	p, actives := t.params, len(t.params.Active)
	if p.Schedule == Fixed {
		pairs := p.Features / 2
		return int64(pairs*(k+1)/actives - pairs*k/actives)
	}
	return t.turns(k) * int64(p.BlockFeatures)
}

// turns is how often the k-th active party leads.
func (t *witness) turns(k int) int64 {
	n := int64(0)
	for i := k; i < t.params.Iterations; i += len(t.params.Active) {
		n++
	}
	return n
}

// fixed is every angle once, in blocks of a mebibyte, and with several active parties a solution by all.
func (t *witness) fixed() {
	size := max(1, min(t.rows, (1<<20)/int64(t.params.Features)))
	t.blocks = (t.rows + size - 1) / size
	for k := range t.params.Active {
		t.angles(k, t.rows*t.frequencies(k))
	}
	actives := int64(len(t.params.Active))
	if actives == 1 {
		return
	}
	t.stage++
	t.note("labelled", "*", "opening", actives, (t.rows+7)/8)
	t.stage++
	t.note("solver-point", "*", "control", int64(len(t.parties)), 2*8)
	t.confirm(1)
	t.stage++
	evaluations := int64(2*t.params.Iterations + 50)
	for _, a := range t.params.Active {
		t.sum("scores", a, evaluations, evaluations*t.rows)
		t.sum("derivatives", a, evaluations, evaluations*t.rows)
	}
	t.scalars("products", 2*evaluations, int64(lbfgs.MaxDots(10)))
	t.scalars("objective", evaluations, 1)
}

// scalars are sums of n numbers in seven digits, which the leader tells to all.
func (t *witness) scalars(kind string, count, n int64) {
	leader := t.params.Active[0]
	t.sum(kind, leader, count, count*n*7)
	t.note(kind+"-total", leader, "opening", count, n*8)
	t.confirmClear(count)
}

// growing is a batch, its angles and its scores in every iteration.
func (t *witness) growing() {
	p := t.params
	batch := min(int64(p.Batch), t.rows)
	t.blocks = int64(p.Iterations)
	t.note("batch", "*", "opening", t.blocks, batch*4)
	t.confirmClear(t.blocks)
	for k, a := range p.Active {
		var n, features int64
		for i := range p.Iterations {
			if i%len(p.Active) == k {
				features += int64(p.BlockFeatures)
			}
			n += batch * features
		}
		t.angles(k, min(n, t.rows*t.frequencies(k)))
		if len(p.Active) > 1 {
			t.sum("scores", a, t.turns(k), t.turns(k)*batch)
		}
	}
}

// angles are n angles opened to the k-th active party: turns in one sum, or by Algorithm 3 in a pair of sums for each
// party whose phase stays in any of them.
func (t *witness) angles(k int, n int64) {
	to, root := t.params.Active[k], slices.Index(t.parties, t.params.Active[k])
	if t.privacy == Masked {
		t.add(contract.Operation{Kind: "angles", Collective: "sum", Root: to, Class: "masked", Encoding: "turns16",
			Shape: t.shape(n), Count: t.blocks, Bytes: 2 * n})
		return
	}
	if n == 0 {
		return
	}
	remains := remainingPhases(t.params, len(t.parties), root)
	features := make([]int64, len(t.parties))
	all := t.params.Features
	if t.params.Schedule == Fixed {
		all /= 2
	}
	first, actives := all*k/len(t.params.Active), len(t.params.Active)
	for i := range all {
		own := i >= first && i < all*(k+1)/actives
		if t.params.Schedule == DoublyStochastic {
			own = i/t.params.BlockFeatures%actives == k
		}
		if own {
			features[remains[i]]++
		}
	}
	for l, p := range t.parties {
		if features[l] == 0 {
			continue
		}
		share := n
		if t.params.Schedule == Fixed {
			share = t.rows * features[l]
		}
		for tree, kind := range []string{"published-angles", "published-phases"} {
			t.add(contract.Operation{Kind: kind, Collective: "sum", Root: to, Tree: int64(tree + 1), Excluded: p,
				Class:    "published",
				Encoding: "float64", Shape: t.shape(share), Count: t.blocks, Bytes: 8 * share})
		}
	}
}

// shape is rows and features of n angles, when all rows have as many.
func (t *witness) shape(n int64) []int64 {
	if n%t.rows != 0 {
		return []int64{n}
	}
	return []int64{t.rows, n / t.rows}
}

// sum lists sums of n reals together.
func (t *witness) sum(kind, to string, count, n int64) {
	o := contract.Operation{Kind: kind, Collective: "sum", Root: to, Class: "masked", Encoding: "fixed64",
		Shape: []int64{n}, Count: count, Bytes: 8 * n}
	switch t.privacy {
	case Published:
		o.Class, o.Encoding = "published", "float64"
	case Sealed:
		o.Encoding, o.Bytes = "packed40", 5*n
	}
	t.add(o)
}

// note lists broadcasts.
func (t *witness) note(kind, from, class string, count, bytes int64) {
	t.add(contract.Operation{Kind: kind, Collective: "broadcast", Root: from, Class: class, Encoding: "bytes",
		Count: count, Bytes: count * bytes})
}

// confirm lists comparisons of what was told; contracts have them in one line.
func (t *witness) confirm(n int64) {
	for i := range t.list {
		if o := &t.list[i]; o.Kind == "shared" {
			o.Count, o.Bytes = o.Count+n, o.Bytes+32*n
			return
		}
	}
	t.add(contract.Operation{Kind: "shared", Collective: "exchange", Class: "control", Encoding: "bytes", Count: n,
		Bytes: 32 * n})
}

// confirmClear lists comparisons that take place in the clear alone: masks depend on what was told.
func (t *witness) confirmClear(n int64) {
	if t.privacy == Published {
		t.confirm(n)
	}
}

// add lists an operation, unless nothing is sent.
func (t *witness) add(o contract.Operation) {
	if o.Count > 0 {
		o.Stage = t.stage
		t.list = append(t.list, o)
	}
}

// TestContractsSayWhatTheTraceSays: for jobs of all kinds the counted operations are those written down by hand.
func TestContractsSayWhatTheTraceSays(t *testing.T) {
	names, columns := []string{"a", "b", "c", "d"}, []int{3, 4, 1, 7}
	for _, p := range []Params{
		{Features: 14, Lambda: 1}, {Features: 1024, Lambda: 1, Sigma: 2},
		{Target: joint.Regression, Features: 34, Lambda: 1},
		{Features: 14, Classes: 3, Lambda: 1}, {Features: 1024, Sigma: 2, Classes: 64, Loss: "square", Lambda: 1},
		{Schedule: DoublyStochastic, Iterations: 2, Batch: 5, BlockFeatures: 3},
		{Schedule: DoublyStochastic, Iterations: 31, Batch: 64, BlockFeatures: 5, Sigma: 1, Target: joint.Regression},
	} {
		checkTraces(t, p, names, columns)
	}
}

// checkTraces checks up to all parties, of which one or more are active.
func checkTraces(t *testing.T, p Params, names []string, columns []int) {
	t.Helper()
	for q := 1; q <= len(names); q++ {
		for active := 1; active <= q && (active == 1 || p.Classes == 0); active++ {
			p.Active = names[q-active : q]
			checkTrace(t, p.WithDefaults(), names[:q], columns[:q])
		}
	}
}

// checkTrace compares trainings and predictions of several sizes.
func checkTrace(t *testing.T, p Params, names []string, columns []int) {
	t.Helper()
	for _, privacy := range []string{Masked, Published} {
		if privacy == Published && (len(names) == 1 || p.Features > 2000) {
			continue // alone there are no trees
		}
		for _, rows := range []int{1, 7, 1000, 3001} {
			name := fmt.Sprintf("%s, %d rows, %d parties: %+v", privacy, rows, len(names), p)
			o := Outline{Params: p, Privacy: privacy, Parties: names, Columns: columns, Rows: rows}
			d, err := Disclose(o)
			mustDo(t, err)
			compareOperations(t, name, d.Operations, traceTraining(p, privacy, names, rows))
			for _, batch := range []int{1, 1000} {
				o.Receiver, o.BatchRows = names[len(names)/2], batch
				if d, err = Disclose(o); err != nil {
					t.Fatal(err)
				}
				compareOperations(t, "prediction of "+name, d.Operations,
					tracePrediction(p, privacy, names, rows, batch, o.Receiver))
			}
		}
	}
	for _, privacy := range []string{Masked, Published, Sealed} {
		d, stage, err := DiscloseBeginning(Outline{Params: p, Privacy: privacy, Parties: names})
		mustDo(t, err)
		want := &witness{params: p, privacy: privacy, parties: names}
		want.beginning()
		compareOperations(t, "beginning", d.Operations, want.list)
		if stage != want.stage {
			t.Errorf("stage %d comes next, want %d", stage, want.stage)
		}
	}
}

// compareOperations compares lines in their order; that of the comparisons follows from no order.
func compareOperations(t *testing.T, name string, got, want []contract.Operation) {
	t.Helper()
	got, want = inOrder(got), inOrder(want)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			t.Fatalf("%s: line %d of %d and %d differs:\ncounted %+v\nby hand %+v", name, i+1, len(got), len(want), got, want)
		}
	}
}

// inOrder puts the comparisons first, with no stage.
func inOrder(list []contract.Operation) []contract.Operation {
	var shared, rest []contract.Operation
	for _, o := range list {
		if o.Kind == contract.KindShared {
			o.Stage = 0
			shared = append(shared, o)
			continue
		}
		rest = append(rest, o)
	}
	return append(shared, rest...)
}
