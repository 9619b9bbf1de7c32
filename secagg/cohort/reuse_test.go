package cohort

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// twoSums runs two masked sums of one session and returns all that the server has of each. Client
// leaver stays in the first and leaves in the second when its vector is due.
func twoSums(t *testing.T, n, leaver int) (*testNetwork, [2]*lyingServer) {
	t.Helper()
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}, wrap: only(leaver, leavingIn(2, "updates"))}
	l.open(t, n)
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	var sums [2]*lyingServer
	errs := l.play(t, func(ctx context.Context, s *Server) (err error) {
		for k := range sums {
			if sums[k], err = lie(s, v, upTo(n)); err != nil {
				return err
			}
			if err := sums[k].run(ctx); err != nil {
				return err
			}
		}
		return nil
	}, sumAgain(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if sums[0].survivors.count() != n || sums[1].survivors.has(leaver) || sums[1].survivors.count() != n-1 {
		t.Fatalf("survivors %v and %v, want that p%d leaves in the second sum", sums[0].survivors.members(), sums[1].survivors.members(), leaver)
	}
	return l, sums
}

// secrets lists everything secret or random that the server has of a sum, in pieces.
func (l *lyingServer) secrets() map[string]string {
	pieces := make(map[string]string)
	note := func(what string, e shamir.Element) {
		for w := range e {
			one := shamir.Element{e[w]}
			pieces[string(one.Append(nil))] = what
		}
	}
	for _, list := range l.shares {
		for _, e := range list {
			note("share", e)
		}
	}
	for _, d := range l.deposits {
		for i := range d.public {
			pieces[string(d.digest[i][:])] = "digest"
			for _, e := range d.public[i] {
				note("point", e)
			}
		}
		for b := d.maskKeys; len(b) >= 16; b = b[16:] {
			pieces[string(b[:16])] = "encrypted keys"
		}
	}
	return pieces
}

// TestSumsHaveNothingInCommon: shares, points, digests and masks' keys of two sums never repeat.
func TestSumsHaveNothingInCommon(t *testing.T) {
	const n = 9
	l, sums := twoSums(t, n, 4)
	first, second := sums[0].secrets(), sums[1].secrets()
	for piece, what := range second {
		if was := first[piece]; was != "" {
			t.Errorf("a %s of sum 2 was a %s of sum 1: %x", what, was, piece)
		}
	}
	// 9 x (8 shares, 2 x 3 points) of 5 words, 9 x 2 digests, 9 x 17 blocks of encrypted keys
	if want := n*(8+2*3)*5 + n*2 + n*17; len(first) != want {
		t.Errorf("%d different pieces in sum 1, want %d", len(first), want)
	}
	seen := make(map[string]bool)
	for sum := range uint64(5) {
		for i := 1; i <= n; i++ {
			for j := i + 1; j <= n; j++ {
				key, err := pairMaskKey(l.links[i], sum+1, j)
				if err != nil || seen[string(key)] {
					t.Errorf("the key of p%d and p%d in sum %d was another's, error %v", i, j, sum+1, err)
				}
				seen[string(key)] = true
			}
		}
	}
}

// TestOneSumOpensNothingOfTheNext: with all shares, secrets and keys of the first sum the server
// opens none of the second's secrets.
func TestOneSumOpensNothingOfTheNext(t *testing.T) {
	_, sums := twoSums(t, 9, 4)
	first, second := sums[0], sums[1]
	own := second.shares
	second.shares = first.shares
	defer func() { second.shares = own }()
	for _, i := range second.members.members() {
		for which, kind := range bothKinds() {
			var unfit *UnfitError
			if _, err := second.recover(i, which); !errors.As(err, &unfit) {
				t.Errorf("sum 1's shares open sum 2's %s of p%d: error %v", kind, i, err)
			}
		}
		secret, err := first.recover(i, 0)
		must(t, err)
		if _, err := decryptKeys(2, secret, second.deposits[i].maskKeys); err == nil {
			t.Errorf("sum 1's secret of p%d opens its keys of sum 2", i)
		}
		if _, err := decryptKeys(1, secret, first.deposits[i].maskKeys); err == nil {
			t.Errorf("p%d's own mask's secret opens its keys", i)
		}
		if secretDigest(second.links, 2, selfMask, i, secret) == second.deposits[i].digest[0] {
			t.Errorf("p%d has one secret in two sums", i)
		}
	}
}

// TestWhoLeavesLaterStaysHiddenInEarlierSums: the keys that open when a client leaves are those of
// that sum's masks, and of no other sum's.
func TestWhoLeavesLaterStaysHiddenInEarlierSums(t *testing.T) {
	const n, leaver = 9, 4
	l, sums := twoSums(t, n, leaver)
	second := sums[1]
	secret, err := second.recover(leaver, 1)
	must(t, err)
	opened, err := decryptKeys(2, secret, second.deposits[leaver].maskKeys)
	must(t, err)
	for j, v := range second.near(leaver) {
		for sum := range uint64(4) {
			key, err := pairMaskKey(l.links[leaver], sum, v)
			must(t, err)
			is := bytes.Equal(opened[secagg.MaskKeySize*j:secagg.MaskKeySize*(j+1)], key)
			if is != (sum == 2) || !is && bytes.Contains(opened, key) {
				t.Errorf("the keys opened in sum 2 have p%d's with p%d in sum %d: %v", leaver, v, sum, is)
			}
		}
	}
	// Its first vector stays under its masks with those who stayed, whose keys nobody has opened;
	// nor does its secret of the second sum open the list of the first.
	if _, err := decryptKeys(1, secret, sums[0].deposits[leaver].maskKeys); err == nil {
		t.Error("the recovery secret of sum 2 opens the keys of sum 1")
	}
}
