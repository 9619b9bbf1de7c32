package peer

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// exampleHello has a value in every field.
func exampleHello() hello {
	return hello{
		Version:   WireVersion,
		Role:      roleMember,
		DHT:       true,
		Instance:  0x0102030405060708,
		Clock:     0x19a9e3c0d80,
		Charter:   stance{Name: "credit", Version: 3, Digest: keys.HashOf("example")},
		Name:      "bank",
		Addresses: []string{"/ip4/192.0.2.7/tcp/4001"},
	}
}

// TestGoldenHello pins the bytes of a hello: they change with the wire version only.
func TestGoldenHello(t *testing.T) {
	want := strings.Join([]string{
		"0004",                      // wire version
		"a7",                        // seven fields
		"01" + "00",                 // a member
		"02" + "f5",                 // serves the DHT
		"03" + "1b0102030405060708", // instance
		"04" + "1b0000019a9e3c0d80", // the sender's clock
		"05" + "a3" + "01" + "5820" + keys.HashOf("example").String(),
		"02" + "03",             // charter version
		"03" + "66637265646974", // charter name
		"06" + "6462616e6b",     // own name
		"07" + "81" + "77" + "2f6970342f3139322e302e322e372f7463702f34303031",
	}, "")
	if got := hex.EncodeToString(exampleHello().encode()); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// helloOfThree is a hello as programs of wire version 3 write it, whose version they read in those of others.
func helloOfThree(t *testing.T) []byte {
	t.Helper()
	body, err := hex.DecodeString("0003" + "00" + "01" + "0102030405060708" + "0000019a9e3c0d80" +
		keys.HashOf("example").String() + "00000003" + "0006637265646974" + "000462616e6b" +
		"01" + "00172f6970342f3139322e302e322e372f7463702f34303031")
	mustDo(t, err)
	return body
}

// TestGoldenControl pins the bytes of the other messages on a control stream. That of the program is the same in every
// wire version.
func TestGoldenControl(t *testing.T) {
	for want, write := range map[string]struct {
		kind uint8
		body []byte
	}{
		"00000011" + "02" + "a2" + "01" + "01" + "02" + "6b" +
			"7477696365202d202d202d": {kindVerdict, refused(fault.Fault{Code: fault.CodeTwice}, "sorry").encode()},
		"00000004" + "03" + "a1" + "01" + "07":                               {kindPing, encode(ping{7})},
		"0000000e" + "04" + "a2" + "01" + "07" + "02" + "1b0000019a9e3c0d80": {kindPong, encode(pong{7, 0x19a9e3c0d80})},
		"0000002f" + "05" + "a3" + "01" + "5820" + keys.HashOf("example").String() + "02" + "03" + "03" +
			"66637265646974": {kindCharter, encode(exampleHello().Charter)},
		"00000025" + "06" + "a1" + "01" + "5820" + strings.Repeat("5a", 32): {kindLeft,
			encode(left{protocol.SessionID(bytes.Repeat([]byte{0x5a}, 32))})},
		"00000011" + "07" + "a1" + "01" + "6d" + "73746f70706564202d202d202d": {kindBye,
			encode(byeOf(fault.Fault{Code: fault.CodeStopped}))},
		"00000009" + "08" + "0006" + "76312e322e33": {kindProgram, encodeProgram("v1.2.3")},
		"00000005" + "09" + "a1" + "01" + "612f":    {kindSeen, encode(seen{"/"})},
	} {
		var b bytes.Buffer
		if _, err := writeControl(&b, write.kind, write.body); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b.Bytes()); got != want {
			t.Errorf("kind %d: got %s, want %s", write.kind, got, want)
		}
	}
}

// TestHelloLimits reads hellos that break a rule. None of the errors is that of a stream that ended.
func TestHelloLimits(t *testing.T) {
	good := exampleHello()
	long := good
	long.Name = strings.Repeat("n", maxName+1)
	if got, err := decodeHello(long.encode()); err != nil || len(got.Name) != maxName {
		t.Errorf("a long name: %d bytes, %v; it is to be cut when written", len(got.Name), err)
	}
	crowded := good
	crowded.Addresses = make([]string, maxAddresses+1)
	crowded.Addresses[0] = strings.Repeat("a", maxAddress+1)
	got, err := decodeHello(crowded.encode())
	if err != nil || len(got.Addresses) != maxAddresses || len(got.Addresses[0]) != maxAddress {
		t.Errorf("many addresses: %d, %v", len(got.Addresses), err)
	}
	if len(crowded.Addresses[0]) != maxAddress+1 {
		t.Error("an address is cut where it was, and not only where it is written")
	}
	size := len(good.encode())
	listAt := size - 1 - len(good.Addresses[0]) - 1
	nameAt := listAt - 1 - len(good.Name)
	listed := func(n int) func([]byte) []byte { // n empty addresses
		return func(b []byte) []byte {
			return append(append(b[:listAt], 0x80+byte(n)), bytes.Repeat([]byte{0x60}, n)...)
		}
	}
	for want, spoil := range map[string]func([]byte) []byte{
		"the message is cut short":                    func(b []byte) []byte { return b[:size-1] },
		"cbor: 1 bytes of extraneous data":            func(b []byte) []byte { return append(b, 0) },
		"the hello names the unknown role 9":          func(b []byte) []byte { b[4] = 9; return b },
		"cbor: cannot unmarshal positive integer":     func(b []byte) []byte { b[6] = 1; return b },
		"the name has 65 bytes, the limit is 64":      lengthen(nameAt, maxName+1),
		"the address has 257 bytes, the limit is 256": lengthen(listAt+2, maxAddress+1),
		"the name holds unprintable characters":       func(b []byte) []byte { b[nameAt] = 0x1b; return b },
		"cbor: invalid UTF-8 string":                  func(b []byte) []byte { b[nameAt] = 0xff; return b },
		"the hello lists 9 addresses, the limit is 8": listed(9),
		"the message is written in another way":       listed(0),
		"cbor: exceeded max number of elements 16":    listed(17),
		"the charter's name holds unprintable": func(b []byte) []byte {
			return bytes.Replace(b, []byte("credit"), []byte("cr\ndit"), 1)
		},
		"cbor: exceeded max nested level 4": func(b []byte) []byte {
			return append(b[:2], bytes.Repeat([]byte{0x81}, 4000)...)
		},
		"cbor: exceeded max number of key-value pairs": func(b []byte) []byte {
			return append(append(b[:2], 0xb1), make([]byte, 34)...)
		},
		"the address holds unprintable characters": func(b []byte) []byte { b[size-1] = 0x7f; return b },
		"cbor: cannot unmarshal byte string":       func(b []byte) []byte { b[nameAt-1] ^= 0x20; return b },
	} {
		_, err := decodeHello(spoil(good.encode()))
		if err == nil || !strings.HasPrefix(err.Error(), want) || ended(err) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for _, body := range [][]byte{nil, {0}, {0, WireVersion}} {
		if _, err := decodeHello(body); err != errShort {
			t.Errorf("%x: error %v, want %v", body, err, errShort)
		}
	}
	if h, err := decodeHello([]byte{0, 5, 0xff}); err != nil || !reflect.DeepEqual(h, hello{Version: 5}) {
		t.Errorf("a hello of version 5: %+v, %v, want its version and no more", h, err)
	}
	if h, err := decodeHello(helloOfThree(t)); err != nil || !reflect.DeepEqual(h, hello{Version: 3}) {
		t.Errorf("a hello of version 3: %+v, %v, want its version and no more", h, err)
	}
}

// lengthen puts a text of n bytes into a message, whose first byte stands there, in place of what follows its length.
func lengthen(at, n int) func([]byte) []byte {
	return func(b []byte) []byte {
		was := int(b[at-1] & 0x1f)
		text := bytes.Repeat([]byte("x"), n)
		length := []byte{0x78, byte(n)}
		if n > 255 {
			length = binary.BigEndian.AppendUint16([]byte{0x79}, uint16(n))
		}
		return slices.Concat(b[:at-1], length, text, b[at+was:])
	}
}

// TestOneEncoding refuses what says the same as a good message in other bytes, and what says more, or less.
func TestOneEncoding(t *testing.T) {
	const good, other = "a2" + "01" + "07" + "02" + "05", "the message is written in another way than its one encoding"
	for what, test := range map[string]struct{ body, why string }{
		"nothing":                    {"", "the message is cut short"},
		"no map":                     {"07", "cannot unmarshal positive integer into Go value"},
		"null":                       {"f6", other},
		"a list":                     {"82" + "07" + "05", "cannot unmarshal array"},
		"a map without an end":       {"bf" + "01" + "07" + "02" + "05" + "ff", "indefinite-length map isn't allowed"},
		"a tag":                      {"c1" + good, "CBOR tag isn't allowed"},
		"a tag in a field":           {"a2" + "01" + "c007" + "02" + "05", "CBOR tag isn't allowed"},
		"a big number":               {"a2" + "01" + "07" + "02" + "c24105", "CBOR tag isn't allowed"},
		"a long integer":             {"a2" + "01" + "1807" + "02" + "05", other},
		"a long key":                 {"a2" + "1801" + "07" + "02" + "05", other},
		"a long length":              {"b802" + "01" + "07" + "02" + "05", other},
		"another order":              {"a2" + "02" + "05" + "01" + "07", other},
		"a field twice":              {"a3" + "01" + "07" + "01" + "07" + "02" + "05", "found duplicate map key"},
		"an unknown field":           {"a3" + "01" + "07" + "02" + "05" + "03" + "00", "found unknown field"},
		"a named field":              {"a2" + "6450696e67" + "07" + "02" + "05", "found unknown field"},
		"a missing field":            {"a1" + "01" + "07", other},
		"a null field":               {"a2" + "01" + "07" + "02" + "f6", other},
		"a negative number":          {"a2" + "01" + "07" + "02" + "24", "cannot unmarshal negative integer"},
		"a number with a fraction":   {"a2" + "01" + "07" + "02" + "f94500", "cannot unmarshal primitives"},
		"a text":                     {"a2" + "01" + "07" + "02" + "6135", "cannot unmarshal UTF-8 text string"},
		"something behind its end":   {good + "00", "1 bytes of extraneous data"},
		"less than it has announced": {good[:len(good)-2], "the message is cut short"},
	} {
		body, err := hex.DecodeString(test.body)
		mustDo(t, err)
		m, err := decode[pong](body)
		if err == nil || !strings.Contains(err.Error(), test.why) || ended(err) {
			t.Errorf("%s: %+v, error %v, want %s", what, m, err, test.why)
		}
	}
	body, _ := hex.DecodeString(good)
	if m, err := decode[pong](body); err != nil || m != (pong{7, 5}) {
		t.Errorf("%+v, %v", m, err)
	}
	for what, body := range map[string][]byte{
		"a short id":        append([]byte{0xa1, 1, 0x58, 31}, make([]byte, 31)...),
		"a long id":         append([]byte{0xa1, 1, 0x58, 33}, make([]byte, 33)...),
		"an id of integers": append([]byte{0xa1, 1, 0x98, 32}, make([]byte, 32)...),
	} {
		if m, err := decode[left](body); err == nil {
			t.Errorf("%s: %+v", what, m)
		}
	}
	for _, code := range []byte{verdictDuplicate + 1, 9} {
		if v, err := decodeVerdict(encode(answer{Code: code})); err == nil {
			t.Errorf("%+v", v)
		}
	}
	for _, text := range []string{"\x1b[2J", "a\nb", "\u2028", "\u202e", strings.Repeat("x", maxReason+1)} {
		long := []byte{0xa1, 1, 0x79, byte(len(text) >> 8), byte(len(text))}
		if len(text) < 24 {
			long = []byte{0xa1, 1, 0x60 + byte(len(text))}
		}
		if m, err := decode[bye](append(long, text...)); err == nil {
			t.Errorf("%q is read: %q", text, m.Fault)
		}
	}
}

// TestProgramLimits reads what is no version of a program.
func TestProgramLimits(t *testing.T) {
	long := strings.Repeat("v", maxProgram+1)
	for _, body := range []string{
		"", "\x00", "\x00\x02v", "\x00\x01vv", "\x00\x41" + long, "\x00\x04\x1b[2J", "\x00\x01\xff",
	} {
		if version, err := decodeProgram([]byte(body)); err == nil || version != "" || ended(err) {
			t.Errorf("%q: %q, %v", body, version, err)
		}
	}
	if version, err := decodeProgram(encodeProgram(long)); err != nil || version != long[1:] {
		t.Errorf("%q, %v; it is to be cut when written", version, err)
	}
}

// TestTheLargestMessagesFit on a control stream, a charter's name in the hello included that is as long as it is read.
func TestTheLargestMessagesFit(t *testing.T) {
	const most = 1<<64 - 1
	h := hello{Version: WireVersion, Role: roleWorker, DHT: true, Instance: most, Clock: most,
		Charter: stance{Version: 1<<32 - 1, Name: strings.Repeat("n", maxName)}, Name: strings.Repeat("n", maxName),
		Addresses: slices.Repeat([]string{strings.Repeat("a", maxAddress)}, maxAddresses)}
	for what, body := range map[string][]byte{
		"hello": h.encode(), "verdict": encode(answer{verdictRefused, strings.Repeat("r", maxReason)}),
		"bye": encode(bye{strings.Repeat("r", maxReason)}), "seen": encode(seen{strings.Repeat("a", maxAddress)}),
		"program": encodeProgram(strings.Repeat("v", maxProgram)),
	} {
		if 1+len(body) > maxControl {
			t.Errorf("the largest %s has %d bytes, the limit is %d", what, 1+len(body), maxControl)
		}
	}
	if got, err := decodeHello(h.encode()); err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("%+v, %v", got, err)
	}
	if fault.MaxFault > maxReason {
		t.Error("a fault may be longer than a verdict lets it be")
	}
}

// drawText draws a text that a message may carry.
func drawText(t *rapid.T, limit int) string {
	printable := rapid.RuneFrom([]rune{' '}, unicode.PrintRanges...)
	whole := func(r rune) bool { return r != utf8.RuneError }
	return rapid.StringOfN(printable.Filter(whole), -1, -1, limit).Draw(t, "text")
}

// wantSame encodes a message and decodes it.
func wantSame[M any](t *rapid.T, m M) {
	t.Helper()
	if got, err := decode[M](encode(m)); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v was read as %+v: %v", m, got, err)
	}
}

// TestMessagesAreReadAsWritten draws messages of each kind.
func TestMessagesAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "id"))
		number := rapid.Uint64().Draw(t, "number")
		charter := stance{id, rapid.Uint32().Draw(t, "version"), drawText(t, maxName)}
		h := hello{Version: WireVersion, Role: role(rapid.IntRange(0, int(roleWorker)).Draw(t, "role")),
			DHT: rapid.Bool().Draw(t, "DHT"), Instance: number, Clock: rapid.Uint64().Draw(t, "clock"),
			Charter: charter, Name: drawText(t, maxName)}
		for range rapid.IntRange(0, maxAddresses).Draw(t, "addresses") {
			h.Addresses = append(h.Addresses, drawText(t, maxAddress))
		}
		if got, err := decodeHello(h.encode()); err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("%+v was read as %+v: %v", h, got, err)
		}
		wantSame(t, answer{rapid.Byte().Draw(t, "code"), drawText(t, maxReason)})
		wantSame(t, ping{number})
		wantSame(t, pong{number, h.Clock})
		wantSame(t, charter)
		wantSame(t, left{id})
		wantSame(t, bye{drawText(t, maxReason)})
		wantSame(t, seen{drawText(t, maxAddress)})
		version := drawText(t, maxProgram)
		if got, err := decodeProgram(encodeProgram(version)); err != nil || got != version {
			t.Errorf("%q was read as %q: %v", version, got, err)
		}
	})
}

// TestControlLimits reads announced lengths that no message has.
func TestControlLimits(t *testing.T) {
	for want, head := range map[string][]byte{
		"announced a control message of 0 bytes, the limit is 4096":          {0, 0, 0, 0, 1},
		"announced a control message of 4294967295 bytes, the limit is 4096": {0xff, 0xff, 0xff, 0xff, 1},
		"announced a control message of 4097 bytes, the limit is 4096":       {0, 0, 16, 1, 1},
	} {
		if _, _, err := readControl(bytes.NewReader(head)); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestPlain keeps text for people printable and whole.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{"Lübeck, 1356": "Lübeck, 1356", "a\nb\x1b[2J": "a?b?[2J", "\xff": "?"} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := clip("Lübeck", 2); got != "L" {
		t.Errorf("clipped to %q, want no half character", got)
	}
}

// TestJudgeVersions refuses another wire version by both names.
func TestJudgeVersions(t *testing.T) {
	ks := newKeys(t, 2)
	j := newJudge(ks[0].ID(), signed(t, draft(ks), ks), Config{})
	v := j.weigh(ks[1].ID(), hello{Version: 5})
	if want := "bank speaks wire version 4, insurer speaks wire version 5: " +
		"hanse at bank must be updated"; v.code != verdictRefused || v.reason != want {
		t.Errorf("verdict %+v, want %s", v, want)
	}
}

// FuzzHello checks that whatever is read is written with the same bytes.
func FuzzHello(f *testing.F) {
	f.Add(exampleHello().encode())
	f.Add(hello{Version: WireVersion, Role: roleInvitee}.encode())
	f.Add(hello{Version: WireVersion, Role: roleWorker}.encode())
	f.Add([]byte{0, WireVersion})
	f.Add([]byte{0, 3})
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := decodeHello(body)
		if err != nil || h.Version != WireVersion {
			return
		}
		if again := h.encode(); !bytes.Equal(again, body) {
			t.Fatalf("%+v\n%x is written as\n%x", h, body, again)
		}
	})
}

// FuzzControl reads a control stream, whose messages are written with the same bytes.
func FuzzControl(f *testing.F) {
	for _, m := range []struct {
		kind uint8
		body []byte
	}{
		{kindHello, exampleHello().encode()},
		{kindVerdict, verdict{code: verdictDuplicate}.encode()},
		{kindPing, encode(ping{1})},
		{kindPong, encode(pong{1, 0x19a9e3c0d80})},
		{kindCharter, encode(exampleHello().Charter)},
		{kindLeft, encode(left{})},
		{kindBye, encode(byeOf(fault.Fault{Code: fault.CodeStopped}))},
		{kindProgram, encodeProgram("v1.2.3")},
		{kindSeen, encode(seen{"/ip4/192.0.2.7/tcp/1"})},
	} {
		var b bytes.Buffer
		writeControl(&b, m.kind, m.body)
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, body, err := readControl(bytes.NewReader(data))
		if err != nil {
			return
		}
		if again, ok := reencode(kind, body); ok && !bytes.Equal(again, body) {
			t.Fatalf("kind %d: %x is written as %x", kind, body, again)
		}
	})
}

// reencode reads a body and writes it again; false if it cannot be read.
func reencode(kind uint8, body []byte) ([]byte, bool) {
	switch kind {
	case kindVerdict:
		v, err := decodeVerdict(body)
		if err != nil || v.told.Code == fault.CodeMalformed {
			return nil, false
		}
		return v.encode(), true
	case kindPing:
		return reencodeAs[ping](body)
	case kindPong:
		return reencodeAs[pong](body)
	case kindCharter:
		return reencodeAs[stance](body)
	case kindLeft:
		return reencodeAs[left](body)
	case kindSeen:
		return reencodeAs[seen](body)
	case kindProgram:
		version, err := decodeProgram(body)
		return encodeProgram(version), err == nil
	case kindBye:
		m, err := decode[bye](body)
		if err != nil || m.reason().Code == fault.CodeMalformed {
			return nil, false
		}
		return encode(byeOf(*m.reason())), true
	}
	return nil, false
}

func reencodeAs[M any](body []byte) ([]byte, bool) {
	m, err := decode[M](body)
	return encode(m), err == nil
}

// FuzzCall reads requests.
func FuzzCall(f *testing.F) {
	f.Add(encodeCall("charter/get", 5000, []byte("request")))
	f.Add(encodeCall("x", 0, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		method, timeout, request, err := readCall(bytes.NewReader(data), protocol.MaxCall)
		if err != nil {
			return
		}
		again := encodeCall(method, uint32(timeout.Milliseconds()), request)
		if !bytes.HasPrefix(data, again) || checkCall(method, request) != nil {
			t.Fatalf("%x is written as %x", data, again)
		}
	})
}
