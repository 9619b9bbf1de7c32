package clients

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// messages draws the frames of some messages of one direction, in order.
func messages(t *rapid.T) []transcript.Record {
	var all []transcript.Record
	for operation := range uint64(rapid.IntRange(1, 5).Draw(t, "messages")) {
		size := rapid.Uint64Range(0, 4*contract.DefaultChunk).Draw(t, "size")
		for chunk := uint64(0); chunk == 0 || chunk*contract.DefaultChunk < size; chunk++ {
			bytes := min(contract.DefaultChunk, size-chunk*contract.DefaultChunk)
			all = append(all, transcript.Record{Kind: "updates", Operation: operation, Size: size,
				Chunk: uint32(chunk), Bytes: bytes})
		}
	}
	return all
}

// TestMessagesAreWholeOrFound: frames in order pass, and one that is missing inside a message is found.
func TestMessagesAreWholeOrFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := messages(t)
		missing := rapid.IntRange(-1, len(all)-1).Draw(t, "missing")
		ends := missing >= 0 && (missing+1 == len(all) || all[missing+1].Chunk == 0)
		if ends && all[missing].Chunk == 0 {
			t.Skip("a whole message is gone")
		}
		var d direction
		found := false
		for i := range all {
			if i == missing {
				continue
			}
			first, last, fault := d.take(&all[i], true)
			found = found || fault != ""
			whole := uint64(all[i].Chunk+1)*contract.DefaultChunk >= all[i].Size
			if missing < 0 && (fault != "" || first != (all[i].Chunk == 0) || last != whole) {
				t.Fatalf("frame %d: first %v, last %v, %s", i, first, last, fault)
			}
		}
		if missing >= 0 && !found && !d.open {
			t.Fatalf("frame %d of %d is missing, and nobody says so", missing, len(all))
		}
	})
}

// TestSumsThatNobodyAnswersAreForgotten bounds what a link remembers.
func TestSumsThatNobodyAnswersAreForgotten(t *testing.T) {
	var l servedLink
	for sum := range uint64(10 * maxOwed) {
		l.enter(sum + 1)
	}
	if len(l.sums) != maxOwed || l.newest() != 10*maxOwed || l.forgotten != 9*maxOwed || l.of(9*maxOwed) != nil {
		t.Errorf("%d sums, the latest %d, forgotten to %d", len(l.sums), l.newest(), l.forgotten)
	}
	l.forget(10 * maxOwed)
	if len(l.sums) != 1 {
		t.Errorf("%d sums after an answer to the latest", len(l.sums))
	}
}

// TestMedianIsOfOpenedSums counts contributors.
func TestMedianIsOfOpenedSums(t *testing.T) {
	for _, c := range []struct {
		sizes          []int
		fewest, median int
	}{{nil, 0, 0}, {[]int{4}, 4, 4}, {[]int{5, 3, 4}, 3, 4}, {[]int{3, 9, 9, 9}, 3, 9}, {[]int{0, 2}, 0, 0}} {
		tally := newServedTally(9)
		for _, n := range c.sizes {
			tally.opened(n)
		}
		if opened, fewest, median := tally.spread(); opened != uint64(len(c.sizes)) ||
			fewest != c.fewest || median != c.median {
			t.Errorf("%v: %d opened, %d at least, median %d", c.sizes, opened, fewest, median)
		}
	}
}
