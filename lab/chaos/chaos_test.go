package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// TestDrawsRepeat: a seed gives the same job, victim and moment again, and another one others.
func TestDrawsRepeat(t *testing.T) {
	l := &lab{scenes: make(map[string]*scene)}
	for _, name := range []string{sceneSealed, sceneMasked, scenePublished, scenePOFMKL, sceneGFML} {
		s, err := newScene(name)
		if err != nil {
			t.Fatal(err)
		}
		l.scenes[name] = s
	}
	different := make(map[string]bool)
	for _, k := range kinds() {
		for seed := range uint64(5) {
			var said [2]string
			for i := range said {
				a, err := newAttempt(l, k, seed)
				if err != nil {
					t.Fatal(err)
				}
				said[i] = fmt.Sprint(a.jobName(), a.victim, a.drawMoment(20))
			}
			if said[0] != said[1] {
				t.Errorf("%s, seed %d: %s, and again %s", k.name, seed, said[0], said[1])
			}
			different[said[0]] = true
		}
	}
	if len(different) < 40 {
		t.Errorf("%d trials are only %d different ones", 5*len(kinds()), len(different))
	}
}

func TestUnknownKind(t *testing.T) {
	_, err := Run(t.Context(), Options{Kinds: []string{"flood"}})
	if err == nil || !strings.Contains(err.Error(), `no kind "flood"; there are control, kill-sealed`) {
		t.Errorf("error %v", err)
	}
}

// TestShiftTime changes the time package of the Go that runs the test.
func TestShiftTime(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	changed, err := shiftTime(string(source))
	if err != nil || strings.Count(changed, "sec += clockShift") != 1 || strings.Count(changed, `"syscall"`) != 1 {
		t.Errorf("shiftTime: %v", err)
	}
	if _, err := shiftTime("package time"); err == nil {
		t.Error("another package was changed")
	}
}

// TestRelays cuts a line, holds one back, and lets both through again.
func TestRelays(t *testing.T) {
	l := listen(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(c, c)
		}
	}()
	front := listen(t)
	r := newRelays()
	r.listeners = append(r.listeners, front)
	defer r.close()
	go r.accept(front, 0, l.Addr().String())
	echo := func(c net.Conn, within time.Duration) error {
		c.SetDeadline(time.Now().Add(within))
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
		answer := make([]byte, 5)
		_, err := io.ReadFull(c, answer)
		if err == nil && !bytes.Equal(answer, []byte("hello")) {
			err = fmt.Errorf("the answer is %q", answer)
		}
		return err
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", front.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	c := dial()
	if err := echo(c, time.Minute); err != nil {
		t.Fatal(err)
	}
	r.cut([]int{0}, false)
	if echo(c, time.Minute) == nil || echo(dial(), 5*time.Second) == nil {
		t.Error("a line that is cut carries")
	}
	r.heal()
	c = dial()
	if err := echo(c, time.Minute); err != nil {
		t.Fatal(err)
	}
	r.cut([]int{0}, true)
	if echo(c, 100*time.Millisecond) == nil {
		t.Error("a line that holds back carries")
	}
	r.heal()
	c.SetDeadline(time.Now().Add(time.Minute))
	if answer := make([]byte, 5); readAll(c, answer) != nil || string(answer) != "hello" {
		t.Errorf("what was held back came as %q", answer)
	}
}

// readAll fills a buffer.
func readAll(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	return err
}

// listen takes a port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestWhileIsWithinBounds draws how long faults last.
func TestWhileIsWithinBounds(t *testing.T) {
	a := &attempt{draw: draws(1)}
	for range 1000 {
		if d := a.drawWhile(time.Second, 10*time.Second); d < time.Second || d > 10*time.Second {
			t.Fatalf("drew %s", d)
		}
	}
}

// TestFillOnADiskOfItsOwn fills a small disk to the last byte, where one can be mounted.
func TestFillOnADiskOfItsOwn(t *testing.T) {
	l := &lab{Options: Options{Dir: t.TempDir()}}
	if err := unableToMount(context.Background(), l); err != nil {
		needs.Missing(t, "%v", err)
	}
	dir := t.TempDir()
	if err := mountMemory(dir, 4<<20); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "kept"), []byte("kept"))
	n, err := fill(filepath.Join(dir, fillerName))
	if err != nil || n < 3<<20 || n > 4<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if os.WriteFile(filepath.Join(dir, "more"), make([]byte, 4096), 0o600) == nil {
		t.Error("the full disk takes more")
	}
	os.Remove(filepath.Join(dir, "more"))
	if err := keepMounted(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "kept"))
	if _, filler := os.Stat(filepath.Join(dir, fillerName)); err != nil || string(text) != "kept" || filler == nil {
		t.Errorf("%q and %v stay of the disk", text, err)
	}
}
