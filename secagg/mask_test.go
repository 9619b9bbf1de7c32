package secagg

import (
	"bytes"
	"crypto/aes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// keyStream is AES-256 in counter mode from block zero, a block at a time.
func keyStream(t testing.TB, key []byte, n int) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	var stream []byte
	for counter := 0; len(stream) < n; counter++ {
		in, out := make([]byte, aes.BlockSize), make([]byte, aes.BlockSize)
		for i, c := aes.BlockSize-1, counter; c > 0; i, c = i-1, c>>8 {
			in[i] = byte(c)
		}
		block.Encrypt(out, in)
		stream = append(stream, out...)
	}
	return stream[:n]
}

// fixedPair is a pair with a known secret, of the party with the lower id or the higher.
func fixedPair(subtract bool) maskPair {
	return maskPair{subtract: subtract, derive: func(label string, n int) ([]byte, error) {
		return hkdf.Expand(sha256.New, bytes.Repeat([]byte{7}, 32), label, n)
	}}
}

// maskBytes returns the first n mask bytes of a sum of a party with one pair.
func maskBytes(t testing.TB, p maskPair, sum uint64, ring Ring, n int) []byte {
	t.Helper()
	masks, err := (&masker{pairs: []maskPair{p}, next: 1}).draw(sum, keys.HashOf("test told"), ring)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]byte, n)
	masks.Apply(v)
	return v
}

// TestMaskGolden pins the derivation of masks: two versions that derive differently open noise.
func TestMaskGolden(t *testing.T) {
	for _, c := range []struct {
		ring Ring
		sum  uint64
		want string
	}{
		{Turns16, 1, "e7c4fbb0c31b0a8134abbec0ad356b37"},
		{Turns32, 1, "0759e812a8197e55459543e218c51433"},
		{Fixed64, 1, "f2aff5e97879827d1fdd663bbb999052"},
		{Fixed64, 2, "64bee859645ce915d1db4da4f09df54b"},
	} {
		mask := maskBytes(t, fixedPair(false), c.sum, c.ring, 16)
		if got := hex.EncodeToString(mask); got != c.want {
			t.Errorf("the mask of sum %d in %v starts %s, want %s", c.sum, c.ring, got, c.want)
		}
		c.ring.Add(mask, maskBytes(t, fixedPair(true), c.sum, c.ring, 16))
		if !bytes.Equal(mask, make([]byte, 16)) {
			t.Errorf("%v: the masks of the two parties of a pair do not cancel", c.ring)
		}
	}
}

// TestMaskIsTheKeyStream compares a mask over several blocks, applied in uneven chunks, with the
// cipher run by hand.
func TestMaskIsTheKeyStream(t *testing.T) {
	const n = 3*maskBlock + 40
	masks, err := (&masker{pairs: []maskPair{fixedPair(false)}, next: 1}).draw(5, keys.Hash{}, Turns16)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, n)
	for rest, size := got, 8; len(rest) > 0; size *= 3 {
		size = min(size, len(rest))
		masks.Apply(rest[:size])
		rest = rest[size:]
	}
	key, err := fixedPair(false).derive("mask|turns16|5|"+strings.Repeat("00", 32), 32)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, keyStream(t, key, n)) {
		t.Error("the mask is not the key stream of its key")
	}
}

func TestMasksAreDrawnOnce(t *testing.T) {
	m := &masker{pairs: []maskPair{fixedPair(false)}, next: 1}
	for _, c := range []struct {
		sum  uint64
		want string
	}{
		{1, ""},
		{1, "masks of sum 1 were drawn before: a mask is used once"},
		{4, ""}, // numbers are the session's operations, among which not all are sums
		{3, "masks of sum 3 were drawn before: a mask is used once"},
		{0, "masks of sum 0 were drawn before: a mask is used once"},
	} {
		_, err := m.draw(c.sum, keys.Hash{}, Fixed64)
		if got := text(err); got != c.want {
			t.Errorf("sum %d: error is %q, want %q", c.sum, got, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestTwoMaskedShareNoMask makes two Masked on one session, as a careless caller would: were each
// to count its own sums, both would begin with the same masks.
func TestTwoMaskedShareNoMask(t *testing.T) {
	l := newTestNetwork(t, 3, 0)
	first, second := l.masked(t, contract.Ring), l.masked(t, contract.Ring)
	tap := l.Tap(l.IDs[1])
	for _, m := range [][]*Masked{first, second} {
		l.Must(t, func(i int) error { return m[i].SumWords(t.Context(), "scores", 0, make([]uint64, 4)) })
	}
	frames := sumFrames(tap)
	if len(frames) != 2 || bytes.Equal(frames[0].payload, frames[1].payload) {
		t.Error("two sums of a session have the same masks")
	}
}
