package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// checkEvery is after how many records a reader looks whether it is still wanted.
const checkEvery = 1 << 16

// minContributors is the smallest number of parties among whom a protected sum hides anything.
const minContributors = 3

// examination is what one transcript shows by itself.
type examination struct {
	source     *Source
	self       int    // the party's index in the contract; -1 when the transcript is none of the job
	verified   uint64 // records up to which chain, signatures and numbers are right
	stopped    bool   // more records follow, which were not looked at
	unkept     bool   // sessions lack digests of links, or are missing: there are too many
	transcript Transcript
	checks     []Check
	egress     []Egress
	learned    []learning
	sessions   []sessionLinks
	served     bool        // of a job over clients
	federation *Federation // of a server there
}

// following holds records, one after the other, against the operations of a contract: *conformer where
// parties go in lockstep, *served in jobs over clients.
type following interface {
	begin(session uint32)
	take(r *transcript.Record, rule *rule) // a frame, an opening or a countersignature
	end(done bool)                         // at the seal, or where the session breaks off
}

// examiner makes an examination in one pass.
type examiner struct {
	in       *Input
	source   *Source
	out      *examination
	names    []string
	found    *findings
	reader   *transcript.Reader
	verifier *transcript.Verifier
	rules    *rules
	conform  following
	served   *served // conform, in jobs over clients; else nil
	fresh    *freshness
	ready    *readiness // of a sealed job; else nil
	session  sessionState
	tails    tails
	gaps     gaps

	mostLinks int    // digests of links that are kept
	ending    string // where the transcript ends inside a record, how
	record    transcript.Record
}

// examine reads a transcript once, in constant memory, and once more when a mask or a ciphertext seems to come twice.
// What is wrong with the transcript is in the checks; an error says that it could not be read.
func examine(ctx context.Context, in *Input, s *Source) (*examination, error) {
	file, err := s.Open()
	if err != nil {
		return nil, fmt.Errorf("transcript %s: %w", s.Path, err)
	}
	defer file.Close()
	x := newExaminer(in, s)
	if err := x.run(ctx, file); err != nil {
		return nil, fmt.Errorf("transcript %s: %w", s.Path, err)
	}
	return x.out, nil
}

// newExaminer prepares to examine a transcript.
func newExaminer(in *Input, s *Source) *examiner {
	x := &examiner{in: in, source: s, out: &examination{source: s, self: -1}, found: newFindings(), mostLinks: maxLinks}
	x.out.transcript.Path = s.Path
	for _, p := range in.Contract.Parties {
		x.names = append(x.names, p.Name)
	}
	return x
}

// run does all passes, and takes the hash of the file in the first.
func (x *examiner) run(ctx context.Context, file io.Reader) error {
	all := &hashed{source: file, sum: sha256.New()}
	if err := x.passes(ctx, file, all); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, all); err != nil { // what stands behind a record that does not verify
		return err
	}
	x.out.transcript.SHA256 = hex.EncodeToString(all.sum.Sum(nil))
	x.out.source = x.source.upTo(all.bytes)
	return nil
}

// passes reads the transcript and concludes.
func (x *examiner) passes(ctx context.Context, file, all io.Reader) error {
	source := &faulty{source: all}
	if ok, err := x.open(source); !ok {
		return errors.Join(source.err, err)
	}
	if err := x.prepare(file); err != nil {
		return err
	}
	if err := x.pass(ctx); err != nil {
		return err
	}
	if source.err != nil {
		return source.err
	}
	if err := x.confirm(ctx); err != nil {
		return err
	}
	x.conclude()
	return nil
}

// open reads the header and holds it against the contract. A transcript of another version of the format accuses
// nobody: it cannot be read, which is an error.
func (x *examiner) open(source io.Reader) (ok bool, err error) {
	if x.reader, err = transcript.NewReader(source); err != nil {
		if other := (*transcript.VersionError)(nil); errors.As(err, &other) {
			return false, fmt.Errorf("it cannot be read: %w", err)
		}
		x.found.fail(checkChain, "%v", err)
		x.out.checks = []Check{x.found.check(checkChain, "")}
		return false, nil
	}
	h := x.reader.Header()
	x.checkHeader(h)
	if x.found.has(checkContract) {
		x.out.checks = []Check{x.found.check(checkContract, "")}
		return false, nil
	}
	x.out.self, x.found.party = h.Self, x.names[h.Self]
	x.out.transcript.Party = x.names[h.Self]
	if err := x.in.Contract.Complete(); err != nil {
		x.found.fail(checkContract, "%v", err)
	}
	return true, nil
}

// checkHeader wants the transcript of a party of the contract.
func (x *examiner) checkHeader(h transcript.Header) {
	c := x.in.Contract
	if h.Contract != c.Hash() {
		x.found.fail(checkContract, "it is of the job with contract %s, not %s", h.Contract.Short(), c.Hash().Short())
		return
	}
	at := slices.IndexFunc(c.Parties, func(f protocol.Facts) bool { return f.ID == h.Party })
	switch {
	case at < 0:
		x.found.fail(checkContract, "it is the transcript of %s, who is no party of the contract", h.Party.Short())
	case at != h.Self:
		x.found.fail(checkContract, "it is the transcript of %s, party %d of the contract, but says that it is party %d", x.names[at], at+1, h.Self+1)
	}
}

// prepare lays out the contract for the party.
func (x *examiner) prepare(file io.Reader) error {
	c, h := x.in.Contract, x.reader.Header()
	var ids []keys.ID
	for _, p := range c.Parties {
		ids = append(ids, p.ID)
	}
	var err error
	if x.verifier, err = transcript.NewVerifier(h, ids); err != nil {
		return err
	}
	if x.rules, err = newRules(c, h.Self); err != nil {
		return err
	}
	if err := x.follow(c, h.Self); err != nil {
		return err
	}
	x.ready = newReadiness(c, x.found)
	x.fresh = newFreshness(file, x.source.Payload)
	x.fresh.secrets.served = x.served != nil
	x.tails.before = make([]uint64, len(ids))
	x.gaps = gaps{self: h.Self, confirmed: make([]bool, len(ids)), one: x.served != nil}
	checkTreesOf(c, x.found)
	return nil
}

// follow prepares to hold the records against the contract.
func (x *examiner) follow(c *protocol.Contract, self int) (err error) {
	least := max(x.in.MinContributors, c.Job.MinContributors, minContributors)
	if len(c.Job.Servers) == 0 {
		x.conform = newConformer(c, self, x.rules, x.found, least)
		return nil
	}
	x.served, err = newServed(c, self, x.rules, x.found, least)
	x.conform, x.out.served = x.served, true
	return err
}

// pass reads the transcript to its end, or to the first record that does not verify.
func (x *examiner) pass(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := x.reader.Next(&x.record); err != nil {
			return x.end(err)
		}
		if x.record.Type == transcript.TypeSession {
			x.endSession()
		}
		if err := x.verifier.Add(&x.record); err != nil {
			x.unverified(err)
			return nil
		}
		x.out.verified++
		x.take(&x.record)
	}
}

// take looks at a record that verified.
func (x *examiner) take(r *transcript.Record) {
	switch r.Type {
	case transcript.TypeSession:
		x.beginSession(r)
		return
	case transcript.TypeSeal:
		x.sealed(r)
		return
	case transcript.TypeUnkept:
		return
	}
	if x.session.sealed {
		x.found.fail(checkSeals, "record %d: session %d goes on after the seal that ends it", r.Number, r.Session)
	}
	rule := x.rules.of(r.Kind)
	x.conform.take(r, rule)
	if r.Type == transcript.TypeCountersigned {
		x.gaps.signed(r.Peer)
	}
	if r.Type == transcript.TypeSent {
		x.spend(rule, r)
	}
	if repeats := x.ready.take(r); rule != nil && !repeats {
		rule.learn(r)
	}
	x.fresh.take(r)
}

// end notes how the file ends.
func (x *examiner) end(err error) error {
	x.endSession()
	var broken *transcript.ChainError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, transcript.ErrCut):
		x.out.transcript.Cut = true
		x.ending = fmt.Sprintf("it ends inside record %d, as a killed process or a power cut leaves it", x.out.verified)
		return nil
	case errors.As(err, &broken):
		x.out.stopped = true
		x.found.fail(checkChain, "%v; it verifies up to there: %s", err, counted(broken.Record, "record"))
		return nil
	}
	return err
}

// unverified notes a record that the protocol cannot have brought about.
func (x *examiner) unverified(err error) {
	x.endSession()
	x.out.stopped = true
	r := &x.record
	name, peer := checkSequence, "the party itself"
	if r.Peer < len(x.names) && r.Peer != x.out.self {
		peer = x.names[r.Peer]
	}
	switch r.Type {
	case transcript.TypeSeal:
		name = checkSeals
	case transcript.TypeCountersigned:
		name = checkCountersignatures
	case transcript.TypeSession:
		name = checkSessions
	}
	reason := err.Error()
	var bad *transcript.RecordError
	if errors.As(err, &bad) {
		reason = bad.Reason
	}
	what := r.Type.String()
	if r.Kind != "" {
		what = fmt.Sprintf("%s, operation %d, %s", what, r.Operation, r.Kind)
	}
	x.found.fail(name, "record %d (%s, %s): %s; it verifies up to there: %s", r.Number, what, peer, reason, counted(x.out.verified, "record"))
}

// stamp writes a time as reports have it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
