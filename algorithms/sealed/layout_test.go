package sealed

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// sequence is a Network that lists the messages of features in their order.
type sequence struct {
	*counter
	list []sequenced
}

// sequenced is one message: which, over which link, and how many words.
type sequenced struct {
	kind     string
	from, to int
	words    int
}

// BeginPadded implements Network.
func (s *sequence) BeginPadded(_ context.Context, kind string, _ int, v []uint16) (func(context.Context) error, error) {
	s.list = append(s.list, sequenced{kind, -1, -1, len(v)})
	return atOnce, nil
}

// Three implements Network.
func (s *sequence) Three(parties [rss.Roles]int) (*rss.Party, error) {
	return rss.New(rss.Outside, &sequencedWire{s, parties}, nil, 1), nil
}

// sequencedWire is the wires of a sequence.
type sequencedWire struct {
	*sequence
	parties [rss.Roles]int
}

// BeginPass implements rss.Wire.
func (w *sequencedWire) BeginPass(
	_ context.Context, kind string, from, to rss.Role, _, n int, _ []uint64,
) (func(context.Context) error, error) {
	if kind == Factors || kind == Features {
		w.list = append(w.list, sequenced{kind, w.parties[from], w.parties[to], n})
	}
	return atOnce, nil
}

// Show implements rss.Wire.
func (w *sequencedWire) Show(context.Context, string, rss.Role, rss.Role, int, int, []uint64) error {
	return nil
}

// Vouch implements rss.Wire.
func (w *sequencedWire) Vouch(context.Context, string, rss.Role, rss.Role, *keys.Hash) error {
	return nil
}

// Keys implements rss.Wire: who has bins has no layout.
func (w *sequencedWire) Keys(context.Context, string, int) (rss.Source, error) { return nil, nil }

// Give implements rss.Wire.
func (w *sequencedWire) Give(context.Context, string, int, rss.Role, int, int, []uint64) error {
	return nil
}

// layoutParams are small, but for the features.
func layoutParams() (fdskl.Params, []string) {
	p := fdskl.Params{Active: []string{"p0"}, Label: "y", Keeper: "p3", Helper: "p1", Loss: "square", Features: 256,
		Iterations: 2, Lambda: 1e-6}
	return WithDefaults(p.WithDefaults()), []string{"p0", "p1", "p2", "p3"}
}

// TestLayoutFollowsTheMessagesOfATraining runs the part of a party outside and asks what each message is.
func TestLayoutFollowsTheMessagesOfATraining(t *testing.T) {
	p, names := layoutParams()
	n := blockRows(p.Features)
	for _, rows := range []int{2, n, n + 1, 2*n + 276, 5*n + 40} {
		s := &sequence{counter: &counter{names: names, stage: func(string) int64 { return 1 }}}
		tr, err := newTrainer(&Party{Party: &fdskl.Party{Self: -1, Names: names, Params: p, Rows: rows}, Network: s})
		must(t, err)
		tr.angles.turns = s.turns(p.Angles())
		if _, err := tr.train(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantLayout(t, NewLayout(p, names, rows), s.list, rows)
	}
}

// TestLayoutFollowsTheMessagesOfAPrediction does the same for batches of rows.
func TestLayoutFollowsTheMessagesOfAPrediction(t *testing.T) {
	p, names := layoutParams()
	s := &sequence{counter: &counter{names: names, stage: func(string) int64 { return 1 }}}
	scorer, err := NewScorer(t.Context(), Scoring{Self: -1, Model: &fdskl.Model{Names: names, Params: p,
		Privacy: fdskl.Sealed, Sigma: 1}, Network: s, Openings: 4})
	must(t, err)
	scorer.angles.turns = s.turns(p.Angles())
	n := blockRows(p.Features)
	rows, batch := 4*n-148, n+n/3
	for lo := 0; lo < rows; lo += batch {
		if _, err := scorer.score(t.Context(), lo/batch+1, min(batch, rows-lo), nil); err != nil {
			t.Fatal(err)
		}
	}
	wantLayout(t, NewScoreLayout(p, names, rows, batch), s.list, rows)
}

// wantLayout wants every message to be of rows, the two of features of one block to be of the same, and all
// rows to come once in each kind.
func wantLayout(t *testing.T, l *Layout, list []sequenced, rows int) {
	t.Helper()
	seen := make(map[string]int)
	senders := make(map[string]int)
	for i, m := range list {
		got, err := l.Rows(m.kind, m.from, m.to, m.words)
		if err != nil {
			t.Fatalf("%d rows, message %d: %v", rows, i, err)
		}
		for _, j := range got {
			seen[fmt.Sprint(m.kind, " ", j)]++
			if m.kind == Features {
				senders[fmt.Sprint(j, " ", m.from)]++
			}
		}
	}
	for j := range rows {
		for kind, want := range map[string]int{Angles: 1, Factors: 1, Features: 2} {
			if n := seen[fmt.Sprint(kind, " ", j)]; n != want {
				t.Fatalf("%d rows: row %d is in %d messages %s, want %d", rows, j, n, kind, want)
			}
		}
		if senders[fmt.Sprint(j, " 3")] != 1 || senders[fmt.Sprint(j, " 1")] != 1 {
			t.Fatalf("%d rows: row %d did not come from the keeper and from the helper", rows, j)
		}
	}
	if _, err := l.Rows(Angles, -1, -1, 128); err == nil || !strings.Contains(err.Error(), "where all rows had theirs") {
		t.Errorf("error is %v", err)
	}
}

// TestLayoutGoesOnWhereTheThreeAgree resumes at the newest point that all three have.
func TestLayoutGoesOnWhereTheThreeAgree(t *testing.T) {
	p, names := layoutParams()
	n := blockRows(p.Features)
	sums := func(number int) point { return point{stage: stageSums, session: 1, number: number} }
	for _, c := range []struct {
		loss   string
		points [rss.Roles][]point
		first  int // -1: no row comes
	}{
		{"square", [rss.Roles][]point{}, 0},
		{"square", [rss.Roles][]point{{sums(n), sums(2 * n)}, {sums(2 * n), sums(n)}, {sums(n)}}, n},
		{"square", [rss.Roles][]point{{sums(n)}, {sums(n)}, {{stage: stageSums, session: 2, number: n}}}, 0},
		{"square", [rss.Roles][]point{{{stage: stageSystem, session: 1}}, {{stage: stageSystem, session: 1}},
			{{stage: stageSystem, session: 1}}}, -1},
		{"logistic", [rss.Roles][]point{{{stage: stageOuter, session: 1, number: 2}},
			{{stage: stageOuter, session: 1, number: 2}}, {{stage: stageOuter, session: 1, number: 2}}}, 0},
	} {
		p.Loss = c.loss
		l := NewLayout(p, names, 2*n+76)
		for _, list := range c.points {
			var payload []byte
			for _, point := range list {
				payload = append(payload, point.encode()...)
			}
			must(t, l.Broadcast("resume-point", payload))
		}
		rows, err := l.Rows(Angles, -1, -1, blockRowsOf(p)*p.Angles())
		if c.first < 0 {
			if err == nil {
				t.Errorf("rows from %d after the system is made", rows[0])
			}
			continue
		}
		if err != nil || rows[0] != c.first {
			t.Errorf("%v: first rows are %v, error %v, want them from %d", c.points, rows, err, c.first)
		}
	}
}

// TestLayoutLeavesOutWhatIsFixed: openings that the three hold from an earlier session come without features.
func TestLayoutLeavesOutWhatIsFixed(t *testing.T) {
	p, names := layoutParams()
	say := func(l *Layout, all ...held) error {
		for _, h := range all {
			if err := l.Broadcast(Held, h.encode()); err != nil {
				return err
			}
		}
		return nil
	}
	two := held{left: 2, origin: 1}
	l := NewScoreLayout(p, names, 100, 30)
	must(t, say(l, two, held{left: 1, origin: 1, next: 1}, two))
	if rows, err := l.Rows(Angles, -1, -1, 30*128); err != nil || rows[0] != 60 {
		t.Errorf("rows are %v, error %v, want them from 60", rows, err)
	}
	one := NewScoreLayout(p, names, 100, 1)
	must(t, say(one, two, two, two))
	for number := byte(2); number <= 3; number++ {
		must(t, one.Broadcast("request", []byte{0, 0, 0, number, 0, 0, 0, 7}))
		if rows, err := one.Rows(Angles, -1, -1, 128); (err == nil) != (number == 3) {
			t.Errorf("request %d: rows are %v, error %v", number, rows, err)
		}
	}
	for _, c := range []struct {
		all  []held
		want string
	}{
		{[]held{two, two, {}}, "held: opening 2 has left at one of the three and is not held by another"},
		{[]held{two, two, two, two}, "held of 12 bytes, want 12 from each of the three"},
		{[]held{{left: 1}}, "held: 1 openings have left, the last of session 0; the contract has"},
	} {
		if err := say(NewScoreLayout(p, names, 100, 30), c.all...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}

// TestLayoutSaysWhatDoesNotFit refuses sizes and broadcasts that no job has.
func TestLayoutSaysWhatDoesNotFit(t *testing.T) {
	p, names := layoutParams()
	l := NewLayout(p, names, 100)
	if err := l.Broadcast("resume-point", make([]byte, 8)); err == nil ||
		!strings.Contains(err.Error(), "resume-point: 8 bytes, want 9 for each") {
		t.Errorf("error is %v", err)
	}
	if _, err := l.Rows(Factors, 0, 1, 100*128); err == nil || err.Error() != `a message "factors" of 12800 words, want 25600 for 100 rows` {
		t.Errorf("error is %v", err)
	}
	one := NewScoreLayout(p, names, 5, 1)
	if err := one.Broadcast("request", []byte{1}); err == nil || err.Error() != "a request of 1 bytes, want 8" {
		t.Errorf("error is %v", err)
	}
	must(t, one.Broadcast("request", []byte{0, 0, 0, 1, 0, 0, 0, 9}))
	if rows, err := one.Rows(Angles, -1, -1, 128); err != nil || len(rows) != 1 || rows[0] != 9 {
		t.Errorf("rows are %v, error %v, want row 9", rows, err)
	}
	if _, err := one.Rows(Angles, -1, -1, 128); err == nil {
		t.Error("a row came without a request")
	}
}

// FuzzLayout takes any broadcasts without failing otherwise than by an error.
func FuzzLayout(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 2, 0}, 512*128)
	f.Fuzz(func(t *testing.T, payload []byte, words int) {
		p, names := layoutParams()
		for _, l := range []*Layout{NewLayout(p, names, 1000), NewScoreLayout(p, names, 1000, 1)} {
			for range 3 {
				if l.Broadcast("resume-point", payload) != nil || l.Broadcast("request", payload) != nil ||
					l.Broadcast(Held, payload) != nil {
					return
				}
			}
			for range 8 {
				if _, err := l.Rows(Angles, -1, -1, words); err != nil {
					return
				}
			}
		}
	})
}
