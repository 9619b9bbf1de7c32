package he

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// BenchmarkPieces measures encrypting, adding, sharing and opening Degree words of each ring, and says
// how many bytes a word takes in the ciphertext.
func BenchmarkPieces(b *testing.B) {
	k := newKey(b, 4, 4)
	for _, ring := range []secagg.Ring{secagg.Turns16, secagg.Turns32, secagg.Fixed64} {
		p, err := k.scheme.NewPacking(ring, 4, 4)
		must(b, err)
		k.pieces(b, ring.String(), p)
	}
	p, err := k.scheme.NewSigned(1<<45, 4, 4)
	must(b, err)
	k.pieces(b, "signed47", p)
}

// pieces measures one packing.
func (k *key) pieces(b *testing.B, name string, p *Packing) {
	words, out := make([]uint64, Degree), make([]uint64, Degree)
	wire, err := k.public.Encrypt(p, words)
	must(b, err)
	c0, c1, err := Split(wire)
	must(b, err)
	id := k.holders[0].next
	shares := k.shares(b, id, p, c1, upTo(len(k.holders)), nil)
	for _, piece := range []struct {
		name string
		run  func() error
	}{
		{"encrypt", func() error { return k.public.encryptGroup(p, wire, 0, words) }},
		{"add", func() error { return AddRLWE(wire, wire) }},
		{"share", func() error { id++; _, err := k.holders[0].Share(id, p, c1, nil); return err }},
		{"open", func() error { return p.Open(out, c0, shares) }},
	} {
		b.Run(name+"/"+piece.name, func(b *testing.B) {
			for b.Loop() {
				must(b, piece.run())
			}
			b.ReportMetric(float64(len(wire))/Degree, "wire-bytes/word")
		})
	}
	for _, h := range k.holders {
		h.next = id + 1
	}
}

// BenchmarkBesideMasks sums 16-bit turns among four parties in one process, homomorphically and under
// masks; times-masked is the price.
func BenchmarkBesideMasks(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("%d_words", n), func(b *testing.B) {
			l := newTestNetwork(b, 4, 0, contract.Tree, nil)
			masked, vectors := make([]*secagg.Masked, 4), make([][]uint16, 4)
			for i := range masked {
				var err error
				masked[i], err = secagg.NewMasked(l.sessions[i], l.IDs, contract.Tree)
				must(b, err)
				vectors[i] = make([]uint16, n)
			}
			var he, masks time.Duration
			for b.Loop() {
				start := time.Now()
				l.Must(b, func(i int) error { return l.sums[i].SumTurns(context.Background(), "angles", 0, vectors[i]) })
				between := time.Now()
				l.Must(b, func(i int) error { return masked[i].SumTurns(context.Background(), "masked", 0, vectors[i]) })
				he, masks = he+between.Sub(start), masks+time.Since(between)
			}
			b.ReportMetric(he.Seconds()*1e9/float64(b.N)/float64(n), "he-ns/word")
			b.ReportMetric(he.Seconds()/masks.Seconds(), "times-masked")
		})
	}
}
