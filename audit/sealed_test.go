package audit

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/he"
)

// newEncrypted is a federation whose sums are by homomorphic encryption.
func newEncrypted(t testing.TB, rows, active int, topology protocol.Topology, p fdskl.Params) *federation {
	t.Helper()
	f := newFederation(t, rows, active, fdskl.Masked, topology, p)
	f.encrypted = true
	f.sign(active)
	return f
}

func TestEncryptedRunsOpenTheAnglesToTheActivePartiesAlone(t *testing.T) {
	fixed := fdskl.Params{Schedule: fdskl.Fixed, Features: 40, Iterations: 1}
	stochastic := fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 8, Batch: 64, BlockFeatures: 6}
	for _, c := range []struct {
		params   fdskl.Params
		active   int
		topology protocol.Topology
	}{{fixed, 1, protocol.Tree}, {fixed, 2, protocol.Ring}, {stochastic, 1, protocol.Star}, {stochastic, 2, protocol.Tree}} {
		t.Run(fmt.Sprintf("%s, %d active, %s", c.params.Schedule, c.active, c.topology), func(t *testing.T) {
			t.Parallel()
			f := newEncrypted(t, 120, c.active, c.topology, c.params)
			must(t, f.learn(-1, 0, nil))
			r := f.audited(f.input())
			wantNoneOf(t, r)
			if r.Verdict != Disclosed {
				t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
			}
			f.wantSealedViews(r, c.active)
		})
	}
}

// wantSealedViews wants an honest encrypted run's verdict on every party's views.
func (f *federation) wantSealedViews(r *Report, active int) {
	f.t.Helper()
	for i, name := range f.names {
		if i < active {
			wantRebuilt(f.t, r, name, viewActive, Disclosed, 9, 1e-3)
		} else {
			wantAttack(f.t, r, "label leakage", name, "passive party", Clean, "")
		}
		if attackOf(r, "difference", name, viewParent) != nil {
			f.t.Errorf("%s saw ciphertexts only, and was attacked as a parent", name)
		}
		wantAttack(f.t, r, "uniformity", name, "ciphertexts", Clean, "words of ciphertexts and decryption shares")
		wantAttack(f.t, r, "ciphertext reuse", name, "ciphertexts", Clean, "no two of ")
		wantCheck(f.t, r.Checks, checkCiphertexts, Passed, "no two of ")
	}
	wantCheck(f.t, r.Checks, checkContributors, Passed, "every encrypted sum that opened to this party has the vectors of at least 4 parties in it")
}

// sealedWords is how many angles a sum of newSealed has: more than a ciphertext holds.
const sealedWords = 3*he.Degree - 5

// planting changes what a party sends in a sum of the given number, from 0: the ciphertexts or the shares.
type planting func(sum, party int, shares bool, polynomials []byte)

// newSealed is a league of four parties that have run two sessions of three encrypted sums by hand, with
// polynomials that are random, as true ones are, but cost nothing.
func newSealed(t testing.TB, plant planting) *league {
	t.Helper()
	l := newLeague(t, 4)
	const sums, cipher = 3, 3 * he.CiphertextSize
	operation := func(kind, collective, class, encoding string, count, bytes int64, shape ...int64) protocol.Operation {
		return protocol.Operation{Kind: kind, Stage: 1, Collective: collective, Root: "p0", Class: class, Encoding: encoding, Count: count, Bytes: bytes, Shape: shape}
	}
	operations := []protocol.Operation{
		operation(he.KindKeyShare, "sum", "he", "rlwe", 1, he.PolySize),
		operation(he.KindKey, "broadcast", "control", "bytes", 1, he.PolySize),
		operation("angles", "sum", "he", "rlwe", sums, sums*cipher, sums*sealedWords),
		operation("angles"+he.SuffixC1, "broadcast", "control", "bytes", sums, sums*cipher/2),
		operation("angles"+he.SuffixShare, "sum", "he", "rlwe", sums, sums*cipher/2),
		protocol.Confirms(1 + sums),
	}
	l.agree(protocol.Job{Privacy: "masked", Aggregation: "he"}, 1, nil, operations)
	l.keep()
	for range 2 {
		must(t, l.run(func(ctx context.Context, i int, s *protocol.Session) error {
			return l.sealedSums(ctx, i, s, plant, sums)
		}))
	}
	return l
}

// sealedSums is one party's part of a session.
func (l *league) sealedSums(ctx context.Context, i int, s *protocol.Session, plant planting, sums int) error {
	if err := s.Reduce(ctx, l.sealed(he.KindKeyShare, uniform(1))); err != nil {
		return err
	}
	if _, err := s.Broadcast(ctx, he.KindKey, protocol.ClassControl, 0, uniform(1), he.PolySize); err != nil {
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
		if err := s.Reduce(ctx, l.sealed("angles", ciphertexts)); err != nil {
			return err
		}
		if _, err := s.Broadcast(ctx, "angles"+he.SuffixC1, protocol.ClassControl, 0, uniform(3), 3*he.PolySize); err != nil {
			return err
		}
		if err := s.Confirm(ctx); err != nil {
			return err
		}
		if err := s.Reduce(ctx, l.sealed("angles"+he.SuffixShare, shares)); err != nil {
			return err
		}
		total := make([]byte, 2*sealedWords)
		rand.Read(total)
		if i == 0 {
			if err := s.Opened("angles", protocol.Turns16, len(total), 0, total); err != nil {
				return err
			}
		}
	}
	return nil
}

// sealed is a sum of polynomials; addends are not added up but passed on, so that what was planted is seen.
func (l *league) sealed(kind string, own []byte) protocol.Reduction {
	return protocol.Reduction{
		Kind: kind, Class: protocol.ClassHE, Encoding: protocol.RLWE, Plan: protocol.PlanFor(protocol.Tree, 4, 0), Size: len(own), Sealed: true,
		Load:  func(offset int, chunk []byte) error { copy(chunk, own[offset:]); return nil },
		Add:   func(dst, src []byte) {},
		Store: func(int, []byte) error { return nil },
	}
}

// uniform draws polynomials.
func uniform(n int) []byte {
	b := make([]byte, n*he.PolySize)
	rand.Read(b)
	for at := 0; at < len(b); at += 8 {
		b[at+7] &= 0x0f // below 2^60
	}
	return b
}

func TestHonestEncryptedSumsPassAllChecks(t *testing.T) {
	l := newSealed(t, nil)
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
	if got := all[0].learned; len(got) != 1 || got[0].Words != 2*3*sealedWords || got[0].Contributors != 4 {
		t.Errorf("p0 learned %+v", got)
	}
	r := l.auditedAll()
	wantAttack(t, r, "uniformity", "p0", "ciphertexts", Clean, "")
	wantAttack(t, r, "ciphertext reuse", "p0", "ciphertexts", Clean, "")
}

// auditedAll audits all transcripts.
func (l *league) auditedAll() *Report {
	l.t.Helper()
	r, err := Run(l.t.Context(), &Input{Contract: l.contract, Sources: l.sources(), Workers: 1})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func TestDeviationsOfEncryptedSumsAreFoundByTheirCheck(t *testing.T) {
	l := newSealed(t, nil)
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
		{"no key", 1, drop(operationOf(he.KindKey)), checkOperations, "ciphertexts before the parties have made a key"},
		{"key of another size", 1, alter(operationOf(he.KindKey), -1, func(r *transcript.Record) { r.Size, r.Bytes = 96, 96 }), checkOperations, "a vector of 96 bytes, want a polynomial of 131072"},
		{"no c1", 2, drop(operationOf(c1)), checkOperations,
			"begins while the encrypted sum of operation 5 (angles) of session 1 is not open: angles c1 was next"},
		{"short c1", 3, alter(operationOf(c1), -1, func(r *transcript.Record) { r.Size, r.Bytes = he.PolySize, he.PolySize }), checkOperations, "angles c1 was next"},
		{"long c1", 3, alter(operationOf(c1), -1, func(r *transcript.Record) { r.Size, r.Bytes = 8*he.PolySize, 8*he.PolySize }), checkOperations, "bytes of c1 of ciphertexts of 786432 bytes, of which 0 were told before"},
		{"no shares", 1, drop(operationOf(shares)), checkOperations, "angles share was next"},
		{"shares of another size", 3, alter(operationOf(shares), -1, func(r *transcript.Record) { r.Size, r.Bytes = he.PolySize, he.PolySize }), checkOperations, "shares of 131072 bytes for ciphertexts of 786432, want half of it"},
		{"shares of no sum", 3, drop(operationOf("angles")), checkOperations, "it belongs to no encrypted sum"},
		{"share twice", 3, again(shares), checkEgress, "angles share to p2 is over its budget in session 1"},
		{"ciphertexts cut", 3, alter(operationOf("angles"), -1, func(r *transcript.Record) { r.Size, r.Bytes = 100, 100 }), checkOperations, "a vector of 100 bytes, want ciphertexts of 262144"},
		{"not opened", 0, drop(of(opened, "angles", 0)), checkOperations, "is not open: its total was next"},
		{"last one not opened", 0, drop(fold(3, of(opened, "angles", 0))), checkOperations, "is not open: its total was next"},
		{"opened before the shares", 0, drop(of(received, shares, 1)), checkOperations, "chunk 0 received from p2 where chunk 0 received from p1 was next"},
		{"opened without shares", 0, drop(operationOf(shares)), checkOperations, "a total without the shares that decrypt it"},
		{"opened at another party", 2, insert(fold(1, of(sent, shares, 0)), func(all []transcript.Record, at int) []transcript.Record {
			r := all[at]
			r.Type, r.Kind, r.Class, r.Encoding, r.Peer, r.Bytes, r.Size, r.Proof = opened, "angles", protocol.ClassOpening, protocol.Turns16, 2, 20, 20, [64]byte{1}
			return []transcript.Record{r}
		}), checkOperations, "is not whole: chunk 0 sent to p0 was next"},
		{"opened as reals", 0, alter(of(opened, "angles", 0), 0, func(r *transcript.Record) { r.Encoding = protocol.Float64 }), checkOperations, "want an opening of words of one ring"},
		{"opened more than is encrypted", 0, alter(of(opened, "angles", 0), 0, func(r *transcript.Record) { r.Size, r.Bytes = 8*he.Degree, 8*he.Degree }), checkOperations, "a total of 32768 numbers from ciphertexts of 786432 bytes"},
		{"opened more than is agreed", 0, alter(of(opened, "angles", 0), -1, func(r *transcript.Record) { r.Size, r.Bytes = 6*he.Degree, 6*he.Degree }), checkOperations, "numbers opened in session 1, 73713 are agreed"},
		{"opened in part", 0, alter(of(opened, "angles", 0), 0, func(r *transcript.Record) { r.Bytes -= 2 }), checkOperations, "chunk 0 of 49140 bytes of a total of 49142, want chunk 0 of 49142 of 49142"},
		{"group of one", 0, drop(of(received, "angles", 2)), checkContributors, "2 of 4 parties in it, at least 3 are wanted; the frame of a party that should be in it is missing; a group of one: p0 subtracts its own"},
		{"ciphertexts repeated by a child", 0, repeat(of(received, "angles", 1)), checkCiphertexts, "ciphertext reused: record"},
		{"ciphertexts repeated by the party", 3, repeat(of(sent, "angles", 2)), checkCiphertexts, "ciphertext reused: record"},
		{"share repeated", 0, repeat(of(received, shares, 2)), checkCiphertexts, "ciphertext reused: record"},
		{"decrypted twice", 3, repeat(of(received, c1, 2)), checkCiphertexts, "decrypted twice: record"},
	} {
		t.Run(d.name, func(t *testing.T) {
			changed := source("changed", l.deviate(d.party, d.change))
			all, _ := l.examined(changed)
			verdict := Failed
			if d.check == checkContributors || d.check == checkCiphertexts {
				verdict = Leak
			}
			wantCheck(t, all[0].checks, d.check, verdict, d.detail)
		})
	}
}

func TestACiphertextSentTwiceIsFound(t *testing.T) {
	var first []byte
	l := newSealed(t, func(sum, party int, shares bool, p []byte) {
		switch {
		case party != 3 || shares:
		case sum == 0:
			first = slices.Clone(p[:he.CiphertextSize])
		case sum == 1: // in another place, among fresh ones
			copy(p[he.CiphertextSize:], first)
		}
	})
	r := l.auditedAll()
	wantAttack(t, r, "ciphertext reuse", "p3", "ciphertexts", Leak, "ciphertext reused: polynomial 3 of record ")
	wantAttack(t, r, "ciphertext reuse", "p2", "ciphertexts", Leak, "received")
	if r.Verdict != Leak {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
}

func TestADecryptionShareSentTwiceIsFound(t *testing.T) {
	var first []byte
	l := newSealed(t, func(sum, party int, shares bool, p []byte) {
		switch {
		case party != 1 || !shares:
		case sum == 0:
			first = slices.Clone(p)
		default:
			copy(p, first)
		}
	})
	r := l.auditedAll()
	wantCheck(t, r.Checks, checkCiphertexts, Leak, "angles share, received from p1) has the payload of record")
	wantAttack(t, r, "ciphertext reuse", "p0", "ciphertexts", Leak, "angles share")
}

func TestAnUnencryptedChunkIsFoundByUniformity(t *testing.T) {
	l := newSealed(t, func(sum, party int, shares bool, p []byte) {
		if party == 1 && !shares && sum == 1 {
			clear(p[:he.CiphertextSize])
			for i := range he.Degree { // a plaintext in place of a ciphertext
				binary.LittleEndian.PutUint64(p[8*i:], uint64(i*i%65536))
			}
		}
	})
	r := l.auditedAll()
	wantAttack(t, r, "uniformity", "p0", "ciphertexts", Leak, "that should be encrypted are not uniform")
	wantAttack(t, r, "uniformity", "p1", "ciphertexts", Leak, "some of them are not encrypted")
	wantAttack(t, r, "uniformity", "p2", "ciphertexts", Clean, "")
}
