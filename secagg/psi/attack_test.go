package psi

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/big"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// overlapping are lists of so many rows by party: the first ones are common to all, and the rest are nobody else's.
func overlapping(parties, rows, common int) [][][]ID {
	lists := make([][][]ID, parties)
	for i := range lists {
		lists[i] = [][]ID{{}}
		for row := range rows {
			if row >= common {
				row += 1000 * (i + 1)
			}
			lists[i][0] = append(lists[i][0], idOf(0, row))
		}
	}
	return lists
}

// liar is a party that sends something else in place of messages of some kinds.
type liar map[string]func(to int, data []byte) []byte

// change is what an end of a wire does for a liar.
func (l liar) change(m Message, data []byte) []byte {
	if lie := l[m.Kind]; lie != nil {
		return lie(m.To, bytes.Clone(data))
	}
	return data
}

// spoiled runs a federation with a liar, and wants that nobody ends with a list, and that none is told.
func (f *federation) spoiled(t *testing.T, who int, l liar) (*wire, []error) {
	t.Helper()
	f.change = map[int]func(Message, []byte) []byte{who: l.change}
	results, errs, w := f.run(t)
	for i := range results {
		if i != who && results[i] != nil {
			t.Errorf("party %d ended with a list of %d rows", i, len(results[i].Rows))
		}
	}
	for _, s := range w.sent {
		if s.Kind == stepList.kind() {
			t.Error("the list was told")
		}
	}
	return w, errs
}

// caught is spoiled, and wants a party to say who it was.
func (f *federation) caught(t *testing.T, by, who int, l liar) *wire {
	t.Helper()
	w, errs := f.spoiled(t, who, l)
	if got, ok := isDeviation(errs, by); !ok || got != who {
		t.Errorf("party %d ended with %v, want that party %d deviates", by, errs[by], who)
	}
	return w
}

// shifted returns 1/u: the point plus that of order 2, which is the same as the point under any clamped scalar.
func shifted(u []byte) []byte {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	turned := bytes.Clone(u)
	slices.Reverse(turned)
	turned = new(big.Int).ModInverse(new(big.Int).SetBytes(turned), p).FillBytes(turned)
	slices.Reverse(turned)
	return turned
}

// TestPointsOfLowOrderAddedCountOnce has one of the two bring each of its rows twice, as points that differ by that of
// order 2. The other finds the same point twice under its scalar, and stops before it tells how many are common:
// counted twice, six rows would open where ten must be common. With points of order 8 it would be eight times.
func TestPointsOfLowOrderAddedCountOnce(t *testing.T) {
	for liarIs, honest := range []int{1, 0} {
		f := newFederation(overlapping(3, 12, 6), None)
		f.spec.MinRows = 10
		w := f.caught(t, honest, liarIs, liar{stepPoints.kind(): func(_ int, data []byte) []byte {
			var lie []byte
			for at := 0; len(lie) < len(data); at += point.Size {
				lie = append(append(lie, data[at:at+point.Size]...), shifted(data[at:at+point.Size])...)
			}
			return lie[:len(data)]
		}})
		for _, s := range w.sent {
			if s.From == honest && (s.Kind == stepSize.kind() || s.Kind == stepOrder.kind()) {
				t.Errorf("party %d sent %s", honest, s.Kind)
			}
		}
	}
}

// coinOf is the number that all drew, of what the parties sent.
func (f *federation) coinOf(w *wire) keys.Hash {
	contract := keys.HashOf("contract")
	parts := [][]byte{contract[:]}
	for i := range f.lists {
		for _, s := range w.sent {
			if s.Kind == stepCoin.kind() && s.From == i {
				parts = append(parts, s.data)
				break
			}
		}
	}
	return keys.HashOf("hanse psi coin v1", parts...)
}

// TestASwappedRowIsNotTold has the keeper send its doubled points in another order than it tells later: the asker takes
// another of its rows for the common one. Were its digest of the list told, the keeper would try all ids on it at
// leisure, and find a row that it does not have.
func TestASwappedRowIsNotTold(t *testing.T) {
	f := newFederation(overlapping(2, 40, 1), None)
	w, _ := f.spoiled(t, 1, liar{stepDoubledBack.kind(): func(_ int, data []byte) []byte {
		return append(data[wordSize:], data[:wordSize]...)
	}})
	for _, id := range f.lists[0][0] {
		p := &pass{Party: &Party{}, coin: f.coinOf(w), ids: []ID{id}, rows: []int{0}, zero: make([][wordSize]byte, 1)}
		list, digest := p.listed([]int{0})
		for _, s := range w.sent {
			if s.From == 0 && (bytes.Contains(s.data, digest[:]) || bytes.Contains(s.data, list)) {
				t.Errorf("%s tells a row of the asker's", s.Kind)
			}
		}
	}
}

// TestPointsThatAreNone sends what no honest party would for points: the other says so, and answers with nothing.
func TestPointsThatAreNone(t *testing.T) {
	for name, lie := range map[string]func(data []byte) []byte{
		"zero":                      func(data []byte) []byte { clear(data[:point.Size]); return data },
		"order 4":                   func(data []byte) []byte { clear(data[:point.Size]); data[0] = 1; return data },
		"repeated":                  func(data []byte) []byte { copy(data[point.Size:], data[:point.Size]); return data },
		"not below p":               func(data []byte) []byte { copy(data, slices.Repeat([]byte{0xff}, 32)); return data },
		"one too few":               func(data []byte) []byte { return data[point.Size:] },
		"one too many":              func(data []byte) []byte { return append(data, 9) },
		"order 8 in the last place": func(data []byte) []byte { return append(data[:len(data)-point.Size], orderEight...) },
	} {
		for who, honest := range []int{1, 0} {
			w := newFederation(overlapping(3, 20, 10), None).caught(t, honest, who, liar{
				stepPoints.kind(): func(_ int, data []byte) []byte { return lie(data) }})
			for _, s := range w.sent {
				if s.From == honest && (s.Kind == stepDoubled.kind() || s.Kind == stepDoubledBack.kind()) {
					t.Errorf("%s: party %d answered", name, honest)
				}
			}
		}
	}
}

// orderEight is a u of order 8.
var orderEight = []byte{
	0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
	0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00}

// TestWordsSentBackDoNotCount has the asker send the keeper's doubled points back as its own: all rows would count. It
// had to commit to its own before. And it has the keeper send the asker's points back as its own, or as doubled.
func TestWordsSentBackDoNotCount(t *testing.T) {
	f := newFederation(overlapping(3, 20, 3), None)
	f.spec.MinRows = 4
	var back []byte
	f.adapt = func(p *Party) {
		if p.Self == 0 {
			p.Network = &eavesdropper{p.Network, func(m Message, data []byte) {
				if m.Kind == stepDoubledBack.kind() {
					back = data
				}
			}}
		}
	}
	f.caught(t, 1, 0, liar{stepDoubled.kind(): func(int, []byte) []byte { return bytes.Clone(back) }})

	for kind, cut := range map[string]int{stepPoints.kind(): point.Size, stepDoubledBack.kind(): wordSize} {
		f := newFederation(overlapping(3, 20, 3), None)
		f.spec.MinRows = 4
		var points []byte
		f.adapt = func(p *Party) {
			if p.Self == 1 {
				p.Network = &eavesdropper{p.Network, func(m Message, data []byte) {
					if m.Kind == stepPoints.kind() {
						points = data
					}
				}}
			}
		}
		w, _ := f.spoiled(t, 1, liar{kind: func(int, []byte) []byte {
			var lie []byte
			for at := 0; at < len(points); at += point.Size {
				lie = append(lie, points[at:at+cut]...)
			}
			return lie
		}})
		for _, s := range w.sent {
			if s.Kind == stepSize.kind() && s.From == 0 && bytes.Compare(s.data, []byte{0, 0, 0, 0, 0, 0, 0, 3}) > 0 {
				t.Errorf("the asker counted %x", s.data)
			}
		}
	}
}

// eavesdropper notes what a party receives.
type eavesdropper struct {
	Network
	note func(m Message, data []byte)
}

// Pass implements Network.
func (e *eavesdropper) Pass(ctx context.Context, m Message, data []byte) ([]byte, error) {
	received, err := e.Network.Pass(ctx, m, data)
	if received != nil {
		e.note(m, bytes.Clone(received))
	}
	return received, err
}

// TestACountThatIsNot has each who counts say more than there are, where one more would open: to all, and to one.
func TestACountThatIsNot(t *testing.T) {
	for _, test := range []struct{ helper, who int }{{None, 0}, {None, 1}, {2, 2}} {
		for only := -1; only < 4; only++ {
			if only == test.who {
				continue
			}
			f := newFederation(overlapping(4, 20, 9), test.helper)
			f.spec.MinRows = 10
			w, _ := f.spoiled(t, test.who, liar{stepSize.kind(): func(to int, data []byte) []byte {
				if only < 0 || to == only {
					data[7]++
				}
				return data
			}, stepEnough.kind(): func(int, []byte) []byte { return []byte{1} }})
			for _, s := range w.sent {
				if s.From != test.who && (s.Kind == stepOrder.kind() || s.Kind == stepListPoint.kind()) {
					t.Errorf("party %d lies to %d: party %d sent %s", test.who, only, s.From, s.Kind)
				}
			}
		}
	}
}

// TestPlacesThatAreNot has the helper count more, and make up places for them: twice the same, of rows that do not
// match, and too few of the rows that asker and keeper know to be common.
func TestPlacesThatAreNot(t *testing.T) {
	for name, lie := range map[string]func(places []byte) []byte{
		"of rows that do not match": func(places []byte) []byte {
			for place := uint32(0); ; place++ {
				if word := binary.BigEndian.AppendUint32(nil, place); !slices.ContainsFunc(
					slices.Collect(slices.Chunk(places, placeSize)), func(p []byte) bool { return bytes.Equal(p, word) }) {
					return append(places, word...)
				}
			}
		},
		"of none": func(places []byte) []byte { return append(places, 0xff, 0xff, 0xff, 0xff) },
	} {
		f := newFederation(overlapping(3, 20, 9), 2)
		f.spec.MinRows = 10
		_, errs := f.spoiled(t, 2, liar{
			stepSize.kind():   func(_ int, data []byte) []byte { data[7]++; return data },
			stepEnough.kind(): func(int, []byte) []byte { return []byte{1} },
			stepPlaces.kind(): func(_ int, data []byte) []byte { return lie(data) },
		})
		if err := first(errs); err == nil {
			t.Errorf("%s: nobody complained", name)
		}
	}
	for at := range 9 { // some of which are no dummies
		newFederation(overlapping(3, 20, 9), 2).spoiled(t, 2, liar{
			stepSize.kind():   func(_ int, data []byte) []byte { data[7]++; return data },
			stepPlaces.kind(): func(_ int, p []byte) []byte { return append(p, p[placeSize*at:placeSize*(at+1)]...) },
		})
	}
	// half of the matches left out: sixty-four dummies are among them
	f := newFederation(overlapping(3, 200, 200), 2)
	f.caught(t, 0, 2, liar{
		stepSize.kind():   func(_ int, data []byte) []byte { binary.BigEndian.PutUint64(data, 100); return data },
		stepPlaces.kind(): func(_ int, data []byte) []byte { return data[:(100+dummies)*placeSize] },
	})
}

// TestScalarsThatDifferLoseRows has the keeper multiply its even points by another scalar than it doubles with: the
// rows are lost without notice, as if it had left them out; nothing else is told.
func TestScalarsThatDifferLoseRows(t *testing.T) {
	f := newFederation(overlapping(3, 40, 40), None)
	other := point.NewScalar([32]byte{1, 2, 3})
	f.change = map[int]func(Message, []byte) []byte{1: liar{stepPoints.kind(): func(_ int, data []byte) []byte {
		for at := 0; at < len(data); at += 2 * point.Size {
			if err := other.Mul(data[at:at+point.Size], data[at:at+point.Size], 1); err != nil {
				t.Error(err)
			}
		}
		return data
	}}.change}
	results, errs, _ := f.run(t)
	must(t, first(errs))
	for i, r := range results {
		if r.Sizes[0] != 20 || len(r.Rows) != 20 || r.Digest != results[0].Digest {
			t.Errorf("party %d has %d rows of %v", i, len(r.Rows), r.Sizes)
		}
	}
}

// TestListsThatAreNot has the asker announce a list with a guess or of other rows, and the keeper another digest.
func TestListsThatAreNot(t *testing.T) {
	for _, helper := range []int{None, 2} {
		for _, test := range []struct {
			who  int
			kind step
			lie  func(data []byte) []byte
		}{
			{0, stepList, func(data []byte) []byte { data[0] ^= 1; return data }},
			{0, stepList, func(data []byte) []byte { return append(data, data[:wordSize]...) }},
			{1, stepListDigest, func(data []byte) []byte { data[0] ^= 1; return data }},
			{0, stepListProof, func(data []byte) []byte { data[0] ^= 1; return data }},
			{1, stepListProof, func(data []byte) []byte { data[0] ^= 1; return data }},
			{0, stepListPoint, func(data []byte) []byte { clear(data); return data }},
			{1, stepListPoint, func(data []byte) []byte { clear(data); return data }},
		} {
			f := newFederation(overlapping(3, 20, 9), helper)
			f.change = map[int]func(Message, []byte) []byte{test.who: liar{test.kind.kind(): func(_ int,
				data []byte) []byte {
				return test.lie(data)
			}}.change}
			results, errs, _ := f.run(t)
			if err := first(errs); err == nil {
				t.Errorf("helper %d: %s of %d: nobody complained", helper, test.kind.kind(), test.who)
			}
			if results[2] != nil {
				t.Errorf("helper %d: %s of %d: the third party took the list", helper, test.kind.kind(), test.who)
			}
		}
	}
}

// TestAnUnsortedListIsRefused has asker and keeper agree on a list that is not in the order of all.
func TestAnUnsortedListIsRefused(t *testing.T) {
	_, _, w := newFederation(overlapping(3, 20, 9), None).run(t)
	f := newFederation(overlapping(3, 20, 9), None)
	p := &pass{Party: &Party{}, coin: f.coinOf(w)}
	var told []byte
	f.change = map[int]func(Message, []byte) []byte{
		0: liar{stepList.kind(): func(_ int, data []byte) []byte {
			return append(data[wordSize:], data[:wordSize]...)
		}}.change,
		1: liar{stepListDigest.kind(): func(int, []byte) []byte {
			digest := p.listDigest(told)
			return digest[:]
		}}.change,
	}
	for _, s := range w.sent {
		if s.Kind == stepList.kind() {
			told = append(bytes.Clone(s.data[wordSize:]), s.data[:wordSize]...)
		}
	}
	_, errs, _ := f.run(t)
	if who, ok := isDeviation(errs, 2); !ok || who != 0 {
		t.Errorf("error is %v, want that the asker deviates", errs[2])
	}
}

// TestStoresThatAreNot has a party outside send a store of another length, and of a seed that there is not.
func TestStoresThatAreNot(t *testing.T) {
	for _, lie := range []func(data []byte) []byte{
		func(data []byte) []byte { data[0] = 255; return data },
		func(data []byte) []byte { return data[:len(data)-wordSize] },
		func(data []byte) []byte { return append(data, 0) },
		func([]byte) []byte { return []byte{} },
	} {
		newFederation(overlapping(3, 20, 9), None).caught(t, 0, 2, liar{
			stepStore.kind(): func(_ int, data []byte) []byte { return lie(data) }})
	}
}

// TestACoinForEachOpensNothing has each party draw another coin with each other: what follows does not fit together.
func TestACoinForEachOpensNothing(t *testing.T) {
	for who := range 3 {
		f := newFederation(overlapping(3, 20, 9), None)
		f.spec.MinRows = 1
		_, errs := f.spoiled(t, who, liar{
			stepCommitment.kind(): func(to int, _ []byte) []byte {
				contract := keys.HashOf("contract")
				h := keys.HashOf("hanse psi coin hash v1", contract[:], number(who), bytes.Repeat([]byte{byte(to)}, hashSize))
				return h[:]
			},
			stepCoin.kind(): func(to int, _ []byte) []byte { return bytes.Repeat([]byte{byte(to)}, hashSize) },
		})
		if first(errs) == nil {
			t.Errorf("party %d: nobody complained", who)
		}
		newFederation(overlapping(3, 20, 9), None).caught(t, (who+1)%3, who, liar{
			stepCoin.kind(): func(_ int, data []byte) []byte { data[0] ^= 1; return data }})
	}
}

// TestNobodyAsksTwice breaks off where the two have counted, and has a party that is resumed send other points, tags,
// commitments or doubled points: the other has kept what came before, and sends nothing more.
func TestNobodyAsksTwice(t *testing.T) {
	for _, test := range []struct {
		helper, by, who int
		kinds           []step
	}{
		{None, 1, 0, []step{stepPoints, stepCommitted, stepDoubled}},
		{None, 0, 1, []step{stepPoints, stepDoubledBack}},
		{2, 2, 0, []step{stepTags}},
		{2, 2, 1, []step{stepTags}},
		{None, 0, 2, []step{stepStore}},
		{None, 1, 2, []step{stepSeed}},
	} {
		for _, kind := range test.kinds {
			f := newFederation(overlapping(3, 20, 9), test.helper)
			if _, errs, _ := f.run(t); first(errs) != nil {
				t.Fatal(errs)
			}
			f.caught(t, test.by, test.who, liar{kind.kind(): func(_ int, data []byte) []byte {
				data[len(data)-wordSize] ^= 1
				return data
			}})
		}
	}
}

// TestAnOutsideViewIsTheCommonRows replays intersections in which the rows that are not common are others, at all other
// parties: what a party outside receives is the same to the byte, and so is what a party has of the common ones.
func TestAnOutsideViewIsTheCommonRows(t *testing.T) {
	received := func(helper, buckets, shift int) []byte {
		lists := overlapping(4, 60, 20)
		for i := range lists {
			if i == 3 {
				continue
			}
			for row := 20; row < 60; row++ {
				lists[i][0][row] = idOf(0, 100000*(i+1)*(1+shift)+row)
			}
		}
		f := newFederation(lists, helper)
		f.spec.Buckets = buckets
		_, errs, w := f.run(t)
		must(t, first(errs))
		var all []byte // by sender, whose messages come in order
		for from := range lists {
			for _, s := range w.sent {
				if s.From == from && s.To == 3 {
					all = append(all, s.data...)
				}
			}
		}
		return all
	}
	for _, helper := range []int{None, 2} {
		one := received(helper, 1, 0)
		for _, buckets := range []int{1, 4} { // how many there are does not show either
			if !bytes.Equal(one, received(helper, buckets, 1)) {
				t.Errorf("helper %d, %d buckets: what a party outside receives depends on rows that are not common", helper,
					buckets)
			}
		}
	}
}

// TestViewsLookRandom counts, in all that asker, keeper and helper receive of points, words, tags and stores, how often
// each value of a byte stands at the low end of a word. Ids that are counted up must not show in them.
func TestViewsLookRandom(t *testing.T) {
	for _, helper := range []int{None, 2} {
		lists := overlapping(4, 2000, 500)
		for i := range lists {
			for row := range lists[i][0] {
				if row >= 500 { // ids without a hash: whatever shows of them is no accident
					lists[i][0][row] = ID{}
					binary.BigEndian.PutUint32(lists[i][0][row][8:], uint32(1+row+i*10000))
				}
			}
		}
		f := newFederation(lists, helper)
		_, errs, w := f.run(t)
		must(t, first(errs))
		for _, s := range w.sent {
			width := map[string]int{stepPoints.kind(): point.Size, stepDoubled.kind(): wordSize,
				stepDoubledBack.kind(): wordSize, stepTags.kind(): wordSize, stepStore.kind(): wordSize}[s.Kind]
			if width == 0 {
				continue
			}
			data := s.data[len(s.data)%width:]
			for at := range 8 { // u is below 2^255: its highest byte is none of these
				var count [256]float64
				for i := at; i < len(data); i += width {
					count[data[i]]++
				}
				mean, chi := float64(len(data)/width)/256, 0.0
				for _, n := range count {
					chi += (n - mean) * (n - mean) / mean
				}
				if chi < 130 || chi > 450 { // 255 degrees of freedom: less than 1e-11 of all runs are beyond either
					t.Errorf("%s of %d to %d, byte %d: chi-square is %.0f", s.Kind, s.From, s.To, at, chi)
				}
			}
		}
	}
}

// TestADictionaryHitsInNoSingleView tries all ids on all that a party has: what each other party sent, its own root,
// and the coin. It makes of a guess all that one who follows the protocol would, and looks for it. Asker and keeper
// together, and the helper with either, hit all; nobody alone hits a row that is not common.
func TestADictionaryHitsInNoSingleView(t *testing.T) {
	const rows, common = 60, 20
	for _, test := range []struct{ helper, buckets int }{{None, 1}, {3, 1}, {None, 4}, {3, 4}} {
		helper := test.helper
		f := newFederation(overlapping(4, rows, common), helper)
		f.spec.Buckets = test.buckets
		_, errs, w := f.run(t)
		must(t, first(errs))
		coin := f.coinOf(w)
		alone := f.spec // what is made of one id is made in one piece
		alone.Buckets = 1
		// hits are the victim's rows beyond the common ones that members find in what they received.
		hits := func(victim int, members ...int) int {
			seen := make(map[[wordSize]byte]bool)
			var halves [2][]byte
			for _, s := range w.sent {
				if !slices.Contains(members, s.To) && !slices.Contains(members, s.From) {
					continue
				}
				if s.Kind == stepHalfKey.kind() {
					halves[s.From] = s.data
				}
				if slices.Contains(members, s.To) {
					for at := 0; at+wordSize <= len(s.data); at++ {
						seen[[wordSize]byte(s.data[at:])] = true
					}
				}
			}
			found := 0
			for _, id := range f.lists[victim][0][common:] {
				hit := false
				// the zero share as each other party's seed, which the keeper or that party has, makes it; or none
				for _, withSeeds := range []bool{false, true} {
					var zero [wordSize]byte
					for _, i := range f.spec.outside() {
						p := &Party{Spec: alone, Self: i, Contract: keys.HashOf("contract"), Root: f.roots[i]}
						knows := slices.Contains(members, f.spec.Keeper) || slices.Contains(members, i)
						if secret := p.secret("seed", 0); withSeeds && knows {
							var word [wordSize]byte
							blockOf([seedSize]byte(secret[:])).Encrypt(word[:], id[:wordSize])
							hit = hit || seen[word]
							for b := range zero {
								zero[b] ^= word[b]
							}
						}
					}
					for _, member := range append([]int{victim}, members...) {
						p := &pass{Party: &Party{Spec: alone, Self: member, Contract: keys.HashOf("contract"),
							Root: f.roots[member]}, coin: coin, ids: []ID{id}, zero: [][wordSize]byte{zero}, rows: []int{0}}
						p.Workers = 1
						p.listed([]int{0})
						hit = hit || seen[p.common[0].Tag]
						if !slices.Contains(members, member) {
							continue // the victim's root is not theirs
						}
						u, err := p.blind(point.NewScalar(p.secret("scalar", 0)), []uint32{0}, 0)
						must(t, err)
						hit = hit || seen[[wordSize]byte(u)]
						for _, other := range members { // under the scalars of two who collude
							twice := bytes.Clone(u)
							q := &Party{Contract: p.Contract, Root: f.roots[other]}
							must(t, point.NewScalar(q.secret("scalar", 0)).Mul(twice, twice, 1))
							hit = hit || seen[[wordSize]byte(twice)]
						}
						key := keys.HashOf("hanse psi tags v1", p.Contract[:], number(0), halves[0], halves[1])
						tags := p.tags(key, []uint32{0})
						hit = hit || seen[[wordSize]byte(tags)]
					}
				}
				if hit {
					found++
				}
			}
			return found
		}
		for member := range f.lists {
			for victim := range f.lists {
				if n := hits(victim, member); member != victim && n > 0 {
					t.Errorf("helper %d: party %d hits %d rows of party %d", helper, member, n, victim)
				}
			}
		}
		if helper != None {
			// the asker's zero share is random where others lack the row: two parties and the helper alone
			two := newFederation(overlapping(2, rows, common), None)
			two.spec.Buckets = test.buckets
			two.lists, two.spec.Counts = append(two.lists, nil), append(two.spec.Counts, nil)
			two.roots, two.kept = append(two.roots, Root{9}), append(two.kept, make(map[string]keys.Hash))
			two.spec.Helper = 2
			f = two
			if _, errs, w = f.run(t); first(errs) != nil {
				t.Fatal(errs)
			}
			coin = f.coinOf(w)
			if n := hits(0, 1, 2); n != rows-common {
				t.Errorf("keeper and helper hit %d rows of the asker's, want all", n)
			}
			continue
		}
		f = newFederation(overlapping(2, rows, common), None)
		f.spec.Buckets = test.buckets
		if _, errs, w = f.run(t); first(errs) != nil {
			t.Fatal(errs)
		}
		coin = f.coinOf(w)
		if n := hits(0, 0, 1); n != rows-common {
			t.Errorf("asker and keeper hit %d rows of the asker's, want all", n)
		}
	}
}
