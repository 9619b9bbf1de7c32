package cohort

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// prime is 2^61 - 1.
var prime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 61), big.NewInt(1))

// dumbSecret interpolates the polynomial through points (x, y) at 0, by Lagrange's formula.
func dumbSecret(xs []int, ys []*big.Int) *big.Int {
	sum := new(big.Int)
	for i := range xs {
		top, bottom := big.NewInt(1), big.NewInt(1)
		for j := range xs {
			if j != i {
				top.Mul(top, big.NewInt(int64(-xs[j])))
				bottom.Mul(bottom, big.NewInt(int64(xs[i]-xs[j])))
			}
		}
		bottom.ModInverse(bottom.Mod(bottom, prime), prime)
		sum.Add(sum, top.Mul(top, bottom).Mul(top, ys[i]))
	}
	return sum.Mod(sum, prime)
}

// dumbStream is AES-256-CTR from a zero block, as words.
func dumbStream(key []byte, words int) []uint64 {
	block, _ := aes.NewCipher(key)
	out := make([]byte, 8*words)
	cipher.NewCTR(block, make([]byte, 16)).XORKeyStream(out, out)
	return toWords(out)
}

// dumbSum recomputes one masked sum, in which all clients are neighbours, from the clients' pair
// secrets and the deposits on the wire, line by line and without any of the package's steps.
type dumbSum struct {
	l          *testNetwork
	operation  int
	threshold  int
	candidates []int
	deposits   map[int][]byte
}

// derive returns what clients i and j derive for a use.
func (d *dumbSum) derive(t *testing.T, i, j int, label string, n int) []byte {
	t.Helper()
	mine, err := d.l.links[i].Pair(j).Derive(label, n)
	theirs, errThere := d.l.links[j].Pair(i).Derive(label, n)
	if err != nil || errThere != nil || !bytes.Equal(mine, theirs) {
		t.Fatalf("p%d and p%d derive %x and %x for %s", i, j, mine, theirs, label)
	}
	return mine
}

// secret returns the bytes of a client's secret: from the shares of the last holders, and the
// deposit's points.
func (d *dumbSum) secret(t *testing.T, owner, which int, name string) []byte {
	t.Helper()
	holders := slices.DeleteFunc(slices.Clone(d.candidates), func(i int) bool { return i == owner })
	k := len(holders)
	part := d.deposits[owner][which*((k+1-d.threshold)*40+32):]
	var secret []byte
	for word := range 5 {
		var xs []int
		var ys []*big.Int
		for at := k - d.threshold; at < k; at++ {
			share := d.derive(t, owner, holders[at], fmt.Sprintf("cohort share|%s|%d|%d", name, d.operation, owner), 40)
			y := new(big.Int).SetUint64(binary.LittleEndian.Uint64(share[8*word:]) & (1<<61 - 1))
			xs, ys = append(xs, at+1), append(ys, y.Mod(y, prime))
		}
		for at := range k + 1 - d.threshold {
			xs = append(xs, k+1+at)
			ys = append(ys, new(big.Int).SetUint64(binary.LittleEndian.Uint64(part[40*at+8*word:])))
		}
		secret = binary.LittleEndian.AppendUint64(secret, dumbSecret(xs, ys).Uint64())
	}
	return secret
}

// masked returns a client's vector under its masks with the members, and its own mask.
func (d *dumbSum) masked(t *testing.T, client int, members []int, words []uint64) (y, own []uint64) {
	t.Helper()
	key := keys.HashOf("hanse cohort key v1", []byte("self mask"), d.secret(t, client, 0, "self mask"))
	own, y = dumbStream(key[:], len(words)), slices.Clone(words)
	for i := range y {
		y[i] += own[i]
	}
	for _, other := range members {
		if other == client {
			continue
		}
		shared := dumbStream(d.derive(t, client, other, fmt.Sprintf("cohort mask|%d", d.operation), 32), len(words))
		a, b := d.l.IDs[client], d.l.IDs[other]
		for i := range y {
			if bytes.Compare(a[:], b[:]) < 0 {
				y[i] += shared[i]
			} else {
				y[i] -= shared[i]
			}
		}
	}
	return y, own
}

// TestSumsAreAsWritten recomputes the second sum of a session, in which client 2 leaves after the
// deposits: the vectors on the wire are the same bits, and the total is what undoing the masks by
// hand gives.
func TestSumsAreAsWritten(t *testing.T) {
	const n, gone, threshold = 6, 2, 4
	v := Vector{Kind: "updates", Words: 33, Bits: 61}
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}, wrap: only(gone, leavingIn(2, "updates"))}
	l.open(t, n)
	tap := l.Tap(l.IDs[0])
	var total *Total
	errs := l.play(t, func(ctx context.Context, s *Server) (err error) {
		for range 2 {
			if total, err = s.Sum(ctx, v, upTo(n)); err != nil {
				return err
			}
		}
		return nil
	}, sumAgain(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	d := &dumbSum{l: l, operation: 2, threshold: threshold, candidates: upTo(n), deposits: make(map[int][]byte)}
	bundles := make(map[int][]byte)
	for _, f := range tap.Frames() {
		from := slices.Index(l.IDs, f.From)
		switch kind := kindOfFrame(f.Data); {
		case binary.BigEndian.Uint64(f.Data[16:]) != 2:
		case kind == KindDeposit:
			d.deposits[from] = f.Data[68+len(kind):]
		case kind == v.Kind:
			bundles[from] = f.Data[68+len(kind):]
		}
	}
	sum := make([]uint64, v.Words)
	for _, i := range total.Survivors {
		y, own := d.masked(t, i, upTo(n), vectorOf(v, i, 1))
		wire := bitString(y, v.Bits).FillBytes(make([]byte, (v.Words*v.Bits+7)/8))
		slices.Reverse(wire)
		if want := append(newSet(n+1, i), wire...); !bytes.Equal(bundles[i], want) {
			t.Errorf("p%d has sent %x, want %x", i, bundles[i], want)
		}
		// What is left of its masks: those with the client that has gone.
		bare, _ := d.masked(t, i, []int{gone}, make([]uint64, v.Words))
		for j := range sum {
			sum[j] += y[j] - own[j] - (bare[j] - own[j])
		}
	}
	truncate(sum, v.Bits)
	if !slices.Equal(sum, total.Words) || len(total.Survivors) != n-1 {
		t.Errorf("by hand the total of %v is %x, and it is %x", total.Survivors, sum, total.Words)
	}
}

// leavingClient leaves in one sum when it is about to send a kind of message.
type leavingClient struct {
	protocol.Mesh
	sum  uint64
	kind string
}

func (c leavingClient) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if kindOf(parts) == c.kind && binary.BigEndian.Uint64(parts[0][16:]) == c.sum {
		c.Close()
	}
	return c.Mesh.Send(ctx, to, parts...)
}

// leavingIn makes a leavingClient.
func leavingIn(sum uint64, kind string) func(protocol.Mesh) protocol.Mesh {
	return func(m protocol.Mesh) protocol.Mesh { return leavingClient{m, sum, kind} }
}
