package cohort

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// forgingClient changes what it sends of one kind.
type forgingClient struct {
	protocol.Mesh
	kind  string
	forge func(f *forgery)
}

// forgery is a message on its way out, whose header and payload may be changed.
type forgery struct {
	header, payload []byte
	to              keys.ID
}

func (c *forgingClient) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if kindOf(parts) != c.kind {
		return c.Mesh.Send(ctx, to, parts...)
	}
	f := &forgery{header: append([]byte(nil), parts[0]...), payload: append([]byte(nil), parts[1]...), to: to}
	c.forge(f)
	return c.Mesh.Send(ctx, to, f.header, f.payload)
}

// setOperation, setSize, setChunk and setClass change a header; see protocol's header.
func (f *forgery) setOperation(n uint64)     { binary.BigEndian.PutUint64(f.header[16:], n) }
func (f *forgery) setSize(n int)             { binary.BigEndian.PutUint64(f.header[24:], uint64(n)) }
func (f *forgery) setChunk(n uint32)         { binary.BigEndian.PutUint32(f.header[32:], n) }
func (f *forgery) setClass(c contract.Class) { f.header[1] = byte(c) }
func (f *forgery) operation() uint64         { return binary.BigEndian.Uint64(f.header[16:]) }
func (f *forgery) resize(n int)              { f.payload = append(f.payload, make([]byte, n)...)[:n]; f.setSize(n) }
func (f *forgery) flip(at int)               { f.payload[(at+len(f.payload))%len(f.payload)] ^= 1 }
func forging(kind string, forge func(*forgery)) func(protocol.Mesh) protocol.Mesh {
	return func(m protocol.Mesh) protocol.Mesh { return &forgingClient{Mesh: m, kind: kind, forge: forge} }
}

// doubleClient sends its messages of one kind twice, the second time changed, in order and as two
// messages: the numbers of all that follow are one higher.
type doubleClient struct {
	protocol.Mesh
	kind   string
	change func(payload []byte)
	extra  map[keys.ID]uint64
}

func (d *doubleClient) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	header := append([]byte(nil), parts[0]...)
	sequence := binary.BigEndian.Uint64(header[8:])
	binary.BigEndian.PutUint64(header[8:], sequence+d.extra[to])
	if err := d.Mesh.Send(ctx, to, header, parts[1]); err != nil || kindOf(parts) != d.kind {
		return err
	}
	d.extra[to]++
	binary.BigEndian.PutUint64(header[8:], sequence+d.extra[to])
	again := append([]byte(nil), parts[1]...)
	d.change(again)
	return d.Mesh.Send(ctx, to, header, again)
}

// doubling makes a doubleClient.
func doubling(kind string, change func(payload []byte)) func(protocol.Mesh) protocol.Mesh {
	return func(m protocol.Mesh) protocol.Mesh {
		return &doubleClient{Mesh: m, kind: kind, change: change, extra: make(map[keys.ID]uint64)}
	}
}

// only makes one client of a test network misbehave.
func only(client int, how func(protocol.Mesh) protocol.Mesh) func(int, protocol.Mesh) protocol.Mesh {
	return func(i int, m protocol.Mesh) protocol.Mesh {
		if i == client {
			return how(m)
		}
		return m
	}
}

// heldBack are arrivals of which some come only after another: a network with delays.
type heldBack struct {
	Arrivals
	hold, until func(from keys.ID, frame []byte) bool
	kept        []protocol.Arrival
	over        bool
}

func (h *heldBack) Next(ctx context.Context) (protocol.Arrival, error) {
	for {
		if h.over && len(h.kept) > 0 {
			a := h.kept[0]
			h.kept = h.kept[1:]
			return a, nil
		}
		a, err := h.Arrivals.Next(ctx)
		if err != nil || h.over || a.Err != nil {
			return a, err
		}
		if h.hold(a.From, a.Frame) {
			h.kept = append(h.kept, a)
			continue
		}
		h.over = h.until(a.From, a.Frame)
		return a, nil
	}
}

// kindOfFrame reads the kind of a whole frame.
func kindOfFrame(frame []byte) string { return kindOf([][]byte{frame}) }

// untilRefused takes part in sums until one fails, and leaves then.
func (l *testNetwork) untilRefused(v Vector) func(ctx context.Context, i int, c *Client) error {
	again := sumAgain(v)
	return func(ctx context.Context, i int, c *Client) error {
		err := again(ctx, i, c)
		l.meshes[i].Close()
		return err
	}
}

// wantError wants an error that says all of some things.
func wantError(t testing.TB, err error, says ...string) {
	t.Helper()
	for _, want := range says {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// wantDeviation wants an error that calls it a deviation and says all of some things.
func wantDeviation(t testing.TB, err error, says ...string) {
	t.Helper()
	wantError(t, err, says...)
	if err != nil && !errors.Is(err, contract.ErrDeviation) {
		t.Errorf("error %v is no deviation", err)
	}
}
