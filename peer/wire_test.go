package peer

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// exampleHello has a value in every field.
func exampleHello() hello {
	return hello{
		version:   WireVersion,
		role:      roleMember,
		dht:       true,
		instance:  0x0102030405060708,
		clock:     0x19a9e3c0d80,
		charter:   stance{name: "credit", version: 3, digest: keys.HashOf("example")},
		name:      "bank",
		addresses: []string{"/ip4/192.0.2.7/tcp/4001"},
	}
}

// TestGoldenHello pins the bytes of a hello: they change with the wire version only.
func TestGoldenHello(t *testing.T) {
	want := strings.Join([]string{
		"0003",             // wire version
		"00",               // a member
		"01",               // serves the DHT
		"0102030405060708", // instance
		"0000019a9e3c0d80", // the sender's clock
		keys.HashOf("example").String(),
		"00000003",              // charter version
		"0006" + "637265646974", // charter name
		"0004" + "62616e6b",     // own name
		"01",                    // one address
		"0017" + "2f6970342f3139322e302e322e372f7463702f34303031",
	}, "")
	if got := hex.EncodeToString(exampleHello().encode()); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// TestGoldenControl pins the bytes of the other messages on a control stream.
func TestGoldenControl(t *testing.T) {
	for want, write := range map[string]struct {
		kind uint8
		body []byte
	}{
		"0000000f" + "02" + "01" + "000b" +
			"7477696365202d202d202d": {kindVerdict, refused(fault.Fault{Code: fault.CodeTwice}, "sorry").encode()},
		"00000009" + "03" + "0000000000000007":                      {kindPing, encodeBeat(7)},
		"00000011" + "04" + "0000000000000007" + "0000019a9e3c0d80": {kindPong, encodePong(7, 0x19a9e3c0d80)},
		"00000010" + "07" + "000d" + "73746f70706564202d202d202d": {kindBye,
			encodeBye(fault.Fault{Code: fault.CodeStopped})},
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

// TestHelloLimits reads hellos that break a rule.
func TestHelloLimits(t *testing.T) {
	good := exampleHello()
	long := good
	long.name = strings.Repeat("n", maxName+1)
	if got, err := decodeHello(long.encode()); err != nil || len(got.name) != maxName {
		t.Errorf("a long name: %d bytes, %v; it is to be cut when written", len(got.name), err)
	}
	crowded := good
	crowded.addresses = make([]string, maxAddresses+1)
	if got, err := decodeHello(crowded.encode()); err != nil || len(got.addresses) != maxAddresses {
		t.Errorf("many addresses: %d, %v", len(got.addresses), err)
	}
	nameAt := 2 + 1 + 1 + 8 + 8 + 32 + 4 + 2 + len(good.charter.name)
	for want, spoil := range map[string]func([]byte) []byte{
		"the message is cut short":              func(b []byte) []byte { return b[:len(b)-1] },
		"1 bytes follow the end of the message": func(b []byte) []byte { return append(b, 0) },
		"the hello names the unknown role 9":    func(b []byte) []byte { b[2] = 9; return b },
		"the hello sets unknown flags":          func(b []byte) []byte { b[3] = 0x80; return b },
		"the name has 65535 bytes, the limit is 64": func(b []byte) []byte {
			b[nameAt], b[nameAt+1] = 0xff,
				0xff
			return b
		},
		"the name holds unprintable characters":         func(b []byte) []byte { b[nameAt+2] = 0x1b; return b },
		"the hello lists 255 addresses, the limit is 8": func(b []byte) []byte { b[nameAt+6] = 255; return b },
	} {
		if _, err := decodeHello(spoil(good.encode())); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if h, err := decodeHello([]byte{0, 4, 0xff}); err != nil || h.version != 4 {
		t.Errorf("a hello of version 4: %+v, %v, want its version and no more", h, err)
	}
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
	v := j.weigh(ks[1].ID(), hello{version: 4})
	if want := "bank speaks wire version 3, insurer speaks wire version 4: " +
		"hanse at bank must be updated"; v.code != verdictRefused || v.reason != want {
		t.Errorf("verdict %+v, want %s", v, want)
	}
}

// FuzzHello checks that whatever is read is written with the same bytes.
func FuzzHello(f *testing.F) {
	f.Add(exampleHello().encode())
	f.Add(hello{version: WireVersion, role: roleInvitee}.encode())
	f.Add(hello{version: WireVersion, role: roleWorker}.encode())
	f.Add([]byte{0, 3})
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := decodeHello(body)
		if err != nil || h.version != WireVersion {
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
		{kindPing, encodeBeat(1)},
		{kindPong, encodePong(1, 0x19a9e3c0d80)},
		{kindCharter, exampleHello().charter.encode()},
		{kindLeft, make([]byte, 32)},
		{kindBye, encodeBye(fault.Fault{Code: fault.CodeStopped})},
		{kindProgram, encodeProgram("v1.2.3")},
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
		return v.encode(), err == nil && v.told.Code != fault.CodeMalformed
	case kindPing:
		n, err := decodeBeat(body)
		return encodeBeat(n), err == nil
	case kindPong:
		n, clock, err := decodePong(body)
		return encodePong(n, clock), err == nil
	case kindCharter:
		s, err := decodeCharter(body)
		return s.encode(), err == nil
	case kindLeft:
		session, err := decodeLeft(body)
		return session[:], err == nil
	case kindProgram:
		version, err := decodeProgram(body)
		return encodeProgram(version), err == nil
	case kindBye:
		reason, err := decodeBye(body)
		return encodeBye(*reason), err == nil && reason.Code != fault.CodeMalformed
	}
	return nil, false
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
