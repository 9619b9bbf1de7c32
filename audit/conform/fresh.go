package conform

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"io/fs"
	"strings"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
	"github.com/hanse-project/hanse/secagg/he"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Limits of the search for repeated payloads.
const (
	freshBytes     = 16        // shorter protected payloads may be equal by chance
	maxFilter      = 256 << 20 // bytes, which the records of some 20 GB fill
	maxCandidates  = 1 << 18
	unknownRecords = 4 << 20
	publicKeySize  = 32
)

// line is what a bloom filter reads for one key: as much as a processor fetches at once.
type line [8]uint64

// bloom is a set of hashes that may take one for another, but never forgets one.
type bloom []line

// newBloom makes a filter with at least 64 bits for each of so many hashes, in at most maxFilter bytes:
// up to there it mistakes so few that most transcripts need no second reading.
func newBloom(hashes int64) bloom {
	lines := 1
	for int64(lines)*8 < hashes && lines*64 < maxFilter {
		lines *= 2
	}
	return make(bloom, lines)
}

// add puts a hash into the set and reports whether it may have been there.
func (b bloom) add(h keys.Hash) bool {
	l := &b[binary.LittleEndian.Uint64(h[:8])&uint64(len(b)-1)]
	seen := true
	for i := 8; i < len(h); i += 2 {
		bit := binary.LittleEndian.Uint16(h[i:]) & 511
		seen = seen && l[bit/64]>>(bit%64)&1 == 1
		l[bit/64] |= 1 << (bit % 64)
	}
	return seen
}

// secrets lists what must never come twice in a transcript: masked payloads, ciphertexts and decryption
// shares, what is decrypted, and every party's session keys.
type secrets struct {
	payload func(sum [32]byte) ([]byte, error) // nil: session keys are known by the hash of their message only
	session uint32                             // whose own key was listed last
	told    rules.Moment                       // the operation of the c1 listed last
	served  bool                               // of a job over clients
	passed  rules.Passed                       // in such a job: what was sent last
	aligns  bool                               // of a job that aligns, whose sessions all send the same
	pieces  evidence.Pieces                    // in such a job
	first   map[alignedPlace]bool              // in such a job: what an earlier session had
}

// of returns what a record has that must be fresh.
func (s *secrets) of(r *transcript.Record) (keys.Hash, bool) {
	switch {
	case !r.Type.Frame():
		return keys.Hash{}, false
	case evidence.Protected(r.Class) && s.aligns:
		place := alignedPlace{r.Kind, r.Type, r.Peer, s.pieces.Of(r), r.Chunk}
		again := s.first[place]
		if s.first == nil {
			s.first = make(map[alignedPlace]bool)
		}
		s.first[place] = true
		sum := r.Sum()
		if psi.Meets(r.Kind) { // a short piece may be all of words that another party's list has, too
			sum = keys.HashOf("words of one party", sum[:], []byte{byte(r.Type), byte(r.Peer), byte(r.Peer >> 8)})
		}
		return sum, !again && r.Bytes >= freshBytes
	case evidence.Protected(r.Class):
		return r.Sum(), r.Bytes >= freshBytes && !(s.served && s.passed.Take(r) == rules.SentAgain)
	case isC1(r):
		now := rules.Moment{Session: r.Session, Operation: r.Operation}
		again := s.told == now // it is received and passed on
		s.told = now
		return r.Sum(), !again && r.Bytes >= freshBytes
	case r.Kind == cohort.KindKey && s.served:
		return s.key(r), true
	case r.Kind != contract.KindSessionKey || r.Type == transcript.TypeSent && s.session == r.Session:
		return keys.Hash{}, false // all others get the same key of this party
	}
	if r.Type == transcript.TypeSent {
		s.session = r.Session
	}
	return s.key(r), true
}

// isC1 reports whether a record tells of an encrypted total's polynomials c1, which parties then decrypt.
func isC1(r *transcript.Record) bool {
	return r.Class == contract.ClassControl && strings.HasSuffix(r.Kind, he.SuffixC1)
}

// key identifies a session key: by itself where payloads are kept, since the signature behind it differs
// from session to session.
func (s *secrets) key(r *transcript.Record) keys.Hash {
	if s.payload == nil || !r.Kept {
		return r.Sum()
	}
	message, err := s.payload(r.Sum())
	if err != nil || len(message) < publicKeySize {
		return r.Sum()
	}
	return sha256.Sum256(message[:publicKeySize])
}

// each reads a transcript again, up to so many records, and calls f with everything that must be fresh.
func (s secrets) each(
	ctx context.Context, source *evidence.Source, records uint64, f func(r *transcript.Record, h keys.Hash),
) error {
	again, err := source.Reread()
	if err != nil {
		return err
	}
	defer again.Close()
	var r transcript.Record
	for range records {
		if err := again.Next(ctx, &r); err != nil {
			return err
		}
		if h, ok := s.of(&r); ok {
			f(&r, h)
		}
	}
	return nil
}

// freshness looks for what comes twice in one transcript or several: a filter finds candidates in a first reading, and
// a second one confirms them.
type freshness struct {
	seen       bloom
	candidates map[keys.Hash]firstMet
	dropped    uint64 // candidates for which there was no room
	checked    uint64
}

// firstMet is where a candidate was met first.
type firstMet struct {
	part   int // which transcript
	record uint64
	known  bool
}

// newFreshness prepares for transcripts of so many records.
func newFreshness(records int64) *freshness {
	return &freshness{seen: newBloom(records), candidates: make(map[keys.Hash]firstMet)}
}

// recordsIn returns how many records a file can have; a guess when it does not say how large it is.
func recordsIn(file io.Reader) int64 {
	if f, ok := file.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size() / transcript.BlockSize
		}
	}
	if m, ok := file.(interface{ Len() int }); ok {
		return int64(m.Len()) / transcript.BlockSize
	}
	return unknownRecords
}

// take takes a secret in the first reading.
func (f *freshness) take(h keys.Hash) {
	f.checked++
	if !f.seen.add(h) {
		return
	}
	if len(f.candidates) < maxCandidates {
		f.candidates[h] = firstMet{}
	} else {
		f.dropped++
	}
}

// again takes a secret in the second reading, and returns where it was met before, if it was.
func (f *freshness) again(h keys.Hash, part int, record uint64) (before firstMet, met bool) {
	before, candidate := f.candidates[h]
	if candidate && !before.known {
		f.candidates[h] = firstMet{part, record, true}
	}
	return before, before.known
}

// confirm reads the transcript again, up to the last record that verified, if anything may have come
// twice.
func (x *examiner) confirm(ctx context.Context) error {
	if len(x.fresh.candidates) == 0 {
		return nil
	}
	return x.newSecrets().each(ctx, x.source, x.out.Verified, x.repeated)
}

// newSecrets prepares to list what must be fresh in the transcript.
func (x *examiner) newSecrets() secrets {
	return secrets{payload: x.source.Payload, served: x.served != nil,
		aligns: x.in.Contract.Job.Task == contract.TaskAlign}
}

// repeated notes a candidate that is met again.
func (x *examiner) repeated(r *transcript.Record, h keys.Hash) {
	before, met := x.fresh.again(h, 0, r.Number)
	switch {
	case !met:
	case r.Class == contract.ClassMasked:
		x.found.Leak(finding.CheckMasks, "mask reused: record %d (operation %d of session %d, %s, %s) has "+
			"the payload of record %d: whoever has both subtracts them and the masks cancel",
			r.Number, r.Operation, r.Session, r.Kind, rules.Happened(r.Type, x.names[r.Peer]), before.record)
	case r.Class == contract.ClassHE:
		x.found.Leak(finding.CheckCiphertexts, "ciphertext reused: record %d (operation %d of session %d, "+
			"%s, %s) has the payload of record %d: what is encrypted or decrypted anew never looks the same",
			r.Number, r.Operation, r.Session, r.Kind, rules.Happened(r.Type, x.names[r.Peer]), before.record)
	case isC1(r):
		x.found.Leak(finding.CheckCiphertexts, "decrypted twice: record %d (operation %d of session %d, "+
			"%s, %s) has the payload of record %d: two decryption shares of one ciphertext tell of the key that made them",
			r.Number, r.Operation, r.Session, r.Kind, rules.Happened(r.Type, x.names[r.Peer]), before.record)
	default:
		x.found.Fail(finding.CheckSessions, "record %d: the session key %s in session %d is that of record "+
			"%d: keys must be fresh in every session and at every party",
			r.Number, rules.Happened(r.Type, x.names[r.Peer]), r.Session, before.record)
	}
}
