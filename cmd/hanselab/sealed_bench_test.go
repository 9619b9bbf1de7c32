package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// pairKey is the secret of two parties of a benchmark.
type pairKey string

// Derive implements rss.Deriver.
func (k pairKey) Derive(label string, n int) ([]byte, error) {
	h := keys.HashOf(label, []byte(k))
	return h[:n], nil
}

// padsOf are the pads of a role.
func padsOf(r rss.Role) *rss.Pads {
	var with [rss.Roles]rss.Deriver
	for other := range with {
		with[other] = pairKey(fmt.Sprint(rss.Role(other) + r))
	}
	return rss.NewPads(r, with, func() keys.Hash { return keys.Hash{} })
}

// BenchmarkPads counts the bytes of key stream that become words.
func BenchmarkPads(b *testing.B) {
	pads, words := padsOf(rss.Keeper), make([]uint64, 1<<20)
	b.SetBytes(int64(8 * len(words)))
	for step := uint64(1); b.Loop(); step++ {
		pad, err := pads.Pad(rss.Helper, rss.Place{Number: step}, rss.FirstFree)
		if err != nil {
			b.Fatal(err)
		}
		pad.Words(words, 0)
	}
}

// benchmarkWire carries words between three parties in this process.
type benchmarkWire struct {
	role   rss.Role
	queues *[rss.Roles][rss.Roles]chan []uint64
}

// Show implements rss.Wire.
func (w benchmarkWire) Show(ctx context.Context, kind string, from, to rss.Role, bits, n int, words []uint64) error {
	return w.Pass(ctx, kind, from, to, bits, n, words)
}

// Vouch implements rss.Wire: nothing of what is measured asks for it.
func (w benchmarkWire) Vouch(context.Context, string, rss.Role, rss.Role, *keys.Hash) error {
	return nil
}

// Pass implements rss.Wire.
func (w benchmarkWire) Pass(_ context.Context, _ string, from, to rss.Role, _, _ int, words []uint64) error {
	switch w.role {
	case from:
		w.queues[from][to] <- append([]uint64(nil), words...)
	case to:
		copy(words, <-w.queues[from][to])
	}
	return nil
}

// BenchmarkTruncate counts the values that three parties truncate, each on a goroutine of its own.
func BenchmarkTruncate(b *testing.B) {
	const n = 1 << 19 // about a Gram matrix of 1,024 features
	var queues [rss.Roles][rss.Roles]chan []uint64
	for i := range queues {
		for j := range queues[i] {
			queues[i][j] = make(chan []uint64, 4)
		}
	}
	var parties [rss.Roles]*rss.Party
	var terms [rss.Roles][]uint64
	for r := range parties {
		parties[r] = rss.New(rss.Role(r), benchmarkWire{rss.Role(r), &queues}, padsOf(rss.Role(r)), 1)
		terms[r] = make([]uint64, n)
		for i := range terms[r] {
			terms[r][i] = rand.Uint64() >> 4
		}
	}
	for b.Loop() {
		var all sync.WaitGroup
		for r, p := range parties {
			all.Go(func() {
				if _, err := p.Truncate(b.Context(), "bench", 64, terms[r], rss.FirstOrder(), rss.Shift{Count: n, Bits: 28}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.N)*n/1e6/b.Elapsed().Seconds(), "Mvalues/s")
}
