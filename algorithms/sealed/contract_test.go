package sealed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/protocol/contract"
)

// ledger is what a job may send, by kind, way and ends, in bytes: written out anew from the protocol's description.
type ledger struct {
	*fixture
	bytes map[string]int64
}

// add adds a vector of n words of some bits.
func (l *ledger) add(line string, bits, n int) { l.bytes[line] += (int64(n)*int64(bits) + 7) / 8 }

// direct adds a message between two of A, K and H.
func (l *ledger) direct(kind string, from, to byte, bits, n int) {
	l.add(fmt.Sprintf("%s: %s to %s", kind, l.party(from), l.party(to)), bits, n)
}

// party is the party of a letter.
func (l *ledger) party(role byte) string {
	return map[byte]string{'A': l.params.Active[0], 'K': l.params.Keeper, 'H': l.params.Helper}[role]
}

// truncate adds a truncation of n values: in every other turn, the first and the last change places.
func (l *ledger) truncate(kind string, turn, ring, n int) {
	first, last := byte('A'), byte('H')
	if turn%2 == 1 {
		first, last = last, first
	}
	l.direct(kind+" in", first, last, ring, n)
	l.direct(kind+" in", 'K', last, ring, n)
	l.direct(kind+" carry", first, 'K', 64, n)
	l.direct(kind+" carry", 'K', first, 64, n)
	l.direct(kind+" out", last, 'K', 64, 2*n)
}

// bins adds the sharing of bins: a word of each to one of the three, or to two from outside, after keys.
func (l *ledger) bins(rows int) {
	for i, name := range l.names {
		own, n := byte(0), rows*l.params.PartyBins[i]
		for _, role := range []byte("AKH") {
			if l.party(role) == name {
				own = role
			}
		}
		if own != 0 {
			l.direct("bins", own, map[byte]byte{'A': 'K', 'K': 'H', 'H': 'A'}[own], l.params.Ring, n)
			continue
		}
		for _, to := range []byte("KH") {
			l.add("bins: "+name+" to "+l.party(to), l.params.Ring, n)
			l.bytes["bin keys: "+name+" to "+l.party(to)] = 8 * 4 // once a session
			l.bytes["bin keys: "+name+" to "+l.party('A')] = 2 * 8 * 4
		}
	}
}

// columns adds the making of shares of features.
func (l *ledger) columns(rows, block int) {
	if l.params.Binned() {
		l.bins(rows)
		return
	}
	d, k := l.params.Features, l.params.Ring
	factor := max(k, 48)
	for at, odd := 0, false; at < rows; at, odd = at+block, !odd {
		n := min(block, rows-at) * d
		l.add("angles: to "+l.party('A'), 16, n/2)
		if odd { // cosine and sine of each angle, from which each of the two computes its parts of two features
			l.direct("factors", 'A', 'K', factor, n)
		} else {
			l.direct("factors", 'A', 'H', factor, n)
		}
		l.direct("features", 'K', 'H', k, n)
		l.direct("features", 'H', 'K', k, n)
	}
}

// everybody is the line of the comparisons of what was told: each to each.
const everybody = "shared: each to each"

// training adds a training without its beginning.
func (l *ledger) training() {
	p, d, k := l.params, l.params.Features, l.params.Ring
	each := max(1, p.Classes) // functions: one for each of three or more classes
	l.add(everybody, 8, 32)
	l.check()
	if p.Bound != "public" {
		l.add(everybody, 8, 2*32) // ready, and reach
		l.ask(l.party('A'), 1)
	}
	scorecard := p.Binned() && p.Outer > 0
	if p.Outer > 0 {
		l.direct("events", 'A', 'K', k, l.rows)
		l.direct("base", 'A', 'K', 64, 2) // the score and its weight
	}
	if p.Outer > 0 && !scorecard { // the score, the gain, 1 over it, and gamma
		l.direct("base", 'A', 'K', 64, 2)
	}
	if scorecard {
		l.add(everybody, 8, 2*32) // the commitments to the rows' coin, and the coin
	}
	parts, auto := 1, p.Lambda == 0
	if auto { // two Gram matrices, labels, six systems of a function in each step, and the number of the best
		candidates := 6 // from 0.1 to 1e-6
		for p.Outer > 0 && 20*math.Pow10(candidates) > 1000*float64(l.rows) {
			candidates--
		}
		parts = 2
		l.add(everybody, 8, 4*32) // the rows' commitments, their coin, ready, and choice
		l.ask(l.party('A'), 1)
		for i := range p.Iterations {
			l.truncate("trial step", i, 64, 2*candidates*each*d)
		}
		l.truncate("trial coefficients", p.Iterations, 64, candidates*each*d)
		l.truncate("trial errors", p.Iterations+1, 64, candidates*each*d)
		l.truncate("losses", p.Iterations, 64, candidates)
		l.ranking(p.Iterations+1, candidates)
		l.add("validation: to "+l.party('A'), 8, 1) // the highest 3
		l.add("lambda: from "+l.party('A'), 8, 1)
	}
	for _, role := range []byte("AKH") {
		if auto {
			l.add("ready: from "+l.party(role), 8, 9)
			l.add("held: from "+l.party(role), 8, 12)
			l.add("row coin commitment: from "+l.party(role), 8, 32)
			l.add("row coin: from "+l.party(role), 8, 32)
		}
		l.add("resume-point: from "+l.party(role), 8, 72)
		kinds := 2 // the coin and the check
		l.add("ready: from "+l.party(role), 8, 2*9)
		if p.Bound != "public" {
			kinds++
			l.add("ready: from "+l.party(role), 8, 9)
		}
		if p.Outer > 0 {
			kinds++
			l.add("ready: from "+l.party(role), 8, 9*l.opened(p.Outer))
		}
		if scorecard {
			l.add("row coin commitment: from "+l.party(role), 8, 32)
			l.add("row coin: from "+l.party(role), 8, 32)
		}
		l.add("held: from "+l.party(role), 8, 12*kinds)
	}
	if p.Loss == "square" || auto {
		l.direct("labels", 'A', 'K', k, each*l.rows)
	}
	l.columns(l.rows, l.block)
	sums := k
	if k == 32 {
		l.lifted(parts, each, auto)
		sums = 64
	}
	if p.Bound != "public" || p.Outer > 0 {
		l.truncate("means", 0, sums, d)
	}
	l.truncate("gram", 1, sums, parts*d*(d+1)/2)
	if p.Loss == "square" || auto {
		l.truncate("sides", 0, sums, parts*each*d)
	}
	if p.Bound != "public" {
		l.norm()
		l.add("bound: to "+l.party('A'), 8, 1) // the highest 5
		l.add("reach: from "+l.party('A'), 8, 1)
	}
	steps, runs := p.Iterations, 3
	if p.Outer > 0 && !scorecard {
		steps, runs = min(steps, 24, d), 1
	}
	for e := range max(1, p.Outer) {
		l.step(e)
		l.truncate("multiples", 1, 64, 2*each*d)
		for i := range steps {
			l.truncate("step", i, 64, 2*3*each*d)
		}
		l.truncate("coefficients", steps, 64, 3*each*d)
		if p.Outer > 0 {
			if !scorecard {
				l.secants(min(e, 4))
			}
			l.progress(e)
		}
	}
	if p.Outer > 0 && !scorecard {
		l.truncate("coefficients", steps+1, 64, d+1)
	}
	l.truncate("offset", p.Iterations, sums, runs*each)
}

// norm adds what makes the order of magnitude of the norm: its square and the bits of u, their product, of 13 factors,
// and how many of its 23 bits there are behind leading zeros.
func (l *ledger) norm() {
	turn := 1
	layer := func(n int) {
		l.truncate("norm", turn, 64, n)
		turn++
	}
	layer(12 + 1)
	layer(12)
	for left := 13; left > 1; left -= left / 2 {
		layer(left / 2)
	}
	l.direct("norm bits", 'A', 'K', 64, 23)
	prefix := func() {
		for _, by := range []int{1, 2, 4, 8} {
			layer(2 * (23 - by))
		}
		layer(23 - 16)
	}
	layer(23)
	prefix()
	layer(22)
	prefix()
}

// ranking adds what compares losses, every two of 42 bits at once: the bits of the differences, the carries of
// 41 bits by a tree, whether each is below 0, and for each the product of its comparisons.
func (l *ledger) ranking(turn, candidates int) {
	pairs := candidates * (candidates - 1) / 2
	layer := func(n int) {
		l.truncate("ranking", turn, 64, n)
		turn++
	}
	l.direct("ranking bits", 'A', 'K', 64, pairs*42)
	layer(pairs * 42)
	for _, half := range []int{20, 10, 5, 3, 1, 1} { // of 41, 21, 11, 6, 3 and 2 runs of bits
		layer(pairs * 2 * half)
	}
	layer(pairs)
	for factors := candidates - 1; factors > 1; factors = (factors + 1) / 2 {
		layer(candidates * (factors / 2))
	}
}

// lifted adds what lifts sums in words of 32 bits, where windows end: the sums of each window, of which those of labels
// have windows of half as many rows. With rows kept out each of the two parts has windows of its own.
func (l *ledger) lifted(parts, each int, labels bool) {
	d := l.params.Features
	cuts := make(map[int]int) // by row: how many sums of windows end there
	for part := range parts {
		whole, half, halves := 0, 0, 1 // rows of a part in the windows under way
		end := func(row int) {
			cuts[row] += d*(d+1)/2 + d
			if l.params.Loss == "square" || labels {
				cuts[row] += halves * each * (d + 1)
			}
			whole, half, halves = 0, 0, 1
		}
		for lo := 0; lo < l.rows; lo += l.block {
			more := min(l.block, l.rows-lo) // rows of the part at most, whatever the coin
			switch most := 0; {
			case part == 1:
				for offset := range 5 {
					most = max(most, (offset+more+4)/5)
				}
				more = most
			case parts == 2:
				least := more // runs of five rows that a block has whole, the last of which is of up to nine
				for offset := range 5 {
					for last := range 9 { // rows of it that the block has
						least = min(least, max(0, (more-offset-last)/5))
					}
				}
				more -= least
			}
			if whole > 0 && whole+more > l.window {
				end(lo)
			}
			if half > 0 && half+more > l.window/2 {
				half, halves = 0, halves+1
			}
			whole, half = whole+more, half+more
		}
		end(l.rows)
	}
	for i, row := range slices.Sorted(maps.Keys(cuts)) {
		l.truncate("windows", i, 32, cuts[row])
	}
}

// check adds the coin, and the numbers of 20 bits that tell whether the steps were taken.
func (l *ledger) check() {
	n := 2 * 20 * max(1, l.params.Classes)
	l.truncate("check", l.params.Iterations+1, 64, n)
	l.add(everybody, 8, 4*32) // the coin's commitments, the coin, and twice ready
	for i, to := range []byte("AKH") {
		l.add("coin commitment: from "+l.party(to), 8, 32)
		l.add("coin: from "+l.party(to), 8, 32)
		l.direct("check", "AKH"[(i+1)%3], to, 20, n)
		l.direct("check vouched", "AKH"[(i+2)%3], to, 8, 32)
	}
}

// ask adds the messages by which a receiver asks for so many openings.
func (l *ledger) ask(receiver string, openings int) {
	for _, name := range l.names {
		if name != receiver {
			l.add("ask: "+receiver+" to "+name, 8, 40*openings)
		}
	}
}

// step adds what an outer step sends before its iterations.
func (l *ledger) step(e int) {
	if l.params.Outer == 0 {
		return
	}
	ring, sums, d := l.params.Ring, l.params.Ring, l.params.Features
	if ring == 32 {
		sums = 64
	}
	scorecard := l.params.Binned()
	if scorecard && e == 0 {
		l.truncate("weighed gram", 0, 64, d*(d+1)/2)
	}
	if e > 0 {
		if !scorecard {
			l.truncate("scored", 0, 64, d+1)
		}
		l.truncate("offset", l.params.Iterations, sums, 1)
		factors := ring
		if ring == 32 && !scorecard {
			factors = 48
		}
		l.sigmoid("probabilities", e, factors, ring)
	}
	if scorecard && e > 0 {
		l.weighed(e)
		l.truncate("gradient", 2, 64, 1)
	}
	if ring == 32 { // derivatives are lifted window by window
		l.truncate("sums", e, 32, (l.rows+l.window-1)/l.window*(d+1))
	}
	if !scorecard {
		d++ // the base
	}
	l.truncate("gradient", 1, sums, d+1)
}

// secants adds what a direction is made of, of so many secants: the gain, two products, compared with 13 limits and 9
// multiples in numbers of 50 bits, three scalars, three vectors times their factor, an inverse, the products of all,
// and sums one by one.
func (l *ledger) secants(k int) {
	d := l.params.Features
	for _, ends := range []string{"AK", "KH", "HA"} {
		l.direct("gained", ends[0], ends[1], 64, d+1)
	}
	l.truncate("direction", 0, 64, d+1)
	if k == 0 {
		return
	}
	l.truncate("secants", 0, 64, 2)
	l.compared("steepness", 50, 13+9, 24, 12, 6, 3, 2, 1) // of 49, 25, 13, 7, 4 and 2 runs of bits
	for _, ends := range []string{"AK", "KH", "HA"} {
		l.direct("stretched", ends[0], ends[1], 64, 3*(d+1))
		l.direct("steepness", ends[0], ends[1], 64, 1+2)
	}
	l.truncate("secants", 1, 64, 1)
	for i := range 2 * 3 {
		l.truncate("secants", i, 64, 1)
	}
	l.truncate("secants", 0, 64, k*(2+2*k))
	l.truncate("secants", 1, 64, k*(2+2*k))
	for i := range k - 1 {
		l.truncate("secants", i, 64, 1)
	}
	l.truncate("secants", 0, 64, 2*k)
	for i := range k {
		l.truncate("secants", i+1, 64, 1)
	}
}

// compared adds what tells of n numbers of so many bits whether they are below 0, by a tree of halves of runs of bits.
func (l *ledger) compared(kind string, width, n int, halves ...int) {
	turn := 0
	layer := func(n int) {
		l.truncate(kind, turn, 64, n)
		turn++
	}
	l.direct(kind+" bits", 'A', 'K', 64, n*width)
	layer(n * width)
	for _, half := range halves {
		layer(n * 2 * half)
	}
	layer(n)
}

// sigmoid adds what makes probabilities or slopes of scores: two bytes a row to A from each of the others, the factors
// of the sines, and two halves.
func (l *ledger) sigmoid(kind string, turn, factors, ring int) {
	l.direct("score turns", 'K', 'A', 16, l.rows)
	l.direct("score turns", 'H', 'A', 16, l.rows)
	sines := 16
	if !l.params.Binned() {
		sines = 32
	}
	l.direct("sines", 'A', "HK"[turn%2], factors, 2*sines*l.rows)
	l.direct(kind, 'K', 'H', ring, l.rows)
	l.direct(kind, 'H', 'K', ring, l.rows)
}

// weighed adds what makes a weighed Gram matrix of all rows, which are fewer than a sample has.
func (l *ledger) weighed(turn int) {
	d := l.params.Features
	l.sigmoid("slopes", turn, 32, 32)
	for _, ends := range []string{"AK", "KH", "HA"} {
		l.direct("weighed rows", ends[0], ends[1], 32, l.rows*d)
	}
	l.truncate("weighed sums", 0, 32, d*(d+1)/2+d+1)
	l.truncate("weighed means", 0, 64, d+1)
	l.truncate("weighed means", 1, 64, d)
	l.truncate("weighed means", 2, 64, d)
	l.direct("inverse weight", 'A', 'K', 64, 1)
	for i := range 2 * 12 {
		l.truncate("inverse weight", i, 64, 1)
	}
	l.truncate("weighed gram", turn, 64, d*(d+1)/2)
}

// opened is how often progress has opened after so many steps: of bins after the fifth and all others, of
// cosines after the 24th, the 32nd and so on, and after the last.
func (l *ledger) opened(steps int) (times int) {
	first, every := 24, 8
	if l.params.Binned() {
		first, every = 5, 1
	}
	for step := 1; step <= steps; step++ {
		if step == l.params.Outer || step >= first && step%every == 0 {
			times++
		}
	}
	return times
}

// progress adds what measures a step, compares it with limits in numbers of 42 bits, opens to the three how many q
// passes and tells all, where it opens, and takes the step.
func (l *ledger) progress(e int) {
	limits, opens := 15, l.opened(e+1) > l.opened(e)
	if opens {
		limits += 2
	}
	if e+1 == l.params.Outer {
		limits += 2
	}
	d, scorecard := l.params.Features, l.params.Binned()
	if scorecard {
		l.truncate("lengths", 0, 64, d)
	} else { // and the base
		l.truncate("lengths", 0, 64, d+1)
	}
	l.truncate("lengths", 1, 64, 2)
	if scorecard {
		l.truncate("lengths", 2, 64, 1+d) // squares
		l.truncate("lengths", 3, 64, 1)   // fourth powers
	}
	l.truncate("lengths", 4, 64, 2)                      // times a secret number each
	l.compared("passed", 42, limits, 20, 10, 5, 3, 1, 1) // of 41, 21, 11, 6, 3 and 2 runs of bits
	if opens {
		l.add(everybody, 8, 2*32) // ready, and pace
		for i, to := range []byte("AKH") {
			l.direct("progress", "AKH"[(i+1)%3], to, 8, 1)
			l.direct("progress vouched", "AKH"[(i+2)%3], to, 8, 32)
		}
		l.add("pace: from "+l.party('A'), 8, 1)
	}
	if e > 0 && scorecard {
		l.truncate("taken", 0, 64, 1)
	}
	if scorecard {
		l.truncate("taken", 1, 64, 3*d+1)
	} else {
		l.truncate("taken", 1, 64, d+1)
	}
}

// lines are the operations of a disclosure in the ledger's words.
func lines(operations []contract.Operation) map[string]int64 {
	all := make(map[string]int64)
	for _, o := range operations {
		name := map[string]string{contract.CollectiveSum: o.Kind + ": to " + o.Root,
			contract.CollectiveBroadcast: o.Kind + ": from " + o.Root,
			contract.CollectiveDirect:    o.Kind + ": " + o.Root + " to " + o.To,
			contract.CollectiveExchange:  everybody}
		all[name[o.Collective]] += o.Bytes
	}
	return all
}

// contracted are jobs whose budgets are counted.
func contracted(t testing.TB) map[string]*fixture {
	jobs := map[string]*fixture{
		"square, a shorter block": newFixture(t, 3, 53, fdskl.Params{Features: 8, Iterations: 5, Sigma: 1}),
		"one row in the last": newFixture(t, 4, 33, fdskl.Params{Features: 8, Iterations: 3, Ring: 48, Keeper: "p3",
			Helper: "p1", Sigma: 1}),
		"a public bound":      newFixture(t, 5, 48, fdskl.Params{Features: 6, Iterations: 4, Bound: "public", Sigma: 1}),
		"a lambda of its own": newFixture(t, 3, 37, fdskl.Params{Features: 8, Iterations: 5, Sigma: 1, Lambda: 1e-3}),
		"logistic, auto": newFixture(t, 4, 40, fdskl.Params{Features: 10, Iterations: 3, Loss: "logistic", Outer: 3,
			Sigma: 1}),
		"logistic": newFixture(t, 4, 40, fdskl.Params{Features: 10, Iterations: 3, Loss: "logistic", Outer: 3,
			Lambda: 1e-3, Sigma: 1}),
		"four classes, a lambda of its own": newFixture(t, 4, 40, fdskl.Params{Features: 6, Iterations: 3, Classes: 4,
			Lambda: 1e-3, Sigma: 1}),
		"three classes, compact": newFixture(t, 3, 53, fdskl.Params{Features: 6, Iterations: 4, Classes: 3, Ring: 48,
			Sigma: 1}),
		"logistic, one outer": newFixture(t, 3, 17, fdskl.Params{Features: 4, Iterations: 2, Loss: "logistic", Outer: 1,
			Lambda: 1e-2, Sigma: 1}),
	}
	for name, p := range map[string]fdskl.Params{
		"small":                {Features: 8, Iterations: 3, Ring: 32, Lambda: 1e-3, Sigma: 1},
		"small, auto":          {Features: 8, Iterations: 3, Ring: 32, Sigma: 1},
		"small, three classes": {Features: 8, Iterations: 3, Ring: 32, Classes: 3, Sigma: 1, Bound: "public"},
		"small, logistic":      {Features: 8, Iterations: 3, Ring: 32, Loss: "logistic", Outer: 3, Lambda: 1e-3, Sigma: 1},
		"scorecard":            binned(fdskl.Params{Iterations: 3, Loss: "logistic", Outer: 3, Bound: "public"}),
	} {
		jobs[name] = newFixture(t, 4, 53, p)
		jobs[name].block, jobs[name].window = 8, 16
	}
	return jobs
}

// TestContractsSayWhatTheFormulasSay compares all operations of trainings and predictions, in bytes on every link.
func TestContractsSayWhatTheFormulasSay(t *testing.T) {
	for name, f := range contracted(t) {
		t.Run(name, func(t *testing.T) {
			d, err := f.disclose()
			must(t, err)
			begun, _, err := fdskl.DiscloseBeginning(f.outline())
			must(t, err)
			want := &ledger{fixture: f, bytes: make(map[string]int64)}
			want.training()
			maps.Copy(want.bytes, lines(begun.Operations))
			compareLines(t, lines(d.Operations), want.bytes)

			for _, batch := range []int{10, 3, 1} { // of the smaller ones most are not counted one by one
				if d, err = Disclose(f.prediction(f.rows, batch, 1)); err != nil {
					t.Fatal(err)
				}
				want = &ledger{fixture: f, bytes: make(map[string]int64)}
				for i, lo := 0, 0; lo < f.rows; i, lo = i+1, lo+batch { // each batch is one block
					n := min(batch, f.rows-lo)
					want.columns(n, n)
					want.truncate("prediction", i, f.params.Ring, n*max(1, f.params.Classes))
					width := 10
					switch {
					case f.params.Loss == "logistic" && f.params.Binned():
						width = 11
					case f.params.Loss == "logistic":
						width = 12
					}
					want.add("scores: to p1", width, n*max(1, f.params.Classes))
					want.ask("p1", 1)
					want.add(everybody, 8, 32)
					for _, role := range []byte("AKH") {
						want.add("ready: from "+want.party(role), 8, 9)
					}
				}
				want.add(everybody, 8, 32)
				for _, role := range []byte("AKH") {
					want.add("held: from "+want.party(role), 8, 12)
				}
				compareLines(t, lines(d.Operations), want.bytes)
			}
		})
	}
}

// compareLines reports lines that differ.
func compareLines(t *testing.T, got, want map[string]int64) {
	t.Helper()
	for _, line := range slices.Sorted(maps.Keys(want)) {
		if got[line] != want[line] {
			t.Errorf("%s: %d bytes, want %d", line, got[line], want[line])
		}
	}
	for _, line := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[line]; !ok {
			t.Errorf("%s: %d bytes, want none", line, got[line])
		}
	}
}

// upTo are the kinds whose budgets are limits, not what honest parties send.
func upTo(kind string) bool {
	return slices.Contains([]string{kindResume, "target", contract.KindPast, contract.KindStates,
		contract.KindCountersign, contract.KindAsk,
		contract.KindAbort}, kind)
}

// TestARunSpendsExactlyItsBudget trains and predicts: every link carries every byte of every kind of data that
// the contract says, and each party learns as many values as it says.
func TestARunSpendsExactlyItsBudget(t *testing.T) {
	for name, f := range contracted(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testNetwork := newFederation(t, f.names)
			learned := newTally()
			f.opened = learned.add
			models := f.train(t, testNetwork)
			spentAll(t, testNetwork)
			d, err := f.disclose()
			must(t, err)
			if got, want := learned.String(), listed(d.Openings); got != want {
				t.Errorf("opened were\n\t%s\nwant\n\t%s", got, want)
			}
			f.predict(t, testNetwork, models, 1)
			spentAll(t, testNetwork)
		})
	}
}

// spentAll checks the budgets of the last session.
func spentAll(t *testing.T, testNetwork *federation) {
	t.Helper()
	for i, b := range testNetwork.budgets {
		for _, e := range b.Lines() {
			if !upTo(e.Kind) && e.Bytes != e.MaxBytes {
				t.Errorf("%s to %s: %s has %d bytes of %d", testNetwork.Names[i], testNetwork.Names[e.To],
					e.Kind, e.Bytes, e.MaxBytes)
			}
		}
	}
}

// tally counts what opened to whom.
type tally struct {
	mu    sync.Mutex
	count map[string]int64
}

// newTally returns an empty one.
func newTally() *tally { return &tally{count: make(map[string]int64)} }

// add counts values.
func (c *tally) add(party, kind string, count int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[kind+" to "+party] += count
}

// String lists all counts.
func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, line := range slices.Sorted(maps.Keys(c.count)) {
		list = append(list, fmt.Sprintf("%d %s", c.count[line], line))
	}
	return strings.Join(list, ", ")
}

// listed writes a contract's openings in a tally's words.
func listed(list []contract.Opening) string {
	c := newTally()
	for _, o := range list {
		c.add(o.To, o.Kind, o.Count)
	}
	return c.String()
}

// TestMoreThanIsAgreedIsNotSent: whoever goes on after what the contract lists is stopped by its own session.
func TestMoreThanIsAgreedIsNotSent(t *testing.T) {
	f := newFixture(t, 3, 20, fdskl.Params{Features: 4, Iterations: 2, Loss: "logistic", Outer: 2, Lambda: 1e-3, Sigma: 1})
	for _, c := range []struct {
		name string
		more func(ctx context.Context, p *Party) error
		want string
	}{
		{"scores of training rows", func(ctx context.Context, p *Party) error {
			return p.Network.SumPacked(ctx, kindScores, 0, scoreWidth(f.params, 5), make([]uint64, f.rows))
		}, "scores to p0 not sent: the contract lists no such message of this party"},
		{"another opening", func(ctx context.Context, p *Party) error {
			return p.Network.SumPacked(ctx, kindGram, 1, 20, make([]uint64, 16))
		}, "gram to p1 not sent: the contract lists no such message of this party"},
		{"a bound of more bits", func(ctx context.Context, p *Party) error {
			return p.Network.SumPacked(ctx, kindBound, 0, 56, make([]uint64, 1))
		}, "bound to p0 not sent: it is masked packed56, the contract says masked packed8"},
		{"angles in the clear", func(ctx context.Context, p *Party) error {
			_, err := p.Network.BeginPadded(ctx, kindAngles, 0, make([]uint16, 16))
			return err
		}, "angles to p0 not sent: its stage of the job is over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := f.disclose()
			must(t, err)
			testNetwork := newFederation(t, f.names)
			testNetwork.declare(t, d)
			f.forget()
			err = errors.Join(testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
				p := f.party(i, n, 1)
				if _, err := Train(ctx, p); err != nil {
					return err
				}
				return c.more(ctx, p)
			})...)
			var refused *contract.BudgetError
			if !errors.As(err, &refused) || refused.Error() != c.want {
				t.Errorf("error is %v\nwant %s", err, c.want)
			}
		})
	}
}
