package protocol_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// What these tests cannot do to a frame is change words of its payload: under TLS nobody but the
// sender can, and a sender who may choose its vector needs no fault for it. The integrity of
// payloads is the transport's; that of their order, number, size and meaning is the session's.

// The places of a frame's fields, read here a second time from the header's description.
const (
	atClass     = 1
	atReserved  = 3
	atSession   = 7 // the last byte of the field, as those below
	atSequence  = 15
	atOperation = 23
	atSize      = 31
	atChunk     = 35
	atContract  = 36 // its first byte
	atKind      = 68
)

// set changes one byte of a frame.
func set(at int, value byte) func(f testnet.Frame) []testnet.Frame {
	return func(f testnet.Frame) []testnet.Frame {
		f.Data[at] = value
		return []testnet.Frame{f}
	}
}

// cut keeps the first n bytes of a frame; a negative n counts from its end.
func cut(n int) func(f testnet.Frame) []testnet.Frame {
	return func(f testnet.Frame) []testnet.Frame {
		if n < 0 {
			n += len(f.Data)
		}
		f.Data = f.Data[:n]
		return []testnet.Frame{f}
	}
}

// frameFaults are what may happen to the first chunk, of 64 bytes, on its way from the shop: the
// second frame on that link, of operation 2.
var frameFaults = []struct {
	name   string
	change func(f testnet.Frame) []testnet.Frame
	want   string
}{
	{"longer payload", func(f testnet.Frame) []testnet.Frame {
		f.Data = append(f.Data, make([]byte, 8)...)
		return []testnet.Frame{f}
	}, "chunk 0 has 72 bytes, want 64"},
	{"shorter payload", cut(-8), "chunk 0 has 56 bytes, want 64"},
	{"no payload", cut(-64), "chunk 0 has 0 bytes, want 64"},
	{"cut header", cut(40), "frame of 40 bytes is shorter than a header"},
	{"empty", cut(0), "frame of 0 bytes is shorter than a header"},
	{"repeated", func(f testnet.Frame) []testnet.Frame { return []testnet.Frame{f, f} },
		"frame 1 refused: frame 1 came again, want frame 2"},
	{"lost", func(testnet.Frame) []testnet.Frame { return nil }, "frame 2 refused: frame 2 came, want frame 1: one is missing or out of order"},
	{"other contract", set(atContract, 0), "frame 1 refused: it is for contract 00%s, want %s"},
	{"other session", set(atSession, 9), "frame 1 refused: it is of session 9, want 1"},
	{"old sequence number", set(atSequence, 0), "frame 0 refused: frame 0 came again, want frame 1"},
	{"later operation", set(atOperation, 3), "frame 1 refused: it belongs to operation 3 (angles)"},
	{"other kind", set(atKind, 'b'), "frame 1 refused: it belongs to operation 2 (bngles)"},
	{"unprintable kind", set(atKind, 7), `malformed frame header: kind is "\angles", want 1 to 24 characters of a-z, 0-9, "-" and space`},
	{"other class", set(atClass, 3), "frame 1 refused: its class is published, want masked"},
	{"no class", set(atClass, 9), "malformed frame header: there is no class 9"},
	{"other chunk", set(atChunk, 1), "frame 1 refused: it is chunk 1, want chunk 0"},
	{"other size", set(atSize, 200), "frame 1 refused: its vector has 200 bytes, want 192"},
	{"other version", set(0, 2), "frame version 2, this node speaks 1"},
	{"reserved byte", set(atReserved, 1), "malformed frame header"},
}

// TestFaultyFramesAreRefused is property 5 of secure sums. The shop sends to the insurer, and the
// insurer to the bank, who is the root.
func TestFaultyFramesAreRefused(t *testing.T) {
	for _, c := range frameFaults {
		t.Run(c.name, func(t *testing.T) {
			l, roots, errs := reduceWith(t, nthChunk(1, c.change))
			want := c.want
			if c.name == "other contract" {
				want = fmt.Sprintf(want, testnet.Unwritten.String()[2:8], testnet.Unwritten.Short())
			}
			wantStep(t, errs[1], "operation 2 (angles): shop: "+want, "shop")
			if !errors.Is(errs[1], contract.ErrDeviation) {
				t.Errorf("%v is no deviation", errs[1])
			}
			if c.name != "repeated" && len(roots.stored) > 0 { // there the first of the two is right
				t.Errorf("the root was given %d words", len(roots.stored))
			}
			wantStep(t, errs[0], "operation 2 (angles): insurer: gone: it closed the session", "insurer")
			wantGone(t, errs[0], l.IDs[1])
			again := l.sessions[1].Reduce(t.Context(), newReduction(contract.PlanFor(contract.Ring, 3, 0), 1, 1).Reduction)
			if again != errs[1] {
				t.Errorf("the next sum gives %v, want the error that ended the session", again)
			}
		})
	}
}

// nthChunk applies change to the n-th frame from the shop to the insurer that is not control.
func nthChunk(
	n int, change func(f testnet.Frame) []testnet.Frame,
) func(*testNetwork) func(testnet.Frame) []testnet.Frame {
	return func(l *testNetwork) func(testnet.Frame) []testnet.Frame {
		seen := 0
		return func(f testnet.Frame) []testnet.Frame {
			if f.From == l.IDs[2] && f.To == l.IDs[1] && f.Data[atClass] == byte(contract.ClassMasked) {
				if seen++; seen == n {
					return change(f)
				}
			}
			return []testnet.Frame{f}
		}
	}
}

// reduceWith runs a sum of three chunks along the chain shop, insurer, bank under a rule for
// frames; it returns the bank's reduction and everybody's error.
func reduceWith(
	t *testing.T, rule func(*testNetwork) func(testnet.Frame) []testnet.Frame,
) (*testNetwork, *reduction, []error) {
	t.Helper()
	l := opened(t, 64, "bank", "insurer", "shop")
	l.OnFrame(rule(l))
	var sums [3]*reduction
	errs := l.each(func(i int) error {
		sums[i] = newReduction(contract.PlanFor(contract.Ring, 3, 0), 24, 1)
		return l.sessions[i].Reduce(t.Context(), sums[i].Reduction)
	})
	return l, sums[0], errs
}

// wantStep checks an error's exact message and the peer it names.
func wantStep(t *testing.T, err error, want, peer string) {
	t.Helper()
	var step *protocol.StepError
	if !errors.As(err, &step) || step.Peer != peer || err.Error() != want {
		t.Errorf("error is %v\nwant     %s", err, want)
	}
}

// wantGone checks that an error says who is gone.
func wantGone(t *testing.T, err error, who keys.ID) {
	t.Helper()
	var g *protocol.GoneError
	if !errors.As(err, &g) || g.Peer != who {
		t.Errorf("%v does not say that %s is gone", err, who.Short())
	}
}

func TestFramesOutOfOrderAreRefused(t *testing.T) {
	var held testnet.Frame
	_, root, errs := reduceWith(t, func(l *testNetwork) func(testnet.Frame) []testnet.Frame {
		hold := nthChunk(1, func(f testnet.Frame) []testnet.Frame { held = f; return nil })(l)
		release := nthChunk(2, func(f testnet.Frame) []testnet.Frame { return []testnet.Frame{f, held} })(l)
		return func(f testnet.Frame) []testnet.Frame {
			if kept := release(f); len(kept) == 2 {
				return kept
			}
			return hold(f)
		}
	})
	wantStep(t, errs[1], "operation 2 (angles): shop: frame 2 refused: frame 2 came, want frame 1: one is missing or out of order", "shop")
	if !errors.Is(errs[1], contract.ErrDeviation) || len(root.stored) > 0 {
		t.Errorf("error %v, %d words at the root", errs[1], len(root.stored))
	}
}

func TestOversizedFramesAreRefused(t *testing.T) {
	l, root, errs := reduceWith(t, nthChunk(1, func(f testnet.Frame) []testnet.Frame {
		f.Announced = protocol.MaxFrame + 1
		return []testnet.Frame{f}
	}))
	wantStep(t, errs[1], fmt.Sprintf("operation 2 (angles): shop: %s announced a frame of %d bytes: at most %d are allowed",
		l.IDs[2].Short(), protocol.MaxFrame+1, protocol.MaxFrame), "shop")
	if len(root.stored) > 0 {
		t.Errorf("the root was given %d words", len(root.stored))
	}
}

// TestAPartyThatIsGone dies in the middle of a sum. Everybody names it, also who waits for another.
func TestAPartyThatIsGone(t *testing.T) {
	l, root, errs := reduceWith(t, func(l *testNetwork) func(testnet.Frame) []testnet.Frame {
		return nthChunk(2, func(testnet.Frame) []testnet.Frame {
			l.Kill(l.IDs[2])
			return nil
		})(l)
	})
	wantStep(t, errs[1], "operation 2 (angles): shop: gone: connection reset", "shop")
	wantGone(t, errs[1], l.IDs[2])
	if errors.Is(errs[1], contract.ErrDeviation) {
		t.Error("to be gone is no deviation: the job can be resumed")
	}
	if len(root.stored) >= 24 {
		t.Error("the root has a whole total")
	}
}

// TestAPartyThatLeavesSaysWhy: the reason is a code of the vocabulary, and nothing that is no name goes along.
func TestAPartyThatLeavesSaysWhy(t *testing.T) {
	l := opened(t, 64, "bank", "insurer", "shop")
	l.sessions[2].Abort(t.Context(), &fault.Fault{Code: fault.CodeDisk, Names: []string{"\x1b[2J"}, Ref: "7f3a2c"})
	err := l.sessions[1].Reduce(t.Context(), newReduction(contract.PlanFor(contract.Ring, 3, 0), 8, 1).Reduction)
	wantStep(t, err, "operation 2 (angles): shop: left the session: its disk is full, "+
		"or cannot be written or read (its owner reads more with hanse jobs --ref 7f3a2c)", "shop")
	if a := (*protocol.AbortError)(nil); !errors.As(err, &a) {
		t.Errorf("%v is no AbortError", err)
	}
}

// TestUnequalVectorsAreRefused: parties that do not agree on a vector's length find out.
func TestUnequalVectorsAreRefused(t *testing.T) {
	l := numbered(t, 3, 64)
	errs := l.each(func(i int) error {
		return l.sessions[i].Reduce(t.Context(), newReduction(contract.PlanFor(contract.Star, 3, 0), 8+i/2, 1).Reduction)
	})
	wantStep(t, errs[0], "operation 2 (angles): p2: frame 1 refused: its vector has 72 bytes, want 64", "p2")
}

// sessionKeyFaults are what may happen to the session key that the shop sends, of 32 bytes and a
// signature of 64.
var sessionKeyFaults = []struct {
	name   string
	change func(l *testNetwork, payload []byte) []byte
	want   string
}{
	{"signature", func(_ *testNetwork, p []byte) []byte { p[95] ^= 1; return p },
		"the signature on its session key is wrong"},
	{"key", func(_ *testNetwork, p []byte) []byte { p[0] ^= 1; return p }, "the signature on its session key is wrong"},
	{"short", func(_ *testNetwork, p []byte) []byte { return p[:20] }, "session key of 20 bytes"},
	{"long", func(_ *testNetwork, p []byte) []byte { return append(p, 0) }, "payload of 97 bytes, at most 96 are allowed"},
	{"low order", func(l *testNetwork, _ []byte) []byte {
		return l.sessionKey(2, make([]byte, 32))
	}, "session key refused: crypto/ecdh: bad X25519 remote ECDH input: low order point"},
	{"another's identity", func(l *testNetwork, p []byte) []byte {
		return l.sessionKey(1, p[:32])
	}, "the signature on its session key is wrong"},
}

// sessionKey is a session key with party i's signature.
func (l *testNetwork) sessionKey(i int, public []byte) []byte {
	const domain = "hanse session key v1"
	signed := keys.HashOf(domain, testnet.Unwritten[:], []byte{0, 0, 0, 1}, l.IDs[i][:], public)
	return append(bytes.Clone(public), l.Keys[i].Sign(domain, signed[:])...)
}

func TestFaultySessionKeysAreRefused(t *testing.T) {
	for _, c := range sessionKeyFaults {
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, "bank", "insurer", "shop")
			l.OnFrame(func(f testnet.Frame) []testnet.Frame {
				if f.From == l.IDs[2] {
					head := slices.Clone(f.Data[:atKind+len("session-key")])
					payload := c.change(l, slices.Clone(f.Data[len(head):]))
					binary.BigEndian.PutUint64(head[24:], uint64(len(payload)))
					f.Data = append(head, payload...)
				}
				return []testnet.Frame{f}
			})
			errs := l.open(t.Context(), 1, 64)
			if l.sessions[0] != nil || l.sessions[1] != nil {
				t.Error("there is a session")
			}
			found := slices.ContainsFunc(errs[:2], func(err error) bool {
				return errors.Is(err, contract.ErrDeviation) && err.Error() == "operation 1 (session-key): shop: "+c.want
			})
			if !found { // one of the two may see the other leave first
				t.Errorf("errors are %v, want one that says %s", errs, c.want)
			}
		})
	}
}
