// Package systemd is what a program and the service manager that has started it tell each other: that it is ready, that
// it stops, and that its standard error is the journal. Where no systemd has started it, nothing happens.
package systemd

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// What is told of a service's state: sd_notify(3).
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	Alive    = "WATCHDOG=1"
)

// Watchdog returns after how long without an Alive the service manager ends this process and starts it again; 0 where
// it does not watch: sd_watchdog_enabled(3).
func Watchdog() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	micros, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || micros < 0 || os.Getenv("NOTIFY_SOCKET") == "" {
		return 0
	}
	return time.Duration(micros) * time.Microsecond
}

// patience is how long a service manager may take to read what it is told: a node waits for it no longer to end.
const patience = time.Second

// Notify tells the service manager a state. Without one that asks for it (Type=notify), it does nothing; where that
// reads nothing for a second it is an error.
func Notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("systemd cannot be told %s: %w", state, err)
	}
	defer conn.Close()
	err = conn.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		return fmt.Errorf("systemd cannot be told %s: %w", state, err)
	}
	return nil
}

// Priority is what begins a line of the journal of that level: sd-daemon(3).
func Priority(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "<3>"
	case l >= slog.LevelWarn:
		return "<4>"
	case l >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}
