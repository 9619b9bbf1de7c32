package secagg

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The model is a sum of one word of two bits by up to four parties, written down a second time,
// straight on: who adds whose pad, who sends to whom. Two bits are few enough to try every pad
// and every input; TestModelIsTheProtocol ties it to the code.
type model struct {
	q, root   int
	order     []int // of the parties: the root first, the others by index
	parents   []int // by place in the order
	rootMasks bool
}

// modelParents are the trees of four parties: the place in the order to which each place sends.
var modelParents = map[contract.Topology][]int{
	contract.Tree: {-1, 0, 0, 2},
	contract.Star: {-1, 0, 0, 0},
	contract.Ring: {-1, 0, 1, 2},
}

func newModel(q, root int, topology contract.Topology) model {
	m := model{q: q, root: root, order: []int{root}, parents: modelParents[topology][:q], rootMasks: true}
	for i := range q {
		if i != root {
			m.order = append(m.order, i)
		}
	}
	return m
}

// words are one word per party; pads[i][j], i < j, is what i adds and j subtracts.
type (
	words [4]uint64
	pads  [4][4]uint64
)

// sends returns what each party sends; at the root, the total. Children come after their parents
// in the order, so that it is walked backwards. Nothing is cut to the ring's size.
func (m *model) sends(x *words, pad *pads) words {
	out := *x
	for place := m.q - 1; place >= 0; place-- {
		i := m.order[place]
		for j := range m.q {
			switch {
			case !m.rootMasks && (i == m.root || j == m.root):
			case i < j:
				out[i] += pad[i][j]
			case i > j:
				out[i] -= pad[j][i]
			}
		}
		if place > 0 {
			out[m.order[m.parents[place]]] += out[i]
		}
	}
	return out
}

// view is all that a coalition holds besides its inputs, packed: the pads its members share with
// anybody and what they receive. A party of the coalition that sends says nothing new.
func (m *model) view(coalition uint, x *words, pad *pads) uint32 {
	in := func(i int) bool { return coalition&(1<<i) != 0 }
	out := m.sends(x, pad)
	view := uint32(0)
	for i := range m.q {
		for j := i + 1; j < m.q; j++ {
			if (in(i) || in(j)) && (m.rootMasks || i != m.root && j != m.root) {
				view = view<<2 | uint32(pad[i][j]&3)
			}
		}
	}
	for place := 1; place < m.q; place++ {
		if in(m.order[m.parents[place]]) {
			view = view<<2 | uint32(out[m.order[place]]&3)
		}
	}
	return view
}

// views counts, for one input, how many pads lead to each view of a coalition.
func (m *model) views(coalition uint, x *words) map[uint32]int {
	const most = 1 << (2 * (6 + 3)) // six pads and three vectors of two bits
	counts := make([]uint16, most)
	for choice := range 1 << (m.q * (m.q - 1)) {
		var pad pads
		for i := range m.q {
			for j := i + 1; j < m.q; j++ {
				pad[i][j] = uint64(choice & 3)
				choice >>= 2
			}
		}
		counts[m.view(coalition, x, &pad)]++
	}
	seen := make(map[uint32]int)
	for v, n := range counts {
		if n > 0 {
			seen[uint32(v)] = int(n)
		}
	}
	return seen
}

// inputs lists every input of the outsiders, the coalition's own being fixed.
func (m *model) inputs(coalition uint) []words {
	list := []words{{2, 1, 3, 2}}
	for i := range m.q {
		if coalition&(1<<i) != 0 {
			continue
		}
		var longer []words
		for _, x := range list {
			for v := range uint64(4) {
				x[i] = v
				longer = append(longer, x)
			}
		}
		list = longer
	}
	return list
}

// leak returns two inputs of outsiders that a coalition tells apart although they have the same
// key, or "" when there are none. Views that are counted alike for every input are an equation on
// none of them.
func (m *model) leak(coalition uint, key func(x *words) uint64) string {
	type example struct {
		input words
		views map[uint32]int
	}
	first := make(map[uint64]example)
	for _, x := range m.inputs(coalition) {
		views := m.views(coalition, &x)
		e, ok := first[key(&x)]
		if !ok {
			first[key(&x)] = example{x, views}
			continue
		}
		if !equalCounts(views, e.views) {
			return fmt.Sprintf("%v and %v", e.input[:m.q], x[:m.q])
		}
	}
	return ""
}

func equalCounts(a, b map[uint32]int) bool {
	if len(a) != len(b) {
		return false
	}
	for v, n := range a {
		if b[v] != n {
			return false
		}
	}
	return true
}

// same makes all inputs one class; total makes a class of those with one sum.
func same(*words) uint64    { return 0 }
func total(x *words) uint64 { return (x[0] + x[1] + x[2] + x[3]) & 3 }

// TestCoalitionsLearnNothing is property 3 of secure sums: for every coalition without the root,
// each of its views comes from every input of the outsiders, for equally many pads.
func TestCoalitionsLearnNothing(t *testing.T) {
	for _, topology := range topologies {
		for root := range modelRoots {
			m := newModel(4, root, topology)
			for coalition := uint(1); coalition < 1<<4; coalition++ {
				if coalition&(1<<root) != 0 {
					continue
				}
				if leak := m.leak(coalition, same); leak != "" {
					t.Errorf("%v, root %d: the coalition %04b tells the inputs %s apart", topology, root, coalition, leak)
				}
			}
		}
	}
}

// TestCoalitionsWithTheRootLearnTheTotal: nothing but the total, and that they do learn, which
// shows that the test would see an equation.
func TestCoalitionsWithTheRootLearnTheTotal(t *testing.T) {
	for _, topology := range topologies {
		m := newModel(4, 0, topology)
		for coalition := uint(1); coalition < 1<<4-1; coalition += 2 {
			if leak := m.leak(coalition, total); leak != "" {
				t.Errorf("%v: the coalition %04b tells the inputs %s apart, whose total is the same", topology, coalition, leak)
			}
			if m.leak(coalition, same) == "" {
				t.Errorf("%v: the coalition %04b does not see the total", topology, coalition)
			}
		}
	}
}

// TestTheRootMustMask is the control. With three parties and a root that does not mask, the inner
// node knows the only pad of its child and strips it.
func TestTheRootMustMask(t *testing.T) {
	m := newModel(3, 0, contract.Ring) // 2 sends to 1, 1 to the root 0
	const inner = 1 << 1
	if leak := m.leak(inner, same); leak != "" {
		t.Errorf("the inner node tells %s apart although the root masks", leak)
	}
	m.rootMasks = false
	if m.leak(inner, same) == "" {
		t.Error("the inner node learns nothing although the root does not mask")
	}
}

// TestModelIsTheProtocol sums over a network and finds in every frame what the model sends.
func TestModelIsTheProtocol(t *testing.T) {
	for _, topology := range topologies {
		for root := range 4 {
			l := newTestNetwork(t, 4, 0)
			checkModel(t, l, newModel(4, root, topology), l.masked(t, topology))
		}
	}
}

func checkModel(t *testing.T, l *testNetwork, m model, parties []*Masked) {
	t.Helper()
	byID := slices.Clone(l.IDs) // the model's pads go by index, the protocol's by id
	slices.SortFunc(byID, keys.ID.Compare)
	var pad pads
	for i := range 4 {
		for j := i + 1; j < 4; j++ {
			pad[i][j] = firstWord(t, l, i, j)
			if slices.Index(byID, l.IDs[i]) > slices.Index(byID, l.IDs[j]) {
				pad[i][j] = -pad[i][j]
			}
		}
	}
	x := words{11, 22, 33, 44}
	taps := make([]func() []sumFrame, 4)
	for i := range taps {
		tap := l.Tap(l.IDs[i])
		taps[i] = func() []sumFrame { return sumFrames(tap) }
	}
	l.Must(t, func(i int) error { return sumWords(t.Context(), parties[i], Fixed64, m.root, []uint64{x[i]}) })
	want, frames := m.sends(&x, &pad), 0
	for _, tap := range taps {
		for _, f := range tap() {
			from := slices.Index(l.IDs, f.from)
			if f.to != l.IDs[m.order[m.parents[slices.Index(m.order, from)]]] {
				t.Errorf("root %d: party %d sends to another parent than the model's", m.root, from)
			}
			if got := binary.LittleEndian.Uint64(f.payload); got != want[from] {
				t.Errorf("root %d: party %d sends %x, the model %x", m.root, from, got, want[from])
			}
			frames++
		}
	}
	if frames != 3 || want[m.root] != 110 {
		t.Errorf("root %d: %d frames and a total of %d, want 3 and 110", m.root, frames, want[m.root])
	}
}

// firstWord returns the first mask word that two parties are about to share.
func firstWord(t *testing.T, l *testNetwork, i, j int) uint64 {
	t.Helper()
	s := l.sessions[i]
	told := s.Shared()
	key, err := s.Pair(j).Derive(fmt.Sprintf("mask|fixed64|%d|%x", s.Operations()+1, told[:]), 32)
	if err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(keyStream(t, key, 8))
}
