package protocol

import (
	"context"
	"crypto/subtle"
	"encoding/binary"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// domainShared separates digests of what was broadcast from all other hashes.
const domainShared = "hanse shared values v1"

// A broadcast goes through the tree without a signature: a party that passes it on can change it, and its root can
// say one thing here and another there. So every party keeps a digest of all that was broadcast, in order. Confirm
// compares the digests over direct links, and whoever derives one-time masks takes Shared in: parties that were told
// different things have masks that do not cancel.

// Shared returns the digest of all that was broadcast in this session so far. It is the same at all parties that were
// told the same.
func (s *Session) Shared() keys.Hash { return s.shared }

// absorb takes a broadcast into the digest.
func (s *Session) absorb(operation uint64, kind string, data []byte) {
	s.shared = keys.HashOf(domainShared, s.shared[:], binary.BigEndian.AppendUint64(nil, operation), []byte(kind), data)
}

// Confirm returns once every other party has been told the same as this one in all broadcasts of the session. It is
// called before the first message that depends on what was told.
func (s *Session) Confirm(ctx context.Context) error { return s.compare(ctx, contract.KindShared) }

// compare exchanges the digests of what was broadcast.
func (s *Session) compare(ctx context.Context, kind string) error {
	all, err := s.Exchange(ctx, kind, s.shared[:], contract.SharedSize)
	if err != nil {
		return err
	}
	for i, theirs := range all {
		if subtle.ConstantTimeCompare(theirs, s.shared[:]) != 1 {
			return s.fail(i, &header{kind: kind, operation: s.operation}, deviation(
				"it was told other values than this party in the broadcasts up to here: "+
					"a party between the sender and one of the two changed them, or the sender told two things"))
		}
	}
	return nil
}
