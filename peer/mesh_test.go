package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
)

// byHand opens a session from one host to another, whose id is higher, and returns the raw stream
// of the first, to write what no Send would, with the link and the other's mesh.
func byHand(t *testing.T, from, to *Host) (*link, session.RawStream, protocol.Mesh) {
	t.Helper()
	ctx, id := within(t), protocol.SessionID{1}
	opened := make(chan protocol.Mesh, 1)
	go func() {
		m, err := to.Open(ctx, id, []keys.ID{from.Self()})
		if err != nil {
			t.Error(err)
		}
		opened <- m
	}()
	l, err := from.members.awaitLink(ctx, from.life, to.Self(), levelFull)
	mustDo(t, err)
	raw, err := l.Open(ctx, id[:])
	mustDo(t, err)
	answer := make([]byte, 1)
	if _, err := io.ReadFull(raw, answer); err != nil || answer[0] != 1 {
		t.Fatalf("answer %d, error %v", answer[0], err)
	}
	if _, err := raw.Write(answer); err != nil {
		t.Fatal(err)
	}
	m := <-opened
	if m == nil {
		t.FailNow()
	}
	t.Cleanup(func() { raw.Reset(); m.Close() })
	return l, raw, m
}

// TestHugeFrame announces 4 GB. Nothing is allocated for it, and the link of the session ends.
func TestHugeFrame(t *testing.T) {
	hosts := federation(t, 2)
	l, raw, mesh := byHand(t, hosts[0], hosts[1])
	if _, err := raw.Write([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	want := fmt.Sprintf("bank (%s) announced a frame of 4294967295 bytes, the limit is 4198400", hosts[0].Self().Short())
	for range 2 {
		got, err := mesh.Receive(ctx, hosts[0].Self(), nil)
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("received %d bytes, error %v, want %s", len(got), err, want)
		}
	}
	if _, err := raw.Read(make([]byte, 1)); err == nil || l.Explain(err) != "it broke the session off" {
		t.Errorf("the sender's error: %v", err)
	}
}

// TestHalfFrame ends a session in the middle of a frame: no part of it is handed out.
func TestHalfFrame(t *testing.T) {
	hosts := federation(t, 2)
	_, raw, mesh := byHand(t, hosts[0], hosts[1])
	if _, err := raw.Write(append(binary.BigEndian.AppendUint32(nil, 100), 1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	mustDo(t, raw.Close())
	got, err := mesh.Receive(within(t), hosts[0].Self(), nil)
	if _, ok := errors.AsType[*protocol.GoneError](err); !ok || got != nil {
		t.Errorf("received %d bytes, error %v", len(got), err)
	}
}

// TestCancelBetweenFrames cancels a Receive while nothing comes: the link stays good. A Receive
// that has part of a frame cannot be taken back.
func TestCancelBetweenFrames(t *testing.T) {
	hosts := federation(t, 2)
	from := hosts[0].Self()
	_, raw, mesh := byHand(t, hosts[0], hosts[1])
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		received := make(chan error, 1)
		go func() {
			_, err := mesh.Receive(ctx, from, nil)
			received <- err
		}()
		cancel()
		if err := <-received; !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled receive: %v", err)
		}
	}
	if _, err := raw.Write([]byte("\x00\x00\x00\x04next")); err != nil {
		t.Fatal(err)
	}
	if got, err := mesh.Receive(within(t), from, nil); err != nil || string(got) != "next" {
		t.Errorf("received %q, %v", got, err)
	}
	if _, err := raw.Write([]byte{0, 0}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := mesh.Receive(ctx, from, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a receive cancelled half way: %v", err)
	}
	if _, err := mesh.Receive(within(t), from, nil); err == nil {
		t.Error("the link is still good after half a frame")
	}
}

// TestSendCancelled blocks a Send for want of a reader and cancels it.
func TestSendCancelled(t *testing.T) {
	hosts := federation(t, 2)
	meshes := openAll(t, protocol.SessionID{1}, hosts...)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	frame := make([]byte, protocol.MaxFrame)
	var err error
	for err == nil {
		err = meshes[0].Send(ctx, hosts[1].Self(), frame)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a blocked send that is cancelled: %v", err)
	}
}

// TestOpenOutlivesLink loses the connection while the other side has not opened the session yet.
func TestOpenOutlivesLink(t *testing.T) {
	low, high, p := throughProxy(t)
	ctx := within(t)
	opened := make(chan error, 1)
	go func() {
		m, err := low.Open(ctx, protocol.SessionID{1}, []keys.ID{high.Self()})
		if err == nil {
			m.Close()
		}
		opened <- err
	}()
	for high.sessions.Waiting() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	p.reset()
	m, err := high.Open(ctx, protocol.SessionID{1}, []keys.ID{low.Self()})
	mustDo(t, err)
	defer m.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestOpenAlone names those who do not come, each with its reason.
func TestOpenAlone(t *testing.T) {
	ks := newKeys(t, 3)
	c := signed(t, draft(ks), ks)
	bank, insurer := start(t, config(ks[0], c)), start(t, config(ks[1], c))
	introduce(t, bank, insurer)
	meetAll(t, bank, insurer)
	for known := within(t); statusOf(t, bank, ks[2].ID()).Trouble == ""; time.Sleep(time.Millisecond) {
		if known.Err() != nil {
			t.Fatal("bank does not say why it is not connected to retailer")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := bank.Open(ctx, protocol.SessionID{0xab, 0xcd, 1, 2}, []keys.ID{ks[1].ID(), ks[2].ID()})
	want := fmt.Sprintf("session abcd0102 did not start without insurer (%s): connected, but it has not opened the session; "+
		"retailer (%s): no address is known for retailer: the charter lists none, and discovery has found none: context deadline exceeded",
		ks[1].ID().Short(), ks[2].ID().Short())
	if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error\n%v, want\n%s", err, want)
	}
	stranger := newKeys(t, 1)[0].ID()
	for _, bad := range []struct {
		peers []keys.ID
		want  string
	}{
		{[]keys.ID{stranger}, fmt.Sprintf("%s is gone: it is no member in charter \"credit\" version 1 (%s)", stranger.Short(), c.Digest().Short())},
		{[]keys.ID{bank.Self()}, fmt.Sprintf("%s is gone: it is this node itself", bank.Self().Short())},
		{[]keys.ID{ks[1].ID(), ks[1].ID()}, fmt.Sprintf("%s is listed twice among the peers of a session",
			ks[1].ID().Short())},
	} {
		if _, err := bank.Open(t.Context(), protocol.SessionID{9}, bad.peers); err == nil || err.Error() != bad.want {
			t.Errorf("error %v, want %s", err, bad.want)
		}
	}
}

// TestOpenLeft opens a session that the peer has closed already: it ends at once.
func TestOpenLeft(t *testing.T) {
	ks := newKeys(t, 3)
	c := signed(t, draft(ks), ks)
	low, high := start(t, config(ks[0], c)), start(t, config(ks[1], c))
	introduce(t, low, high)
	meetAll(t, low, high)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := high.Open(ended, protocol.SessionID{1}, []keys.ID{low.Self()}); err == nil {
		t.Fatal("opened alone")
	}
	_, err := low.Open(within(t), protocol.SessionID{1}, []keys.ID{high.Self(), ks[2].ID()})
	want := fmt.Sprintf("session 01000000 did not start without insurer (%s): it has left this session already", high.Self().Short())
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestEarlyStreamsAreBounded opens streams of more sessions than the other side lets wait.
func TestEarlyStreamsAreBounded(t *testing.T) {
	hosts := federation(t, 2)
	meetAll(t, hosts...)
	ctx, cancel := context.WithCancel(within(t))
	l, err := hosts[0].members.awaitLink(ctx, hosts[0].life, hosts[1].Self(), levelFull)
	mustDo(t, err)
	const limit, full = 16, 3 // as doc.go says
	answers := make(chan byte, limit+1)
	var asking sync.WaitGroup
	for i := range limit + 1 {
		asking.Go(func() {
			s, err := l.Open(ctx, append([]byte{byte(i)}, make([]byte, 31)...))
			if err != nil {
				return
			}
			defer s.Reset()
			release := session.InterruptIO(ctx, s.SetReadDeadline)
			defer release()
			answer := make([]byte, 1)
			if _, err := io.ReadFull(s, answer); err == nil {
				answers <- answer[0]
			}
		})
	}
	if answer := <-answers; answer != full {
		t.Errorf("answer %d, want %d", answer, full)
	}
	if n := hosts[1].sessions.Waiting(); n != limit {
		t.Errorf("%d streams wait, want %d", n, limit)
	}
	cancel()
	asking.Wait()
}
