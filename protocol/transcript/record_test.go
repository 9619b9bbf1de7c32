package transcript

import (
	"bytes"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Every fault of a record has its message; the records are good ones with some bytes written over.
func TestDecodeRefusesWhatNoLogWrites(t *testing.T) {
	all := blocks(smallTestNetwork(t, "records").text(0))
	begins, frame, opening, signature, seal := all[1], all[6], all[7], all[12], all[14]
	for _, c := range []struct {
		block []byte
		at    int
		bytes string
		want  string
	}{
		{frame, 0, "\x00", "its type is 0, want 1 to 7"},
		{frame, 0, "\xff", "its type is 255, want 1 to 7"},
		{frame, 1, "\x00", "its class is 0, want 1 to 5"},
		{frame, 1, "\x06", "its class is 6, want 1 to 5"},
		{frame, 2, "\x08", "its encoding is 8, want 0 to 7, or 72 to 120"},
		{frame, 3, "\x19", "its kind has 25 bytes, at most 24 are allowed"},
		{frame, 3, "\x07", `its kind is "angles\x00", want 1 to 24 characters of a-z, 0-9, "-" and space`},
		{frame, 3, "\x05", "it has bytes that are not zero where version 3 has none"},
		{frame, 4, "\x00\x00\x00\x00", "its session is 0, want 1 or more"},
		{frame, 16, "\x80", "its time is -9157578293748046272, want 0 or more"},
		{frame, 24, "\x00\x00\x10\x00", "it names peer 4096, want less than 4096"},
		{frame, 24, "\xff\xff\xff\xff", "it names peer 4294967295, want less than 4096"},
		{frame, 56, "\x00\x00\x00\x00\x00\x40\x10\x01", "its payload has 4198401 bytes, at most 4198400 are allowed"},
		{frame, 64, "A", `its kind is "Angles", want 1 to 24 characters of a-z, 0-9, "-" and space`},
		{frame, 87, "x", "it has bytes that are not zero where version 3 has none"},
		{frame, 88, string(make([]byte, 32)), "it has zeros for the hash of its payload"},
		{frame, 120, "\x02", "its mark of a kept payload is 2, want 0 or 1"},
		{frame, 121, "x", "it has bytes that are not zero where version 3 has none"},
		{frame, 127, "x", "it has bytes that are not zero where version 3 has none"},
		{opening, 88, "x", "it has a hash of an opening that was not put into the store"},
		{opening, 119, "x", "it has a hash of an opening that was not put into the store"},
		{opening, 120, "\x01", "it has zeros for the hash of its payload"},
		{signature, 1, "\x00", "its class is 0, want 1 to 5"},
		{signature, 2, "\x01", "a countersignature of 64 bytes in turns16, want 64 bytes that no store has"},
		{signature, 3, "\x0b", "it has bytes that are not zero where version 3 has none"},
		{signature, 120, "\x01", "a countersignature of 64 bytes in bytes, want 64 bytes that no store has"},
		{signature, 121, "\x01", "it has bytes that are not zero where version 3 has none"},
		{begins, 1, "\x01", `a record "session begins" has fields of a frame, want zeros`},
		{begins, 35, "x", `a record "session begins" has fields of a frame, want zeros`},
		{begins, 120, "\x01", `a record "session begins" has fields of a frame, want zeros`},
		{begins, 3, "\x01", `a record "session begins" has a kind, a hash or a signature, want none`},
		{begins, 63, "\x01", `a record "session begins" has fields of a frame, want zeros`},
		{begins, 90, "x", `a record "session begins" has a kind, a hash or a signature, want none`},
		{seal, 40, "x", `a record "seal" has fields of a frame, want zeros`},
		{seal, 2, "x", `a record "seal" has fields of a frame, want zeros`},
		{seal, 3, "\x04", "it has bytes that are not zero where version 3 has none"},
		{seal, 28, "\x00\x00\x00\x00", "the reason of a seal is 0, want 1 to 3"},
		{seal, 28, "\x00\x00\x00\x04", "the reason of a seal is 4, want 1 to 3"},
		{seal, 28, "\xff\x00\x00\x01", "the reason of a seal is 4278190081, want 1 to 3"},
		{seal, 120, "\x01", `a record "seal" has fields of a frame, want zeros`},
		{seal, 127, "\x01", "it has bytes that are not zero where version 3 has none"},
		{append(bytes.Clone(begins[:56]), seal[56:]...), 0, "\x07",
			"it has bytes that are not zero where version 3 has none"},
	} {
		block := [BlockSize]byte(c.block)
		copy(block[c.at:], c.bytes)
		wantError(t, new(Record).Decode(&block), c.want)
	}
}

func TestTypesHaveNames(t *testing.T) {
	for typ, want := range map[Type]string{TypeSent: "sent", TypeUnkept: "payloads no longer kept",
		0: "type 0", 8: "type 8"} {
		if got := typ.String(); got != want {
			t.Errorf("type %d is %q, want %q", uint8(typ), got, want)
		}
	}
}

// The rule for kinds is that of the sessions: what a session sends can be recorded.
func TestKindsAreThoseOfFrames(t *testing.T) {
	for kind, good := range map[string]bool{
		"a": true, "session-key": true, "two words": true, "abcdefghijklmnopqrstuvwx": true,
		"": false, "abcdefghijklmnopqrstuvwxy": false, "A": false, "ä": false, "a\n": false, "a_b": false,
	} {
		if err := checkKind(kind); (err == nil) != good {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
}

// FuzzRecord: whatever decodes is encoded with the same bytes.
func FuzzRecord(f *testing.F) {
	for _, b := range blocks(smallTestNetwork(f, "fuzz").text(0)) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != BlockSize {
			return
		}
		var r Record
		var back [BlockSize]byte
		if r.Decode((*[BlockSize]byte)(b)) != nil {
			return
		}
		if r.Encode(&back); !bytes.Equal(back[:], b) {
			t.Fatalf("%x is read as %+v, which is written as %x", b, r, back)
		}
		if r.Peer < 0 || r.Bytes > protocol.MaxFrame || len(r.Kind) > contract.MaxKind {
			t.Fatalf("%+v is accepted", r)
		}
	})
}

// FuzzHeader: the same for headers.
func FuzzHeader(f *testing.F) {
	f.Add(blocks(smallTestNetwork(f, "fuzz").text(0))[0])
	var bound [BlockSize]byte
	Header{Self: 1, Contract: keys.Hash{1}, Party: keys.ID{2}, Consent: keys.Hash{3}}.Encode(&bound)
	f.Add(bound[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != BlockSize {
			return
		}
		rehashed(b) // or the fuzzer never gets past the hash
		h, err := DecodeHeader((*[BlockSize]byte)(b))
		if err != nil {
			return
		}
		var back [BlockSize]byte
		if h.Encode(&back); !bytes.Equal(back[:], b) || h.Hash() != [32]byte(b[hashAt:]) {
			t.Fatalf("%x is read as %+v, which is written as %x", b, h, back)
		}
	})
}

// TestAHeaderIsBoundToAConsent: nobody can put another in its place.
func TestAHeaderIsBoundToAConsent(t *testing.T) {
	h := Header{Self: 1, Contract: keys.Hash{1}, Party: keys.ID{2}}
	var plain, bound [BlockSize]byte
	h.Encode(&plain)
	h.Consent = keys.Hash{3}
	h.Encode(&bound)
	if plain[17] != 3 || bound[17] != 3 || bytes.Equal(plain[hashAt:], bound[hashAt:]) {
		t.Errorf("versions %d and %d", plain[17], bound[17])
	}
	if got, err := DecodeHeader(&bound); err != nil || got != h {
		t.Errorf("read as %+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		change func(b *[BlockSize]byte)
		rehash bool
		want   string
	}{
		"another consent": {func(b *[BlockSize]byte) { b[88] = 4 }, false,
			"the hash of its header does not fit: the header was changed"},
		"the consent is gone": {func(b *[BlockSize]byte) { b[88] = 0 }, false,
			"the hash of its header does not fit: the header was changed"},
		"the version": {func(b *[BlockSize]byte) { b[17] = 1 }, true,
			"it is a transcript of version 1, this program reads version 3"},
		"more": {func(b *[BlockSize]byte) { b[127] = 1 }, true,
			"its header has bytes that are not zero where version 3 has none"},
	} {
		b := bound
		c.change(&b)
		if c.rehash {
			rehashed(b[:])
		}
		if _, err := DecodeHeader(&b); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
