package protocol

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Finish ends a session well: it returns when every party has said that it is done and was told the same as this one
// in all broadcasts, and the ends of every link have signed what went over it.
func (s *Session) Finish(ctx context.Context) error {
	if err := s.compare(ctx, contract.KindDone); err != nil {
		return err
	}
	return s.countersign(ctx)
}

// countersign ends what is pending, and has all parties state their links to all and then sign, for each other, the
// link between them and all that was stated, when transcripts are kept. All stand between the same two operations, so
// that each link is quiet and both its ends have the same digest. A party that signs another digest has seen other
// frames, or statements, than were sent. What is signed is on the signer's disk before the signature leaves.
func (s *Session) countersign(ctx context.Context) error {
	if err := s.pending.end(ctx); err != nil || s.config.Recorder == nil {
		return err
	}
	if err := s.exchangeStates(ctx); err != nil {
		return err
	}
	digests, err := s.digests()
	if err != nil {
		return err
	}
	h := header{class: contract.ClassControl, kind: contract.KindCountersign, operation: s.operation,
		size: contract.SignatureSize}
	if err := s.sign(ctx, h, digests); err != nil {
		return err
	}
	for i, d := range digests {
		if i == s.self {
			continue
		}
		if err := s.takeSignature(ctx, i, h, d); err != nil {
			return err
		}
	}
	return nil
}

// digests returns the digests of all links, with the transcript on the disk.
func (w *wire) digests() ([]keys.Hash, error) {
	if err := w.config.Recorder.Sync(); err != nil {
		return nil, err
	}
	digests := make([]keys.Hash, w.Parties())
	for i := range digests {
		if i == w.self {
			continue
		}
		var err error
		if digests[i], err = w.config.Recorder.Link(i); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// sign sends every other party the signature on the link to it.
func (w *wire) sign(ctx context.Context, h header, digests []keys.Hash) error {
	for i, d := range digests {
		if i == w.self {
			continue
		}
		if err := w.send(ctx, i, h, w.config.Key.Sign(DomainLink, d[:])); err != nil {
			return err
		}
	}
	return nil
}

// takeSignature checks and records another party's signature on the link to it.
func (s *Session) takeSignature(ctx context.Context, i int, h header, digest keys.Hash) error {
	signature, err := s.receiveWhole(ctx, i, h, contract.SignatureSize)
	if err != nil {
		return err
	}
	if !s.config.Parties[i].ID.Verify(DomainLink, digest[:], signature) {
		return s.fail(i, &h, deviation("its signature is on another record of this link than ours: "+
			"what one of us sent is not what the other received, or the two were told other things of the links"))
	}
	return s.record(EventCountersigned, i, &h, signature)
}

// EncodeAsk returns what a receiver says when it asks for an opening.
func EncodeAsk(kind string, count, number int) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(number))
	b = binary.BigEndian.AppendUint64(b, uint64(count))
	b = append(b, kind...)
	return append(b, make([]byte, contract.AskSize-len(b))...)
}

// Ask has the receiver of an opening, a party by index, tell all others that it asks for count numbers of a kind, as
// the opening of this number, and sign its links with that in them: it cannot deny later that it has asked. All
// parties call it before anything of the opening leaves, with the same arguments. It returns at the others once they
// have the signature. Without transcripts it does nothing.
func (s *Session) Ask(ctx context.Context, receiver int, kind string, count, number int) error {
	if err := s.pending.end(ctx); err != nil || s.config.Recorder == nil {
		return err
	}
	if err := contract.CheckKind(kind); err != nil {
		return err
	}
	if receiver < 0 || receiver >= s.Parties() || count < 0 || number < 0 {
		return fmt.Errorf("%s: party %d asks for %d numbers in opening %d, want a party of %d and numbers from 0",
			kind, receiver, count, number, s.Parties())
	}
	own := EncodeAsk(kind, count, number)
	h := header{class: contract.ClassControl, kind: contract.KindAsk, operation: s.operation, size: contract.AskSize}
	signing := header{class: contract.ClassControl, kind: contract.KindCountersign, operation: s.operation,
		size: contract.SignatureSize}
	if s.self != receiver {
		return s.takeAsk(ctx, receiver, h, signing, own)
	}
	for i := range s.Parties() {
		if i == s.self {
			continue
		}
		if err := s.send(ctx, i, h, own); err != nil {
			return err
		}
	}
	digests, err := s.digests()
	if err != nil {
		return err
	}
	return s.sign(ctx, signing, digests)
}

// takeAsk waits for what the receiver of an opening asks, which must be what is due, and keeps its signature.
func (s *Session) takeAsk(ctx context.Context, receiver int, h, signing header, due []byte) error {
	asked, err := s.receiveWhole(ctx, receiver, h, contract.AskSize)
	if err != nil {
		return err
	}
	if !bytes.Equal(asked, due) {
		return s.fail(receiver, &h, deviation("it asks for another opening than is due"))
	}
	digest, err := s.config.Recorder.Link(receiver)
	if err != nil {
		return err
	}
	if err := s.takeSignature(ctx, receiver, signing, digest); err != nil {
		return err
	}
	return s.config.Recorder.Sync()
}
