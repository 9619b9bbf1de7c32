package protocol

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// domainRowset separates codes of row ids from all other hashes, and is the label of their keys.
const domainRowset = "hanse row set v1"

// CompareRows compares a digest of this party's row ids with those of other parties with data, and returns those, by
// index, whose digest is another one. Each two exchange a code of theirs under a key that is fresh in every session
// and that only the two have: it tells nobody else anything, whoever sees it. holders are the parties with data, in
// the contract's order; all parties of the session call it, and one without data sends and receives nothing.
func (s *Session) CompareRows(ctx context.Context, rows keys.Hash, holders []int) (differ []int, err error) {
	operation, err := s.next(ctx)
	if err != nil || !slices.Contains(holders, s.self) {
		return nil, err
	}
	h := header{class: contract.ClassOpening, kind: contract.KindRowset, operation: operation, size: sha256.Size}
	for _, i := range holders {
		if i == s.self {
			continue
		}
		code, err := s.rowCode(s.self, i, rows)
		if err != nil {
			return nil, err
		}
		if err := s.send(ctx, i, h, code); err != nil {
			return nil, err
		}
	}
	h.size = anySize
	for _, i := range holders {
		if i == s.self {
			continue
		}
		theirs, err := s.receiveWhole(ctx, i, h, sha256.Size)
		if err != nil {
			return nil, err
		}
		if len(theirs) != sha256.Size {
			return nil, s.fail(i, &h, deviation("a code of %d bytes, want %d", len(theirs), sha256.Size))
		}
		code, err := s.rowCode(i, s.self, rows)
		if err != nil {
			return nil, err
		}
		if !hmac.Equal(theirs, code) {
			differ = append(differ, i)
		}
	}
	return differ, nil
}

// rowCode is the code of row ids that one of two parties sends the other, of which this party is one.
func (s *Session) rowCode(from, to int, rows keys.Hash) ([]byte, error) {
	peer := to
	if to == s.self {
		peer = from
	}
	key, err := s.pairs[peer].Derive(domainRowset, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", contract.KindRowset, err)
	}
	text := keys.HashOf(domainRowset, s.config.Contract[:], number(s.config.Number),
		s.config.Parties[from].ID[:], s.config.Parties[to].ID[:], rows[:])
	code := hmac.New(sha256.New, key)
	code.Write(text[:])
	return code.Sum(nil), nil
}
