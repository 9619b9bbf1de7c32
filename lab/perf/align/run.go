package align

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hanse-project/hanse/internal/ids"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/secagg/psi"
)

// workers is how many goroutines a party has for arithmetic.
func workers() int { return runtime.GOMAXPROCS(0) }

// measure measures one case. Of repeated runs the fastest counts.
func measure(ctx context.Context, mode string, parties, buckets int, o Options) (*Result, error) {
	r := &Result{Mode: mode, Parties: parties, Buckets: buckets, Rows: o.Rows, Load: lab.Load()}
	lists := make([][]psi.ID, parties)
	made := time.Now()
	for i := range lists {
		var err error
		if lists[i], err = people(i, o.Rows); err != nil {
			return nil, err
		}
	}
	r.IDSeconds = time.Since(made).Seconds()

	clock := newStopwatch()
	want := intersection(lists)
	r.PlainSeconds, r.PlainCPU = clock.read()
	r.Common = len(want[0])

	var err error
	for i := range o.Repeat {
		debug.FreeOSMemory()
		reset := lab.ResetPeak()
		r.Resident = max(r.Resident, localnet.PeakOf(os.Getpid()))
		contract := keys.HashOf("hanselab align", []byte(strconv.Itoa(i)))
		clock := newStopwatch()
		results, sent, err := federation(ctx, mode, buckets, contract, lists, nil)
		if err != nil {
			return nil, err
		}
		if seconds, cpu := clock.read(); i == 0 || seconds < r.Seconds {
			r.Seconds, r.CPU = seconds, cpu
		}
		if reset {
			r.Peak = max(r.Peak, localnet.PeakOf(os.Getpid()))
		}
		if err := compare(results, want); err != nil {
			return nil, err
		}
		r.Asker, r.Keeper, r.Bytes = sent[0], sent[1], 0
		for i, n := range sent {
			r.Bytes += n
			switch {
			case i == parties:
				r.Helper = n
			case i > 1:
				r.Other = n
			}
		}
	}
	if o.Alone {
		if r.Held, err = held(ctx, mode, buckets, lists); err != nil {
			return nil, err
		}
	}
	r.Ratio, r.CPURatio = r.Seconds/r.PlainSeconds, r.CPU/r.PlainCPU
	r.PerCore = float64(2*o.Rows) / r.CPU
	return r, nil
}

// people are the ids of a party's rows, in an order of its own. Half are of people whom all have, a quarter each of
// people whom the party before or the one behind has too.
func people(party, rows int) ([]psi.ID, error) {
	cells, lines := make([]string, rows), make([]int, rows)
	for i := range cells {
		who := i
		if half := rows / 2; i >= half {
			who += party * ((rows - half) / 2)
		}
		cells[i], lines[i] = strconv.Itoa(who), i+2
	}
	rand.New(rand.NewPCG(uint64(party), 0)).Shuffle(rows, func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	list, err := ids.Plain(keys.HashOf("hanselab align charter")).Rows(&ids.Rows{Columns: [][]string{cells}, Lines: lines})
	if err != nil {
		return nil, err
	}
	return list.IDs, nil
}

// intersection is what all lists have, in the clear: the rows of each list, in the order of their ids. Each party sorts
// its list, at the same time as the others; then the lists are merged.
func intersection(lists [][]psi.ID) [][]int {
	type entry struct {
		id  psi.ID
		row int
	}
	sorted := make([][]entry, len(lists))
	var group sync.WaitGroup
	for i, list := range lists {
		group.Go(func() {
			all := make([]entry, len(list))
			for row, id := range list {
				all[row] = entry{id, row}
			}
			slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.id[:], b.id[:]) })
			sorted[i] = all
		})
	}
	group.Wait()
	rows := make([][]int, len(lists))
	at := make([]int, len(lists))
next:
	for _, first := range sorted[0] {
		for i := range sorted {
			order := -1
			for ; at[i] < len(sorted[i]); at[i]++ {
				if order = bytes.Compare(sorted[i][at[i]].id[:], first.id[:]); order >= 0 {
					break
				}
			}
			if order != 0 {
				continue next
			}
		}
		for i := range rows {
			rows[i] = append(rows[i], sorted[i][at[i]].row)
		}
	}
	return rows
}

// held is what each party holds beside its list: all run once, and then one after the other alone, on what came to it.
func held(ctx context.Context, mode string, buckets int, lists [][]psi.ID) (h Held, _ error) {
	spec := specOf(mode, buckets, lists)
	came := make([][][]byte, len(spec.Counts))
	contract := keys.HashOf("hanselab align alone")
	if _, _, err := federation(ctx, mode, buckets, contract, lists, came); err != nil {
		return h, err
	}
	for i, most := range []*int64{&h.Asker, &h.Keeper, &h.Other, &h.Helper} {
		switch {
		case i == 2 && len(lists) == 2 || i == 3 && spec.Helper == psi.None:
			continue
		case i == 3:
			i = spec.Helper
		}
		network := &replay{self: i, parties: len(spec.Counts), came: came[i]}
		p := party(spec, i, contract, lists, network)
		before := live()
		network.each = func() { *most = max(*most, live()-before) }
		p.Step = func(string, int, int) { network.each() }
		if _, err := psi.Run(ctx, p); err != nil {
			return h, fmt.Errorf("party %d alone: %w", i, err)
		}
	}
	runtime.KeepAlive(lists) // they were there before, and are no less after
	runtime.KeepAlive(came)
	return h, nil
}

// live collects garbage and returns the bytes in use.
func live() int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// specOf is what all agree on. The first asks, the second is the keeper; a helper comes last, without rows.
func specOf(mode string, buckets int, lists [][]psi.ID) psi.Spec {
	spec := psi.Spec{Asker: 0, Keeper: 1, Helper: psi.None, MinRows: 1, Buckets: buckets}
	for _, list := range lists {
		spec.Counts = append(spec.Counts, []int{len(list)})
	}
	if mode == psi.ModeHelper {
		spec.Helper = len(lists)
		spec.Counts = append(spec.Counts, nil)
	}
	return spec
}

// party is one of the parties.
func party(spec psi.Spec, i int, contract keys.Hash, lists [][]psi.ID, network psi.Network) *psi.Party {
	p := &psi.Party{
		Spec: spec, Self: i, Contract: contract, Network: network,
		Root:    psi.Root(keys.HashOf("hanselab align root", []byte{byte(i)})),
		Workers: workers(), Keep: func(string, keys.Hash) error { return nil },
	}
	if i < len(lists) {
		p.Lists = [][]psi.ID{lists[i]}
	}
	return p
}

// federation has all parties find their common rows, and returns what each found and sent. What came to each it puts
// into came, unless that is nil.
func federation(
	ctx context.Context, mode string, buckets int, contract keys.Hash, lists [][]psi.ID, came [][][]byte,
) ([]*psi.Result, []int64, error) {
	spec := specOf(mode, buckets, lists)
	n := len(spec.Counts)
	results, sent, wire := make([]*psi.Result, n), make([]int64, n), newWire(n)
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() (err error) {
			e := &end{wire: wire, self: i}
			if came != nil {
				e.came = &came[i]
			}
			if results[i], err = psi.Run(ctx, party(spec, i, contract, lists, e)); err != nil {
				return fmt.Errorf("party %d: %w", i, err)
			}
			sent[i] = e.sent
			return nil
		})
	}
	return results, sent, group.Wait()
}

// compare holds what the parties found against the plain intersection: the same rows, in one order at all.
func compare(results []*psi.Result, want [][]int) error {
	place := make(map[int]int, len(want[0])) // in the plain intersection, by the asker's row
	for at, row := range want[0] {
		place[row] = at
	}
	for i, rows := range want {
		found := results[i].Rows
		if results[i].Digest != results[0].Digest || len(found) != len(rows) {
			return fmt.Errorf("party %d found %d common rows, the plain intersection has %d", i, len(found), len(rows))
		}
		for n, c := range found {
			if at, ok := place[results[0].Rows[n].Row]; !ok || rows[at] != c.Row {
				return errors.New("the common rows are not those of the plain intersection")
			}
		}
	}
	return nil
}

// stopwatch measures time by the clock and by the processors.
type stopwatch struct {
	start time.Time
	cpu   float64
}

// newStopwatch starts one.
func newStopwatch() stopwatch { return stopwatch{time.Now(), lab.CPU()} }

// read returns the seconds since the start.
func (s stopwatch) read() (seconds, cpu float64) {
	return time.Since(s.start).Seconds(), lab.CPU() - s.cpu
}
