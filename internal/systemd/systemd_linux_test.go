package systemd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestNotify(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Notify(Ready); err != nil {
		t.Errorf("without systemd: %v", err)
	}
	path := filepath.Join(t.TempDir(), "notify")
	t.Setenv("NOTIFY_SOCKET", path)
	if err := Notify(Ready); err == nil {
		t.Error("nobody listens, and nothing is said")
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if err := Notify(Ready); err != nil {
		t.Fatal(err)
	}
	var told [64]byte
	if n, err := manager.Read(told[:]); err != nil || string(told[:n]) != Ready {
		t.Errorf("%q, %v", told[:n], err)
	}
}

func TestIsJournal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]bool{
		"": false, fmt.Sprintf("%d:%d", st.Dev, st.Ino): true, fmt.Sprintf("%d:%d", st.Dev, st.Ino+1): false,
	} {
		t.Setenv("JOURNAL_STREAM", stream)
		if IsJournal(f) != want {
			t.Errorf("JOURNAL_STREAM=%s: want %v", stream, want)
		}
	}
}
