package inbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// star is a server, the first of the members, and its clients in one session.
type star struct {
	*testnet.Federation
	ids     []keys.ID // of the clients
	server  protocol.Mesh
	clients []protocol.Mesh
	hub     keys.ID
}

// newStar makes a star of n clients that is up until the test ends.
func newStar(t testing.TB, n int) *star {
	f := testnet.Found(t, testnet.Numbered(n+1)...)
	meshes := f.Meshes(t, testnet.Meeting{Links: func(i int) []keys.ID {
		if i == 0 {
			return f.IDs[1:]
		}
		return f.IDs[:1]
	}})
	return &star{Federation: f, ids: f.IDs[1:], server: meshes[0], clients: meshes[1:], hub: f.IDs[0]}
}

// inBubble runs f on a star with an inbox, on fake time.
func inBubble(t *testing.T, n int, f func(t *testing.T, s *star, b *inbox.Inbox)) {
	synctest.Test(t, func(t *testing.T) {
		s := newStar(t, n)
		b := inbox.New(s.server, s.ids)
		defer b.Close()
		f(t, s, b)
	})
}

// send has a client send a frame.
func (s *star) send(t *testing.T, client int, text string) {
	t.Helper()
	if err := s.clients[client].Send(t.Context(), s.hub, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// want takes the next arrival and compares it.
func want(ctx context.Context, t *testing.T, b *inbox.Inbox, from keys.ID, text string) {
	t.Helper()
	a, err := b.Next(ctx)
	if err != nil || a.Err != nil || a.From != from || string(a.Frame) != text {
		t.Fatalf("next is %q of %s with %v and %v, want %q of %s", a.Frame, a.From.Short(), a.Err, err, text, from.Short())
	}
}

// TestFramesComeInTheOrderOfTheirArrival has clients send one after the other; the first sends
// twice and waits for its second turn.
func TestFramesComeInTheOrderOfTheirArrival(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, s *star, b *inbox.Inbox) {
		for _, client := range []int{2, 2, 0, 3} { // 1 is silent
			s.send(t, client, string(rune('a'+client)))
			synctest.Wait()
		}
		for _, client := range []int{2, 0, 3, 2} {
			want(t.Context(), t, b, s.ids[client], string(rune('a'+client)))
			synctest.Wait()
		}
	})
}

// TestAnEndedDeadlineLosesNoFrame asks with an ended context, again and again because a choice
// by chance would be right at times.
func TestAnEndedDeadlineLosesNoFrame(t *testing.T) {
	inBubble(t, 40, func(t *testing.T, s *star, b *inbox.Inbox) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Next(ended); !errors.Is(err, context.Canceled) {
			t.Fatalf("next of an empty inbox: %v, want the context's error", err)
		}
		for i := range s.ids {
			s.send(t, i, "in time")
			synctest.Wait()
		}
		for _, id := range s.ids {
			want(ended, t, b, id, "in time")
		}
	})
}

// TestNextWaitsUntilItsContextEnds has a deadline pass and a frame come after it.
func TestNextWaitsUntilItsContextEnds(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, s *star, b *inbox.Inbox) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("next without frames: %v, want the deadline's error", err)
		}
		s.send(t, 1, "late")
		want(t.Context(), t, b, s.ids[1], "late")
	})
}

// TestABrokenLinkIsToldOnce kills a client behind which others go on.
func TestABrokenLinkIsToldOnce(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, s *star, b *inbox.Inbox) {
		s.Kill(s.ids[0])
		a, err := b.Next(t.Context())
		var gone *protocol.GoneError
		if err != nil || a.From != s.ids[0] || !errors.As(a.Err, &gone) || gone.Reason != "connection reset" {
			t.Fatalf("after a death next is %+v with %v, want a *GoneError", a, err)
		}
		s.send(t, 1, "still here")
		want(t.Context(), t, b, s.ids[1], "still here")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a, err := b.Next(ctx); err == nil {
			t.Fatalf("next after the end of a link is %+v, want nothing", a)
		}
	})
}

// TestCloseLeavesTheLinksUsable closes an inbox with readers waiting and receives directly then.
func TestCloseLeavesTheLinksUsable(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, s *star, b *inbox.Inbox) {
		synctest.Wait()
		waiting := make(chan error, 1)
		go func() {
			_, err := b.Next(t.Context())
			waiting <- err
		}()
		synctest.Wait()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-waiting; !errors.Is(err, inbox.ErrClosed) {
			t.Errorf("a waiting next ended with %v, want %v", err, inbox.ErrClosed)
		}
		if _, err := b.Next(t.Context()); !errors.Is(err, inbox.ErrClosed) {
			t.Errorf("next after close: %v, want %v", err, inbox.ErrClosed)
		}
		s.send(t, 1, "direct")
		if got, err := s.server.Receive(t.Context(), s.ids[1], nil); err != nil || string(got) != "direct" {
			t.Errorf("received %q after close: %v", got, err)
		}
	})
}

// TestReleasedMemoryIsUsedAgainWithoutMixingFrames sends numbered frames of all sizes from all
// clients, releases some, and holds each client's frames against what it has sent.
func TestReleasedMemoryIsUsedAgainWithoutMixingFrames(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 5000), 0, 8), 1, 6).Draw(r, "sizes")
		release := rapid.SliceOfN(rapid.Bool(), 50, 50).Draw(r, "release")
		inBubble(t, len(sizes), func(t *testing.T, s *star, b *inbox.Inbox) {
			total := 0
			for client, list := range sizes {
				total += len(list)
				go func() {
					for i, size := range list {
						s.clients[client].Send(t.Context(), s.hub, content(client, i, size))
					}
				}()
			}
			check(t, s, b, sizes, total, release)
		})
		if t.Failed() {
			r.FailNow()
		}
	})
}

// check takes in all frames of all clients, each in its client's order. Frames that are not
// released must keep their content to the end.
func check(t *testing.T, s *star, b *inbox.Inbox, sizes [][]int, total int, release []bool) {
	place := make(map[keys.ID]int)
	for i, id := range s.ids {
		place[id] = i
	}
	taken := make([]int, len(sizes))
	kept := make(map[*byte][2][]byte)
	for n := range total {
		a, err := b.Next(t.Context())
		if err != nil || a.Err != nil {
			t.Fatalf("next: %v, %v", err, a.Err)
		}
		client := place[a.From]
		expected := content(client, taken[client], sizes[client][taken[client]])
		taken[client]++
		if !bytes.Equal(a.Frame, expected) {
			t.Fatalf("a frame of client %d has %d bytes and other content, want %d", client, len(a.Frame), len(expected))
		}
		if release[n%len(release)] {
			b.Release(a.Frame)
			continue
		}
		kept[&a.Frame[0]] = [2][]byte{a.Frame, expected}
	}
	for _, pair := range kept {
		if !bytes.Equal(pair[0], pair[1]) {
			t.Fatal("a frame that was not released has changed")
		}
	}
}

// content is a client's frame of 8 bytes and more.
func content(client, number, size int) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(client))
	return append(binary.BigEndian.AppendUint32(head, uint32(number)),
		bytes.Repeat([]byte{byte(client + number)}, size)...)
}
