package psi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi/okvs"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// twoKeys are lists of so many rows by party under two keys: all have the first ones under the first key, some more
// under the second, and every ninth row has no second ID.
func twoKeys(parties, rows int) [][][]ID {
	lists := overlapping(parties, rows, rows/2)
	for i := range lists {
		var second []ID
		for row := range rows {
			switch id := idOf(1, row+i*rows/10); row % 9 {
			case 8:
				second = append(second, ID{})
			default:
				second = append(second, id)
			}
		}
		lists[i] = append(lists[i], second)
	}
	return lists
}

// digestOfAll is a digest of all that was sent, link by link, in order, but for what those who count say of it.
func (w *wire) digestOfAll(parties int) string {
	h := sha256.New()
	for from := range parties {
		for to := range parties {
			for _, f := range w.sent {
				if f.From == from && f.To == to && !f.Counts() && !f.Votes() {
					part := keys.HashOf("frame", []byte(f.Kind), number(from), number(to), f.data)
					h.Write(part[:])
				}
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// TestOneBucketSendsWhatWasSentBeforeThereWereBuckets compares all bytes with those of the version before.
func TestOneBucketSendsWhatWasSentBeforeThereWereBuckets(t *testing.T) {
	for helper, want := range map[int]string{None: "f860b573a8200364", 2: "7200dc63d10b0960"} {
		for _, buckets := range []int{0, 1} {
			f := newFederation(twoKeys(4, 200), helper)
			f.spec.Buckets = buckets
			_, errs, w := f.run(t)
			must(t, first(errs))
			if got := w.digestOfAll(4); got != want {
				t.Errorf("helper %d, %d buckets: what was sent has the digest %s, want %s", helper, buckets, got, want)
			}
		}
	}
}

// TestCommonRowsDoNotDependOnBuckets compares all that the parties end with, whatever the number of workers: rows,
// order, digest, sizes.
func TestCommonRowsDoNotDependOnBuckets(t *testing.T) {
	for _, helper := range []int{None, 3} {
		for _, parties := range []int{3, 5} {
			if helper == parties {
				continue
			}
			lists := twoKeys(parties, 300)
			if helper == 3 && parties > 3 {
				lists[3] = nil // a helper without rows
			}
			var want []*Result
			for _, buckets := range []int{1, 2, 4, 8} {
				f := newFederation(lists, helper)
				f.spec.Buckets = buckets
				f.adapt = func(p *Party) { p.Workers = buckets/2 + 1 }
				results, errs, w := f.run(t)
				if err := first(errs); err != nil {
					t.Fatalf("helper %d, %d parties, %d buckets: %v", helper, parties, buckets, err)
				}
				checkEqual(t, f, results)
				checkDisclosed(t, f, w)
				if want == nil {
					want = results
				}
				if !reflect.DeepEqual(results, want) {
					t.Errorf("helper %d, %d parties, %d buckets: another result than with 1", helper, parties, buckets)
				}
			}
		}
	}
}

// TestAskerKeeperAndHelperSeeNoBuckets: without parties outside there are no stores, and what asker, keeper and helper
// send is, piece by piece, what it is in one piece. So a piece is no bucket: nobody can count the common rows of one.
func TestAskerKeeperAndHelperSeeNoBuckets(t *testing.T) {
	for _, helper := range []int{None, 2} {
		var want map[string][]byte
		for _, buckets := range []int{1, 2, 8} {
			f := newFederation(overlapping(2, 100, 40), helper)
			if helper != None {
				f.lists, f.spec.Counts = append(f.lists, nil), append(f.spec.Counts, nil)
				f.roots, f.kept = append(f.roots, Root{9}), append(f.kept, make(map[string]keys.Hash))
			}
			f.spec.Buckets = buckets
			_, errs, w := f.run(t)
			must(t, first(errs))
			got := make(map[string][]byte)
			for _, s := range w.sent {
				if s.Kind != stepCommitted.kind() {
					link := fmt.Sprint(s.Kind, s.From, s.To)
					got[link] = append(got[link], s.data...)
				}
			}
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("helper %d, %d buckets: other words than in one piece", helper, buckets)
			}
		}
	}
}

// TestSizesFollowFromTheNumberOfRowsAlone sends lists whose IDs lie very unevenly in buckets, and others.
func TestSizesFollowFromTheNumberOfRowsAlone(t *testing.T) {
	const rows, buckets = 120, 4
	uneven := newFederation(overlapping(3, rows, 10), None)
	uneven.lists[2][0] = crowded(2, rows, buckets, Capacity(rows, buckets))
	even := newFederation(overlapping(3, rows, 90), None)
	var want []int
	for _, f := range []*federation{uneven, even} {
		f.spec.Buckets = buckets
		_, errs, w := f.run(t)
		must(t, first(errs))
		var sizes []int
		for _, s := range w.sent {
			if s.From == 2 && s.Kind == stepStore.kind() {
				sizes = append(sizes, len(s.data))
			}
		}
		if want == nil {
			want = slices.Repeat([]int{sizes[0]}, buckets)
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("stores have %v bytes, want %v", sizes, want)
		}
	}
}

// crowded is a list of so many IDs, as many of which fall into the first bucket.
func crowded(party, rows, buckets, full int) []ID {
	p := &Party{Spec: Spec{Counts: [][]int{{1}}, Buckets: buckets}, Contract: keys.HashOf("contract"), Workers: 1}
	var list []ID
	in := 0
	for row := 0; len(list) < rows; row++ {
		id := idOf(0, 1_000_000*party+row)
		p.Lists = [][]ID{{id}}
		first := p.bucketsOf(0)[0] == 0
		if first && in < full {
			in++
			list = append(list, id)
		} else if !first && len(list)-in < rows-full {
			list = append(list, id)
		}
	}
	return list
}

// TestABucketThatOverflowsIsRefusedByItsOwnParty, before anything leaves it; asker and keeper make no stores.
func TestABucketThatOverflowsIsRefusedByItsOwnParty(t *testing.T) {
	const rows, buckets = 200, 8
	space := Capacity(rows, buckets)
	for who := range 3 {
		f := newFederation(overlapping(3, rows, 10), None)
		f.lists[who][0] = crowded(who, rows, buckets, space+1)
		f.spec.Buckets = buckets
		_, errs, w := f.run(t)
		if who < 2 {
			if err := first(errs); err != nil {
				t.Errorf("party %d: %v", who, err)
			}
			continue
		}
		var overflow *OverflowError
		if !errors.As(errs[who], &overflow) || overflow.Bucket != 1 || overflow.IDs != space+1 ||
			overflow.Capacity != space || !strings.Contains(errs[who].Error(), "nothing was sent: propose the alignment anew") {
			t.Errorf("party %d: %v, want that bucket 1 overflows", who, errs[who])
		}
		for _, s := range w.sent {
			if s.From == who {
				t.Errorf("party %d sent %s", who, s.Kind)
			}
		}
	}
}

// TestCapacityIsEnoughForRandomIDs adds up the odds, as exactly as floating point has them, that a bucket has more IDs
// than there is space for.
func TestCapacityIsEnoughForRandomIDs(t *testing.T) {
	choose := func(n, k float64) float64 {
		a, _ := math.Lgamma(n + 1)
		b, _ := math.Lgamma(k + 1)
		c, _ := math.Lgamma(n - k + 1)
		return a - b - c
	}
	for _, buckets := range []int{2, 3, 8, 64, MaxBuckets} {
		for _, n := range []int{0, 1, 2, 40, 100, 1000, 30_000, 250_000, 2_000_000, MaxIDs} {
			space := Capacity(n, buckets)
			if space > n || space < (n+buckets-1)/buckets {
				t.Fatalf("%d ids, %d buckets: space for %d", n, buckets, space)
			}
			p, sum := 1/float64(buckets), 0.0
			for k := space + 1; k <= n && k < space+100_000; k++ {
				term := math.Exp(choose(float64(n), float64(k)) + float64(k)*math.Log(p) +
					float64(n-k)*math.Log1p(-p))
				if sum += term; term < sum*1e-12 {
					break
				}
			}
			if odds := sum * float64(buckets); odds > 0x1p-40 {
				t.Errorf("%d ids, %d buckets, space for %d: it overflows with 2^%.1f", n, buckets, space, math.Log2(odds))
			}
		}
	}
	if space := Capacity(2_000_000, 8); space > 255_000 {
		t.Errorf("of two million ids in 8 buckets there is space for %d in each", space)
	}
	if Capacity(77, 1) != 77 || Capacity(77, 0) != 77 {
		t.Error("one bucket has space for other than all ids")
	}
}

// TestBucketsFor: a list of a quarter of a million has one.
func TestBucketsFor(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1: 1, BucketIDs: 1, BucketIDs + 1: 2, 2_000_000: 8, 1 << 40: MaxBuckets} {
		if got := BucketsFor(n); got != want {
			t.Errorf("%d ids have %d buckets, want %d", n, got, want)
		}
	}
}

// TestARowInAWrongBucketIsARowLeftOut has a party outside put one common row into the store of another bucket: the
// asker looks for it in its own. The row is lost, as if the party had not brought it; nothing else is told.
func TestARowInAWrongBucketIsARowLeftOut(t *testing.T) {
	for _, helper := range []int{None, 1} {
		f := newFederation(overlapping(4, 60, 30), helper)
		if f.spec.Buckets = 4; helper != None {
			f.spec.Asker, f.spec.Keeper = 0, 3
		}
		_, errs, w := f.run(t)
		must(t, first(errs))
		liar := &pass{Party: &Party{Spec: f.spec, Self: 2, Contract: keys.HashOf("contract"), Root: f.roots[2],
			Lists: f.lists[2], Workers: 1}, coin: f.coinOf(w), ids: f.lists[2][0]}
		s := liar.sort()
		from := 0
		for !slices.Contains(s.of(from), 0) {
			from++
		}
		into := (from + 1) % 4
		secret := liar.secret("seed", 0)
		f.kept = nil
		for range f.lists {
			f.kept = append(f.kept, make(map[string]keys.Hash))
		}
		f.change = map[int]func(Message, []byte) []byte{2: func(m Message, data []byte) []byte {
			if m.Kind != stepStore.kind() || m.Piece != from && m.Piece != into {
				return data
			}
			places := slices.DeleteFunc(slices.Clone(s.of(m.Piece)), func(at uint32) bool { return at == 0 })
			if m.Piece == into {
				places = append(places, 0)
			}
			store, err := liar.store([seedSize]byte(secret[:]), places, m.Piece)
			if err != nil {
				t.Error(err)
			}
			return store
		}}
		results, errs, _ := f.run(t)
		must(t, first(errs))
		for i, r := range results {
			if r.Sizes[0] != 29 || r.Digest != results[0].Digest ||
				slices.ContainsFunc(r.Rows, func(c Common) bool { return c.Row == 0 }) {
				t.Errorf("helper %d: party %d has %d common rows, want all but the first", helper, i, r.Sizes[0])
			}
		}
	}
}

// TestPiecesOfAnotherSizeAreRefused has each sender of pieces make one shorter or longer, be it in place of the next.
func TestPiecesOfAnotherSizeAreRefused(t *testing.T) {
	for _, test := range []struct {
		helper, by, who int
		kind            step
	}{
		{None, 0, 2, stepStore}, {None, 1, 0, stepPoints}, {None, 0, 1, stepPoints}, {None, 0, 1, stepDoubledBack},
		{None, 1, 0, stepDoubled}, {2, 2, 0, stepTags}, {2, 2, 1, stepTags},
	} {
		for _, lie := range []func(data []byte) []byte{
			func(data []byte) []byte { return data[:len(data)-wordSize] },
			func(data []byte) []byte { return append(data, data[:wordSize]...) },
			func([]byte) []byte { return nil },
			func(data []byte) []byte { return append(data, data...) },
		} {
			for piece := range 3 {
				f := newFederation(overlapping(3, 90, 30), test.helper)
				f.spec.Buckets = 3
				f.change = map[int]func(Message, []byte) []byte{test.who: func(m Message, data []byte) []byte {
					if m.Kind == test.kind.kind() && m.Piece == piece {
						return lie(bytes.Clone(data))
					}
					return data
				}}
				_, errs, w := f.run(t)
				if who, ok := isDeviation(errs, test.by); !ok || who != test.who {
					t.Errorf("%s of %d, piece %d: party %d ended with %v", test.kind.kind(), test.who, piece, test.by,
						errs[test.by])
				}
				for _, s := range w.sent {
					if s.Kind == stepSize.kind() && s.From == test.by {
						t.Errorf("%s of %d, piece %d: party %d counted", test.kind.kind(), test.who, piece, test.by)
					}
				}
			}
		}
	}
}

// TestWordsThatComeAgainInAnotherPieceDoNotCount repeats, in the last piece, words of an earlier one that count.
func TestWordsThatComeAgainInAnotherPieceDoNotCount(t *testing.T) {
	for _, test := range []struct {
		helper, by, who int
		kind            step
		size            int
	}{
		{None, 1, 0, stepPoints, point.Size}, {None, 0, 1, stepPoints, point.Size},
		{None, 0, 1, stepDoubledBack, wordSize}, {2, 2, 0, stepTags, wordSize}, {2, 2, 1, stepTags, wordSize},
	} {
		f := newFederation(overlapping(3, 90, 90), test.helper) // every word counts
		f.spec.Buckets = 3
		var before []byte
		f.change = map[int]func(Message, []byte) []byte{test.who: func(m Message, data []byte) []byte {
			switch {
			case m.Kind != test.kind.kind():
				return data
			case m.Piece == 0:
				before = data
			case m.Piece == 2:
				data = bytes.Clone(data)
				copy(data, before[:test.size])
			}
			return data
		}}
		_, errs, w := f.run(t)
		if who, ok := isDeviation(errs, test.by); !ok || who != test.who {
			t.Errorf("%s of %d: party %d ended with %v", test.kind.kind(), test.who, test.by, errs[test.by])
		}
		for _, s := range w.sent {
			if s.Kind == stepOrder.kind() || s.Kind == stepPlaces.kind() || s.Kind == stepList.kind() {
				t.Errorf("%s of %d: %s was sent", test.kind.kind(), test.who, s.Kind)
			}
		}
	}
}

// TestNobodySendsAnotherPieceInALaterSession: each piece is kept by its digest.
func TestNobodySendsAnotherPieceInALaterSession(t *testing.T) {
	for _, test := range []struct {
		helper, by, who int
		kind            step
	}{
		{None, 0, 2, stepStore}, {None, 1, 0, stepPoints}, {None, 0, 1, stepPoints}, {None, 0, 1, stepDoubledBack},
		{None, 1, 0, stepDoubled}, {2, 2, 0, stepTags}, {2, 2, 1, stepTags},
	} {
		f := newFederation(overlapping(3, 90, 30), test.helper)
		f.spec.Buckets = 3
		if _, errs, _ := f.run(t); first(errs) != nil {
			t.Fatal(errs)
		}
		f.change = map[int]func(Message, []byte) []byte{test.who: func(m Message, data []byte) []byte {
			if m.Kind == test.kind.kind() && m.Piece == 1 {
				data = bytes.Clone(data)
				data[len(data)-1] ^= 1
			}
			return data
		}}
		_, errs, _ := f.run(t)
		if who, ok := isDeviation(errs, test.by); !ok || who != test.who {
			t.Errorf("%s of %d: party %d ended with %v", test.kind.kind(), test.who, test.by, errs[test.by])
		}
	}
}

// TestStoresOfBucketsLookRandom counts, in all slots of the stores of lists that are nearly empty in most buckets, how
// often each value stands in a byte: slots that pad a bucket are no others than those of IDs.
func TestStoresOfBucketsLookRandom(t *testing.T) {
	const rows, buckets = 4000, 8
	f := newFederation(overlapping(3, rows, 10), None)
	f.lists[2][0] = crowded(2, rows, buckets, Capacity(rows, buckets))
	f.spec.Buckets = buckets
	_, errs, w := f.run(t)
	must(t, first(errs))
	var stores []byte
	reader := &pass{Party: &Party{Spec: f.spec}, coin: f.coinOf(w)}
	for _, s := range w.sent {
		if s.Kind == stepStore.kind() {
			table, err := okvs.Open(reader.storeSeed(2, s.Piece, s.data[0]), s.data[1:])
			must(t, err)
			if table.Get(ID{}) == [wordSize]byte{} {
				t.Errorf("the store of bucket %d says of an ID that it is padding", s.Piece+1)
			}
			if want := okvs.Length(Capacity(rows, buckets)) * wordSize; len(s.data) != 1+want {
				t.Fatalf("a store of %d bytes, want %d", len(s.data), 1+want)
			}
			stores = append(stores, s.data[1:]...)
		}
	}
	for at := range wordSize {
		var count [256]float64
		for i := at; i < len(stores); i += wordSize {
			count[stores[i]]++
		}
		mean, chi := float64(len(stores)/wordSize)/256, 0.0
		for _, n := range count {
			chi += (n - mean) * (n - mean) / mean
		}
		if chi < 130 || chi > 450 { // 255 degrees of freedom: less than 1e-11 of all runs are beyond either
			t.Errorf("byte %d of slots: chi-square is %.0f", at, chi)
		}
	}
}
