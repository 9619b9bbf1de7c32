package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// stream returns the raw stream of a mesh to a peer, to write what no Send would.
func stream(t *testing.T, m protocol.Mesh, to *Host) *lane {
	t.Helper()
	a, err := m.(*mesh).lane(to.Self())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestHugeFrame announces 4 GB. Nothing is allocated for it, and the link of the session ends.
func TestHugeFrame(t *testing.T) {
	hosts := federation(t, 2)
	meshes := openAll(t, protocol.Room{1}, hosts...)
	if _, err := stream(t, meshes[0], hosts[1]).stream.Write([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	want := fmt.Sprintf("bank (%s) announced a frame of 4294967295 bytes, the limit is 4198400", hosts[0].Self().Short())
	for range 2 {
		got, err := meshes[1].Receive(ctx, hosts[0].Self(), nil)
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("received %d bytes, error %v, want %s", len(got), err, want)
		}
	}
	_, err := meshes[0].Receive(ctx, hosts[1].Self(), nil)
	if gone, ok := errors.AsType[*protocol.GoneError](err); !ok || gone.Reason != "it broke the session off" {
		t.Errorf("the sender's error: %v", err)
	}
}

// TestHalfFrame ends a session in the middle of a frame: no part of it is handed out.
func TestHalfFrame(t *testing.T) {
	hosts := federation(t, 2)
	meshes := openAll(t, protocol.Room{1}, hosts...)
	a := stream(t, meshes[0], hosts[1])
	if _, err := a.stream.Write(append(binary.BigEndian.AppendUint32(nil, 100), 1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if err := meshes[0].Close(); err != nil {
		t.Fatal(err)
	}
	got, err := meshes[1].Receive(within(t), hosts[0].Self(), nil)
	if _, ok := errors.AsType[*protocol.GoneError](err); !ok || got != nil {
		t.Errorf("received %d bytes, error %v", len(got), err)
	}
}

// TestCancelBetweenFrames cancels a Receive while nothing comes: the link stays good. A Receive
// that has part of a frame cannot be taken back.
func TestCancelBetweenFrames(t *testing.T) {
	hosts := federation(t, 2)
	meshes := openAll(t, protocol.Room{1}, hosts...)
	from, to := hosts[0].Self(), hosts[1].Self()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		received := make(chan error, 1)
		go func() {
			_, err := meshes[1].Receive(ctx, from, nil)
			received <- err
		}()
		cancel()
		if err := <-received; !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled receive: %v", err)
		}
	}
	if err := meshes[0].Send(t.Context(), to, []byte("next")); err != nil {
		t.Fatal(err)
	}
	if got, err := meshes[1].Receive(within(t), from, nil); err != nil || string(got) != "next" {
		t.Errorf("received %q, %v", got, err)
	}
	if _, err := stream(t, meshes[0], hosts[1]).stream.Write([]byte{0, 0}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := meshes[1].Receive(ctx, from, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a receive cancelled half way: %v", err)
	}
	if _, err := meshes[1].Receive(within(t), from, nil); err == nil {
		t.Error("the link is still good after half a frame")
	}
}

// TestSendCancelled blocks a Send for want of a reader and cancels it.
func TestSendCancelled(t *testing.T) {
	hosts := federation(t, 2)
	meshes := openAll(t, protocol.Room{1}, hosts...)
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

// TestOpenOutlivesLink loses the connection while the other side has not opened the room yet.
func TestOpenOutlivesLink(t *testing.T) {
	low, high, p := throughProxy(t)
	ctx := within(t)
	opened := make(chan error, 1)
	go func() {
		m, err := low.Open(ctx, protocol.Room{1}, []keys.ID{high.Self()})
		if err == nil {
			m.Close()
		}
		opened <- err
	}()
	parked := func() int {
		high.rooms.mu.Lock()
		defer high.rooms.mu.Unlock()
		return len(high.rooms.parked)
	}
	for parked() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	p.reset()
	m, err := high.Open(ctx, protocol.Room{1}, []keys.ID{low.Self()})
	if err != nil {
		t.Fatal(err)
	}
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
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := bank.Open(ctx, protocol.Room{0xab, 0xcd, 1, 2}, []keys.ID{ks[1].ID(), ks[2].ID()})
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
		{[]keys.ID{ks[1].ID(), ks[1].ID()}, fmt.Sprintf("%s is listed twice among the peers of a session", ks[1].ID().Short())},
	} {
		if _, err := bank.Open(t.Context(), protocol.Room{9}, bad.peers); err == nil || err.Error() != bad.want {
			t.Errorf("error %v, want %s", err, bad.want)
		}
	}
}

// TestOpenLeft opens a room that the peer has closed already: it ends at once.
func TestOpenLeft(t *testing.T) {
	ks := newKeys(t, 3)
	c := signed(t, draft(ks), ks)
	low, high := start(t, config(ks[0], c)), start(t, config(ks[1], c))
	introduce(t, low, high)
	meetAll(t, low, high)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := high.Open(ended, protocol.Room{1}, []keys.ID{low.Self()}); err == nil {
		t.Fatal("opened alone")
	}
	_, err := low.Open(within(t), protocol.Room{1}, []keys.ID{high.Self(), ks[2].ID()})
	want := fmt.Sprintf("session 01000000 did not start without insurer (%s): it has left this session already", high.Self().Short())
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestParkingIsBounded knocks for more rooms than the other side keeps.
func TestParkingIsBounded(t *testing.T) {
	hosts := federation(t, 2)
	meetAll(t, hosts...)
	ctx, cancel := context.WithCancel(within(t))
	l, err := hosts[0].awaitLink(ctx, hosts[1].Self(), levelFull)
	if err != nil {
		t.Fatal(err)
	}
	full := make(chan byte, parkedLimit+1)
	var knocking sync.WaitGroup
	for i := range parkedLimit + 1 {
		knocking.Go(func() {
			if _, answer, err := knock(ctx, l, protocol.Room{byte(i)}); err == nil {
				full <- answer
			}
		})
	}
	if answer := <-full; answer != roomFull {
		t.Errorf("answer %d, want %d", answer, roomFull)
	}
	cancel()
	knocking.Wait()
}

// TestRooms follows seats through the meeting place.
func TestRooms(t *testing.T) {
	hosts := federation(t, 2)
	meetAll(t, hosts...)
	l, err := hosts[0].awaitLink(within(t), hosts[1].Self(), levelFull)
	if err != nil {
		t.Fatal(err)
	}
	early := func() *arrival {
		s, err := l.conn.NewStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Reset() })
		return &arrival{link: l, stream: s, claimed: make(chan struct{})}
	}
	r := newRooms()
	one, two := seat{l.peer, protocol.Room{1}}, seat{l.peer, protocol.Room{2}}
	first, second := early(), early()
	if p := r.arrive(one, first); p != placeParked {
		t.Fatalf("an early stream: place %d", p)
	}
	if p := r.arrive(one, second); p != placeParked || r.withdraw(one, first) {
		t.Fatalf("a newer stream for the seat: place %d", p)
	}
	<-first.claimed
	if err := r.begin(one.room, []keys.ID{l.peer}); err != nil {
		t.Fatal(err)
	}
	if got := <-r.arrivals(one); got != second {
		t.Error("the newer stream was not handed over")
	}
	if p := r.arrive(one, early()); p != placeTaken {
		t.Errorf("a stream that is waited for: place %d", p)
	}
	r.dismiss(one)
	if p := r.arrive(one, early()); p != placeUsed {
		t.Errorf("a stream after the meeting: place %d", p)
	}
	if err := r.begin(one.room, nil); !errors.Is(err, errRoomUsed) {
		t.Errorf("a room twice: %v", err)
	}
	kept := early()
	if r.arrive(two, kept); !r.withdraw(two, kept) || len(r.parked)+len(r.count) > 0 {
		t.Errorf("%d streams are parked after withdrawal", len(r.parked))
	}
	for i := range roomsKept {
		if err := r.begin(protocol.Room{3, byte(i), byte(i >> 8)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.used) != roomsKept || len(r.order) != roomsKept {
		t.Errorf("%d rooms are remembered, want %d", len(r.used), roomsKept)
	}
}
