package cohort

import (
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
)

// past is what a client remembers of the sums of a job, over all its sessions.
type past struct {
	Drawn      uint64 // coins that it has shown a nonce for
	Whole      uint64 // sums along such a graph that it has seen to their end
	Candidates uint32 // of the latest sum
}

// pastSize is the length of a past on disk: the three numbers, big-endian.
const pastSize = 20

// maxSpent is how many coins of a job may be drawn at a client for sums that it does not see to their end. Each
// is one more draw of a graph, which fails with probability 2^-40: 1,024 of them add 2^-30 to a job.
const maxSpent = 1024

// spentAhead is how many coins a client's disk counts ahead: it is written once for so many.
const spentAhead = 16

// Remember gives a client what it kept of the job's earlier sessions, nil if there were none, and how to
// keep it. It is called before the first sum. Without it a client remembers as long as it lives.
//
// What is kept is how many coins it has helped to draw, how many of their sums it has seen to the end, and how
// many candidates the latest sum had. The coins are on disk before their nonces leave.
func (c *Client) Remember(kept []byte, keep func([]byte) error) error {
	c.keep = keep
	if kept == nil {
		return nil
	}
	if len(kept) != pastSize {
		return fmt.Errorf("what this client remembers of earlier sums has %d bytes, want %d", len(kept), pastSize)
	}
	c.past = past{binary.BigEndian.Uint64(kept), binary.BigEndian.Uint64(kept[8:]), binary.BigEndian.Uint32(kept[16:])}
	if c.past.Whole > c.past.Drawn {
		return fmt.Errorf("what this client remembers of earlier sums has the end of %d, want at most the %d drawn",
			c.past.Whole, c.past.Drawn)
	}
	c.counted = c.past.Drawn
	return nil
}

// save writes a past, with so many coins.
func (c *Client) save(drawn uint64) error {
	c.counted = drawn
	if c.keep == nil || c.past == (past{}) {
		return nil
	}
	b := binary.BigEndian.AppendUint64(nil, drawn)
	b = binary.BigEndian.AppendUint64(b, c.past.Whole)
	if err := c.keep(binary.BigEndian.AppendUint32(b, c.past.Candidates)); err != nil {
		return fmt.Errorf("remember the sums: %w", err)
	}
	return nil
}

// spend counts a coin before this client's nonce leaves, and refuses one too many: a server that sees the
// coin first could begin anew until it likes the graph.
func (c *Client) spend() error {
	if c.past.Drawn-c.past.Whole >= maxSpent {
		return &SpentError{Sum: c.last, Spent: c.past.Drawn - c.past.Whole}
	}
	c.past.Drawn++
	if c.past.Drawn <= c.counted {
		return nil
	}
	return c.save(c.past.Drawn + spentAhead - 1)
}

// checkFall refuses candidates who are fewer than half of the latest sum's, and remembers how many they are. A
// refusal halves what is remembered, so that clients of whom most have really left go on after one or two.
func (c *Client) checkFall(m protocol.Message, n int) error {
	last := c.past.Candidates
	if c.spec.Picks || 2*uint32(n) >= last {
		c.past.Candidates = uint32(n)
		return nil
	}
	c.past.Candidates = (last + 1) / 2
	if err := c.save(c.counted); err != nil {
		return err
	}
	return &FewerError{Sum: m.Operation, Candidates: n, Before: int(last)}
}
