package cohort

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"
)

// The kinds of messages of a cohort, beside the vectors' own.
const (
	KindKey       = "cohort-key"
	KindBegin     = "sum-begin"
	KindCommit    = "sum-commit"
	KindPledged   = "sum-pledged"
	KindReveal    = "sum-reveal"
	KindNonces    = "sum-nonces"
	KindDeposit   = "sum-deposit"
	KindMembers   = "sum-members"
	KindResend    = "sum-resend"
	KindSurvivors = "sum-survivors"
	KindTags      = "sum-tags"
	KindTagged    = "sum-tagged"
	KindShares    = "sum-shares"
	KindOpened    = "sum-opened"
)

// begin opens a sum.
//
// Evolution: a change of layout is a new kind of message.
//
//	offset size
//	     0    1  bits of a word
//	     1    8  words
//	     9    4  milliseconds that the server waits in a round
//	    13    8  the number of the sum that this one repeats, 0: none
//	    21    1  length of the vector's kind
//	    22    k  the kind
//	     .    s  set of the candidates
//	     .    2  number of keys n
//	     .  n x  2 index of a client, 96 its signed session key
type begin struct {
	vector     Vector
	patience   time.Duration
	again      uint64
	candidates set
	keys       []clientKey
}

// clientKey is a client's signed session key.
type clientKey struct {
	client  int
	message []byte
}

// beginHead is the length of the part before the kind.
const beginHead = 22

// encode returns the message.
func (b *begin) encode() []byte {
	out := []byte{byte(b.vector.Bits)}
	out = binary.BigEndian.AppendUint64(out, uint64(b.vector.Words))
	out = binary.BigEndian.AppendUint32(out, uint32(b.patience/time.Millisecond))
	out = binary.BigEndian.AppendUint64(out, b.again)
	out = append(out, byte(len(b.vector.Kind)))
	out = append(out, b.vector.Kind...)
	return appendKeys(append(out, b.candidates...), b.keys)
}

// appendKeys appends session keys with their number.
func appendKeys(out []byte, list []clientKey) []byte {
	out = binary.BigEndian.AppendUint16(out, uint16(len(list)))
	for _, k := range list {
		out = binary.BigEndian.AppendUint16(out, uint16(k.client))
		out = append(out, k.message...)
	}
	return out
}

// parseBegin reads what encode wrote; keys are of clients of the session, each once, ascending.
func parseBegin(m []byte, parties int) (*begin, error) {
	size := setSize(parties)
	if len(m) < beginHead || len(m) < beginHead+int(m[beginHead-1])+size+2 {
		return nil, fmt.Errorf("it has %d bytes and ends early", len(m))
	}
	words := binary.BigEndian.Uint64(m[1:])
	b := &begin{patience: time.Duration(binary.BigEndian.Uint32(m[9:])) * time.Millisecond,
		again: binary.BigEndian.Uint64(m[13:])}
	kind, rest := m[beginHead:beginHead+int(m[beginHead-1])], m[beginHead+int(m[beginHead-1]):]
	b.vector = Vector{Kind: string(kind), Words: int(min(words, MaxWords+1)), Bits: int(m[0])}
	if err := b.vector.check(); err != nil {
		return nil, err
	}
	var err error
	if b.candidates, err = parseSet(rest[:size], parties); err != nil {
		return nil, err
	}
	b.keys, err = parseKeys(rest[size:], parties)
	return b, err
}

// parseKeys reads what appendKeys wrote.
func parseKeys(m []byte, parties int) (list []clientKey, err error) {
	if len(m) < 2 {
		return nil, fmt.Errorf("it ends before its keys")
	}
	const each = 2 + contract.SessionKeySize
	n, rest := int(binary.BigEndian.Uint16(m)), m[2:]
	if len(rest) != n*each {
		return nil, fmt.Errorf("%d bytes of keys, want %d for %d", len(rest), n*each, n)
	}
	last := -1
	for ; len(rest) > 0; rest = rest[each:] {
		k := clientKey{int(binary.BigEndian.Uint16(rest)), rest[2:each:each]}
		if k.client <= last || k.client >= parties {
			return nil, fmt.Errorf("a key of party %d after one of party %d, want them ascending and below %d",
				k.client, last, parties)
		}
		last = k.client
		list = append(list, k)
	}
	return list, nil
}
