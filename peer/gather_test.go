package peer

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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

// linked returns two ends of a connection over the given ones, once each has shown who it is.
func linked(t *testing.T, dialler, acceptor net.Conn) (there, here net.Conn) {
	t.Helper()
	var sides [2]*security
	for i, k := range newKeys(t, 2) {
		secret, err := secretKey(k)
		mustDo(t, err)
		if sides[i], err = newSecurity(secret, nil); err != nil {
			t.Fatal(err)
		}
	}
	accepted := make(chan error, 1)
	go func() {
		c, err := sides[1].SecureInbound(t.Context(), acceptor, "")
		here = c
		accepted <- err
	}()
	c, err := sides[0].SecureOutbound(t.Context(), dialler, sides[1].self)
	mustDo(t, errors.Join(err, <-accepted))
	return c, here
}

// TestClosingBreaksAWriteOff: a peer that reads no more does not hold up who closes the connection under a write.
func TestClosingBreaksAWriteOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialler, acceptor := net.Pipe()
		c, here := linked(t, dialler, acceptor)
		wrote := make(chan error, 1)
		go func() {
			_, err := c.Write(make([]byte, 1000))
			wrote <- err
		}()
		synctest.Wait() // it waits for the reader
		start := time.Now()
		c.Close()
		if err := <-wrote; err == nil {
			t.Error("a write to a closed connection ends well")
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("closing took %v", waited)
		}
		here.Close()
	})
}

// TestRecordsOfAWriteGoTogether: whatever the sizes of writes, the other side reads the same bytes, and a frame of
// yamux, four records once TLS makes them large, is one write to the system.
func TestRecordsOfAWriteGoTogether(t *testing.T) {
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
	counted := &countedWrites{Conn: dialler}
	c, here := linked(t, counted, acceptor)
	read := make(chan error, 1)
	got := make([]byte, len(sent))
	go func() {
		_, err := io.ReadFull(here, got)
		read <- err
	}()
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
	mustDo(t, <-read)
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
