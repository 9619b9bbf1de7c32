package rss

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// hub is the wires of a test network in one process: what goes from one role to another waits there.
type hub struct {
	queues  [Roles][Roles]chan []uint64
	outside [Roles]chan []uint64                             // from the party outside
	heard   func(kind string, from, to Role, words []uint64) // sees every message; may be nil
}

// newHub returns a hub whose queues hold all that one run sends.
func newHub() *hub {
	h := new(hub)
	for i := range h.queues {
		h.outside[i] = make(chan []uint64, 1<<12)
		for j := range h.queues[i] {
			h.queues[i][j] = make(chan []uint64, 1<<12)
		}
	}
	return h
}

// wireOf is one role's Wire.
type wireOf struct {
	*hub
	role Role
}

// BeginPass implements Wire: it ends at once.
func (w wireOf) BeginPass(
	ctx context.Context, kind string, from, to Role, bits, n int, words []uint64,
) (func(context.Context) error, error) {
	return func(context.Context) error { return nil }, w.Show(ctx, kind, from, to, bits, n, words)
}

// Show implements Wire.
func (w wireOf) Show(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) error {
	switch w.role {
	case from:
		for _, v := range words {
			if bits < 64 && v>>bits != 0 {
				return fmt.Errorf("%s: %#x has more than %d bits", kind, v, bits)
			}
		}
		sent := append([]uint64(nil), words...)
		if w.heard != nil {
			w.heard(kind, from, to, sent)
		}
		w.queues[from][to] <- sent
	case to:
		select {
		case got := <-w.queues[from][to]:
			if len(got) != len(words) {
				return fmt.Errorf("%s: %d words came, want %d", kind, len(got), len(words))
			}
			copy(words, got)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Vouch implements Wire.
func (w wireOf) Vouch(ctx context.Context, kind string, from, to Role, digest *keys.Hash) error {
	words := make([]uint64, len(digest)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(digest[8*i:])
	}
	err := w.Show(ctx, kind, from, to, 64, len(words), words)
	for i, v := range words {
		binary.LittleEndian.PutUint64(digest[8*i:], v)
	}
	return err
}

// Keys implements Wire: the party outside is the one with role Outside, and its keys follow from its number.
func (w wireOf) Keys(_ context.Context, _ string, from int) (Source, error) {
	var with [Roles]Derive
	for _, unknown := range []Role{Keeper, Helper} {
		if w.role != unknown {
			with[unknown] = secret(fmt.Sprintf("outside %d %d", from, unknown)).derive
		}
	}
	return KeyedPads(with, func() keys.Hash { return keys.Hash{} }), nil
}

// Give implements Wire.
func (w wireOf) Give(ctx context.Context, kind string, _ int, to Role, bits, n int, words []uint64) error {
	switch w.role {
	case Outside:
		sent := append([]uint64(nil), words...)
		if w.heard != nil {
			w.heard(kind, Outside, to, sent)
		}
		w.outside[to] <- sent
	case to:
		select {
		case got := <-w.outside[to]:
			copy(words, got)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// secret is a secret of two parties for tests.
type secret string

// derive derives keys from it, as Derive.
func (s secret) derive(label string, n int) ([]byte, error) {
	sum := sha256.Sum256([]byte(string(s) + label))
	return sum[:n], nil
}

// padsFor returns a role's pads in a test network whose secrets follow from a seed.
func padsFor(t testing.TB, r Role, seed string) *Pads {
	t.Helper()
	var with [Roles]Derive
	for peer := range Role(Roles) {
		if peer != r {
			with[peer] = secret(fmt.Sprintf("%s %d %d", seed, min(peer, r), max(peer, r))).derive
		}
	}
	return NewPads(r, with, func() keys.Hash { return keys.Hash{} })
}

// play runs a part at the three, and outside, at once.
func play(
	t testing.TB, seed string, heard func(kind string, from, to Role, words []uint64),
	part func(ctx context.Context, p *Party) error,
) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := newHub()
	if heard != nil {
		var mu sync.Mutex
		h.heard = func(kind string, from, to Role, words []uint64) {
			mu.Lock()
			defer mu.Unlock()
			heard(kind, from, to, words)
		}
	}
	var all sync.WaitGroup
	for r := Outside; r < Roles; r++ {
		var source Source
		if r != Outside {
			source = padsFor(t, r, seed)
		}
		all.Go(func() {
			if err := part(ctx, New(r, wireOf{h, r}, source, 2)); err != nil {
				t.Errorf("%s: %v", r, err)
				cancel()
			}
		})
	}
	all.Wait()
}
