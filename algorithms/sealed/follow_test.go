package sealed

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/secagg/rss"
)

// passed is a message that is of rows: which, over which link, and how many words.
type passed struct {
	kind     string
	from, to int
	rows     []int
	words    int
}

// passagesOf lists by hand the messages of rows [lo, hi) of a training, in which p0 holds the label, p3 is the keeper
// and p1 the helper: block by block, each a step ahead of the next. In even blocks the factors go to the helper.
func passagesOf(p fdskl.Params, lo, hi int) []passed {
	size := 4 << 20 / 8 / p.Features
	var blocks [][]int
	for at := lo; at < hi; at += size {
		var rows []int
		for j := at; j < min(at+size, hi); j++ {
			rows = append(rows, j)
		}
		blocks = append(blocks, rows)
	}
	return inTurn(p, blocks, lo/size)
}

// passagesOfBatches lists by hand those of a prediction, of which each batch begins with an even block.
func passagesOfBatches(p fdskl.Params, rows, batch int) (list []passed) {
	for lo := 0; lo < rows; lo += batch {
		of := passagesOf(p, 0, min(batch, rows-lo))
		for i := range of {
			of[i].rows = slices.Clone(of[i].rows)
			for k := range of[i].rows {
				of[i].rows[k] += lo
			}
		}
		list = append(list, of...)
	}
	return list
}

// inTurn lists the messages of blocks, the first of which has a number.
func inTurn(p fdskl.Params, blocks [][]int, first int) (list []passed) {
	const holder, helper, keeper = 0, 1, 3
	for i := -2; i < len(blocks)+1; i++ {
		add := func(i int, kind string, each int, link func(late, early int) (from, to int)) {
			if i < 0 || i >= len(blocks) {
				return
			}
			from, to := link(helper, keeper)
			if (first+i)%2 == 1 {
				from, to = link(keeper, helper)
			}
			list = append(list, passed{kind, from, to, blocks[i], len(blocks[i]) * each})
		}
		add(i+2, "angles", p.Features/2, func(int, int) (int, int) { return -1, -1 })
		add(i+1, "features", p.Features, func(late, early int) (int, int) { return early, late })
		add(i, "factors", p.Features, func(late, _ int) (int, int) { return holder, late })
		add(i-1, "features", p.Features, func(late, early int) (int, int) { return late, early })
	}
	return list
}

// followedParams are small, but for the features.
func followedParams() (fdskl.Params, []string) {
	p := fdskl.Params{Active: []string{"p0"}, Label: "y", Keeper: "p3", Helper: "p1", Loss: "square", Features: 256,
		Iterations: 2, Lambda: 1e-6}
	return WithDefaults(p.WithDefaults()), []string{"p0", "p1", "p2", "p3"}
}

// followedTraining is a training of so many rows.
func followedTraining(rows int, loss string) fdskl.Outline {
	p, names := followedParams()
	if p.Loss = loss; loss == "logistic" {
		p.Lambda = 1e-4
	}
	return fdskl.Outline{Params: p, Privacy: fdskl.Sealed, Parties: names, Rows: rows}
}

// followedScoring is a prediction of so many rows, one at a time when they are asked for.
func followedScoring(rows, batch, requests int) fdskl.Outline {
	o := followedTraining(rows, "square")
	o.Receiver, o.BatchRows, o.Requests = "p2", batch, requests
	return o
}

// begins tells a Follower of points of the three, and of what they hold.
func begins(f *trace.Follower, points [rss.Roles][]point, all [rss.Roles][]held) error {
	for _, list := range points {
		var payload []byte
		for _, p := range list {
			payload = append(payload, p.encode()...)
		}
		if err := f.Broadcast(Resume, payload); err != nil {
			return err
		}
	}
	return holds(f, all)
}

// holds tells a Follower what the three hold of each series.
func holds(f *trace.Follower, all [rss.Roles][]held) error {
	for _, list := range all {
		var payload []byte
		for _, h := range list {
			payload = append(payload, h.encode()...)
		}
		if err := f.Broadcast(Held, payload); err != nil {
			return err
		}
	}
	return nil
}

// nothingHeld is what the three hold of so many series in a first session.
func nothingHeld(series int) (all [rss.Roles][]held) {
	for r := range all {
		all[r] = make([]held, series)
	}
	return all
}

// TestFollowerKnowsTheRowsOfATraining, as they are listed by hand.
func TestFollowerKnowsTheRowsOfATraining(t *testing.T) {
	p, _ := followedParams()
	n := blockRows(p.Features)
	for _, rows := range []int{2, n, n + 1, 2*n + 276, 5*n + 40} {
		f := Follow(followedTraining(rows, "square"))
		must(t, begins(f, [rss.Roles][]point{}, nothingHeld(3)))
		wantPassages(t, f, passagesOf(p, 0, rows), rows)
	}
}

// TestFollowerKnowsTheRowsOfAPrediction does the same for batches of rows.
func TestFollowerKnowsTheRowsOfAPrediction(t *testing.T) {
	p, _ := followedParams()
	n := blockRows(p.Features)
	rows, batch := 4*n-148, n+n/3
	f := Follow(followedScoring(rows, batch, 0))
	must(t, holds(f, nothingHeld(1)))
	wantPassages(t, f, passagesOfBatches(p, rows, batch), rows)
}

// wantPassages wants every message to be of the rows that are listed, and all rows to come in each kind.
func wantPassages(t *testing.T, f *trace.Follower, list []passed, rows int) {
	t.Helper()
	defer f.Close()
	seen := make(map[string]int)
	for i, m := range list {
		got, err := f.Next(m.kind, m.from, m.to, m.words)
		if err != nil || !slices.Equal(got.Rows, m.rows) {
			t.Fatalf("%d rows, message %d, %q from %d to %d: rows %v, error %v, want %v", rows, i, m.kind, m.from, m.to,
				got.Rows, err, m.rows)
		}
		seen[m.kind] += len(got.Rows)
		if m.kind != Angles {
			continue
		}
		if last := (trace.Angle{Row: m.rows[len(m.rows)-1], Frequency: 127}); len(got.Angles) != m.words ||
			got.Angles[m.words-1] != last || got.Root != 0 || got.Excluded != -1 {
			t.Errorf("message %d: %d angles to %d, the last one %v, want %d to 0, the last one %v", i, len(got.Angles),
				got.Root, got.Angles[len(got.Angles)-1], m.words, last)
		}
	}
	for kind, want := range map[string]int{Angles: rows, Factors: rows, Features: 2 * rows} {
		if seen[kind] != want {
			t.Errorf("%d rows in messages %q, want %d", seen[kind], kind, want)
		}
	}
	if _, err := f.Next(Angles, -1, -1, 128); err == nil || !strings.Contains(err.Error(), "where all rows had theirs") {
		t.Errorf("error is %v", err)
	}
}

// TestFollowerGoesOnWhereTheThreeAgree: at the newest point that all three have.
func TestFollowerGoesOnWhereTheThreeAgree(t *testing.T) {
	p, _ := followedParams()
	n := blockRows(p.Features)
	sums := func(number int) point { return point{stage: stageSums, session: 1, number: number} }
	all := func(p point) [rss.Roles][]point { return [rss.Roles][]point{{p}, {p}, {p}} }
	for _, c := range []struct {
		loss   string
		points [rss.Roles][]point
		first  int // -1: no row comes
	}{
		{"square", [rss.Roles][]point{}, 0},
		{"square", [rss.Roles][]point{{sums(n), sums(2 * n)}, {sums(2 * n), sums(n)}, {sums(n)}}, n},
		{"square", [rss.Roles][]point{{sums(n)}, {sums(n)}, {{stage: stageSums, session: 2, number: n}}}, 0},
		{"square", all(point{stage: stageSystem, session: 1}), -1},
		{"square", all(point{stage: stageSolved, session: 1}), -1},
		{"logistic", all(point{stage: stageOuter, session: 1, number: 2}), 0},
		{"logistic", all(point{stage: stageSolved, session: 1}), -1},
	} {
		f := Follow(followedTraining(2*n+76, c.loss))
		series := 3
		if c.loss == "logistic" {
			series = 4
		}
		must(t, begins(f, c.points, nothingHeld(series)))
		got, err := f.Next(Angles, -1, -1, n*p.Angles())
		f.Close()
		if c.first < 0 {
			if err == nil {
				t.Errorf("rows from %d after the system is made", got.Rows[0])
			}
			continue
		}
		if err != nil || got.Rows[0] != c.first {
			t.Errorf("%v: first rows are %v, error %v, want them from %d", c.points, got.Rows, err, c.first)
		}
	}
}

// TestFollowerTakesNoSteps behind the rows: these would be refused, for the three hold none of the openings that came
// before step 32.
func TestFollowerTakesNoSteps(t *testing.T) {
	o := followedTraining(1000, "logistic")
	o.Params.Outer = 40
	f := Follow(o)
	defer f.Close()
	at := []point{{stage: stageOuter, session: 1, number: 32}}
	must(t, begins(f, [rss.Roles][]point{at, at, at}, nothingHeld(4)))
	for _, want := range []string{"", `a message "angles" where all rows had theirs`} {
		if _, err := f.Next(Angles, -1, -1, -1); err == nil != (want == "") || err != nil && err.Error() != want {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

// TestFollowerLeavesOutWhatIsFixed: openings that the three hold from an earlier session come without features.
func TestFollowerLeavesOutWhatIsFixed(t *testing.T) {
	two := held{left: 2, origin: 1}
	follows := func(o fdskl.Outline) *trace.Follower {
		f := Follow(o)
		t.Cleanup(f.Close)
		return f
	}
	f := follows(followedScoring(100, 30, 0))
	must(t, holds(f, [rss.Roles][]held{{two}, {{left: 1, origin: 1, next: 1}}, {two}}))
	if got, err := f.Next(Angles, -1, -1, 30*128); err != nil || got.Rows[0] != 60 {
		t.Errorf("rows are %v, error %v, want them from 60", got.Rows, err)
	}
	one := follows(followedScoring(100, 0, 9))
	must(t, holds(one, [rss.Roles][]held{{two}, {two}, {two}}))
	for number := byte(2); number <= 3; number++ {
		must(t, one.Broadcast("request", []byte{0, 0, 0, number, 0, 0, 0, 7}))
		if got, err := one.Next(Angles, -1, -1, 128); (err == nil) != (number == 3) {
			t.Errorf("request %d: rows are %v, error %v", number, got.Rows, err)
		}
	}
	for _, c := range []struct {
		all  [rss.Roles][]held
		want string
	}{
		{[rss.Roles][]held{{two}, {two}, {{}}}, "opening 2 of scores, of session 1 has left at p0, and p1 does not hold it"},
		{[rss.Roles][]held{{two, two}, {two}, {two}}, "24 bytes, want 12"},
		{[rss.Roles][]held{{{left: 1}}, {two}, {two}}, "1 openings have left, the last of session 0; the contract has"},
	} {
		if err := holds(follows(followedScoring(100, 30, 0)), c.all); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}

// TestFollowerSaysWhatDoesNotFit refuses sizes and broadcasts that no job has.
func TestFollowerSaysWhatDoesNotFit(t *testing.T) {
	f := Follow(followedTraining(100, "square"))
	defer f.Close()
	if err := f.Broadcast("resume-point", make([]byte, 8)); err == nil ||
		!strings.Contains(err.Error(), "resume-point of p0: 8 bytes, want 9 for each") {
		t.Errorf("error is %v", err)
	}
	f = Follow(followedTraining(100, "square"))
	defer f.Close()
	must(t, begins(f, [rss.Roles][]point{}, nothingHeld(3)))
	if _, err := f.Next(Factors, 0, 1, 100*128); err == nil ||
		err.Error() != `a message "factors" of 12800 words, want 25600` {
		t.Errorf("error is %v", err)
	}
	if err := f.Broadcast("held", nil); err == nil || err.Error() != `"held" was told where 1 sums are due` {
		t.Errorf("error is %v", err)
	}
	for _, c := range []struct {
		kind string
		told []byte
		want string
	}{
		{"request", []byte{1}, "a request of 1 bytes, want 8"},
		{"request", []byte{0, 0, 0, 1, 0, 0, 0, 5}, "a request for row 5 of 5"},
		{"held", make([]byte, 12), `"held" was told where "request" is due`},
		{"request", []byte{0, 0, 0, 2, 0, 0, 0, 4}, "opening 2 of scores is refused: 0 have opened, and each opens once"},
	} {
		one := Follow(followedScoring(5, 0, 3))
		defer one.Close()
		must(t, holds(one, nothingHeld(1)))
		if err := one.Broadcast(c.kind, c.told); err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
	one := Follow(followedScoring(5, 0, 3))
	defer one.Close()
	must(t, holds(one, nothingHeld(1)))
	must(t, one.Broadcast("request", []byte{0, 0, 0, 1, 0, 0, 0, 4}))
	if got, err := one.Next(Angles, -1, -1, 128); err != nil || len(got.Rows) != 1 || got.Rows[0] != 4 {
		t.Errorf("rows are %v, error %v, want row 4", got.Rows, err)
	}
	if _, err := one.Next(Angles, -1, -1, 128); err == nil {
		t.Error("a row came without a request")
	}
}

// FuzzFollower takes any broadcasts without failing otherwise than by an error.
func FuzzFollower(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 2, 0}, 512*128)
	f.Fuzz(func(t *testing.T, payload []byte, words int) {
		for _, o := range []fdskl.Outline{followedTraining(1000, "square"), followedScoring(1000, 0, 9)} {
			f := Follow(o)
			defer f.Close()
			for range 3 {
				for _, kind := range []string{"resume-point", "request", Held} {
					if f.Broadcast(kind, payload) != nil {
						return
					}
				}
			}
			for range 8 {
				if _, err := f.Next(Angles, -1, -1, words); err != nil {
					return
				}
			}
		}
	})
}
