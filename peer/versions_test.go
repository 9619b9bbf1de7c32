package peer

import (
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/protocol/fault"
)

// later plays a member whose program speaks wire version 4 and calls itself so: what it sends is changed on its way.
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

// meetLater has a member, whose program is v0.3.0, dialled by another of wire version 4 and then dial it, and returns
// what it says of that after each, and its log. The later program calls itself by the first name, then by the second.
func meetLater(t *testing.T, first, second string, seen func(PeerStatus) bool) (dialled, dialling PeerStatus, log []string) {
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
	var hello4 buffer
	writeControl(&hello4, kindHello, hello{version: WireVersion + 1, name: "insurer"}.encode())
	s, err := openStream(ctx, conn, protoHello, hello4)
	if err != nil {
		t.Fatal(err)
	}
	if err := readProtocol(s, protoHello); err != nil {
		t.Fatal(err)
	}
	if _, err := expectControl(s, kindHello); err != nil {
		t.Fatal(err)
	}
	if _, err := expectControl(s, kindVerdict); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(programOf(t, first)); err != nil {
		t.Fatal(err)
	}
	s.CloseWrite()
	dialled = until(t, h, ks[1].ID(), "refused", func(s PeerStatus) bool { return s.Refused != "" })

	other, err := New(config(ks[1], c)) // it knows no address, and so dials nobody
	if err != nil {
		t.Fatal(err)
	}
	other.node.host.SetStreamHandler(protoHello, func(s network.Stream) { other.answer(later(t, second)(s)) })
	run(t, other)
	introduce(t, h, other)
	dialling = until(t, h, ks[1].ID(), "refused anew", seen)
	return dialled, dialling, slices.DeleteFunc(lines.all(), func(s string) bool { return !strings.Contains(s, "wire") })
}

// TestTwoVersionsAreToldInTwoTexts documents what is so today: of one thing a member says one text where it is dialled
// and another where it dials, in turns; neither says which program runs where.
func TestTwoVersionsAreToldInTwoTexts(t *testing.T) {
	t.Parallel()
	one, two, log := meetLater(t, "v0.4.0", "v0.4.0", func(s PeerStatus) bool { return strings.HasPrefix(s.Refused, "insurer") })
	if one.Refused == two.Refused || len(log) < 2 || strings.Contains(one.Refused+two.Refused, "v0.") {
		t.Errorf("%s\n%s\n%q", one.Refused, two.Refused, log)
	}
}
