package shamir

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// failer is what *testing.T, *testing.B and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func newScheme(t failer, n, threshold int) *Scheme {
	t.Helper()
	s, err := New(n, threshold)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// someElements draws elements from a seed.
func someElements(seed uint64, n int) []Element {
	random := rand.New(rand.NewPCG(seed, 0))
	list := make([]Element, n)
	for i := range list {
		for w := range list[i] {
			list[i][w] = random.Uint64N(P)
		}
	}
	return list
}

// upTo lists the holders 1..n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

func mustRecover(t failer, s *Scheme, public []Element, holders []int, shares []Element) Element {
	t.Helper()
	secret, err := s.Recover(public, holders, shares)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestSchemesOfAllSizesRecover(t *testing.T) {
	for _, size := range []struct{ n, t int }{{1, 1}, {2, 1}, {150, 90}, {MaxHolders, 1}, {MaxHolders, 600},
		{MaxHolders, MaxHolders}} {
		s, shares := newScheme(t, size.n, size.t), someElements(uint64(size.n), size.n+1)
		secret, shares := shares[0], shares[1:]
		public := s.Publish(secret, shares)
		if len(public) != size.n+1-size.t || s.Threshold() != size.t || s.Holders() != size.n {
			t.Errorf("%v: %d public points, threshold %d of %d", size, len(public), s.Threshold(), s.Holders())
		}
		holders := upTo(size.n)
		if got := mustRecover(t, s, public, holders, shares); got != secret {
			t.Errorf("%v: all holders recover another secret", size)
		}
		holders, shares = holders[size.n-size.t:], shares[size.n-size.t:]
		if got := mustRecover(t, s, public, holders, shares); got != secret {
			t.Errorf("%v: the last %d holders recover another secret", size, size.t)
		}
	}
}

// TestAFalseShareAmongTheFurtherOnesIsNamed: the first of them.
func TestAFalseShareAmongTheFurtherOnesIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		s := newScheme(t, n, rapid.IntRange(1, n-1).Draw(t, "t"))
		values := someElements(rapid.Uint64().Draw(t, "seed"), n+1)
		public, shares := s.Publish(values[0], values[1:]), values[1:]
		holders := upTo(n)
		first, second := rapid.IntRange(s.t, n-1).Draw(t, "false"), rapid.IntRange(s.t, n-1).Draw(t, "also false")
		for _, i := range []int{first, second} {
			spoil(&shares[i], rapid.IntRange(0, Words-1).Draw(t, "word"))
		}
		_, err := s.Recover(public, holders, shares)
		var off *OffError
		if !errors.As(err, &off) || off.Holder != holders[min(first, second)] {
			t.Fatalf("error %v, want one about holder %d", err, holders[min(first, second)])
		}
	})
}

// TestAnyFalseValueIsNoticed: with one share more than needed nothing can be false alone.
func TestAnyFalseValueIsNoticed(t *testing.T) {
	const n, threshold = 9, 5
	s, values := newScheme(t, n, threshold), someElements(3, n+1)
	for i := range n + 1 - threshold + threshold + 1 {
		public, shares := s.Publish(values[0], values[1:]), slices.Clone(values[1:threshold+2])
		if i < len(public) {
			spoil(&public[i], i%Words)
		} else {
			spoil(&shares[i-len(public)], i%Words)
		}
		_, err := s.Recover(public, upTo(threshold+1), shares)
		if want := "recover a secret: the share of holder 6 does not fit the public points and the shares before it"; err == nil || err.Error() != want {
			t.Errorf("value %d: error %v, want %s", i, err, want)
		}
	}
}

// spoil adds one to a word.
func spoil(e *Element, w int) { e[w] = (e[w] + 1) % P }

func TestRecoverRefuses(t *testing.T) {
	s, values := newScheme(t, 5, 3), someElements(4, 6)
	public, shares := s.Publish(values[0], values[1:]), values[1:]
	for _, c := range []struct {
		public  []Element
		holders []int
		shares  []Element
		want    string
	}{
		{public[1:], upTo(5), shares, "recover a secret: 2 public points, want 3"},
		{nil, nil, nil, "recover a secret: 0 public points, want 3"},
		{public, upTo(5), shares[1:], "recover a secret: 4 shares of 5 holders, want one each"},
		{public, upTo(2), shares[:2], "recover a secret: 2 shares, want at least 3"},
		{public, []int{1, 2, 6}, shares[:3], "recover a secret: holder 6, want 1 to 5"},
		{public, []int{1, 0, 2}, shares[:3], "recover a secret: holder 0, want 1 to 5"},
		{public, []int{1, 2, 3, 2}, shares[:4], "recover a secret: holder 2 twice"},
	} {
		if _, err := s.Recover(c.public, c.holders, c.shares); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, size := range []struct{ n, t int }{{0, 0}, {3, 0}, {3, -1}, {3, 4}, {-1, -1}, {MaxHolders + 1, 2}} {
		if _, err := New(size.n, size.t); err == nil || !strings.Contains(err.Error(),
			"want 1 <= threshold <= holders <= 1024") {
			t.Errorf("%v: error %v", size, err)
		}
	}
}

func TestPublishRefusesAnotherNumberOfShares(t *testing.T) {
	s, values := newScheme(t, 5, 3), someElements(4, 6)
	for _, shares := range [][]Element{nil, values[:4], values} {
		if s.Publish(values[0], shares) != nil {
			t.Errorf("%d shares of 5 holders are published", len(shares))
		}
	}
}

func TestPublishAndRecoverLeaveTheirArgumentsAlone(t *testing.T) {
	s, values := newScheme(t, 5, 3), someElements(5, 6)
	shares := slices.Clone(values[1:])
	public := s.Publish(values[0], shares)
	before := slices.Clone(public)
	holders := []int{5, 4, 3, 2, 1}
	slices.Reverse(shares)
	mustRecover(t, s, public, holders, shares)
	slices.Reverse(shares)
	if !slices.Equal(shares, values[1:]) || !slices.Equal(public, before) || !slices.Equal(holders, []int{5, 4, 3, 2, 1}) {
		t.Error("an argument has changed")
	}
}
