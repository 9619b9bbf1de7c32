package aligned

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// between is the contract of two parties.
var between = agreed()

// agreed makes a contract of two parties.
func agreed() *contract.Contract {
	job := &contract.Job{Format: "hanse-job-v1", Name: "customers", Algorithm: contract.PSI, Task: contract.TaskAlign,
		Privacy: keys.PrivacySealed, Parties: []string{"bank", "shop"}}
	return &contract.Contract{Job: job, Parties: []contract.Facts{{Name: "bank"}, {Name: "shop"}},
		Document: keys.NewDocument("test contract", []byte("customers"))}
}

// person is the id of a person.
func person(n int) psi.ID {
	return keys.HashOf("test id", binary.BigEndian.AppendUint64(nil, uint64(n)))
}

// people are the ids of persons from lo to below hi.
func people(lo, hi int) []psi.ID {
	var list []psi.ID
	for n := lo; n < hi; n++ {
		list = append(list, person(n))
	}
	return list
}

// element is what two parties alone compare, written down once more.
func element(id psi.ID) [64]byte {
	h := between.Hash()
	return sha512.Sum512(slices.Concat([]byte("\x14hanse psi element v1"), h[:], make([]byte, 4), id[:], make([]byte, 16)))
}

// pointsOf are the points of hashes under a scalar, or as they are.
func pointsOf(t *testing.T, ids []psi.ID, hash func(psi.ID) [64]byte, secret *[32]byte) []byte {
	t.Helper()
	var wide [][64]byte
	for _, id := range ids {
		wide = append(wide, hash(id))
	}
	points := make([]byte, point.Size*len(ids))
	if err := point.Hash(points, wide, 1); err != nil {
		t.Fatal(err)
	}
	if secret != nil {
		if err := point.NewScalar(*secret).Mul(points, points, 1); err != nil {
			t.Fatal(err)
		}
	}
	return points
}

// tagsOf are the tags of ids under a key.
func tagsOf(ids []psi.ID, key []byte) []byte {
	var list []byte
	for _, id := range ids {
		mac := hmac.New(sha256.New, key)
		mac.Write(slices.Concat([]byte{0}, id[:], make([]byte, 16)))
		list = append(list, mac.Sum(nil)[:16]...)
	}
	return list
}

// shuffled puts words into another order.
func shuffled(list []byte, word int) []byte {
	list = bytes.Clone(list)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list)/word, func(i, j int) {
		a, b := list[word*i:word*(i+1)], list[word*j:word*(j+1)]
		c := bytes.Clone(a)
		copy(a, b)
		copy(b, c)
	})
	return list
}

// received is a vector that came from the second party.
func received(kind string, data []byte) *vector {
	size, pass, sorted := psi.Words(kind)
	return &vector{kind: kind, word: size, pass: pass, sorted: sorted, event: transcript.TypeReceived, peer: 1,
		session: 1, size: uint64(len(data)), data: data}
}

// guesser is who has a party's view and its table, and guesses ids near its own.
type guesser struct{ own, guesses []psi.ID }

// try runs the attack on one vector.
func (g guesser) try(t *testing.T, v *vector) finding.Attack {
	t.Helper()
	in := &evidence.Input{Contract: between, Workers: 1,
		IDs: []*evidence.IDs{{Lists: [][]psi.ID{g.own}, Guesses: [][]psi.ID{g.guesses}}, nil}}
	a, err := guess(t.Context(), in, []*vector{v}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestGuessedIDsFindWhatIsNotProtected has the other party's persons 50 to 150 in words that anybody can compute: all
// of those that the guesser tries are found, 50 of its own and 10 guesses. Under secrets none is.
func TestGuessedIDsFindWhatIsNotProtected(t *testing.T) {
	theirs, h := people(50, 150), between.Hash()
	g := guesser{own: people(0, 100), guesses: people(140, 160)}
	const common = 50 + 10
	plain := func(id psi.ID) [64]byte { return sha512.Sum512(id[:]) }
	var firsts, sums []byte
	for _, id := range theirs {
		sum := sha256.Sum256(id[:])
		firsts, sums = append(firsts, id[:16]...), append(sums, sum[:16]...)
	}
	secret := [32]byte(keys.HashOf("a secret"))
	own := [32]byte(h)
	for name, test := range map[string]struct {
		kind  string
		words []byte
		want  int
	}{
		"a scalar of 1":                  {"points", pointsOf(t, theirs, element, nil), common},
		"raw hashes as points":           {"points", pointsOf(t, theirs, plain, nil), common},
		"a scalar of zeros":              {"points", pointsOf(t, theirs, element, new([32]byte)), common},
		"the contract's hash as scalar":  {"points", pointsOf(t, theirs, element, &own), common},
		"tags under the contract's hash": {"tags", tagsOf(theirs, h[:]), common},
		"tags under zeros":               {"tags", tagsOf(theirs, make([]byte, 32)), common},
		"ids as tags":                    {"tags", firsts, common},
		"hashes as tags":                 {"tags", sums, common},
		"hashes as doubled points":       {"doubled back", sums, common},
		"a secret scalar":                {"points", pointsOf(t, theirs, element, &secret), 0},
		"tags under a secret key":        {"tags", tagsOf(theirs, secret[:]), 0},
	} {
		t.Run(name, func(t *testing.T) {
			size, _, _ := psi.Words(test.kind)
			a := g.try(t, received(test.kind, shuffled(test.words, size)))
			got := int(*a.RecoveredShare*float64(a.Rows) + 0.5)
			if got != test.want || (a.Verdict == finding.Leak) != (test.want > 0) {
				t.Errorf("%d ids found, want %d: %s: %s", got, test.want, a.Verdict, a.Detail)
			}
		})
	}
}

// TestGuessedIDsTakeATable wants the attack left out where no ids are known.
func TestGuessedIDsTakeATable(t *testing.T) {
	a := guesser{}.try(t, received("points", nil))
	if a.Verdict != finding.Skipped || !strings.Contains(a.Detail, "--data") {
		t.Errorf("%s: %s", a.Verdict, a.Detail)
	}
}

// TestWordsAreHeldAgainstTheProtocol changes lists as a deviating party may.
func TestWordsAreHeldAgainstTheProtocol(t *testing.T) {
	secret, other := [32]byte(keys.HashOf("a secret")), [32]byte(keys.HashOf("another"))
	points := func(lo, hi int, secret [32]byte) []byte { return pointsOf(t, people(lo, hi), element, &secret) }
	low := append(points(0, 9, secret), make([]byte, point.Size)...)
	high := append(points(0, 9, secret), bytes.Repeat([]byte{0xff}, point.Size)...)
	tags := tagsOf(people(0, 10), secret[:])
	for name, test := range map[string]struct {
		list    []*vector
		verdict finding.Verdict
		says    string
	}{
		"honest": {[]*vector{received("points", points(0, 10, secret)), received("points 2", points(0, 10, other)),
			received("tags", tags), received("common rows", []byte(strings.Repeat("a", 16)+strings.Repeat("b", 16)))},
			finding.Passed, "of 32 words"},
		"low order":     {[]*vector{received("points", low)}, finding.Failed, "low order"},
		"not canonical": {[]*vector{received("points", high)}, finding.Failed, "not below p"},
		"a point twice": {[]*vector{received("points", append(points(0, 9, secret), points(3, 4, secret)...))},
			finding.Failed, "stands before"},
		"a scalar twice": {[]*vector{received("points", points(0, 10, secret)), received("points 2", points(5, 15, secret))},
			finding.Leak, "two lists"},
		"a tag twice": {[]*vector{received("tags", append(bytes.Clone(tags), tags[:16]...))}, finding.Failed,
			"stands before"},
		"not sorted": {[]*vector{received("common rows", []byte(strings.Repeat("b", 16)+strings.Repeat("a", 16)))},
			finding.Failed, "not sorted"},
	} {
		t.Run(name, func(t *testing.T) {
			found := finding.NewSet()
			n, err := check(between, test.list, found)
			if err != nil {
				t.Fatal(err)
			}
			c := found.Check(finding.CheckWords, fmt.Sprintf("of %d words", n))
			if c.Verdict != test.verdict || !strings.Contains(c.Detail, test.says) {
				t.Errorf("%s: %s, want %s and %q", c.Verdict, c.Detail, test.verdict, test.says)
			}
		})
	}
}
