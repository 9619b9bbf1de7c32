package transcript

import (
	"errors"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Traffic counts frames, and the bytes of their payloads.
type Traffic struct {
	Frames uint64
	Bytes  uint64
}

// Tally counts what passed between the party and a peer, in all sessions.
type Tally struct {
	Sent          Traffic
	Received      Traffic
	Countersigned uint64 // frames, in both directions, under the peer's signature
}

// Summary is what a Verifier has counted. A transcript that was cut off at the end of a record has no
// other mark of it than that LastSignature is not what it should be.
type Summary struct {
	Records       uint64
	Sessions      int
	Openings      Traffic   // what the party learned; Frames counts chunks
	Peers         []Tally   // by index; the party's own is empty
	LastSignature string    // why the party signed, when the last record is a signature; else empty
	Signed        uint64    // records up to and with the last signature
	Kept          uint64    // frames and openings whose payloads were put into the store
	First         time.Time // of the first record; zero when there is none
	Last          time.Time
}

// Verifier checks what the transcript of one party proves beside the chain, which a Reader checks:
// sessions and frames are numbered without gaps, the party's signatures are on its chain, and
// countersignatures those of its peers on what passed between them.
type Verifier struct {
	header  Header
	ids     []keys.ID
	links   *Links
	chain   keys.Hash // hash of the last block
	unkept  bool      // payloads are not kept until the next session
	summary Summary
	failed  error
}

// NewVerifier makes a verifier of a transcript with that header in a job of these parties, in the
// contract's order. Whether the header's contract is theirs is for the caller to know.
func NewVerifier(h Header, ids []keys.ID) (*Verifier, error) {
	links, err := NewLinks(h.Contract, h.Self, ids)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if ids[h.Self] != h.Party {
		return nil, fmt.Errorf("header: it is the transcript of %s as party %d, but that party is %s",
			h.Party.Short(), h.Self, ids[h.Self].Short())
	}
	return &Verifier{header: h, ids: ids, links: links, chain: h.Hash(),
		summary: Summary{Peers: make([]Tally, len(ids))}}, nil
}

// Add takes the next record of the transcript, as a Reader gives it. It returns a *RecordError when
// the record cannot have come about by the protocol; all later calls return the same.
func (v *Verifier) Add(r *Record) error {
	if v.failed != nil {
		return v.failed
	}
	err := v.check(r)
	if err != nil {
		v.failed = &RecordError{Record: r.Number, Peer: r.Peer, Reason: err.Error()}
		return v.failed
	}
	// Adds a record to the summary, before the links take it.
	s := &v.summary
	s.Records++
	s.LastSignature = ""
	s.Last = time.Unix(0, r.Time).UTC()
	if s.Records == 1 {
		s.First = s.Last
	}
	if r.Kept {
		s.Kept++
	}
	switch r.Type {
	case TypeSent:
		s.Peers[r.Peer].Sent.add(r)
	case TypeReceived:
		s.Peers[r.Peer].Received.add(r)
	case TypeOpened:
		s.Openings.add(r)
	case TypeCountersigned:
		s.Peers[r.Peer].Countersigned += v.links.unsigned(r.Peer)
	case TypeSession:
		s.Sessions++
		v.unkept = false
	case TypeSignature:
		s.LastSignature, s.Signed = r.Kind, s.Records
	case TypeUnkept:
		v.unkept = true
	}
	v.links.apply(r)
	v.chain = r.Hash
	return nil
}

// Links returns the links as they are after the records added.
func (v *Verifier) Links() *Links { return v.links }

// Summary returns what was counted so far. It shares no memory with the verifier.
func (v *Verifier) Summary() Summary {
	s := v.summary
	s.Peers = append([]Tally(nil), s.Peers...)
	return s
}

// check says why a record cannot be the next.
func (v *Verifier) check(r *Record) error {
	if err := r.check(); err != nil {
		return err
	}
	if err := v.links.check(r); err != nil {
		return err
	}
	switch {
	case r.Type == TypeCountersigned:
		// Wants the peer's signature on the link as it was before the round.
		digest, _ := v.links.Agreed(r.Peer)
		if !v.ids[r.Peer].Verify(protocol.DomainLink, digest[:], r.Signature()) {
			return fmt.Errorf("the countersignature is not that of %s on what passed between the two: "+
				"the frames are not those that the peer saw, or the signature was changed", v.ids[r.Peer].Short())
		}
		return nil
	case r.Type == TypeSignature:
		// Wants the party's signature on the chain before the record, and on the record.
		var block [BlockSize]byte
		r.Encode(&block)
		digest := signatureDigest(v.header.Contract, v.chain, &block)
		if !v.header.Party.Verify(DomainSignature, digest[:], r.Signature()) {
			return fmt.Errorf("the seal is not the signature of %s on it and the records before it: one of "+
				"them or the signature was changed",
				v.header.Party.Short())
		}
		return nil
	case v.unkept && r.Kept:
		return errors.New("its payload was kept, after a record that payloads are no longer kept in this session")
	case v.unkept && r.Type == TypeUnkept:
		return errors.New("payloads are no longer kept, for the second time in this session")
	}
	return nil
}

// add counts a payload.
func (t *Traffic) add(r *Record) {
	t.Frames++
	t.Bytes += r.Bytes
}
