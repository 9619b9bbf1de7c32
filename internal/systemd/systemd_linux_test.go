package systemd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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

// TestNotifyEndsWhereNobodyReads: a service manager that listens and reads nothing keeps no node from its end.
func TestNotifyEndsWhereNobodyReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	for told := 0; ; told++ {
		err := Notify(Alive)
		if told == 0 && err != nil || told == 1_000_000 {
			t.Fatalf("told %d times: %v, want an error once nothing more is taken", told, err)
		}
		if err != nil {
			return
		}
	}
}

// TestWatchdog reads after how long without a sign of life the service manager ends a process.
func TestWatchdog(t *testing.T) {
	for _, c := range []struct {
		socket, micros, pid string
		want                time.Duration
	}{
		{"/run/s", "120000000", "", 2 * time.Minute}, {"/run/s", "120000000", fmt.Sprint(os.Getpid()), 2 * time.Minute},
		{"/run/s", "120000000", "1", 0}, {"", "120000000", "", 0}, {"/run/s", "", "", 0}, {"/run/s", "-5", "", 0},
		{"/run/s", "often", "", 0},
	} {
		t.Setenv("NOTIFY_SOCKET", c.socket)
		t.Setenv("WATCHDOG_USEC", c.micros)
		t.Setenv("WATCHDOG_PID", c.pid)
		if got := Watchdog(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
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
