// Package conform reads transcripts as an honest run of the contract should have left them: each by itself, in one pass
// and constant memory, and each two against each other. It looks at no payload but session keys.
package conform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/hanse-project/hanse/audit/conform/clients"
	"github.com/hanse-project/hanse/audit/conform/lockstep"
	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// minContributors is the smallest number of parties among whom a protected sum hides anything.
const minContributors = 3

// Examination is what one transcript shows by itself.
type Examination struct {
	Source     *evidence.Source
	Self       int              // the party's index in the contract; -1 when the transcript is none of the job
	Verified   uint64           // records up to which chain, signatures and numbers are right
	Head       keys.Hash        // of the last of them
	Shards     []ShardsCompared // in the last session that compared what the shards' sessions were
	Stopped    bool             // more records follow, which were not looked at
	unkept     bool             // sessions lack digests of links, or are missing: there are too many
	Transcript finding.Transcript
	Checks     []finding.Check
	Egress     []finding.Egress
	Learned    []rules.Learning
	sessions   []sessionLinks
	lists      map[listPart]keys.Hash // of a job that aligns: the common rows as they were sent
	Served     bool                   // of a job over clients
	Federation *finding.Federation    // of a server there
}

// ShardsCompared is a message of the comparison of shards.
type ShardsCompared struct {
	Session uint32
	Record  uint64
	Sent    bool
	Peer    int
	Sum     keys.Hash // of the payload
	Kept    bool
}

// following holds records, one after the other, against the operations of a contract: *conformer where
// parties go in lockstep, *served in jobs over clients.
type following interface {
	Begin(session uint32)
	Take(r *transcript.Record, rule *rules.Rule) // a frame, an opening or a countersignature
	End(done bool)                               // at the seal, or where the session breaks off
}

// examiner makes an examination in one pass.
type examiner struct {
	in       *evidence.Input
	source   *evidence.Source
	out      *Examination
	names    []string
	found    *finding.Set
	reader   *transcript.Reader
	verifier *transcript.Verifier
	rules    *rules.Rules
	conform  following
	served   *clients.Conformer // conform, in jobs over clients; else nil
	secrets  secrets
	fresh    *freshness
	ready    *readiness // of a sealed job; else nil
	aligned  *alignment // of a job that aligns; else nil
	session  sessionState
	tails    tails
	gaps     gaps

	mostLinks int    // digests of links that are kept
	ending    string // where the transcript ends inside a record, how
	record    transcript.Record
}

// Examine reads a transcript once, in constant memory, and once more when a mask or a ciphertext seems to come twice.
// What is wrong with the transcript is in the checks; an error says that it could not be read.
func Examine(ctx context.Context, in *evidence.Input, s *evidence.Source) (*Examination, error) {
	return ExamineKeeping(ctx, in, s, maxLinks)
}

// ExamineKeeping is examine with the digests of so many links kept, at most; the others are compared frame by frame.
func ExamineKeeping(ctx context.Context, in *evidence.Input, s *evidence.Source, links int) (*Examination, error) {
	file, err := s.Open()
	if err != nil {
		return nil, fmt.Errorf("transcript %s: %w", s.Path, err)
	}
	defer file.Close()
	x := newExaminer(in, s, links)
	if err := x.run(ctx, file); err != nil {
		return nil, fmt.Errorf("transcript %s: %w", s.Path, err)
	}
	return x.out, nil
}

// newExaminer prepares to examine a transcript.
func newExaminer(in *evidence.Input, s *evidence.Source, links int) *examiner {
	x := &examiner{in: in, source: s, out: &Examination{Source: s, Self: -1}, found: finding.NewSet(), mostLinks: links}
	x.out.Transcript.Path, x.found.Party = s.Path, s.Of
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
	x.out.Transcript.SHA256 = hex.EncodeToString(all.sum.Sum(nil))
	x.out.Source = x.source.UpTo(all.bytes)
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
		x.found.Fail(finding.CheckChain, "%v", err)
		x.out.Checks = []finding.Check{x.found.Check(finding.CheckChain, "")}
		return false, nil
	}
	h := x.reader.Header()
	x.checkHeader(h)
	if x.found.Has(finding.CheckContract) {
		x.out.Checks = []finding.Check{x.found.Check(finding.CheckContract, "")}
		return false, nil
	}
	x.out.Self, x.found.Party = h.Self, x.names[h.Self]
	x.out.Transcript.Party = x.names[h.Self]
	if x.in.Contract.Shard == nil { // a shard's contract is in force by its delegations
		if _, err := x.in.Contract.InForce(); err != nil {
			x.found.Fail(finding.CheckContract, "%v", err)
		}
	}
	return true, nil
}

// checkHeader wants the transcript of a party of the contract.
func (x *examiner) checkHeader(h transcript.Header) {
	c := x.in.Contract
	if h.Contract != c.Hash() {
		x.found.Fail(finding.CheckContract, "it is of the job with contract %s, not %s", h.Contract.Short(), c.Hash().Short())
		return
	}
	at := slices.IndexFunc(c.Parties, func(f contract.Facts) bool { return f.ID == h.Party })
	switch {
	case at < 0:
		x.found.Fail(finding.CheckContract, "it is the transcript of %s, who is no party of the contract", h.Party.Short())
	case at != h.Self:
		x.found.Fail(finding.CheckContract,
			"it is the transcript of %s, party %d of the contract, but says that it is party %d", x.names[at], at+1, h.Self+1)
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
	if x.rules, err = rules.New(c, h.Self); err != nil {
		return err
	}
	if err := x.follow(c, h.Self); err != nil {
		return err
	}
	x.ready = newReadiness(c, x.found)
	x.aligned = newAlignment(c, h.Self, x.found)
	x.secrets, x.fresh = x.newSecrets(), newFreshness(recordsIn(file))
	x.tails.before = make([]uint64, len(ids))
	x.gaps = gaps{self: h.Self, confirmed: make([]bool, len(ids)), one: x.served != nil}
	checkTreesOf(c, x.found)
	return nil
}

// follow prepares to hold the records against the contract.
func (x *examiner) follow(c *contract.Contract, self int) (err error) {
	least := max(x.in.MinContributors, c.Job.MinContributors, minContributors)
	if len(c.Job.Servers) == 0 {
		x.conform = lockstep.New(c, self, x.rules, x.found, least)
		return nil
	}
	x.served, err = clients.New(c, x.in.Algorithms.OverClients(c.Job), self, x.rules, x.found, least)
	x.conform, x.out.Served = x.served, true
	return err
}

// pass reads the transcript to its end, or to the first record that does not verify.
func (x *examiner) pass(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%evidence.CheckEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := x.reader.Next(&x.record); err != nil {
			// Notes how the file ends.
			x.endSession()
			var broken *transcript.ChainError
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case errors.Is(err, transcript.ErrCut):
				x.out.Transcript.Cut = true
				x.ending = fmt.Sprintf("it ends inside record %d, as a killed process or a power cut leaves it", x.out.Verified)
				return nil
			case errors.As(err, &broken):
				x.out.Stopped = true
				x.found.Fail(finding.CheckChain, "%v; it verifies up to there: %s", err, wording.Count(broken.Record, "record"))
				return nil
			}
			return err
		}
		if x.record.Type == transcript.TypeSession {
			x.endSession()
		}
		if err := x.verifier.Add(&x.record); err != nil {
			// Notes a record that the protocol cannot have brought about.
			x.endSession()
			x.out.Stopped = true
			r := &x.record
			name, peer := finding.CheckSequence, "the party itself"
			if r.Peer < len(x.names) && r.Peer != x.out.Self {
				peer = x.names[r.Peer]
			}
			switch r.Type {
			case transcript.TypeSignature:
				name = finding.CheckSeals
			case transcript.TypeCountersigned:
				name = finding.CheckCountersignatures
			case transcript.TypeSession:
				name = finding.CheckSessions
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
			x.found.Fail(name, "record %d (%s, %s): %s; it verifies up to there: %s", r.Number, what, peer, reason,
				wording.Count(x.out.Verified, "record"))
			return nil
		}
		x.out.Verified++
		x.out.Head = x.record.Hash
		x.take(&x.record)
	}
}

// take looks at a record that verified.
func (x *examiner) take(r *transcript.Record) {
	switch r.Type {
	case transcript.TypeSession:
		x.gaps.begin(x.session.number, r.Session)
		x.session = sessionState{number: r.Session, begun: true}
		x.conform.Begin(r.Session)
		x.ready.begin()
		x.aligned.begin()
		return
	case transcript.TypeSignature:
		s := &x.session
		if s.over {
			x.found.Fail(finding.CheckSeals, "record %d: session %d is sealed after the seal that ends it", r.Number, r.Session)
		}
		switch r.Kind {
		case transcript.SignedDone:
			s.done, s.over = true, true
			x.conform.End(true)
			x.aligned.end()
		case transcript.SignedBroken:
			s.over = true
			x.conform.End(false)
		}
		return
	case transcript.TypeUnkept:
		return
	}
	if x.session.over {
		x.found.Fail(finding.CheckSeals, "record %d: session %d goes on after the seal that ends it", r.Number, r.Session)
	}
	rule := x.rules.Of(r.Kind)
	x.conform.Take(r, rule)
	x.aligned.take(r)
	if r.Type == transcript.TypeCountersigned {
		x.gaps.signed(r.Peer)
	}
	if r.Type == transcript.TypeSent {
		x.spend(rule, r)
	}
	if repeats := x.ready.take(r); rule != nil && !repeats {
		rule.Learn(r)
	}
	if h, ok := x.secrets.of(r); ok {
		x.fresh.take(h)
	}
	if r.Kind == contract.KindShards && r.Type.Frame() {
		if all := x.out.Shards; len(all) > 0 && (all[0].Session != r.Session || len(all) > 2*len(x.names)) {
			x.out.Shards = nil
		}
		x.out.Shards = append(x.out.Shards, ShardsCompared{Session: r.Session, Record: r.Number,
			Sent: r.Type == transcript.TypeSent, Peer: r.Peer, Sum: r.Sum(), Kept: r.Kept})
	}
}

// stamp writes a time as reports have it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// faulty remembers an error of reading, to tell it from what is wrong with the contents.
type faulty struct {
	source io.Reader
	err    error
}

// Read implements io.Reader.
func (f *faulty) Read(p []byte) (int, error) {
	n, err := f.source.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// hashed counts and hashes what is read.
type hashed struct {
	source io.Reader
	sum    hash.Hash
	bytes  int64
}

// Read implements io.Reader.
func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.source.Read(p)
	h.sum.Write(p[:n])
	h.bytes += int64(n)
	return n, err
}

// spend holds a frame that was sent against the budget.
func (x *examiner) spend(rule *rules.Rule, r *transcript.Record) {
	if rule == nil || rule.Egress[r.Peer] == nil {
		x.found.Fail(finding.CheckEgress, "record %d: %s was sent to %s, which the contract does not list",
			r.Number, r.Kind, x.names[r.Peer])
		return
	}
	e := rule.Egress[r.Peer]
	e.Spend(r)
	if e.Over() {
		x.found.Fail(finding.CheckEgress,
			"record %d: %s to %s is over its budget in session %d: %s of %d bytes were sent, agreed are %s of %d bytes",
			r.Number, r.Kind, x.names[r.Peer], r.Session, wording.Count(e.Frames, "frame"), e.Bytes,
			wording.Count(e.Budget.MaxFrames, "frame"), e.Budget.MaxBytes)
	}
}

// checkTreesOf checks that the trees of a contract's paired sums are totally different.
func checkTreesOf(c *contract.Contract, f *finding.Set) {
	for i := range c.Operations {
		o := &c.Operations[i]
		if o.Tree != 2 {
			continue
		}
		t1, t2, err := contract.PublishedTrees(len(c.Parties), c.Job.Index(o.Root), c.Job.Index(o.Excluded))
		if err == nil {
			err = contract.Different(t1, t2)
		}
		if err != nil {
			f.Fail(finding.CheckTrees, "%s without %s: %v", o.Kind, o.Excluded, err)
		}
	}
}

// phrases are how passed checks read, which depends on how a job's parties go together.
type phrases struct {
	sessions   string // after their number
	operations string
	egress     string
	unsigned   string // why frames are not signed
}

// phrases returns those of the job.
func (x *examiner) phrases() phrases {
	if x.served == nil {
		return phrases{
			sessions:   ", each begun with fresh session keys of all parties",
			operations: "every operation is one that the contract lists, in the order of its stages and along its plan",
			egress:     "nothing was sent that the contract does not list or that is over its budget",
			unsigned:   "the session broke off",
		}
	}
	return phrases{
		sessions:   ", with a fresh session key of every client that took part",
		operations: "every message is one that the contract lists, goes where it should, and comes in the order of its sum",
		egress:     "nothing was sent or came that the contract does not list or that is over its budget",
		unsigned:   "a client was gone before the end, or the link is not one between server and client",
	}
}

// openingsPassed says what opened to this party.
func (x *examiner) openingsPassed() finding.Check {
	c := finding.Check{Name: finding.CheckOpenings, Detail: "no total opened to this party"}
	if f := x.served.Federation(); f != nil {
		c.Detail = f.Sentence()
	}
	return c
}
