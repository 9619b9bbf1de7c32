package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/doctor"
	"github.com/hanse-project/hanse/internal/systemd"
)

// TestRunningNodeIsWatched: a node that runs is asked by its owner's doctor over the socket, and by programs over HTTP.
func TestRunningNodeIsWatched(t *testing.T) {
	w := newWard(t)
	c := w.charter(1)
	w.host(w.telco, c, w.telcoAt...)
	w.examine(w.bank, c) // leaves the files that a node has
	dir := filepath.Join(w.dir, "node")
	d, err := New(Config{Key: w.bank, KeyFile: filepath.Join(w.dir, "bank.key"), Charter: c,
		CharterFile: filepath.Join(w.dir, "charter.toml"), Dir: dir, Silence: 20e9, Version: "v1.2.3",
		Metrics: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(w.dir, "notify"), Net: "unixgram"})
	must(t, err)
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", manager.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "20000")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer cancel()
	for _, want := range []string{systemd.Ready, systemd.Alive, systemd.Alive} {
		var told [64]byte
		if n, err := manager.Read(told[:]); err != nil || string(told[:n]) != want {
			t.Errorf("the service manager is told %q (%v), want %s", told[:n], err, want)
		}
	}

	answer, err := d.doctor(t.Context(), []string{"telco"})
	must(t, err)
	r := answer.(*doctor.Report)
	if !r.Running || r.Member != "bank" || r.Checks[len(r.Checks)-1].Name != doctor.CheckThroughput {
		t.Errorf("%+v", r)
	}
	if _, err := d.doctor(t.Context(), []string{"nobody"}); err == nil {
		t.Error("the way to nobody was looked at")
	}
	s := d.node.Status()
	if len(s.Members) != 1 || s.Members[0].Name != "telco" || !s.Members[0].Connected || s.Version != "v1.2.3" ||
		len(s.Listening) == 0 || s.Disk.Total == 0 {
		t.Errorf("%+v", s)
	}
	if one := s.Members[0]; one.In == 0 || one.Out == 0 || one.Path == "" || one.Since.IsZero() {
		t.Errorf("%+v", one)
	}
	for path, want := range map[string]string{"/healthz": "alive\n", "/readyz": "key: ready\n",
		"/metrics": "hanse_member_connected{member=\"telco\"} 1\n"} {
		response, err := http.Get("http://" + d.metrics.Addr().String() + path)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d, %v: %.300s", path, response.StatusCode, err, body)
		}
	}
}
