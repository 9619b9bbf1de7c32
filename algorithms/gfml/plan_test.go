package gfml

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSelectionsShift: S_{n+1} is S_n, circularly shifted; it has M entries, in ascending order; and
// by default a full turn of D/M iterations shares every entry once.
func TestSelectionsShift(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plan(t, func(p *Params) {
			p.Selection = rapid.SampledFrom([]string{Coordinated, Uncoordinated}).Draw(rt, "selection")
			p.Entries = rapid.IntRange(1, 12).Draw(rt, "entries")
			p.Shift = rapid.SampledFrom([]int{p.Entries, 1, 11}).Draw(rt, "shift")
		})
		n := rapid.IntRange(0, 1<<29).Draw(rt, "n")
		now, next := p.Selected(1, 2, n), p.Selected(1, 2, n+1)
		var moved []int
		for _, i := range now {
			moved = append(moved, (i+p.Params().Shift)%12)
		}
		slices.Sort(moved)
		if len(now) != p.Params().Entries || !slices.IsSorted(now) || !slices.Equal(next, moved) {
			rt.Fatalf("selections %v and then %v", now, next)
		}
	})
}

// TestCoordinatedSelectionsAreTheSame, and uncoordinated ones are not.
func TestCoordinatedSelectionsAreTheSame(t *testing.T) {
	for _, selection := range []string{Coordinated, Uncoordinated} {
		p := plan(t, func(p *Params) { p.Selection, p.Entries = selection, 2 })
		distinct := make(map[int]bool)
		for s := range p.Servers() {
			for k := range p.Clients(s) {
				distinct[p.Selected(s, k, 0)[0]] = true
			}
		}
		if (len(distinct) == 1) != (selection == Coordinated) {
			t.Errorf("%s: selections start at %d places", selection, len(distinct))
		}
	}
}

// TestTheLayoutIsTheUnion of what the chosen clients select for upload.
func TestTheLayoutIsTheUnion(t *testing.T) {
	for _, selection := range []string{Coordinated, Uncoordinated} {
		p := plan(t, func(p *Params) { p.Selection, p.Entries = selection, 3 })
		for n := range 40 {
			union := make(map[int]int)
			for _, k := range p.Chosen(2, n) {
				for _, i := range p.Selected(2, k, n+1) {
					union[i]++
				}
			}
			var want, lonely []int
			for i := range 12 {
				if union[i] > 0 {
					want = append(want, i)
				}
				if union[i] == 1 {
					lonely = append(lonely, i)
				}
			}
			if got := p.Layout(2, n); !slices.Equal(got, want) {
				t.Fatalf("%s, iteration %d: layout %v, want %v", selection, n, got, want)
			}
			if got := p.Exposed(2, n, p.Chosen(2, n), 2); !slices.Equal(got, lonely) {
				t.Fatalf("%s, iteration %d: exposed %v, want %v", selection, n, got, lonely)
			}
		}
	}
}

// TestChoicesAreFair: every client is chosen equally often, in every place of the graph by a draw of
// its own, and always the given number of different ones.
func TestChoicesAreFair(t *testing.T) {
	p := plan(t, func(p *Params) { p.Iterations = 1 << 20 })
	counts, same := make([]int, 5), 0
	const rounds = 20000
	for n := range rounds {
		chosen := p.Chosen(3, n)
		for i, k := range chosen {
			counts[k]++
			if i > 0 && chosen[i-1] >= k {
				t.Fatalf("iteration %d: chosen %v", n, chosen)
			}
		}
		if len(chosen) != 3 {
			t.Fatalf("iteration %d: chosen %v, want 3", n, chosen)
		}
		if slices.Equal(chosen, p.Chosen(4, n)) {
			same++
		}
	}
	for k, c := range counts {
		if math.Abs(float64(c)-0.6*rounds) > 6*math.Sqrt(0.24*rounds) {
			t.Errorf("client %d is chosen %d times in %d, want about %v", k, c, rounds, 0.6*rounds)
		}
	}
	if math.Abs(float64(same)-0.1*rounds) > 6*math.Sqrt(0.09*rounds) {
		t.Errorf("two servers choose alike %d times in %d, want a tenth", same, rounds)
	}
}

// TestDrawsStayTheSame pins what all parties derive: another order or another generator would be
// another job.
func TestDrawsStayTheSame(t *testing.T) {
	p := plan(t, func(p *Params) { p.Selection, p.Entries = Uncoordinated, 2 })
	var got [][]int
	for n := range 3 {
		got = append(got, p.Chosen(0, n), p.Selected(4, n, 0))
	}
	want := [][]int{{0, 1, 4}, {4, 5}, {2, 3, 4}, {8, 9}, {1, 3, 4}, {10, 11}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("draws are %v, want %v", got, want)
	}
	if got, want := phases(p.seed, 2), []float64{1.4932267955999845, 5.975178346863212}; !slices.Equal(got, want) {
		t.Errorf("phases are %v, want %v", got, want)
	}
}

// TestEncodingNeverWraps: the total of all uploads at the bound stays below 2^63.
func TestEncodingNeverWraps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plan(t, func(p *Params) {
			p.Bound = rapid.Float64Range(1, maxBound).Draw(rt, "bound")
			p.Participants = rapid.IntRange(1, 5).Draw(rt, "participants")
		})
		bits, bound := p.Encoding()
		total := math.RoundToEven(math.Ldexp(bound, bits)) * float64(p.Params().Participants)
		if bits < 0 || bits > 40 || total >= 1<<63 || bits < 40 && total < 1<<60 {
			rt.Fatalf("%d bits for %v: a total of %v", bits, bound, total)
		}
	})
	if bits, bound := plan(t, func(*Params) {}).Encoding(); bits != 40 || bound != 1024 {
		t.Errorf("by default %d bits and bound %v", bits, bound)
	}
}

// TestNeighbours lists who needs what of whom.
func TestNeighbours(t *testing.T) {
	p := plan(t, func(*Params) {})
	for s, want := range [][2][]int{{{4}, {1}}, {{2, 4}, {0}}, {{1}, {3}}, {nil, {2, 4}}, {{0, 1}, {3}}} {
		if got := [2][]int{p.OtherNeighbours(s), p.OwnNeighbours(s)}; !reflect.DeepEqual(got, want) {
			t.Errorf("server %d has neighbours %v, want %v", s, got, want)
		}
	}
}

// TestTraffic counts both ways: M entries for each chosen client, and what is sent.
func TestTraffic(t *testing.T) {
	for _, c := range []struct {
		selection string
		entries   int
		most      int64 // entries in an upload
	}{{Coordinated, 3, 3}, {Uncoordinated, 3, 9}, {Uncoordinated, 12, 12}} {
		p := plan(t, func(p *Params) { p.Selection, p.Entries = c.selection, c.entries })
		var sum Traffic
		sum.Add(p.Traffic(1, 0))
		each := int64(8 * 3 * c.entries)
		if sum.PaperDown != each || sum.PaperUp != each || sum.Down != each || sum.Between != 8*12*3 {
			t.Errorf("%+v: traffic %+v", c, sum)
		}
		if want := int64(8 * 3 * len(p.Layout(1, 0))); sum.Up != want || sum.Up > 8*3*c.most || sum.Up < each {
			t.Errorf("%+v: %d bytes are uploaded, want %d", c, sum.Up, want)
		}
	}
}
