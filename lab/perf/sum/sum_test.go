package sum

import (
	"context"
	"fmt"
	"io"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

func TestAWrongTotalIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sumCase{Words: rapid.IntRange(1, 50).Draw(t, "words"), Bits: rapid.IntRange(1, 64).Draw(t, "bits")}
		total := &cohort.Total{Survivors: []int{1, 3, 4}, Words: make([]uint64, s.Words)}
		for _, i := range total.Survivors {
			for j, w := range sumVector(s, i, 7) {
				total.Words[j] = (total.Words[j] + w) & (1<<s.Bits - 1)
			}
		}
		if n := wrongWords(total, s, 7); n != 0 {
			t.Fatalf("%d words of a right total are wrong", n)
		}
		at := rapid.IntRange(0, s.Words-1).Draw(t, "at")
		total.Words[at] ^= 1 << rapid.IntRange(0, s.Bits-1).Draw(t, "bit")
		if n := wrongWords(total, s, 7); n != 1 {
			t.Fatalf("%d words are wrong, want 1", n)
		}
		total.Words = total.Words[:s.Words-1]
		if n := wrongWords(total, s, 7); n < 1 {
			t.Fatal("a total that is too short passes")
		}
	})
}

// quietMesh takes all frames, and returns one.
type quietMesh struct {
	protocol.Mesh
	sent  int
	frame []byte
}

func (m *quietMesh) Send(context.Context, keys.ID, ...[]byte) error { m.sent++; return nil }

func (m *quietMesh) Receive(context.Context, keys.ID, []byte) ([]byte, error) { return m.frame, nil }

// frameOf is the head of a frame of a kind.
func frameOf(kind string) []byte {
	head := make([]byte, kindAt)
	head[kindLengthAt] = byte(len(kind))
	return append(head, kind...)
}

func TestAClientLeavesAtItsStep(t *testing.T) {
	for _, step := range append(leavingSteps(cohort.Masked), leavingSteps(cohort.Plain)...) {
		under := &quietMesh{frame: frameOf(cohort.KindSurvivors)}
		closed := 0
		m := &watchedMesh{Mesh: under, leaveAt: step, leave: func() error { closed++; return nil },
			sent: make(map[keys.ID][]int)}
		if err := m.Send(t.Context(), keys.ID{}, frameOf("other"), make([]byte, 5)); err != nil || m.left {
			t.Fatalf("%s: left at another kind: %v", step, err)
		}
		if got, want := fmt.Sprint(m.sent[keys.ID{}]), fmt.Sprint([]int{kindAt + 5 + 5}); got != want {
			t.Errorf("frames of %s bytes are noted, want %s", got, want)
		}
		var err error
		if step == cohort.KindSurvivors {
			_, err = m.Receive(t.Context(), keys.ID{}, nil)
		} else {
			err = m.Send(t.Context(), keys.ID{}, frameOf(step))
		}
		if err == nil || !m.left || closed != 1 || under.sent != 1 {
			t.Errorf("%s: error %v, left %t, closed %d times, %d frames sent; want it to leave and send nothing",
				step, err, m.left, closed, under.sent)
		}
	}
	for _, short := range [][]byte{nil, make([]byte, kindAt-1), frameOf("sum")[:kindAt+2]} {
		if kind := kindOf(short); kind != "" {
			t.Errorf("a frame of %d bytes is of kind %q", len(short), kind)
		}
	}
}

func TestGrowthIsFittedForEachSeries(t *testing.T) {
	var runs []*Result
	for _, n := range []int{100, 300, 1000} {
		for _, b := range []cohort.Backend{cohort.Plain, cohort.Masked} {
			x := float64(n)
			r := &Result{Clients: n, Words: 10, Backend: b, Topology: "star", Seconds: 3 * x, Bytes: 5,
				ServerCPU: x * x, ClientCPU: x * math.Sqrt(x)}
			runs = append(runs, r)
		}
	}
	runs = append(runs, &Result{Clients: 5, Words: 11, Backend: cohort.Plain, Topology: "star"}) // alone
	all := sumGrowths(runs)
	if len(all) != 2 {
		t.Fatalf("%d series, want 2", len(all))
	}
	for _, g := range all {
		for i, want := range []float64{1, 0, 2, 0.5} {
			if got := g.Rows[i].Exponent; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: exponent of %s is %v, want %v", g.Backend, g.Rows[i].Figure, got, want)
			}
		}
		b := g.Rows[2].Bonawitz
		if (b != nil) != (g.Backend == cohort.Masked) {
			t.Errorf("%s is set beside %v, want a theory of masked sums alone", g.Backend, b)
		}
		if b != nil && math.Abs(b.Exponent-2) > 1e-9 {
			t.Errorf("%s has exponent %v, want 2", b.Formula, b.Exponent)
		}
		if err := g.table().Write(io.Discard); err != nil {
			t.Error(err)
		}
	}
}
