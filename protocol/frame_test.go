package protocol

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// goldenFrame is a whole frame, byte by byte.
const goldenFrame = "" +
	"01" + // version
	"02" + // class: masked
	"06" + // length of the kind
	"00" + // reserved
	"00000003" + // session 3
	"0000000000000005" + // frame 5 on this link
	"0000000000000007" + // operation 7
	"0000000000200000" + // a vector of 2 MiB
	"00000001" + // its second chunk
	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" + // contract
	"616e676c6573" + // kind: angles
	"cafe" // payload

func goldenHeader() header {
	h := header{class: contract.ClassMasked, session: 3, sequence: 5, operation: 7, size: 2 << 20,
		chunk: 1, kind: "angles"}
	for i := range h.contract {
		h.contract[i] = byte(i)
	}
	return h
}

func golden(t testing.TB) []byte {
	t.Helper()
	frame, err := hex.DecodeString(goldenFrame)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestFrameGolden(t *testing.T) {
	h := goldenHeader()
	if got := append(h.appendTo(nil), 0xca, 0xfe); !bytes.Equal(got, golden(t)) {
		t.Errorf("the frame is %x, want %s", got, goldenFrame)
	}
	got, payload, err := parseHeader(golden(t))
	if err != nil || got != h || !bytes.Equal(payload, []byte{0xca, 0xfe}) {
		t.Errorf("the frame reads %+v, payload %x, error %v", got, payload, err)
	}
}

func TestMalformedHeaders(t *testing.T) {
	for _, c := range []struct {
		change func(frame []byte) []byte
		want   string
	}{
		{func([]byte) []byte { return nil }, "frame of 0 bytes is shorter than a header"},
		{func(f []byte) []byte { return f[:67] }, "frame of 67 bytes is shorter than a header"},
		{func(f []byte) []byte { return f[:70] }, "malformed frame header"},
		{func(f []byte) []byte { f[0] = 2; return f }, "frame version 2, this node speaks 1"},
		{func(f []byte) []byte { f[1] = 0; return f }, "malformed frame header: there is no class 0"},
		{func(f []byte) []byte { f[1] = 6; return f }, "malformed frame header: there is no class 6"},
		{func(f []byte) []byte { f[2] = contract.MaxKind + 1; return append(f, make([]byte, 64)...) },
			"malformed frame header"},
		{func(f []byte) []byte { f[2] = 0; return f }, `malformed frame header: kind is "", want 1 to 24 characters of a-z, 0-9, "-" and space`},
		{func(f []byte) []byte { f[3] = 1; return f }, "malformed frame header"},
		{func(f []byte) []byte { f[68] = 0x1b; return f }, `malformed frame header: kind is "\x1bngles", want 1 to 24 characters of a-z, 0-9, "-" and space`},
	} {
		if _, _, err := parseHeader(c.change(golden(t))); err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}

// FuzzParseHeader: whatever parses is written back as it was, and is refused or taken by differs
// without harm.
func FuzzParseHeader(f *testing.F) {
	f.Add(golden(f))
	f.Add(golden(f)[:headerSize])
	f.Add([]byte{FrameVersion})
	long := goldenHeader()
	long.kind = strings.Repeat("k", contract.MaxKind)
	f.Add(long.appendTo(nil))
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, payload, err := parseHeader(frame)
		if err != nil {
			return
		}
		if again := append(h.appendTo(nil), payload...); !bytes.Equal(again, frame) {
			t.Errorf("%x is written back as %x", frame, again)
		}
		if d := h.differs(&h); d != "" {
			t.Errorf("a header differs from itself: %s", d)
		}
	})
}

// TestHeadersDiffer: each field that is not as wanted is named, and the contract before the rest.
func TestHeadersDiffer(t *testing.T) {
	want := goldenHeader()
	for _, c := range []struct {
		change func(h *header)
		text   string
	}{
		{func(h *header) {}, ""},
		{func(h *header) { h.contract = keys.Hash{9}; h.session = 9 }, "it is for contract 09000000, want 00010203"},
		{func(h *header) { h.session = 4 }, "it is of session 4, want 3"},
		{func(h *header) { h.sequence = 4 }, "frame 4 came again, want frame 5"},
		{func(h *header) { h.sequence = 6 }, "frame 6 came, want frame 5: one is missing or out of order"},
		{func(h *header) { h.operation = 8 }, "it belongs to operation 8 (angles)"},
		{func(h *header) { h.kind = "scores" }, "it belongs to operation 7 (scores)"},
		{func(h *header) { h.class = contract.ClassPublished }, "its class is published, want masked"},
		{func(h *header) { h.chunk = 0 }, "it is chunk 0, want chunk 1"},
		{func(h *header) { h.size = 8 }, "its vector has 8 bytes, want 2097152"},
	} {
		h := goldenHeader()
		c.change(&h)
		if got := h.differs(&want); got != c.text {
			t.Errorf("difference is %q, want %q", got, c.text)
		}
	}
}

func TestClassNames(t *testing.T) {
	for c := contract.ClassControl; c <= contract.ClassOpening; c++ {
		if got, err := contract.ParseClass(c.String()); err != nil || got != c {
			t.Errorf("%v reads as %v, error %v", c, got, err)
		}
	}
	if _, err := contract.ParseClass("class 6"); err == nil {
		t.Error("there is a class 6")
	}
}
