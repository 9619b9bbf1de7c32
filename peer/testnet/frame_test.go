package testnet_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
)

// TestOnFrame alters frames in every way at the third of five.
func TestOnFrame(t *testing.T) {
	var held []testnet.Frame
	for _, test := range []struct {
		name string
		f    func(f testnet.Frame) []testnet.Frame
		want []string
	}{
		{"pass", func(f testnet.Frame) []testnet.Frame { return []testnet.Frame{f} }, []string{"frame 2"}},
		{"drop", func(testnet.Frame) []testnet.Frame { return nil }, nil},
		{"repeat", func(f testnet.Frame) []testnet.Frame { return []testnet.Frame{f, f} }, []string{"frame 2", "frame 2"}},
		{"tamper", func(f testnet.Frame) []testnet.Frame { f.Data[0] ^= 1; return []testnet.Frame{f} }, []string{"grame 2"}},
		{"truncate", func(f testnet.Frame) []testnet.Frame { f.Data = f.Data[:3]; return []testnet.Frame{f} },
			[]string{"fra"}},
		{"lengthen", func(f testnet.Frame) []testnet.Frame { f.Data = append(f.Data, "!!"...); return []testnet.Frame{f} },
			[]string{"frame 2!!"}},
		{"empty", func(f testnet.Frame) []testnet.Frame { f.Data = nil; return []testnet.Frame{f} }, []string{""}},
		{"forge", func(f testnet.Frame) []testnet.Frame { return []testnet.Frame{{Data: []byte("other")}, f} },
			[]string{"other", "frame 2"}},
		{"hold", func(f testnet.Frame) []testnet.Frame { held = append(held, f); return nil }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, 2, func(t *testing.T, b *bubble) {
				b.OnFrame(func(f testnet.Frame) []testnet.Frame {
					if f.Index == 2 && f.From == b.IDs[0] {
						return test.f(f)
					}
					return []testnet.Frame{f}
				})
				b.sendAll(0, 1, "frame 0", "frame 1", "frame 2", "frame 3", "frame 4")
				b.expect(0, 1, slices.Concat([]string{"frame 0", "frame 1"}, test.want, []string{"frame 3", "frame 4"})...)
			})
		})
	}
	if len(held) != 1 || string(held[0].Data) != "frame 2" {
		t.Errorf("held %v, want frame 2", held)
	}
}

// TestReorder releases a held frame behind the next one.
func TestReorder(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		var held []testnet.Frame
		b.OnFrame(func(f testnet.Frame) []testnet.Frame {
			if f.Index == 1 {
				held = append(held, f)
				return nil
			}
			released := append([]testnet.Frame{f}, held...)
			held = nil
			return released
		})
		b.sendAll(0, 1, "0", "1", "2", "3")
		b.expect(0, 1, "0", "2", "1", "3")
	})
}

// TestOnFrameSees checks what a hook is told, and that it can be taken away.
func TestOnFrameSees(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		var seen []testnet.Frame
		b.OnFrame(func(f testnet.Frame) []testnet.Frame { seen = append(seen, f); return []testnet.Frame{f} })
		b.sendAll(0, 1, "a", "b")
		b.sendAll(1, 0, "c")
		b.OnFrame(nil)
		b.sendAll(2, 0, "d")
		want := []testnet.Frame{
			{From: b.IDs[0], To: b.IDs[1], Session: protocol.SessionID{1}, Index: 0, Data: []byte("a")},
			{From: b.IDs[0], To: b.IDs[1], Session: protocol.SessionID{1}, Index: 1, Data: []byte("b")},
			{From: b.IDs[1], To: b.IDs[0], Session: protocol.SessionID{1}, Index: 0, Data: []byte("c")},
		}
		if !slices.EqualFunc(seen, want, sameFrame) {
			t.Errorf("the hook saw %v, want %v", seen, want)
		}
		b.expect(0, 1, "a", "b")
		b.expect(1, 0, "c")
		b.expect(2, 0, "d")
	})
}

// sameFrame compares all that a frame has.
func sameFrame(a, b testnet.Frame) bool {
	return a.From == b.From && a.To == b.To && a.Session == b.Session && a.Index == b.Index &&
		a.Announced == b.Announced && bytes.Equal(a.Data, b.Data)
}

// TestHookOwnsItsCopy keeps a frame, changes it later, and finds the receiver's untouched.
func TestHookOwnsItsCopy(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		var kept testnet.Frame
		b.OnFrame(func(f testnet.Frame) []testnet.Frame { kept = f; return []testnet.Frame{f, f} })
		b.sendAll(0, 1, "mine")
		clear(kept.Data)
		first, _ := b.meshes[1].Receive(t.Context(), b.IDs[0], nil)
		clear(first)
		b.expect(0, 1, "mine")
	})
}

// TestOversizedFrame announces 4 GiB, and another time grows a frame beyond the limit.
func TestOversizedFrame(t *testing.T) {
	for name, test := range map[string]struct {
		frame testnet.Frame
		size  int64
	}{
		"announced": {testnet.Frame{Data: []byte("start"), Announced: 1<<32 - 1}, 1<<32 - 1},
		"grown":     {testnet.Frame{Data: make([]byte, protocol.MaxFrame+1)}, protocol.MaxFrame + 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.OnFrame(func(testnet.Frame) []testnet.Frame { return []testnet.Frame{test.frame} })
				b.sendAll(0, 1, "start")
				b.OnFrame(nil)
				_, err := b.receive(0, 1)
				const format = "%s announced a frame of %d bytes: at most 4198400 are allowed"
				wantText(t, err, format, b.IDs[0].Short(), test.size)
				wantText(t, b.send(1, 2, "x"), format, b.IDs[0].Short(), test.size) // the mesh has ended
				_, err = b.receive(1, 2)
				b.wantGone(err, 1, "it closed the session")
				b.wantGone(b.send(0, 1, "x"), 1, "it closed the session")
			})
		})
	}
}

// TestDeliver releases a held frame without another one being sent, and refuses links that are not.
func TestDeliver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		frame := testnet.Frame{From: b.IDs[0], To: b.IDs[1], Session: protocol.SessionID{1}, Data: []byte("late")}
		if err := b.Deliver(frame); err != nil {
			t.Fatal(err)
		}
		clear(frame.Data)
		b.expect(0, 1, "late")
		other := frame
		other.Session = protocol.SessionID{2}
		wantText(t, b.Deliver(other), "no link from %s to %s in the session", b.IDs[0].Short(), b.IDs[1].Short())
		b.Kill(b.IDs[1])
		wantText(t, b.Deliver(frame), "no link from %s to %s in the session", b.IDs[0].Short(), b.IDs[1].Short())
	})
}

// TestSentAndTap compares what is counted and recorded with what was sent and received.
func TestSentAndTap(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		tap := b.Tap(b.IDs[1])
		b.OnFrame(func(f testnet.Frame) []testnet.Frame {
			if f.Index == 0 && f.From == b.IDs[0] {
				return nil
			}
			return []testnet.Frame{f}
		})
		b.sendAll(0, 1, "dropped", "kept")
		b.sendAll(2, 1, "hello")
		b.sendAll(1, 0, "not mine")
		b.expect(2, 1, "hello")
		b.expect(0, 1, "kept")
		b.sendAll(0, 1, "not read")
		want := []testnet.Frame{
			{From: b.IDs[2], To: b.IDs[1], Session: protocol.SessionID{1}, Data: []byte("hello")},
			{From: b.IDs[0], To: b.IDs[1], Session: protocol.SessionID{1}, Data: []byte("kept")},
		}
		if got := tap.Frames(); !slices.EqualFunc(got, want, sameFrame) {
			t.Errorf("the tap has %v, want %v", got, want)
		}
		if frames, size := b.Sent(b.IDs[0], b.IDs[1]); frames != 3 || size != int64(7+4+8+3*4) {
			t.Errorf("%d frames of %d bytes sent, want 3 of 31", frames, size)
		}
		if frames, size := b.Sent(b.IDs[0], b.IDs[2]); frames != 0 || size != 0 {
			t.Errorf("%d frames of %d bytes sent, want none", frames, size)
		}
	})
}
