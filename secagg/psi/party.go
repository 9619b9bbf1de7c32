package psi

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// ID stands for a row. The first 16 bytes of two IDs of one list are never equal.
type ID = [32]byte

// Network carries an intersection's messages. All parties make the same calls in the same order.
type Network interface {
	// Pass sends data from one party to another and returns what came, there alone. Both know its size.
	Pass(ctx context.Context, m Message, data []byte) ([]byte, error)
	// Exchange sends data to every other party and returns what each sent, the own among it; all have the size of m.
	Exchange(ctx context.Context, m Message, data []byte) ([][]byte, error)
}

// Root is what all that is secret in a party's part follows from. It is drawn for one contract, kept until its job
// ends, and erased then.
type Root [32]byte

// Party is one party's part of an intersection.
type Party struct {
	Spec
	Self     int
	Contract keys.Hash
	Root     Root
	// Lists are the rows' IDs by pass, with the zero ID where a row has none; nothing of a row is in two places.
	// All have one entry for each row.
	Lists   [][]ID
	Network Network
	Workers int // goroutines for arithmetic, 1 or more
	// Keep notes the digest of a message that came, safe against a power cut, before anything of it is used. It refuses
	// another one under the same name than was kept in an earlier session.
	Keep func(name string, digest keys.Hash) error
	// Step tells how far the work has come; Opened counts what this party learned. Both may be nil.
	Step   func(step string, done, total int)
	Opened func(kind string, count int64)
}

// Common is a row that all parties have.
type Common struct {
	Tag  [wordSize]byte // its place in the order of all
	Row  int            // of this party's list
	Pass int            // by which key it was found
}

// Result is what all parties know in the end. A helper without rows has the sizes alone.
type Result struct {
	Sizes  []int     // common rows by pass
	Digest keys.Hash // of the tags of all passes, in order: the same at all parties with rows
	Rows   []Common  // in the order of their tags
}

// TooFewError says that fewer rows are common than the contract lets open. Nothing else was told, and no number.
type TooFewError struct{}

// Error implements error.
func (TooFewError) Error() string {
	return "too few rows are common to all parties: nothing was opened, and nobody was told how many they are"
}

// Deviation says that a party did not follow the protocol. What it sent has no place in it.
type Deviation struct {
	Party int
	Kind  string
	Why   string
}

// Error implements error.
func (d *Deviation) Error() string { return fmt.Sprintf("party %d: %s: %s", d.Party, d.Kind, d.Why) }

// Unwrap makes a Deviation one of the protocol's.
func (d *Deviation) Unwrap() error { return contract.ErrDeviation }

// Run is a party's part from the first message to the last.
func Run(ctx context.Context, p *Party) (*Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	coin, err := p.coin(ctx)
	if err != nil {
		return nil, err
	}
	result := &Result{}
	taken := make([]bool, p.rows())
	for n := range p.Passes() {
		w := &pass{Party: p, number: n, coin: coin, all: result}
		if err := w.list(taken); err != nil {
			return nil, err
		}
		if err := w.run(ctx); err != nil {
			return nil, err
		}
		for _, c := range w.common {
			taken[c.Row] = true
		}
		if n == 0 {
			result.Rows = w.common
		} else {
			result.Rows = append(result.Rows, w.common...)
		}
		if p.holds(p.Self) {
			p.told(OpensRows, len(w.common))
		}
	}
	slices.SortFunc(result.Rows, byTag)
	result.Digest = digestOf(result.Rows)
	return result, nil
}

// rows is how many rows the own table has.
func (p *Party) rows() int {
	if len(p.Lists) == 0 {
		return 0
	}
	return len(p.Lists[0])
}

// check holds the party's lists against what all agreed on.
func (p *Party) check() error {
	if err := p.Spec.Check(); err != nil {
		return err
	}
	if p.Self < 0 || p.Self >= len(p.Counts) || len(p.Lists) != len(p.Counts[p.Self]) {
		return fmt.Errorf("lists of %d keys, the contract says %d", len(p.Lists), len(p.Counts[p.Self]))
	}
	for n, list := range p.Lists {
		count := 0
		for _, id := range list {
			if id != (ID{}) {
				count++
			}
		}
		if len(list) != p.rows() || count != p.Counts[p.Self][n] {
			return fmt.Errorf("key %d: %d ids in %d rows, the contract says %d in %d", n+1, count, len(list),
				p.Counts[p.Self][n], p.rows())
		}
	}
	return p.checkBuckets()
}

// secret derives one of the party's secrets.
func (p *Party) secret(label string, pass int) [32]byte {
	out, err := hkdf.Key(sha256.New, p.Root[:], p.Contract[:], fmt.Sprintf("hanse psi v1 %s %d", label, pass), 32)
	if err != nil {
		panic(err) // of lengths that no hash has
	}
	return [32]byte(out)
}

// coin is a number that all drew together: each has committed to its part before it saw another's.
func (p *Party) coin(ctx context.Context) (keys.Hash, error) {
	own := p.secret("coin", 0)
	hash := func(party int, nonce []byte) keys.Hash {
		return keys.HashOf("hanse psi coin hash v1", p.Contract[:], number(party), nonce)
	}
	commitment := hash(p.Self, own[:])
	hashes, err := p.exchange(ctx, p.message(stepCommitment, 0, All, All, hashSize), commitment[:])
	if err != nil {
		return keys.Hash{}, err
	}
	m := p.message(stepCoin, 0, All, All, hashSize)
	nonces, err := p.exchange(ctx, m, own[:])
	if err != nil {
		return keys.Hash{}, err
	}
	parts := [][]byte{p.Contract[:]}
	for i, nonce := range nonces {
		if h := hash(i, nonce); !bytes.Equal(h[:], hashes[i]) {
			return keys.Hash{}, &Deviation{i, m.Kind, "it is not what the party had committed to"}
		}
		parts = append(parts, nonce)
	}
	return keys.HashOf("hanse psi coin v1", parts...), nil
}

// send passes a message from one party to another. What comes is kept before it is returned.
func (p *Party) send(ctx context.Context, m Message, data []byte) ([]byte, error) {
	if p.Self == m.From && len(data) != m.Size {
		return nil, fmt.Errorf("%s: %d bytes to send, want %d", m.Kind, len(data), m.Size)
	}
	received, err := p.Network.Pass(ctx, m, data)
	if err != nil || p.Self != m.To {
		return nil, err
	}
	if len(received) != m.Size {
		return nil, &Deviation{m.From, m.Kind, fmt.Sprintf("%d bytes, want %d", len(received), m.Size)}
	}
	return received, p.keep(m, m.From, received)
}

// exchange sends a message to all. What comes is kept before it is returned.
func (p *Party) exchange(ctx context.Context, m Message, data []byte) ([][]byte, error) {
	all, err := p.Network.Exchange(ctx, m, data)
	if err != nil {
		return nil, err
	}
	for i, received := range all {
		if len(received) != m.Size {
			return nil, &Deviation{i, m.Kind, fmt.Sprintf("%d bytes, want %d", len(received), m.Size)}
		}
		if i == p.Self {
			continue
		}
		if err := p.keep(m, i, received); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ErrOther is the error of Keep for another message than came before.
var ErrOther = errors.New("it sent another one in an earlier session")

// keep notes what came from a party.
func (p *Party) keep(m Message, from int, data []byte) error {
	digest := keys.HashOf("hanse psi received v1", p.Contract[:], []byte(m.Kind), number(from), data)
	name := fmt.Sprintf("%s from %d", m.Kind, from)
	if m.Piece > 0 {
		name += fmt.Sprintf(", piece %d", m.Piece)
	}
	err := p.Keep(name, digest)
	if errors.Is(err, ErrOther) {
		return &Deviation{from, m.Kind, err.Error()}
	}
	return err
}

// step tells how far the work has come.
func (p *Party) step(name string, done, total int) {
	if p.Step != nil {
		p.Step(name, done, total)
	}
}

// told counts what this party learned.
func (p *Party) told(kind string, count int) {
	if p.Opened != nil {
		p.Opened(kind, int64(count))
	}
}

// blockSize is how many rows are worked on at a time by one worker.
const blockSize = 1024

// blocks calls do for all rows of a list, block by block on all workers.
func blocks(workers, n int, do func(lo, hi int)) {
	parallel.All(workers, (n+blockSize-1)/blockSize, func(b int) { do(b*blockSize, min(n, (b+1)*blockSize)) })
}

// digestOf names the common rows of all passes, in order.
func digestOf(rows []Common) keys.Hash {
	h := keys.HashOf("hanse alignment v1", binary.BigEndian.AppendUint64(nil, uint64(len(rows))))
	d := sha256.New()
	d.Write(h[:])
	for i := range rows {
		d.Write(rows[i].Tag[:])
	}
	return keys.Hash(d.Sum(nil))
}

// number encodes a small number for hashing.
func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
