package psi

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// BenchmarkPieces measures what asker, keeper and helper do with each ID on one worker, but for what packages okvs and
// point do.
func BenchmarkPieces(b *testing.B) {
	const n = 1 << 18
	p := &Party{Spec: Spec{Counts: [][]int{{n}, {n}}, Helper: None}, Workers: 1}
	w := &pass{Party: p, ids: make([]ID, n), zero: make([][wordSize]byte, n), rows: make([]int, n)}
	for i := range w.ids {
		w.ids[i], w.rows[i] = idOf(0, i), i
	}
	order, err := permutation([32]byte{1}, n)
	must(b, err)
	withDummies, err := permutation([32]byte{1}, n+dummies)
	must(b, err)
	places := make([]int, n)
	for i, at := range order {
		places[i] = int(at)
	}
	tags := w.tags(keys.Hash{}, withDummies)
	known, _ := point.NewIndex(tags, wordSize)
	missing := bytes.Clone(tags)
	for at := 0; at < len(missing); at += wordSize {
		binary.BigEndian.PutUint64(missing[at:], ^binary.BigEndian.Uint64(missing[at:]))
	}
	find := func(list []byte) func() {
		return func() {
			for at := 0; at < len(list); at += wordSize {
				known.Find(list[at : at+wordSize])
			}
		}
	}
	block := blockOf([seedSize]byte{1})
	for _, piece := range []struct {
		name string
		do   func()
	}{
		{"permutation", func() { permutation([32]byte{1}, n) }},
		{"AES of the keeper", func() { w.add(n, inOrder, func(id *ID, out []byte) { block.Encrypt(out, id[:wordSize]) }) }},
		{"elements", func() { w.wide(order) }},
		{"tags", func() { w.tags(keys.Hash{}, withDummies) }},
		{"index", func() { point.NewIndex(tags, wordSize) }},
		{"find, all there", find(tags)},
		{"find, none there", find(missing)},
		{"list of all", func() { w.listed(places) }},
	} {
		b.Run(piece.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				piece.do()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/id")
		})
	}
}
