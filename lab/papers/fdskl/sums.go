package fdskl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// Shape is one panel of Figure 4: how the parties are linked, and in what frames their vectors travel.
type Shape struct {
	Name   string    `json:"name"`
	Masked bool      `json:"masked"`
	Chunk  int       `json:"chunk_bytes"`
	Nodes  []int     `json:"nodes"`
	Tree   []float64 `json:"tree_seconds"` // by the clock, the median of the repetitions, for each number of nodes
	Star   []float64 `json:"star_seconds"`
	Ring   []float64 `json:"ring_seconds"`
}

// Figure4 is the time to sum a linear kernel matrix against the number of nodes.
type Figure4 struct {
	Set    string  `json:"set"`
	Rows   int     `json:"rows"`
	Bytes  int     `json:"bytes"` // of a party's vector
	Repeat int     `json:"repeat"`
	Shapes []Shape `json:"shapes"`
}

// The lines of Figure 4, and a frame that makes a pipeline of a sum.
const (
	lineSpeed  = 100e6 / 8 // bytes a second
	lineDelay  = 5 * time.Millisecond
	shortChunk = 64 << 10
)

// Figure4 deals the columns of a set to more and more nodes; each computes the inner products of so many rows by its
// own columns, and they are summed along a tree, a star and a ring. Vectors travel whole, as in the paper's
// synchronous rounds, and in short frames, over simulated lines; and under masks over TLS on this machine, whose
// nodes share its processors.
func (l *Lab) Figure4(ctx context.Context, s sets.Benchmark, count int, nodes []int, repeat int) (*Figure4, error) {
	r, err := readRows(s, l.Rows, 1)
	if err != nil {
		return nil, err
	}
	count = min(count, r.train.Len())
	words := count * (count + 1) / 2
	f := &Figure4{Set: s.Name, Rows: count, Bytes: 8 * words, Repeat: repeat}
	whole := 8 * words
	if whole > 4<<20 {
		return nil, fmt.Errorf("figure 4: the products of %d rows take %d bytes, want at most %d, one frame: "+
			"use at most "+
			"1023 rows", count, whole, 4<<20)
	}
	wire := Wire{BytesPerSecond: lineSpeed, Delay: lineDelay}
	memory := func(_ context.Context, q int) (*network, error) { return openMemory(q, wire) }
	tls := func(ctx context.Context, q int) (*network, error) { return openTLS(ctx, q, l.Work) }
	for _, shape := range []struct {
		Shape
		open func(context.Context, int) (*network, error)
	}{
		{Shape{Name: "whole vectors, lines of 100 Mbit/s", Chunk: whole}, memory},
		{Shape{Name: "frames of 64 KiB, lines of 100 Mbit/s", Chunk: shortChunk}, memory},
		{Shape{Name: "masked, TLS, one machine", Masked: true}, tls},
	} {
		for _, q := range nodes {
			addends := dealt(r.train, count, q)
			n, err := shape.open(ctx, q)
			if err != nil {
				return nil, err
			}
			seconds, err := n.shapes(ctx, addends, shape.Shape, repeat)
			if err := errors.Join(err, n.close()); err != nil {
				return nil, fmt.Errorf("figure 4: %s, %d nodes: %w", shape.Name, q, err)
			}
			shape.Nodes = append(shape.Nodes, q)
			for k, times := range []*[]float64{&shape.Tree, &shape.Star, &shape.Ring} {
				*times = append(*times, seconds[k])
			}
			l.say("%s, %d nodes: tree %.3f s, star %.3f s, ring %.3f s", shape.Name, q, seconds[0], seconds[1],
				seconds[2])
		}
		f.Shapes = append(f.Shapes, shape.Shape)
	}
	return f, nil
}

// dealt returns the inner products of the first rows by each node's columns: column c is node c modulo q's.
func dealt(all *rivals.Rows, count, q int) [][]float64 {
	addends := make([][]float64, q)
	for node := range addends {
		addends[node] = rivals.InnerProducts(all, 0, count, func(c int) bool { return c%q == node })
	}
	return addends
}

// shapes times the sum along tree, star and ring, in turn, and checks every total.
func (n *network) shapes(ctx context.Context, addends [][]float64, s Shape, repeat int) ([3]float64, error) {
	want := make([]float64, len(addends[0]))
	for _, a := range addends {
		for i, v := range a {
			want[i] += v
		}
	}
	all := [3][]float64{}
	for range repeat {
		for k, topology := range []contract.Topology{contract.Tree, contract.Star, contract.Ring} {
			seconds, err := n.sum(ctx, addends, want, s, topology)
			if err != nil {
				return [3]float64{}, fmt.Errorf("%v: %w", topology, err)
			}
			all[k] = append(all[k], seconds)
		}
	}
	var medians [3]float64
	for k, list := range all {
		slices.Sort(list)
		medians[k] = (list[(len(list)-1)/2] + list[len(list)/2]) / 2
	}
	return medians, nil
}

// sum times one sum in a session of its own, from when all have begun to when the root has the total.
func (n *network) sum(
	ctx context.Context, addends [][]float64, want []float64, s Shape, t contract.Topology,
) (seconds float64, err error) {
	sessions, end, err := n.sessions(ctx, s.Chunk)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	masked := make([]*secagg.Masked, len(sessions))
	vectors := make([][]float64, len(sessions))
	for i, session := range sessions {
		vectors[i] = slices.Clone(addends[i])
		if masked[i], err = secagg.NewMasked(session, n.ids(), t); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	err = n.each(func(i int) error {
		if s.Masked {
			return masked[i].SumFixed(ctx, productKind, 0, products, vectors[i])
		}
		return secagg.SumPublished(ctx, sessions[i], productKind, contract.PlanFor(t, len(sessions), 0), vectors[i])
	})
	seconds = time.Since(start).Seconds()
	if err != nil {
		return 0, err
	}
	for i, v := range vectors[0] {
		if !(math.Abs(v-want[i]) < 1e-6) {
			return 0, fmt.Errorf("word %d of the total is %v, want %v", i, v, want[i])
		}
	}
	return seconds, nil
}
