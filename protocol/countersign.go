package protocol

import (
	"context"

	"github.com/hanse-project/hanse/keys"
)

// CountersignEvery is after how many operations the parties sign each other's links. Verifying a
// signature takes as long as a hundred records; so many operations make it a tenth of an audit.
const CountersignEvery = 1024

// signatureSize is the length of an Ed25519 signature, in bytes.
const signatureSize = 64

// Finish ends a session well: it returns when every party has said that it is done and was told the same as this one
// in all broadcasts, and the ends of every link have signed what went over it.
func (s *Session) Finish(ctx context.Context) error {
	if err := s.compare(ctx, KindDone); err != nil {
		return err
	}
	return s.countersign(ctx)
}

// countersign exchanges signatures on the digests of all links, when transcripts are kept. All
// parties stand between the same two operations, so that each link is quiet and both its ends have
// the same digest. A party that signs another digest has seen other frames than were sent.
func (s *Session) countersign(ctx context.Context) error {
	if s.config.Recorder == nil {
		return nil
	}
	digests := make([]keys.Hash, s.Parties())
	for i := range digests {
		if i == s.self {
			continue
		}
		var err error
		if digests[i], err = s.config.Recorder.Link(i); err != nil {
			return err
		}
	}
	h := header{class: ClassControl, kind: KindCountersign, operation: s.operation, size: signatureSize}
	for i, d := range digests {
		if i == s.self {
			continue
		}
		if err := s.send(ctx, i, h, s.config.Key.Sign(DomainLink, d[:])); err != nil {
			return err
		}
	}
	return s.collectSignatures(ctx, h, digests)
}

// collectSignatures checks and records every other party's signature on the link to it.
func (s *Session) collectSignatures(ctx context.Context, h header, digests []keys.Hash) error {
	for i, d := range digests {
		if i == s.self {
			continue
		}
		signature, err := s.receiveWhole(ctx, i, h, signatureSize)
		if err != nil {
			return err
		}
		if !s.config.Parties[i].ID.Verify(DomainLink, d[:], signature) {
			return s.fail(i, &h, deviation("its signature is on another record of this link than ours: what one of us sent is not what the other received"))
		}
		if err := s.record(EventCountersigned, i, &h, signature); err != nil {
			return err
		}
	}
	return nil
}

// permit books a frame about to be sent, and records it. A frame that must not be sent ends the
// session.
func (s *Session) permit(h *header, to int, payload []byte) error {
	if s.config.Budget != nil {
		if err := s.config.Budget.spend(h, to, len(payload)); err != nil {
			s.failed = err
			return err
		}
	}
	return s.record(EventSent, to, h, payload)
}

// record tells the recorder, if there is one.
func (s *Session) record(event Event, peer int, h *header, payload []byte) error {
	if s.config.Recorder == nil {
		return nil
	}
	e := Entry{
		Event: event, Peer: peer, Class: h.class, Encoding: h.encoding, Kind: h.kind, Session: s.config.Number,
		Sequence: h.sequence, Operation: h.operation, Size: h.size, Chunk: h.chunk,
	}
	if event == EventOpened || event == EventCountersigned {
		e.Sequence = 0
	}
	if event == EventOpened && !h.padded {
		e.Class = ClassOpening
	}
	if err := s.config.Recorder.Record(e, payload); err != nil {
		s.failed = err
		return err
	}
	return nil
}
