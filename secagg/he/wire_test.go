package he

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// kindOf reads a frame's kind and where its payload begins.
func kindOf(frame []byte) (string, int) {
	at := 68 + int(frame[2])
	return string(frame[68:at]), at
}

// TestACorruptedWordEndsTheSum sets one word of one frame beyond its prime, at each step of a sum.
func TestACorruptedWordEndsTheSum(t *testing.T) {
	for kind, want := range map[string]string{
		"angles":       "angles: received polynomials: word 5 is 18446744073709551615, want less than the prime",
		"angles share": "angles share: received polynomials: word 5 is 18446744073709551615",
		"angles c1":    "it was told other values than this party in the broadcasts up to here",
	} {
		errs := sumTampered(t, func(frameKind string, payload []byte) []byte {
			if frameKind == kind {
				binary.LittleEndian.PutUint64(payload[8*5:], ^uint64(0))
			}
			return payload
		})
		wantError(t, errs, want)
	}
}

// TestAShareThatIsNoneIsNoticed has a party send zeros in place of its share.
func TestAShareThatIsNoneIsNoticed(t *testing.T) {
	changed := false
	err := sumTampered(t, func(kind string, payload []byte) []byte {
		if kind == "angles share" && !changed {
			clear(payload)
			changed = true
		}
		return payload
	})
	wantError(t, err, "angles: homomorphic sum: ciphertext of words from 0: the shares do not open the ciphertext")
}

func TestAShortC1EndsTheSum(t *testing.T) {
	err := sumTampered(t, func(kind string, payload []byte) []byte {
		if kind == "angles c1" {
			return payload[:PolySize]
		}
		return payload
	})
	wantError(t, err, "broadcast 131072 bytes of c1, want 262144")
}

// sumTampered runs a sum of three parties whose frames to the root, or from it, are changed, and
// returns all errors.
func sumTampered(t *testing.T, change func(kind string, payload []byte) []byte) error {
	t.Helper()
	l := newTestNetwork(t, 3, 0, contract.Star, nil)
	l.OnFrame(func(f testnet.Frame) []testnet.Frame {
		kind, at := kindOf(f.Data)
		payload := change(kind, f.Data[at:])
		f.Data = f.Data[:at+len(payload)]
		if kind == "angles c1" { // its header says how long it is
			binary.BigEndian.PutUint64(f.Data[24:], uint64(len(payload)))
		}
		return []testnet.Frame{f}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return errors.Join(l.Each(func(i int) error {
		err := l.sums[i].SumTurns(ctx, "angles", 0, make([]uint16, 3))
		if err != nil {
			cancel()
		}
		return err
	})...)
}

// TestCostIsWhatIsSent compares what one party sends its parent with what the contract would say.
func TestCostIsWhatIsSent(t *testing.T) {
	l := openSessions(t, 3, 0, nil)
	tap, told := l.Tap(l.IDs[0]), l.Tap(l.IDs[1])
	const n = 3*Degree + 1
	l.Must(t, func(i int) (err error) {
		if l.sums[i], err = NewSums(t.Context(), l.sessions[i], contract.Star, keys.Hash{1}); err != nil {
			return err
		}
		return l.sums[i].SumTurns(t.Context(), "angles", 0, make([]uint16, n))
	})
	count := func(frames []testnet.Frame, kind string, from int) (bytes int64) {
		for _, f := range frames {
			if k, at := kindOf(f.Data); k == kind && f.From == l.IDs[from] {
				bytes += int64(len(f.Data) - at)
			}
		}
		return bytes
	}
	p, err := l.sums[0].packing(secagg.Turns16)
	must(t, err)
	lines := append(KeyCost(), p.Cost("angles", n, 1)...)
	var compared int64
	for _, line := range lines {
		if line.Kind == contract.KindShared {
			compared += line.Bytes
			continue
		}
		sent := count(tap.Frames(), line.Kind, 1)
		if line.Collective == contract.CollectiveBroadcast {
			sent = count(told.Frames(), line.Kind, 0)
		}
		if sent != line.Bytes || sent == 0 {
			t.Errorf("%s: %d bytes sent, the cost says %d", line.Kind, sent, line.Bytes)
		}
	}
	if sent := count(tap.Frames(), contract.KindShared, 1); sent != compared || sent != 2*32 {
		t.Errorf("shared: %d bytes sent, the cost says %d", sent, compared)
	}
	if got, want := lines[3:6], []Line{
		{"angles", "sum", contract.ClassHE, contract.RLWE, 1, 8 * CiphertextSize},
		{"angles c1", "broadcast", contract.ClassControl, contract.Bytes, 1, 8 * PolySize},
		{"angles share", "sum", contract.ClassHE, contract.RLWE, 1, 8 * PolySize},
	}; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("cost %v, want %v", got, want)
	}
	many := p.Cost("angles", 2*64*Degree+1, 10) // batches of 128, 128 and 2 ciphertexts
	if many[0].Count != 30 || many[1].Count != 10*(8+8+1) || many[2].Bytes != 10*258*PolySize {
		t.Errorf("cost of many: %v", many)
	}
}
