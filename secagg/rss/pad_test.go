package rss

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// wantError compares an error's whole text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); got != want {
		t.Errorf("error is\n\t%s\nwant\n\t%s", got, want)
	}
}

// wordsOf draws n words of a pad, the first of them at a place.
func wordsOf(t testing.TB, p *Pads, unknown Role, step uint64, use Use, at, n int) []uint64 {
	t.Helper()
	pad, err := p.Pad(unknown, Place{Number: step}, use)
	if err != nil {
		t.Fatal(err)
	}
	w := make([]uint64, n)
	pad.Words(w, at)
	return w
}

// TestBothHoldersOfAKeyHaveTheSamePad, and pads of other steps, uses, keys and sessions are others.
func TestBothHoldersOfAKeyHaveTheSamePad(t *testing.T) {
	seen := make(map[uint64]string)
	for _, session := range []string{"one", "two"} {
		for unknown := range Role(Roles) {
			a, b := padsFor(t, (unknown+1)%Roles, session), padsFor(t, (unknown+2)%Roles, session)
			for _, step := range []uint64{1, 2, 255, 256, 1 << 40} {
				for _, use := range []Use{1, 2, 255} {
					x, y := wordsOf(t, a, unknown, step, use, 0, 9), wordsOf(t, b, unknown, step, use, 0, 9)
					if !slices.Equal(x, y) {
						t.Errorf("step %d, use %d: the pads that the %s lacks differ", step, use, unknown)
					}
					for i, w := range x {
						name := fmt.Sprintf("session %s, unknown to the %s, step %d, use %d, word %d", session, unknown, step, use, i)
						if seen[w] != "" {
							t.Errorf("%s and %s are the same", name, seen[w])
						}
						seen[w] = name
					}
				}
			}
		}
	}
}

// TestAPartOfAPadIsThatPart: words at any place are those of the whole pad, over the blocks in which they are made.
func TestAPartOfAPadIsThatPart(t *testing.T) {
	const n = 3*streamBlock/8 + 5
	pad, err := padsFor(t, Keeper, "part").Pad(Helper, Place{Number: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	whole := make([]uint64, n)
	pad.Words(whole, 0)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, n).Draw(rt, "at")
		part := make([]uint64, rapid.IntRange(0, n-at).Draw(rt, "words"))
		pad.Words(part, at)
		if !slices.Equal(part, whole[at:at+len(part)]) {
			rt.Fatal("a part differs from the whole")
		}
	})
}

// TestNumbersOf32BitsAreHalvesOfAPadsWords, at any place, and each half is one number's.
func TestNumbersOf32BitsAreHalvesOfAPadsWords(t *testing.T) {
	const n = 3*streamBlock/4 + 6
	pad, err := padsFor(t, Keeper, "halves").Pad(Helper, Place{Number: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	words := make([]uint64, n/2)
	pad.Words(words, 0)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, n).Draw(rt, "at")
		numbers := make([]uint64, rapid.IntRange(0, n-at).Draw(rt, "numbers"))
		Narrow(pad, numbers, at)
		for i, got := range numbers {
			if want := words[(at+i)/2] >> (32 * ((at + i) % 2)) & (1<<32 - 1); got != want {
				rt.Fatalf("number %d is %#x, want %#x", at+i, got, want)
			}
		}
	})
}

// TestAPadIsGivenOnce: a step's pads, and those of steps before it, are never given again.
func TestAPadIsGivenOnce(t *testing.T) {
	p := padsFor(t, LabelHolder, "once")
	for _, c := range []struct {
		unknown Role
		step    uint64
		use     Use
		want    string
	}{
		{Keeper, 5, 7, "<nil>"},
		{Keeper, 5, 7, "step 5: pad 7 was drawn before, and a pad is used once"},
		{Keeper, 5, 255, "<nil>"},
		{Helper, 5, 7, "<nil>"},
		{Keeper, 4, 9, "step 4: pad 9 was drawn before, and a pad is used once"},
		{Keeper, 6, 7, "<nil>"},
		{Keeper, 5, 8, "step 5: pad 8 was drawn before, and a pad is used once"},
		{Helper, 5, 8, "<nil>"},
		{LabelHolder, 7, 1, "step 7: this party is the label holder and has no pad that the label holder lacks"},
		{Keeper, 1<<64 - 1, 1, "<nil>"},
	} {
		_, err := p.Pad(c.unknown, Place{Number: c.step}, c.use)
		wantError(t, err, c.want)
	}
}

// mute derives nothing.
func mute(string, int) ([]byte, error) { return nil, errors.New("no secret") }

// TestPadsWithoutASecretAreRefused says whom they are with.
func TestPadsWithoutASecretAreRefused(t *testing.T) {
	told := func() keys.Hash { return keys.Hash{} }
	_, err := NewPads(Keeper, [Roles]Derive{secret("x").derive, nil, mute}, told).Pad(LabelHolder, Place{Number: 1}, 1)
	wantError(t, err, "pads that the label holder lacks: no secret")
}

// TestPadsAreBoundToWhatAllAgreeOn: parties that take a step for another, or were told other things before it, have
// unrelated pads, so that a party that leads two others apart gets no pad for two messages.
func TestPadsAreBoundToWhatAllAgreeOn(t *testing.T) {
	with := [Roles]Derive{nil, secret("keeper").derive, secret("helper").derive}
	seen := make(map[uint64]string)
	for _, told := range []keys.Hash{{}, {1}} {
		for _, about := range []string{"", "truncate", "truncate|1"} {
			p := NewPads(LabelHolder, with, func() keys.Hash { return told })
			pad, err := p.Pad(Helper, Place{Number: 7, About: about}, 3)
			if err != nil {
				t.Fatal(err)
			}
			var word [1]uint64
			pad.Words(word[:], 0)
			name := fmt.Sprintf("told %x, step %q", told[:1], about)
			if other := seen[word[0]]; other != "" {
				t.Errorf("%s and %s have one pad", name, other)
			}
			seen[word[0]] = name
		}
	}
}

// TestPackedWordsComeBack in four bytes, in six and in eight.
func TestPackedWordsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{4, 6, 8}).Draw(rt, "size")
		words := rapid.SliceOf(rapid.Uint64Max(^uint64(0)>>(64-8*size))).Draw(rt, "words")
		packed := make([]byte, size*len(words))
		Pack(packed, words, size)
		for i, b := range packed {
			if want := byte(words[i/size] >> (8 * (i % size))); b != want {
				rt.Fatalf("byte %d is %#x, want %#x", i, b, want)
			}
		}
		back := make([]uint64, len(words))
		Unpack(back, packed, size)
		if !slices.Equal(back, words) {
			rt.Fatalf("%x came back as %x", words, back)
		}
	})
}

// TestLengthsThatDoNotFitAreRefused before anything is sent.
func TestLengthsThatDoNotFitAreRefused(t *testing.T) {
	ctx := t.Context()
	p := New(LabelHolder, nil, padsFor(t, LabelHolder, "lengths"), 1)
	wantError(t, p.Pass(ctx, "test", LabelHolder, Keeper, 64, 3, make([]uint64, 2)),
		"test: 2 words from the label holder to the keeper, want 3")
	wantError(t, p.Pass(ctx, "test", Helper, LabelHolder, 64, 3, nil),
		"test: 0 words from the helper to the label holder, want 3")
	_, err := p.Input(ctx, "labels", 64, 3, make([]uint64, 4))
	wantError(t, err, "labels: 4 words to share, want 3")
	for _, c := range []struct {
		bits, terms int
		shifts      []Shift
		want        string
	}{
		{64, 3, []Shift{{4, 5}}, "test: 3 terms, want 4"},
		{64, 3, []Shift{{2, 5}, {2, 6}}, "test: 3 terms, want 4"},
		{64, 3, []Shift{{3, 0}}, "test: 3 values shifted by 0 bits, want 1 to 62"},
		{48, 3, []Shift{{3, 47}}, "test: 3 values shifted by 47 bits, want 1 to 46"},
		{64, 3, []Shift{{4, 5}, {-1, 5}}, "test: -1 values shifted by 5 bits, want 1 to 62"},
	} {
		_, err := p.Truncate(ctx, "test", c.bits, make([]uint64, c.terms), FirstOrder(), c.shifts...)
		wantError(t, err, c.want)
	}
}

// TestRolesHaveNames for errors.
func TestRolesHaveNames(t *testing.T) {
	wantError(t, fmt.Errorf("%s, %s, %s, %s, %s", LabelHolder, Keeper, Helper, Outside, Role(7)),
		"label holder, keeper, helper, outside, role 7")
}
