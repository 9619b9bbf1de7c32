package peer

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// countedWrites is a connection that counts its writes, and fails once it is told to.
type countedWrites struct {
	net.Conn
	writes atomic.Int64
	fails  atomic.Bool
}

var errWire = errors.New("the wire is cut")

func (c *countedWrites) Write(b []byte) (int, error) {
	c.writes.Add(1)
	if c.fails.Load() {
		return 0, errWire
	}
	return c.Conn.Write(b)
}

// TestRecordsOfAWriteGoTogether: whatever the sizes of writes, the other side reads the same bytes, and a frame of
// yamux, four records once TLS makes them large, is one write to the system.
func TestRecordsOfAWriteGoTogether(t *testing.T) {
	var sides [2]*security
	for i, k := range newKeys(t, 2) {
		secret, err := secretKey(k)
		if err != nil {
			t.Fatal(err)
		}
		if sides[i], err = newSecurity(secret, nil); err != nil {
			t.Fatal(err)
		}
	}
	dialler, acceptor := net.Pipe()
	defer dialler.Close()
	defer acceptor.Close()
	sizes := []int{1, 300_000, 64 << 10, 0, 5, 1<<20 + 1, 64 << 10}
	var sent []byte
	for _, n := range sizes {
		b := make([]byte, n)
		rand.Read(b)
		sent = append(sent, b...)
	}
	read := make(chan error, 1)
	got := make([]byte, len(sent))
	go func() {
		c, err := sides[1].SecureInbound(t.Context(), acceptor, "")
		if err == nil {
			_, err = io.ReadFull(c, got)
		}
		read <- err
	}()
	counted := &countedWrites{Conn: dialler}
	c, err := sides[0].SecureOutbound(t.Context(), counted, sides[1].self)
	if err != nil {
		t.Fatal(err)
	}
	rest := sent
	for i, n := range sizes {
		before := counted.writes.Load()
		if wrote, err := c.Write(rest[:n]); wrote != n || err != nil {
			t.Fatalf("write %d took %d bytes of %d: %v", i, wrote, n, err)
		}
		rest = rest[n:]
		if writes := counted.writes.Load() - before; n == 64<<10 && writes != 1 {
			t.Errorf("%d bytes were %d writes to the system, want 1", n, writes)
		}
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Error("what came is not what was written")
	}
	counted.fails.Store(true)
	for range 2 {
		if n, err := c.Write([]byte("x")); n != 0 || !errors.Is(err, errWire) {
			t.Errorf("on a cut wire %d bytes were written: %v", n, err)
		}
		counted.fails.Store(false) // what is lost stays lost
	}
}
