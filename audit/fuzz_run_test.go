package audit

import (
	"runtime"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// most is how many bytes an audit of a small transcript may allocate, over all its steps.
const most = 1 << 26

// FuzzRun changes records and payloads as a forger does who has all keys: chain, numbers and signatures
// are right, so that the attacks see what was changed. Run never panics, never fails on what it reads,
// allocates no more than a bound, and its report is always one that JSON can hold.
func FuzzRun(f *testing.F) {
	stochastic := fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 12, Batch: 30, BlockFeatures: 3}
	all := []*federation{
		newFederation(f, 40, 1, fdskl.Masked, contract.Star, fdskl.Params{Features: 24, Iterations: 5}),
		newFederation(f, 40, 2, fdskl.Masked, contract.Tree, stochastic),
		newFederation(f, 40, 1, fdskl.Published, contract.Tree, fdskl.Params{Features: 24, Iterations: 5}),
		newFederation(f, 40, 2, fdskl.Published, contract.Tree, stochastic),
	}
	for _, x := range all {
		must(f, x.learn(-1, 0, nil))
	}
	for which := range uint8(8) {
		f.Add(which, []byte{}, []byte{})
		f.Add(which, []byte{30, 4, 9, 31, 5, 200, 32, 7, 7}, []byte{3, 1, 4, 1})
		f.Add(which, []byte{20, 3, 3, 21, 3, 3, 22, 6, 1, 23, 8, 0}, []byte{5, 5, 5, 5, 2, 2})
		f.Add(which, []byte{200, 0, 1, 90, 1, 1, 60, 2, 1, 55, 9, 8, 11, 10, 255}, []byte{7, 0, 0, 9, 6})
	}
	f.Fuzz(func(t *testing.T, which uint8, records, payloads []byte) {
		all[which%4].forged(t, int(which/4%4), records, payloads, most)
	})
}

// FuzzEncryptedRun does as FuzzRun with the transcripts of encrypted sums.
func FuzzEncryptedRun(f *testing.F) {
	x := newEncrypted(f, 40, 2, contract.Tree, fdskl.Params{Features: 24, Iterations: 2})
	must(f, x.learn(-1, 0, nil))
	for party := range uint8(4) {
		if party%3 != 0 && !drawn.All {
			continue // party 1 has labels as party 0 has, and party 2 none as party 3
		}
		f.Add(party, []byte{}, []byte{})
		f.Add(party, []byte{30, 4, 9, 31, 5, 200, 32, 7, 7}, []byte{3, 1, 4, 1})
		f.Add(party, []byte{20, 0, 10, 21, 0, 11, 22, 6, 1, 23, 8, 0}, []byte{5, 5, 5, 5, 2, 2})
		f.Add(party, []byte{14, 5, 200, 15, 5, 56, 16, 10, 2, 17, 10, 2, 25, 2, 3}, []byte{7, 0, 0, 9, 6})
	}
	f.Fuzz(func(t *testing.T, party uint8, records, payloads []byte) {
		x.forged(t, int(party%4), records, payloads, 16*most) // the payloads are larger
	})
}

// forged audits a party's changed transcript.
func (f *federation) forged(t *testing.T, party int, records, payloads []byte, most uint64) {
	in := f.input()
	lab := *f.testNetwork
	lab.t = t
	in.Sources = []evidence.Source{source("forged", lab.deviate(party, mutated(records)))}
	in.Sources[0].Payload = f.mutatedPayloads(party, payloads)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Run(t.Context(), in)
	mustDo(t, err)
	wantJSON(t, r)
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > most {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
}

// mutated changes fields of records, three bytes for each change: which record, which field, and to what.
func mutated(changes []byte) edit {
	kinds := []string{"angles", "published-angles", "phases", "batch", "resume-point", "width", "target",
		"request", "scores", "strange", "angles c1", "angles share", "he-key"}
	return func(all []transcript.Record) []transcript.Record {
		for c := changes; len(c) >= 3; c = c[3:] {
			r, v := &all[int(c[0])%len(all)], c[2]
			if !r.Type.Payload() {
				continue
			}
			other := &all[int(v)%len(all)]
			switch c[1] % 11 {
			case 0:
				r.Kind = kinds[int(v)%len(kinds)]
			case 1:
				r.Class = contract.Class(1 + v%uint8(contract.ClassHE))
			case 2:
				r.Encoding = contract.Encoding(v % uint8(contract.RLWE+1))
			case 3:
				r.Chunk = uint32(v) << (v % 25)
			case 4:
				r.Operation += uint64(v % 3)
			case 5:
				r.Size = uint64(v) << (v % 57)
			case 6:
				r.Bytes = uint64(v) << (v % 14)
			case 7:
				r.Time += int64(v) << (v % 55)
			case 8:
				if other.Type.Payload() {
					r.Proof, r.Bytes = other.Proof, other.Bytes
				}
			case 9:
				r.Kept = v%2 == 0
			case 10:
				r.Type = []transcript.Type{transcript.TypeSent, transcript.TypeReceived, transcript.TypeOpened}[v%3]
			}
		}
		return all
	}
}

// mutatedPayloads returns the payloads of a party with changes: two bytes for each, the place and what is
// written there. The first says which payloads are changed.
func (f *federation) mutatedPayloads(party int, changes []byte) func(sum [32]byte) ([]byte, error) {
	return func(sum [32]byte) ([]byte, error) {
		payload, err := f.stores[party].Get(sum)
		if err != nil || len(payload) == 0 || len(changes) == 0 || (sum[0]^changes[0])&3 != 0 {
			return payload, err
		}
		for c := changes[1:]; len(c) >= 2; c = c[2:] {
			for i := int(c[0]) % len(payload); i < len(payload); i += 61 {
				payload[i] = c[1]
			}
		}
		return payload, nil
	}
}
