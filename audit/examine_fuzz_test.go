package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/audit/conform"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// FuzzExamine changes a transcript at many places, with and without the chain repaired: examining and
// comparing never panics, and never says that a changed transcript is whole.
func FuzzExamine(f *testing.F) {
	fuzzExamine(f, sumsOf(f))
}

// FuzzExamineEncrypted does as FuzzExamine with the transcripts of encrypted sums.
func FuzzExamineEncrypted(f *testing.F) { fuzzExamine(f, encryptedOf(f)) }

// FuzzExamineDirect does as FuzzExamine with the transcripts of direct messages and padded sums.
func FuzzExamineDirect(f *testing.F) { fuzzExamine(f, directsOf(f)) }

// FuzzExamineServed is the same of a job over clients.
func FuzzExamineServed(f *testing.F) {
	c := newCohorts(f, 3, 2, cohort.Masked, contract.Tree)
	must(f, c.federate())
	fuzzExamine(f, c.testNetwork)
}

// fuzzExamine changes the transcripts of a test network.
func fuzzExamine(f *testing.F, l *testNetwork) {
	in := &evidence.Input{Contract: l.contract}
	texts := [][]byte{l.text(0), l.deviate(0, unsigned()), l.text(2)}
	f.Add(uint8(0), true, []byte{1, 0, 0, 2, 5, 7, 1, 9, 3, 40, 0, 99, 200, 1})
	f.Add(uint8(1), true, []byte{0, 4, 0, 4, 0, 9, 11, 3})
	f.Add(uint8(2), false, []byte{})
	f.Add(uint8(0), false, []byte{255, 200}) // zeros behind it
	f.Add(uint8(0), false, []byte{100, 3})
	f.Fuzz(func(t *testing.T, which uint8, chained bool, edits []byte) {
		text := bytes.Clone(texts[int(which)%len(texts)])
		for ; len(edits) >= 4; edits = edits[4:] {
			block := int(binary.BigEndian.Uint16(edits)&0x7f) % (len(text) / transcript.BlockSize)
			text[block*transcript.BlockSize+int(edits[2])%transcript.BlockSize] = edits[3]
		}
		if len(edits) == 1 || len(edits) == 2 {
			text = text[:len(text)*int(edits[0])/255]
		}
		if len(edits) == 2 {
			text = append(text, make([]byte, 50*int(edits[1]))...)
		}
		if chained {
			rechain(text)
		}
		forged, other := source("forged", text), source("p1", texts[2])
		all := []*conform.Examination{mustExamine(t, in, &forged), mustExamine(t, in, &other)}
		cross := conform.Cross(t.Context(), in, all)
		original := texts[int(which)%len(texts)]
		found := func(c finding.Check) bool {
			return c.Verdict == finding.Failed || c.Verdict == finding.Skipped && all[0].Transcript.Cut
		}
		changed := !chained && len(text) == len(original) && !bytes.Equal(text, original)
		if changed && !slices.ContainsFunc(checksOf(all, cross), found) {
			t.Error("a changed transcript passes")
		}
	})
}

// mustExamine wants no error: everything is in memory.
func mustExamine(t testing.TB, in *evidence.Input, s *evidence.Source) *conform.Examination {
	t.Helper()
	e, err := conform.Examine(t.Context(), in, s)
	mustDo(t, err)
	return e
}

// rechain makes numbers and hashes right.
func rechain(text []byte) {
	const size, hash = transcript.BlockSize, transcript.BlockSize - 32
	for at := size; at+size <= len(text); at += size {
		b := text[at : at+size]
		binary.BigEndian.PutUint64(b[8:], uint64(at/size-1))
		sum := sha256.Sum256(text[at-32 : at+hash])
		copy(b[hash:], sum[:])
	}
}
