package conformance

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// numbered is the content of frame i of n bytes: different in every place of every frame.
func numbered(i, n int) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(i + k + k>>8*7 + k>>16*13)
	}
	return b
}

// sizeOf is the size of frame i in the order tests: empty ones, small ones, some of many packets.
func sizeOf(i int) int {
	switch i % 8 {
	case 0:
		return 0
	case 5:
		return 100_000 + i
	case 7:
		return 1<<20 + i
	}
	return i * 11
}

// sendNumbered sends count frames, each in two parts.
func sendNumbered(ctx context.Context, m protocol.Mesh, to keys.ID, count int) error {
	for i := range count {
		frame := numbered(i, sizeOf(i))
		if err := m.Send(ctx, to, frame[:len(frame)/3], frame[len(frame)/3:]); err != nil {
			return fmt.Errorf("send frame %d to %s: %w", i, to.Short(), err)
		}
	}
	return nil
}

// receiveNumbered receives count frames and compares them, using one buffer as sessions do.
func receiveNumbered(ctx context.Context, m protocol.Mesh, from keys.ID, count int) error {
	var buf []byte
	for i := range count {
		got, err := m.Receive(ctx, from, buf)
		if err != nil {
			return fmt.Errorf("receive frame %d from %s: %w", i, from.Short(), err)
		}
		if !bytes.Equal(got, numbered(i, sizeOf(i))) {
			return fmt.Errorf("frame %d from %s has %d bytes that are not those sent, want %d", i, from.Short(), len(got),
				sizeOf(i))
		}
		buf = got
	}
	return nil
}

// testOrder sends many frames of all sizes both ways at once.
func testOrder(t *testing.T, make makeFunc) {
	const count = 96
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	together(t, 4, func(i int) error {
		switch i {
		case 0:
			return sendNumbered(ctx, a, idb, count)
		case 1:
			return sendNumbered(ctx, b, ida, count)
		case 2:
			return receiveNumbered(ctx, a, idb, count)
		}
		return receiveNumbered(ctx, b, ida, count)
	})
}

// testAllLinks uses every link of four parties in both directions at once.
func testAllLinks(t *testing.T, make makeFunc) {
	const n, count = 4, 16
	ctx, transports := within(t), make(t, n)
	meshes := openAll(ctx, t, transports, sessionID(t, 0))
	together(t, 2*n*n, func(i int) error {
		self, peer, receive := i/2/n, i/2%n, i%2 == 1
		switch {
		case self == peer:
			return nil
		case receive:
			return receiveNumbered(ctx, meshes[self], transports[peer].Self(), count)
		}
		return sendNumbered(ctx, meshes[self], transports[peer].Self(), count)
	})
}

// testReuse overwrites what was sent before the peer reads it.
func testReuse(t *testing.T, make makeFunc) {
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	frame := numbered(1, 5000)
	if err := a.Send(ctx, idb, frame[:1000], nil, frame[1000:]); err != nil {
		t.Fatal(err)
	}
	clear(frame)
	if err := expect(ctx, b, ida, numbered(1, 5000)); err != nil {
		t.Fatal(err)
	}
}

// testBuffer receives into buffers that are large enough and one that is not.
func testBuffer(t *testing.T, make makeFunc) {
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	want := numbered(2, 3000)
	for _, buf := range [][]byte{bytes.Repeat([]byte{1}, 3000), bytes.Repeat([]byte{1}, 9000),
		bytes.Repeat([]byte{1}, 9000)[:0], bytes.Repeat([]byte{1}, 20)} {
		if err := a.Send(ctx, idb, want); err != nil {
			t.Fatal(err)
		}
		got, err := b.Receive(ctx, ida, buf)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("wrong frame of %d bytes in a buffer of %d", len(got), cap(buf))
		}
		if cap(buf) >= len(want) && &got[0] != &buf[:1][0] {
			t.Fatalf("a frame of %d bytes did not come in a buffer of capacity %d", len(want), cap(buf))
		}
	}
}

// testLargest sends a frame of exactly protocol.MaxFrame bytes.
func testLargest(t *testing.T, make makeFunc) {
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	frame := numbered(3, protocol.MaxFrame)
	together(t, 2, func(i int) error {
		if i == 0 {
			return a.Send(ctx, idb, frame[:100], frame[100:])
		}
		return expect(ctx, b, ida, frame)
	})
}

// testOversized has Send refuse a frame, naming peer and size; the link stays good.
func testOversized(t *testing.T, make makeFunc) {
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	err := a.Send(ctx, idb, numbered(4, protocol.MaxFrame), []byte{1})
	if err == nil {
		t.Fatal("a frame of more than protocol.MaxFrame bytes was sent")
	}
	for _, want := range []string{idb.Short(), fmt.Sprint(protocol.MaxFrame + 1)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %s: %v", want, err)
		}
	}
	if err := a.Send(ctx, idb, []byte("next")); err != nil {
		t.Fatal(err)
	}
	if err := expect(ctx, b, ida, []byte("next")); err != nil {
		t.Fatal(err)
	}
}

// testTraffic compares both ends' counts with what was sent.
func testTraffic(t *testing.T, make makeFunc) {
	const count, size = 10, 1000
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	sent0, _ := a.Traffic(idb)
	_, received0 := b.Traffic(ida)
	for i := range count {
		if err := a.Send(ctx, idb, numbered(i, size)); err != nil {
			t.Fatal(err)
		}
		if err := expect(ctx, b, ida, numbered(i, size)); err != nil {
			t.Fatal(err)
		}
	}
	sent, _ := a.Traffic(idb)
	_, received := b.Traffic(ida)
	if want := int64(count * (size + 4)); sent-sent0 != want || received-received0 != want {
		t.Fatalf("counted %d bytes sent and %d received, want %d: payloads and length prefixes of 4", sent-sent0,
			received-received0, want)
	}
}

// testStranger names a member that is not a peer of the mesh.
func testStranger(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	meshes := openAll(ctx, t, transports[:2], sessionID(t, 0))
	stranger := transports[2].Self()
	if err := meshes[0].Send(ctx, stranger, []byte("hello")); err == nil {
		t.Error("a frame was sent to a member that is not in the session")
	}
	if _, err := meshes[0].Receive(ctx, stranger, nil); err == nil {
		t.Error("a frame was received from a member that is not in the session")
	}
}
