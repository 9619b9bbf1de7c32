package dataset

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/internal/wording"
)

// The second words of the generators, so that rows and columns of one seed are unrelated.
const (
	columnStream = 0x636f6c756d6e73 // "columns"
	rowStream    = 0x726f7773       // "rows"
)

// SplitColumns deals the columns to parties for a trial: the features are shuffled and dealt one
// by one, so that the counts differ by one at most; each party's names come in the table's order.
// The label, unless empty, goes to party 0 besides, as its first name. The seed is public.
func SplitColumns(t *Table, label string, parties int, seed uint64) ([][]string, error) {
	if label != "" {
		if _, err := t.Column(label); err != nil {
			return nil, err
		}
	}
	features := t.Without(label).Names()
	if parties < 1 || parties > len(features) {
		return nil, t.errorf("%d parties cannot share %s; want between 1 and as many parties as features",
			parties, wording.Count(len(features), "feature column"))
	}
	deal := rand.New(rand.NewPCG(seed, columnStream)).Perm(len(features))
	hands := make([][]int, parties)
	for turn, column := range deal {
		hands[turn%parties] = append(hands[turn%parties], column)
	}
	split := make([][]string, parties)
	for p, hand := range hands {
		slices.Sort(hand)
		split[p] = gather(features, hand)
	}
	if label != "" {
		split[0] = slices.Insert(split[0], 0, label)
	}
	return split, nil
}

// SplitRows draws round(n · trainShare) of the rows 0 to n-1 for training, say 0.75 of them, and
// leaves the others for testing; both lists ascend. The share is taken as at least 0 and at
// most 1. The seed is public.
func SplitRows(n int, trainShare float64, seed uint64) (train, test []int) {
	cut := 0
	if trainShare > 0 {
		cut = int(math.Round(float64(n) * min(trainShare, 1)))
	}
	rows := rand.New(rand.NewPCG(seed, rowStream)).Perm(n)
	train, test = rows[:cut:cut], rows[cut:]
	slices.Sort(train)
	slices.Sort(test)
	return train, test
}
