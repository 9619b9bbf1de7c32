package consent

import (
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestAnUnknownKindMayBeOfOneRow: nobody says that its values are spread over the rows, nor that they are as small
// as a word.
func TestAnUnknownKindMayBeOfOneRow(t *testing.T) {
	c := credit().Contract // of 300 rows
	for _, count := range []int64{1, 10, 300} {
		bits, _ := Weigh(c, &contract.Opening{To: "bank", Kind: "mystery", Count: count})
		if bits < wordBits*count {
			t.Errorf("%d mysteries of %d rows tell at most %d bits of a row", count, c.Rows(), bits)
		}
	}
	c.Operations = append(c.Operations, contract.Operation{Kind: "mystery", Collective: contract.CollectiveBroadcast,
		Root: "insurer", Class: contract.ClassOpening.String(), Encoding: contract.Bytes.String(), Count: 1, Bytes: 1 << 20})
	if bits, _ := Weigh(c, &contract.Opening{To: "bank", Kind: "mystery", Count: 1}); bits < 8<<20 {
		t.Errorf("a mystery of 2^20 bytes tells at most %d bits of a row", bits)
	}
}

// TestAnUnknownKindIsNoSingleScore: the standard bound on bits of a row is waived for a first model's one score, and
// for nothing else.
func TestAnUnknownKindIsNoSingleScore(t *testing.T) {
	c := told(credit(), Told{With: 19200, Entropy: 30})
	c.Contract.Openings = []contract.Opening{{To: "bank", Kind: "mystery", Count: 300 * 300}}
	if c.opensOneScore() {
		t.Error("a job whose openings nobody knows opens no more than one score")
	}
	p := parsed(t, "[[accept]]\nproposers = [\"bank\"]\n")
	if j := p.Judge(c); j.Verdict == Accept {
		t.Errorf("it is accepted: %+v", j)
	}
}
