package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/owner"
)

// says is a system that says of everybody at the other end of a socket that it is this user.
func says(u owner.User, err error) reader {
	return func(net.Conn) (owner.User, error) { return u, err }
}

// serveSocketOf runs a node's socket until the test ends, and waits until it is there.
func (l *testNetwork) serveSocketOf(i int) {
	l.t.Helper()
	n := l.nodes[i]
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := n.ServeSocket(ctx); err != nil {
			l.t.Error(err)
		}
	})
	l.t.Cleanup(func() { cancel(); serving.Wait() })
	for {
		path, _, err := socketPlace(n.config.Dir)
		if err != nil {
			l.t.Fatal(err)
		}
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return
		}
		if err := pause(ctx, tendEvery/100); err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestCommandsOfOtherUsers: another user of the machine who got hold of the socket commands nothing, and one who stands
// where the node should is told nothing.
func TestCommandsOfOtherUsers(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	l.start(0)
	var system atomic.Pointer[reader]
	l.nodes[0].peer = func(conn net.Conn) (owner.User, error) { return (*system.Load())(conn) }
	self := owner.Self()
	honest := says(self, nil)
	system.Store(&honest)
	l.serveSocketOf(0)
	dir := l.nodes[0].config.Dir
	stranger := self + 4711
	for _, c := range []struct {
		name           string
		caller, answer reader // what the node's system says of the caller, and the caller's of the node
		want           string
	}{
		{"the owner", says(self, nil), says(self, nil), ""},
		{"root", says(owner.Root, nil), says(self, nil), ""},
		{"a system that does not say", says(0, owner.ErrUnknown), says(0, owner.ErrUnknown), ""},
		{"a stranger commands", says(stranger, nil), honest,
			"this node answers its own user " + self.Name() + " and root"},
		{"the system fails", says(0, errors.New("no such option")), says(self, nil), "cannot tell which user"},
		{"a stranger answers", honest, says(stranger, nil),
			"where the node of " + self.Name() + " should: nothing was sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			system.Store(&c.caller)
			client := newClient(dir, c.answer)
			_, err := client.Jobs(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			client.http.CloseIdleConnections()
		})
	}
}

// TestCallerReachesTheHandlers: who sent a command is in its context, by what the system says.
func TestCallerReachesTheHandlers(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	l.start(0)
	n, self := l.nodes[0], owner.Self()
	n.peer = says(self, nil)
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	ctx := n.commands().ConnContext(context.Background(), far)
	var seen owner.User
	handler := n.ownersAlone(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen, _ = callerOf(r.Context())
	}))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/jobs", nil)
	must(t, err)
	seen = self + 1
	if handler.ServeHTTP(nil, request); seen != self {
		t.Errorf("the handler sees user %v, want %v", seen, self)
	}
	if _, ok := callerOf(context.Background()); ok {
		t.Error("a context that no command made has a caller")
	}
}

// TestSquatterAtTheSocket: a node whose folder's path is too long for a socket listens in a private folder of its
// user's. A squatter who stands where older versions listened, or at that folder's name, is neither asked nor used.
func TestSquatterAtTheSocket(t *testing.T) {
	temporary, err := os.MkdirTemp("", "squat")
	must(t, err)
	defer os.RemoveAll(temporary)
	t.Setenv("TMPDIR", temporary)
	t.Setenv("XDG_RUNTIME_DIR", "")
	l := newTestNetwork(t, 3, 10)
	l.dirs[0] = filepath.Join(l.dirs[0], strings.Repeat("long-", 20))
	must(t, os.MkdirAll(l.dirs[0], 0o700))
	l.writeTables(10)
	l.start(0)
	n := l.nodes[0]
	squat, err := owner.Runtime()
	must(t, err)
	must(t, os.Chmod(squat, 0o777))
	if err := n.ServeSocket(t.Context()); err == nil || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
		t.Errorf("with a squatter's folder: %v", err)
	}
	must(t, os.Remove(squat))
	l.serveSocketOf(0)
	if _, err := newClient(n.config.Dir, owner.Peer).Jobs(t.Context()); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(squat); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the runtime folder: %v, %v", info, err)
	}
	if err := n.ServeSocket(t.Context()); err == nil || !strings.Contains(err.Error(), "another node runs") {
		t.Errorf("a second node in the same folder: %v", err)
	}
	// A command finds the node by its folder, whatever the environment says.
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := newClient(n.config.Dir, owner.Peer).Jobs(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFolderOpenToOthers: a node does not start on it.
func TestFolderOpenToOthers(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	dir := filepath.Join(l.dirs[0], "node")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chmod(dir, 0o755))
	_, err := New(Config{Key: l.keys[0], Charter: inForce(t, l.charter), Transport: l.transport(0), Dir: dir})
	if err == nil || !strings.Contains(err.Error(), `run "chmod 700 `+dir+`"`) {
		t.Errorf("error %v, want the command that mends it", err)
	}
}

// TestAHungNodeIsSaidToHang: a node that stands still with its state locked is told from one that is not there.
func TestAHungNodeIsSaidToHang(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	l.start(0)
	l.serveSocketOf(0)
	n := l.nodes[0]
	client := newClient(n.config.Dir, owner.Peer)
	client.patience = 50 * time.Millisecond
	n.roster.mu.Lock()
	_, err := client.Status(t.Context())
	n.roster.mu.Unlock()
	if want := fmt.Sprintf("process %d, has not answered for 50ms", os.Getpid()); !errors.Is(err, errHung) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if IsAbsent(err) {
		t.Error("a node that hangs is taken for none")
	}
	if err := newClient(n.config.Dir, owner.Peer).Alive(t.Context()); err != nil {
		t.Errorf("once it goes on: %v", err)
	}
}
