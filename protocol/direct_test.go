package protocol_test

import (
	"bytes"
	"context"
	"errors"
	mrand "math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// direct is a message with what its receiver has been given, and at which offsets.
type direct struct {
	protocol.Direct
	stored  []byte
	offsets []int
}

// newDirect makes a masked message of data, which its sender alone uses but for the length.
func newDirect(encoding contract.Encoding, from, to int, data []byte) *direct {
	d := &direct{}
	d.Direct = protocol.Direct{
		Kind: "share", Class: contract.ClassMasked, Encoding: encoding, From: from, To: to, Size: len(data),
		Load: func(offset int, chunk []byte) error { copy(chunk, data[offset:]); return nil },
		Store: func(offset int, chunk []byte) error {
			d.stored, d.offsets = append(d.stored, chunk...), append(d.offsets, offset)
			return nil
		},
	}
	return d
}

// pass passes data from one party to another and returns each party's message.
func (l *testNetwork) pass(t testing.TB, encoding contract.Encoding, from, to int, data []byte) []*direct {
	t.Helper()
	all := make([]*direct, len(l.IDs))
	l.must(t, func(i int) error {
		all[i] = newDirect(encoding, from, to, data)
		return l.sessions[i].Pass(t.Context(), all[i].Direct)
	})
	return all
}

// wantPassed wants the receiver, and nobody else, to have been given data in chunks.
func wantPassed(t testing.TB, all []*direct, data []byte, chunk int) {
	t.Helper()
	for i, d := range all {
		var want []byte
		var offsets []int
		if i == d.To {
			want = data
			for at := 0; at < len(data); at += chunk {
				offsets = append(offsets, at)
			}
		}
		if !bytes.Equal(d.stored, want) || !slices.Equal(d.offsets, offsets) {
			t.Errorf("%d bytes as %s from %d to %d: party %d was given %d bytes at %d, want %d at %d",
				len(data), d.Encoding, d.From, d.To, i, len(d.stored), d.offsets, len(want), offsets)
		}
	}
}

// randomBytes draws data.
func randomBytes(rng *mrand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestDirectMessagesArrive passes vectors of every length at which chunks could go wrong, from every
// party to every other.
func TestDirectMessagesArrive(t *testing.T) {
	rng := mrand.New(mrand.NewPCG(1, 2))
	for _, c := range []struct {
		configured, chunk int
		encoding          contract.Encoding
	}{
		{64, 64, contract.Fixed64}, {64, 64, contract.Bytes}, {64, 48, contract.Ring48}, {72, 72, contract.Ring48},
		{8, 24, contract.Ring48}, {8, 8, contract.Turns16},
	} {
		l := numbered(t, 4, c.configured)
		word := c.encoding.WordSize()
		for from := range 4 {
			for to := range 4 {
				for _, n := range []int{0, word, c.chunk - word, c.chunk, c.chunk + word, 3*c.chunk + 2*word} {
					if from != to {
						data := randomBytes(rng, n)
						wantPassed(t, l.pass(t, c.encoding, from, to, data), data, c.chunk)
					}
				}
			}
		}
	}
}

// TestDirectMessagesOfAnything lets rapid choose ends, lengths and words, several messages in a row.
func TestDirectMessagesOfAnything(t *testing.T) {
	l := numbered(t, 5, 64)
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 4).Draw(rt, "messages") {
			ends := rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(rt, "ends")
			encoding := rapid.SampledFrom([]contract.Encoding{contract.Bytes, contract.Turns32, contract.Ring48,
				contract.Fixed64}).Draw(rt, "encoding")
			word := encoding.WordSize()
			data := rapid.SliceOfN(rapid.Byte(), 0, 300/word).Draw(rt, "words")
			data = bytes.Repeat(data, word)
			wantPassed(t, l.pass(t, encoding, ends[0], ends[1], data), data, encoding.Chunk(64))
		}
		for _, s := range l.sessions {
			if s.Operations() != l.sessions[0].Operations() {
				rt.Fatal("the parties count their operations differently")
			}
		}
	})
}

// TestChunksHoldWholeWords: a frame is as large as it may be, and for words of 48 bits whole groups of
// four of them.
func TestChunksHoldWholeWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := 8 * rapid.IntRange(1, 1<<17).Draw(rt, "eighths")
		encoding := contract.Encoding(rapid.IntRange(0, int(contract.Ring48)).Draw(rt, "encoding"))
		chunk := encoding.Chunk(most)
		switch {
		case encoding != contract.Ring48 && chunk != most:
			rt.Fatalf("%s: chunk of %d bytes, want %d", encoding, chunk, most)
		case encoding == contract.Ring48 && (chunk%24 != 0 || chunk > max(most, 24) || chunk+24 <= most):
			rt.Fatalf("%s: chunk of %d bytes for at most %d", encoding, chunk, most)
		}
	})
	if got := contract.Ring48.Chunk(contract.DefaultChunk); got != 1048560 {
		t.Errorf("the default chunk of ring48 is %d bytes", got)
	}
}

// TestPassRefuses what is no message.
func TestPassRefuses(t *testing.T) {
	l := numbered(t, 3, 64)
	for _, c := range []struct {
		from, to, size int
		want           string
	}{
		{1, 1, 8, "share: 8 bytes from party 1 to party 1, want 0 or more between two different parties of 0 to 2"},
		{-1, 1, 8, "share: 8 bytes from party -1 to party 1, want 0 or more between two different parties of 0 to 2"},
		{0, 3, 8, "share: 8 bytes from party 0 to party 3, want 0 or more between two different parties of 0 to 2"},
		{0, 1, -8, "share: -8 bytes from party 0 to party 1, want 0 or more between two different parties of 0 to 2"},
	} {
		d := newDirect(contract.Fixed64, c.from, c.to, nil).Direct
		d.Size = c.size
		if err := l.sessions[0].Pass(t.Context(), d); err == nil || err.Error() != c.want {
			t.Errorf("error is %v\nwant     %s", err, c.want)
		}
	}
	if n := l.sessions[0].Operations(); n != 1 {
		t.Errorf("what was refused counts: %d operations", n)
	}
}

// TestAnOwnErrorStopsTheMessage: what Load or Store returns names the operation.
func TestAnOwnErrorStopsTheMessage(t *testing.T) {
	l := numbered(t, 2, 64)
	reason := errors.New("no data")
	errs := l.each(func(i int) error {
		d := newDirect(contract.Fixed64, 0, 1, make([]byte, 8)).Direct
		d.Store = func(int, []byte) error { return reason }
		return l.sessions[i].Pass(t.Context(), d)
	})
	d := newDirect(contract.Fixed64, 0, 1, make([]byte, 8)).Direct
	d.Load = func(int, []byte) error { return reason }
	for i, c := range []struct {
		err  error
		want string
	}{
		{errs[1], "operation 2 (share): no data"},
		{l.sessions[0].Pass(t.Context(), d), "operation 3 (share): no data"},
	} {
		if !errors.Is(c.err, reason) || c.err.Error() != c.want {
			t.Errorf("error %d is %v, want %s", i, c.err, c.want)
		}
	}
}

// directFaults are what may happen to the first chunk, of 48 bytes, on its way from the shop to the
// bank: the second frame on that link, of operation 2.
var directFaults = []struct {
	name   string
	change func(f testnet.Frame) []testnet.Frame
	want   string
}{
	{"longer payload", func(f testnet.Frame) []testnet.Frame {
		f.Data = append(f.Data, make([]byte, 6)...)
		return []testnet.Frame{f}
	}, "chunk 0 has 54 bytes, want 48"},
	{"shorter payload", cut(-6), "chunk 0 has 42 bytes, want 48"},
	{"no payload", cut(-48), "chunk 0 has 0 bytes, want 48"},
	{"cut header", cut(40), "frame of 40 bytes is shorter than a header"},
	{"repeated", func(f testnet.Frame) []testnet.Frame { return []testnet.Frame{f, f} },
		"frame 1 refused: frame 1 came again, want frame 2"},
	{"lost", func(testnet.Frame) []testnet.Frame { return nil }, "frame 2 refused: frame 2 came, want frame 1: one is missing or out of order"},
	{"other session", set(atSession, 9), "frame 1 refused: it is of session 9, want 1"},
	{"later operation", set(atOperation, 3), "frame 1 refused: it belongs to operation 3 (share)"},
	{"other kind", set(atKind, 'c'), "frame 1 refused: it belongs to operation 2 (chare)"},
	{"other class", set(atClass, 4), "frame 1 refused: its class is opening, want masked"},
	{"other chunk", set(atChunk, 1), "frame 1 refused: it is chunk 1, want chunk 0"},
	{"other size", set(atSize, 96), "frame 1 refused: its vector has 96 bytes, want 120"},
}

func TestFaultyDirectFramesAreRefused(t *testing.T) {
	for _, c := range directFaults {
		t.Run(c.name, func(t *testing.T) {
			l := opened(t, 64, "bank", "insurer", "shop")
			seen := 0
			l.OnFrame(func(f testnet.Frame) []testnet.Frame {
				if f.From == l.IDs[2] && f.To == l.IDs[0] {
					if seen++; seen == 1 {
						return c.change(f)
					}
				}
				return []testnet.Frame{f}
			})
			bank := newDirect(contract.Ring48, 2, 0, make([]byte, 120))
			errs := l.each(func(i int) error {
				d := newDirect(contract.Ring48, 2, 0, make([]byte, 120))
				if i == 0 {
					d = bank
				}
				return l.sessions[i].Pass(t.Context(), d.Direct)
			})
			wantStep(t, errs[0], "operation 2 (share): shop: "+c.want, "shop")
			if !errors.Is(errs[0], contract.ErrDeviation) {
				t.Errorf("%v is no deviation", errs[0])
			}
			if c.name != "repeated" && len(bank.stored) > 0 { // there the first of the two is right
				t.Errorf("the bank was given %d bytes", len(bank.stored))
			}
			if errs[1] != nil {
				t.Errorf("whom it does not concern has the error %v", errs[1])
			}
			again := l.sessions[0].Pass(t.Context(), newDirect(contract.Ring48, 2, 0, make([]byte, 6)).Direct)
			if again != errs[0] {
				t.Errorf("the next message gives %v, want the error that ended the session", again)
			}
		})
	}
}

// TestWhoGoesInsteadOfSendingIsNamed: the receiver says who is gone, in which operation.
func TestWhoGoesInsteadOfSendingIsNamed(t *testing.T) {
	l := opened(t, 64, "bank", "insurer", "shop")
	errs := l.each(func(i int) error {
		if i == 2 {
			return errors.New("the lights went out")
		}
		return l.sessions[i].Pass(t.Context(), newDirect(contract.Fixed64, 2, 0, make([]byte, 8)).Direct)
	})
	wantStep(t, errs[0], "operation 2 (share): shop: gone: it closed the session", "shop")
	wantGone(t, errs[0], l.IDs[2])
	if errs[1] != nil {
		t.Errorf("whom it does not concern has the error %v", errs[1])
	}
}

// TestDirectMessagesAreCountersigned: every 1,024 operations all parties sign, also those whom none
// concerned, and nobody opens anything.
func TestDirectMessagesAreCountersigned(t *testing.T) {
	l, notebooks := recorded(t, 4)
	l.must(t, func(i int) error {
		for n := range contract.CountersignEvery + 2 {
			d := newDirect(contract.Ring48, n%2, 1-n%2, make([]byte, 6*(n%3)))
			if err := l.sessions[i].Pass(t.Context(), d.Direct); err != nil {
				return err
			}
		}
		return l.sessions[i].Finish(t.Context())
	})
	for i, b := range notebooks {
		if n := b.count(protocol.EventCountersigned, "countersign"); n != 3*3 {
			t.Errorf("party %d has %d countersignatures, want 9", i, n)
		}
		frames := b.count(protocol.EventSent, "share") + b.count(protocol.EventReceived, "share")
		if want := (contract.CountersignEvery + 2) * 2 / 3; i < 2 && frames != want || i >= 2 && frames != 0 {
			t.Errorf("party %d recorded %d frames, want %d of those that were not empty at both ends", i, frames, want)
		}
		if n := b.count(protocol.EventOpened, "share"); n != 0 {
			t.Errorf("party %d recorded %d openings", i, n)
		}
	}
}

// TestABudgetOfDirectMessagesIsKept: what the contract does not list is not sent.
func TestABudgetOfDirectMessagesIsKept(t *testing.T) {
	message := func(kind string, class contract.Class, encoding contract.Encoding, to, size int) protocol.Direct {
		d := newDirect(encoding, 0, to, make([]byte, size)).Direct
		d.Kind, d.Class = kind, class
		return d
	}
	share := func(to, size int) protocol.Direct {
		return message("share", contract.ClassMasked, contract.Ring48, to, size)
	}
	for _, c := range []struct {
		what     string
		messages []protocol.Direct
		want     string
	}{
		{"within", []protocol.Direct{share(2, 12), share(2, 0), share(2, 12), share(2, 6)}, ""},
		{"to another party", []protocol.Direct{share(1, 6)}, "share to insurer not sent: the contract has this party send share to others, not there"},
		{"of another party", []protocol.Direct{message("score", contract.ClassOpening, contract.Fixed64, 2, 8)}, "score to shop not sent: the contract lists no such message of this party"},
		{"in the clear", []protocol.Direct{message("share", contract.ClassOpening, contract.Ring48, 2, 6)}, "share to shop not sent: it is opening ring48, the contract says masked ring48"},
		{"other words", []protocol.Direct{message("share", contract.ClassMasked, contract.Fixed64, 2, 8)}, "share to shop not sent: it is masked fixed64, the contract says masked ring48"},
		{"too often", []protocol.Direct{share(2, 6), share(2, 6), share(2, 6), share(2, 6)},
			"share to shop not sent: it would be frame 4 of 3 agreed"},
		{"too much", []protocol.Direct{share(2, 12), share(2, 24)}, "share to shop not sent: it would make 36 bytes of 30 agreed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := newTestNetwork(t, "bank", "insurer", "shop")
			share := func(root, to string, count, bytes int64) contract.Operation {
				return contract.Operation{
					Kind: "share", Stage: 1, Collective: "direct", Root: root, To: to, Class: "masked", Encoding: "ring48",
					Count: count, Bytes: bytes,
				}
			}
			l.holdTo(t, contract.Tree, share("bank", "shop", 2, 24), share("shop", "bank", 1, 12),
				share("bank", "shop", 1, 6), share("insurer", "bank", 1, 4<<20), contract.Operation{
					Kind: "score", Stage: 2, Collective: "direct", Root: "shop", To: "bank", Class: "opening",
					Encoding: "fixed64", Shape: []int64{3}, Count: 1, Bytes: 24,
				})
			l.mustOpen(t, 1, 0)
			errs := l.each(func(i int) error { return passAll(t.Context(), l.sessions[i], c.messages) })
			var refused *contract.BudgetError
			switch {
			case c.want == "" && errors.Join(errs...) != nil:
				t.Errorf("errors are %v", errs)
			case c.want != "" && (!errors.As(errs[0], &refused) || !errors.Is(errs[0], contract.ErrDeviation) ||
				errs[0].Error() != c.want):
				t.Errorf("error is %v\nwant     %s", errs[0], c.want)
			}
		})
	}
}

// passAll passes messages one after the other.
func passAll(ctx context.Context, s *protocol.Session, messages []protocol.Direct) error {
	for _, d := range messages {
		d.Store = func(int, []byte) error { return nil } // they are the same for all parties
		if err := s.Pass(ctx, d); err != nil {
			return err
		}
	}
	return nil
}
