package peer

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// later plays a member whose program speaks wire version 5 and calls itself so: what it sends is changed on its way.
func later(t *testing.T, program string) func(network.Stream) network.Stream {
	return func(s network.Stream) network.Stream {
		return lyingStream{s, func(kind uint8, body []byte) [][]byte {
			switch kind {
			case kindHello:
				body[1] = WireVersion + 1
			case kindVerdict:
				told := refused(fault.Fault{Code: fault.CodeProgram, Numbers: []int64{WireVersion, WireVersion + 1}}, "")
				body = told.encode()
			}
			out := [][]byte{message(t, kind, body)}
			if kind == kindVerdict {
				out = append(out, programOf(t, program))
			}
			return out
		}}
	}
}

// programOf is what a program says of its version, whatever that is.
func programOf(t *testing.T, version string) []byte {
	return message(t, kindProgram, append([]byte{byte(len(version) >> 8), byte(len(version))}, version...))
}

// helloOfLater says hello in wire version 5 and hears that it is refused.
func helloOfLater(t *testing.T, conn rawConn) network.Stream {
	t.Helper()
	return helloOfAnother(t, conn, hello{Version: WireVersion + 1, Name: "insurer"}.encode())
}

// helloOfAnother says hello in another wire version and hears that it is refused, in this one.
func helloOfAnother(t *testing.T, conn rawConn, body []byte) network.Stream {
	t.Helper()
	var first buffer
	writeControl(&first, kindHello, body)
	s, err := openStream(within(t), conn, protoHello, first)
	if err == nil {
		err = readProtocol(s, protoHello)
	}
	if err == nil {
		body, err = expectControl(s, kindHello)
	}
	if err == nil && !bytes.HasPrefix(body, []byte{0, WireVersion}) {
		t.Errorf("another version cannot read which one this is: %x", body)
	}
	if err == nil {
		_, err = expectControl(s, kindVerdict)
	}
	mustDo(t, err)
	return s
}

// meetLater has a member, whose program is v0.3.0, dialled by another of wire version 5 and then dial it, and returns
// what it says of that after each, and its log. The later program calls itself by the first name, then by the second.
func meetLater(
	t *testing.T, first, second string, seen func(PeerStatus) bool,
) (dialled, dialling PeerStatus, log []string) {
	t.Helper()
	ks := newKeys(t, 2)
	c := signed(t, draft(ks), ks)
	lines := new(lines)
	cfg := config(ks[0], c)
	cfg.Log, cfg.Program = newLog(lines), "v0.3.0"
	h := start(t, cfg)
	ctx := within(t)
	n, conn := dialRaw(ctx, t, ks[1], h)
	defer n.Close()
	s := helloOfLater(t, conn)
	if _, err := s.Write(programOf(t, first)); err != nil {
		t.Fatal(err)
	}
	s.CloseWrite()
	dialled = until(t, h, ks[1].ID(), "refused", func(s PeerStatus) bool { return s.Refused != "" })

	other, err := New(config(ks[1], c)) // it knows no address, and so dials nobody
	mustDo(t, err)
	other.node.host.SetStreamHandler(protoHello, func(s network.Stream) { other.reception.answer(later(t, second)(s)) })
	run(t, other)
	introduce(t, h, other)
	dialling = until(t, h, ks[1].ID(), "refused anew", seen)
	lines.await(t, "wire")
	return dialled, dialling, slices.DeleteFunc(lines.all(), func(s string) bool { return !strings.Contains(s, "wire") })
}

// TestTwoVersionsAreToldInOneText: whether a member is dialled or dials, it says in the same words which program runs
// where and which must be updated; the log has that once.
func TestTwoVersionsAreToldInOneText(t *testing.T) {
	t.Parallel()
	const want = "bank runs hanse v0.3.0 and speaks wire version 4, insurer runs hanse v0.4.0 and speaks wire version 5: " +
		"hanse at bank must be updated"
	one, two, log := meetLater(t, "v0.4.0", "v0.4.0", func(s PeerStatus) bool { return s.Refused != "" })
	for _, s := range []PeerStatus{one, two} {
		if s.Refused != want || !s.OtherWire || s.Program != "v0.4.0" || s.Connected {
			t.Errorf("%+v", s)
		}
	}
	if len(log) != 1 || !strings.HasSuffix(log[0], "reason="+want) {
		t.Errorf("the log has %q", log)
	}
	_, two, _ = meetLater(t, "v0.4.0", "v0.4.1", func(s PeerStatus) bool { return s.Program == "v0.4.1" })
	if two.Refused != strings.ReplaceAll(want, "v0.4.0", "v0.4.1") {
		t.Errorf("once it is dialled: %s", two.Refused)
	}
}

// TestAnEarlierVersionIsToldToUpdate: a member says hello in the bytes of wire version 3, which had no CBOR, and hears
// which program runs here.
func TestAnEarlierVersionIsToldToUpdate(t *testing.T) {
	t.Parallel()
	ks := newKeys(t, 2)
	cfg := config(ks[0], signed(t, draft(ks), ks))
	cfg.Program = "v0.4.0"
	h := start(t, cfg)
	n, conn := dialRaw(within(t), t, ks[1], h)
	defer n.Close()
	s := helloOfAnother(t, conn, helloOfThree(t))
	if _, err := s.Write(programOf(t, "v0.3.0")); err != nil {
		t.Fatal(err)
	}
	if body, err := expectControl(s, kindProgram); err != nil || string(body) != "\x00\x06v0.4.0" {
		t.Errorf("it hears %q, %v", body, err)
	}
	s.CloseWrite()
	got := until(t, h, ks[1].ID(), "refused", func(s PeerStatus) bool { return s.Refused != "" })
	if want := "insurer runs hanse v0.3.0 and speaks wire version 3, bank runs hanse v0.4.0 and speaks wire version 4: " +
		"hanse at insurer must be updated"; got.Refused != want || !got.OtherWire || got.Program != "v0.3.0" {
		t.Errorf("%+v", got)
	}
}

// TestAHostileVersionReachesNoScreen: a member that speaks another wire calls its program by what clears a terminal,
// and by more than fits. The reason is told without.
func TestAHostileVersionReachesNoScreen(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{"v1\x1b[2J", "v1\nwarning: pay", strings.Repeat("v", maxProgram+1)} {
		one, _, log := meetLater(t, hostile, hostile, func(s PeerStatus) bool { return s.Refused != "" })
		if want := "bank runs hanse v0.3.0 and speaks wire version 4, insurer speaks wire version 5: " +
			"hanse at bank must be updated"; one.Refused != want || one.Program != "" || len(log) != 1 {
			t.Errorf("%q: %+v\n%q", hostile, one, log)
		}
	}
}

// TestApartIsTheSameAtBothEnds, and names the older one.
func TestApartIsTheSameAtBothEnds(t *testing.T) {
	old, young := program{"bank", 3, "v1"}, program{"telco", 4, ""}
	want := "bank runs hanse v1 and speaks wire version 3, telco speaks wire version 4: hanse at bank must be updated"
	if a, b := apart(old, young), apart(young, old); a != want || b != want {
		t.Errorf("%s\n%s", a, b)
	}
}

// TestStrangersReceiveNoVersion: who was revoked and speaks another wire hears that, and not which program runs here.
func TestStrangersReceiveNoVersion(t *testing.T) {
	t.Parallel()
	ks := newKeys(t, 3)
	d := draft(ks[:2])
	d.Revoked = []keys.Revoked{{Name: "telco", ID: ks[2].ID(), Reason: "left"}}
	cfg := config(ks[0], signed(t, d, ks))
	cfg.Program = "v0.3.0"
	h := start(t, cfg)
	n, conn := dialRaw(within(t), t, ks[2], h)
	defer n.Close()
	s := helloOfLater(t, conn)
	defer s.Reset()
	if got := receiveProgram(s); got != "" {
		t.Errorf("it hears %q", got)
	}
}
