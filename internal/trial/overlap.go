package trial

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/internal/dataset"
)

// Overlap is the share of the rows that all parties of a trial have when nothing else is said.
const Overlap = 0.6

// Streams of random numbers that follow from a trial's seed.
const (
	strangerStream = 0x6f7665726c6170 // who lacks which rows
	orderStream    = 0x6f72646572     // in which order a party has its rows
)

// Apart is a trial's data as organisations hold it: of the rows, a share is at all parties, and each of the others is
// lacked by one party, all parties in turn; rows stand in an order of each party's own. It returns what the parties
// hold, and the rows that all of them have, in the order of d. At a share of 1, both are d itself.
func (d *Data) Apart(share float64, seed uint64) (held, common *Data) {
	if share >= 1 {
		return d, d
	}
	held, common = d.without(), d.without()
	for _, set := range []struct{ from, held, common *[]*dataset.Table }{
		{&d.Train, &held.Train, &common.Train}, {&d.Test, &held.Test, &common.Test},
	} {
		rows := RowsApart((*set.from)[0].Rows(), len(d.Names), share, seed)
		for party, t := range *set.from {
			*set.held = append(*set.held, t.Select(rows.At[party]))
			*set.common = append(*set.common, t.Select(rows.Common))
		}
	}
	return held, common
}

// without returns the data's description without its tables.
func (d *Data) without() *Data { return &Data{Names: d.Names, Label: d.Label, read: d.read} }

// Rows says who has which of a table's rows.
type Rows struct {
	At     [][]int // each party's, in the order in which it has them
	Common []int   // those of all parties, in the table's order
}

// RowsApart deals n rows to parties as Apart does.
func RowsApart(n, parties int, share float64, seed uint64) Rows {
	if share >= 1 {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return Rows{At: slices.Repeat([][]int{all}, parties), Common: all}
	}
	order := rand.New(rand.NewPCG(seed, strangerStream)).Perm(n)
	cut := int(math.Round(float64(n) * share))
	r := Rows{At: make([][]int, parties), Common: slices.Sorted(slices.Values(order[:cut]))}
	for party := range parties {
		own := slices.Clone(r.Common)
		for i, row := range order[cut:] {
			if i%parties != party {
				own = append(own, row)
			}
		}
		rand.New(rand.NewPCG(seed, orderStream+uint64(party))).Shuffle(len(own), func(a, b int) {
			own[a], own[b] = own[b], own[a]
		})
		r.At[party] = own
	}
	return r
}
