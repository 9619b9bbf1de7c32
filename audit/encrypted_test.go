package audit

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/he"
)

// newEncrypted is a federation whose sums are by homomorphic encryption.
func newEncrypted(t testing.TB, rows, active int, topology contract.Topology, p fdskl.Params) *federation {
	t.Helper()
	f := newFederation(t, rows, active, fdskl.Masked, topology, p)
	f.encrypted = true
	f.sign(active)
	return f
}

func TestEncryptedRunsOpenTheAnglesToTheActivePartiesAlone(t *testing.T) {
	fixed := fdskl.Params{Schedule: fdskl.Fixed, Features: 80, Iterations: 1}
	stochastic := fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 8, Batch: 64, BlockFeatures: 6}
	for _, c := range []struct {
		params   fdskl.Params
		active   int
		topology contract.Topology
	}{{fixed, 1, contract.Tree}, {fixed, 2, contract.Ring}, {stochastic, 1, contract.Star},
		{stochastic, 2, contract.Tree}} {
		t.Run(fmt.Sprintf("%s, %d active, %s", c.params.Schedule, c.active, c.topology), func(t *testing.T) {
			t.Parallel()
			f := newEncrypted(t, 120, c.active, c.topology, c.params)
			must(t, f.learn(-1, 0, nil))
			r := f.audited(f.input())
			wantNoneOf(t, r)
			if r.Verdict != finding.Disclosed {
				t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
			}
			f.wantEncryptedViews(r, c.active)
		})
	}
}

// wantEncryptedViews wants an honest encrypted run's verdict on every party's views.
func (f *federation) wantEncryptedViews(r *finding.Report, active int) {
	f.t.Helper()
	for i, name := range f.names {
		if i < active {
			wantRebuilt(f.t, r, name, views.ViewActive, finding.Disclosed, 9, 1e-3)
		} else {
			wantAttack(f.t, r, "label leakage", name, "passive party", finding.Clean, "")
		}
		if attackOf(r, "difference", name, views.ViewParent) != nil {
			f.t.Errorf("%s saw ciphertexts only, and was attacked as a parent", name)
		}
		wantAttack(f.t, r, "uniformity", name, "ciphertexts", finding.Clean, "words of ciphertexts and decryption shares")
		wantAttack(f.t, r, "ciphertext reuse", name, "ciphertexts", finding.Clean, "no two of ")
		wantCheck(f.t, r.Checks, finding.CheckCiphertexts, finding.Passed, "no two of ")
	}
	wantCheck(f.t, r.Checks, finding.CheckContributors, finding.Passed, "every encrypted sum that opened to this party has the vectors of at least 4 parties in it")
}

// encryptedWords is how many angles a sum of newSealed has: more than a ciphertext holds.
const encryptedWords = 3*he.Degree - 5

// planting changes what a party sends in a sum of the given number, from 0: the ciphertexts or the shares.
type planting func(sum, party int, shares bool, polynomials []byte)

// newEncryptedSums is a test network of four parties that have run two sessions of three encrypted sums by hand, or one
// where something is planted, with polynomials that are random, as true ones are, but cost nothing.
func newEncryptedSums(t testing.TB, plant planting) *testNetwork {
	t.Helper()
	l := newTestNetwork(t, 4)
	const sums, cipher = 3, 3 * he.CiphertextSize
	operation := func(kind, collective, class, encoding string, count, bytes int64, shape ...int64) contract.Operation {
		return contract.Operation{Kind: kind, Stage: 1, Collective: collective, Root: "p0", Class: class, Encoding: encoding,
			Count: count, Bytes: bytes, Shape: shape}
	}
	operations := []contract.Operation{
		operation(he.KindKeyShare, "sum", "he", "rlwe", 1, he.PolySize),
		operation(he.KindKey, "broadcast", "control", "bytes", 1, he.PolySize),
		operation("angles", "sum", "he", "rlwe", sums, sums*cipher, sums*encryptedWords),
		operation("angles"+he.SuffixC1, "broadcast", "control", "bytes", sums, sums*cipher/2),
		operation("angles"+he.SuffixShare, "sum", "he", "rlwe", sums, sums*cipher/2),
		contract.Confirms(1 + sums),
	}
	l.agree(contract.Job{Privacy: "masked", Aggregation: "he"}, 1, nil, operations)
	l.keep()
	sessions := 2
	if plant != nil {
		sessions = 1
	}
	for range sessions {
		must(t, l.run(func(ctx context.Context, i int, s *protocol.Session) error {
			return l.encryptedSums(ctx, i, s, plant, sums)
		}))
	}
	return l
}

// encryptedSums is one party's part of a session.
func (l *testNetwork) encryptedSums(ctx context.Context, i int, s *protocol.Session, plant planting, sums int) error {
	if err := s.Reduce(ctx, l.encryptedSum(he.KindKeyShare, uniform(1))); err != nil {
		return err
	}
	if _, err := s.Broadcast(ctx, he.KindKey, contract.ClassControl, 0, uniform(1), he.PolySize); err != nil {
		return err
	}
	if err := s.Confirm(ctx); err != nil {
		return err
	}
	for sum := range sums {
		ciphertexts, shares := uniform(6), uniform(3)
		if plant != nil {
			plant(sum, i, false, ciphertexts)
			plant(sum, i, true, shares)
		}
		if err := s.Reduce(ctx, l.encryptedSum("angles", ciphertexts)); err != nil {
			return err
		}
		if _, err := s.Broadcast(ctx, "angles"+he.SuffixC1, contract.ClassControl, 0, uniform(3), 3*he.PolySize); err != nil {
			return err
		}
		if err := s.Confirm(ctx); err != nil {
			return err
		}
		if err := s.Reduce(ctx, l.encryptedSum("angles"+he.SuffixShare, shares)); err != nil {
			return err
		}
		total := make([]byte, 2*encryptedWords)
		rand.Read(total)
		if i == 0 {
			if err := s.Opened("angles", contract.Turns16, len(total), 0, total); err != nil {
				return err
			}
		}
	}
	return nil
}

// encryptedSum is a sum of polynomials; addends are not added up but passed on, so that what was planted is seen.
func (l *testNetwork) encryptedSum(kind string, own []byte) protocol.Reduction {
	return protocol.Reduction{
		Kind: kind, Class: contract.ClassHE, Encoding: contract.RLWE, Plan: contract.PlanFor(contract.Tree, 4, 0),
		Size: len(own), Sealed: true,
		Load:  func(offset int, chunk []byte) error { copy(chunk, own[offset:]); return nil },
		Add:   func(dst, src []byte) {},
		Store: func(int, []byte) error { return nil },
	}
}

func uniform(n int) []byte {
	b := make([]byte, n*he.PolySize)
	rand.Read(b)
	for at := 0; at < len(b); at += 8 {
		b[at+7] &= 0x0f // below 2^60
	}
	return b
}

func TestHonestEncryptedSumsPassAllChecks(t *testing.T) {
	l := encryptedOf(t)
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
	if got := all[0].Learned; len(got) != 1 || got[0].Words != 2*3*encryptedWords || got[0].Contributors != 4 {
		t.Errorf("p0 learned %+v", got)
	}
	r := l.auditedAll()
	wantAttack(t, r, "uniformity", "p0", "ciphertexts", finding.Clean, "")
	wantAttack(t, r, "ciphertext reuse", "p0", "ciphertexts", finding.Clean, "")
}

func (l *testNetwork) auditedAll() *finding.Report {
	l.t.Helper()
	r, err := Run(l.t.Context(), &evidence.Input{Contract: l.contract, Sources: l.sources(), Workers: 1})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func TestDeviationsOfEncryptedSumsAreFoundByTheirCheck(t *testing.T) {
	l := encryptedOf(t)
	const c1, shares = "angles" + he.SuffixC1, "angles" + he.SuffixShare
	fold := func(n int, m match) match { // the n-th that is selected, of each transcript
		count := 0
		return func(r *transcript.Record) bool {
			if !m(r) {
				return false
			}
			count++
			return count == n
		}
	}
	for _, d := range []deviation{
		{"no key", 1, drop(operationOf(he.KindKey)), finding.CheckOperations,
			"ciphertexts before the parties have made a key"},
		{"key of another size", 1, alter(operationOf(he.KindKey), -1, func(r *transcript.Record) {
			r.Size, r.Bytes = 96, 96
		}), finding.CheckOperations, "a vector of 96 bytes, want a polynomial of 131072"},
		{"no c1", 2, drop(operationOf(c1)), finding.CheckOperations,
			"begins while the encrypted sum of operation 5 (angles) of session 1 is not open: angles c1 was next"},
		{"short c1", 3, alter(operationOf(c1), -1, func(r *transcript.Record) { r.Size, r.Bytes = he.PolySize, he.PolySize }),
			finding.CheckOperations, "angles c1 was next"},
		{"long c1", 3, alter(operationOf(c1), -1, func(r *transcript.Record) { r.Size, r.Bytes = 8*he.PolySize, 8*he.PolySize }), finding.CheckOperations, "bytes of c1 of ciphertexts of 786432 bytes, of which 0 were told before"},
		{"no shares", 1, drop(operationOf(shares)), finding.CheckOperations, "angles share was next"},
		{"shares of another size", 3, alter(operationOf(shares), -1, func(r *transcript.Record) { r.Size, r.Bytes = he.PolySize, he.PolySize }), finding.CheckOperations, "shares of 131072 bytes for ciphertexts of 786432, want half of it"},
		{"shares of no sum", 3, drop(operationOf("angles")), finding.CheckOperations, "it belongs to no encrypted sum"},
		{"share twice", 3, again(shares), finding.CheckEgress, "angles share to p2 is over its budget in session 1"},
		{"ciphertexts cut", 3, alter(operationOf("angles"), -1, func(r *transcript.Record) { r.Size, r.Bytes = 100, 100 }),
			finding.CheckOperations, "a vector of 100 bytes, want ciphertexts of 262144"},
		{"not opened", 0, drop(of(opened, "angles", 0)), finding.CheckOperations, "is not open: its total was next"},
		{"last one not opened", 0, drop(fold(3, of(opened, "angles", 0))), finding.CheckOperations,
			"is not open: its total was next"},
		{"opened before the shares", 0, drop(of(received, shares, 1)), finding.CheckOperations, "chunk 0 received from p2 where chunk 0 received from p1 was next"},
		{"opened without shares", 0, drop(operationOf(shares)), finding.CheckOperations,
			"a total without the shares that decrypt it"},
		{"opened at another party", 2,
			insert(fold(1, of(sent, shares, 0)), func(all []transcript.Record, at int) []transcript.Record {
				r := all[at]
				r.Type, r.Kind, r.Class, r.Encoding, r.Peer, r.Bytes, r.Size, r.Proof = opened, "angles", contract.ClassOpening,
					contract.Turns16, 2, 20, 20, [64]byte{1}
				return []transcript.Record{r}
			}), finding.CheckOperations, "is not whole: chunk 0 sent to p0 was next"},
		{"opened as reals", 0, alter(of(opened, "angles", 0),
			0, func(r *transcript.Record) { r.Encoding = contract.Float64 }), finding.CheckOperations,
			"want an opening of words of one ring"},
		{"opened more than is encrypted", 0,
			alter(of(opened, "angles", 0), 0, func(r *transcript.Record) { r.Size, r.Bytes = 8*he.Degree, 8*he.Degree }),
			finding.CheckOperations, "a total of 32768 numbers from ciphertexts of 786432 bytes"},
		{"opened more than is agreed", 0, alter(of(opened, "angles", 0), -1, func(r *transcript.Record) {
			r.Size, r.Bytes = 6*he.Degree, 6*he.Degree
		}), finding.CheckOperations, "numbers opened in session 1, 73713 are agreed"},
		{"opened in part", 0, alter(of(opened, "angles", 0), 0, func(r *transcript.Record) { r.Bytes -= 2 }), finding.CheckOperations, "chunk 0 of 49140 bytes of a total of 49142, want chunk 0 of 49142 of 49142"},
		{"group of one", 0, drop(of(received, "angles", 2)), finding.CheckContributors, "2 of 4 parties in it, at least 3 are wanted; the frame of a party that should be in it is missing; a group of one: p0 subtracts its own"},
		{"ciphertexts repeated by a child", 0, repeat(of(received, "angles", 1)), finding.CheckCiphertexts,
			"ciphertext reused: record"},
		{"ciphertexts repeated by the party", 3, repeat(of(sent, "angles", 2)), finding.CheckCiphertexts,
			"ciphertext reused: record"},
		{"share repeated", 0, repeat(of(received, shares, 2)), finding.CheckCiphertexts, "ciphertext reused: record"},
		{"decrypted twice", 3, repeat(of(received, c1, 2)), finding.CheckCiphertexts, "decrypted twice: record"},
	} {
		t.Run(d.name, func(t *testing.T) {
			changed := source("changed", l.deviate(d.party, d.change))
			all, _ := l.examined(changed)
			verdict := finding.Failed
			if d.check == finding.CheckContributors || d.check == finding.CheckCiphertexts {
				verdict = finding.Leak
			}
			wantCheck(t, all[0].Checks, d.check, verdict, d.detail)
		})
	}
}

func TestACiphertextSentTwiceIsFound(t *testing.T) {
	var first []byte
	l := newEncryptedSums(t, func(sum, party int, shares bool, p []byte) {
		switch {
		case party != 3 || shares:
		case sum == 0:
			first = slices.Clone(p[:he.CiphertextSize])
		case sum == 1: // in another place, among fresh ones
			copy(p[he.CiphertextSize:], first)
		}
	})
	r := l.auditedAll()
	wantAttack(t, r, "ciphertext reuse", "p3", "ciphertexts", finding.Leak, "ciphertext reused: polynomial 3 of record ")
	wantAttack(t, r, "ciphertext reuse", "p2", "ciphertexts", finding.Leak, "received")
	if r.Verdict != finding.Leak {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
}

func TestADecryptionShareSentTwiceIsFound(t *testing.T) {
	var first []byte
	l := newEncryptedSums(t, func(sum, party int, shares bool, p []byte) {
		switch {
		case party != 1 || !shares:
		case sum == 0:
			first = slices.Clone(p)
		default:
			copy(p, first)
		}
	})
	r := l.auditedAll()
	wantCheck(t, r.Checks, finding.CheckCiphertexts, finding.Leak,
		"angles share, received from p1) has the payload of record")
	wantAttack(t, r, "ciphertext reuse", "p0", "ciphertexts", finding.Leak, "angles share")
}

func TestAnUnencryptedChunkIsFoundByUniformity(t *testing.T) {
	l := newEncryptedSums(t, func(sum, party int, shares bool, p []byte) {
		if party == 1 && !shares && sum == 1 {
			clear(p[:he.CiphertextSize])
			for i := range he.Degree { // a plaintext in place of a ciphertext
				binary.LittleEndian.PutUint64(p[8*i:], uint64(i*i%65536))
			}
		}
	})
	r := l.auditedAll()
	wantAttack(t, r, "uniformity", "p0", "ciphertexts", finding.Leak, "that should be encrypted are not uniform")
	wantAttack(t, r, "uniformity", "p1", "ciphertexts", finding.Leak, "some of them are not encrypted")
	wantAttack(t, r, "uniformity", "p2", "ciphertexts", finding.Clean, "")
}
