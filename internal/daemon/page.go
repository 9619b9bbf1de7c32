package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/page"
	"github.com/hanse-project/hanse/internal/usage"
)

// Limits of what local programs may make the page hold.
const (
	pageConnections = 128
	pageHead        = 16 << 10 // bytes of a request's head
	pageHeadTime    = 10 * time.Second
	pageIdleTime    = 2 * time.Minute
)

// socketHost is what a link to a page on a socket has for a host: that of the tunnel to it.
const socketHost = "127.0.0.1:8085"

// pages opens and closes the node's page. It implements node.Pages.
type pages struct {
	log *slog.Logger

	mu     sync.Mutex
	page   *page.Page // nil until the node is there, and after it
	server *http.Server
	at     net.Addr // where it listens
	closed chan struct{}
}

// set gives it the page to open.
func (p *pages) set(n *node.Node) error {
	made, err := page.New(page.Config{Status: n.Status, Contract: n.Contract, Report: n.Report, Ledger: n.Ledger,
		Decide: n.Decide})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.page = made
	return nil
}

// told says to open pages that something has happened.
func (p *pages) told() {
	p.mu.Lock()
	shown := p.page
	p.mu.Unlock()
	if shown != nil {
		shown.Told()
	}
}

// OpenPage implements node.Pages.
func (p *pages) OpenPage(listen, person string) (node.PageLink, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.page == nil:
		return node.PageLink{}, errors.New("the node is not up yet, or is stopping: try again")
	case p.server == nil:
		if err := p.listen(listen); err != nil {
			return node.PageLink{}, err
		}
	case listen != "" && listen != p.at.String():
		return node.PageLink{}, fmt.Errorf("the page listens on %s already, not on %s: hanse page --close closes it there",
			p.at, listen)
	}
	if p.at.Network() == "unix" {
		return node.PageLink{Link: p.page.Link(socketHost, person), Socket: p.at.String()}, nil
	}
	return node.PageLink{Link: p.page.Link(p.at.String(), person)}, nil
}

// listen opens the page on a loopback address, with "" on a free port, or on a socket in a private folder. The lock is
// held.
func (p *pages) listen(where string) error {
	if where == "" {
		where = "127.0.0.1:0"
	}
	var listener net.Listener
	var err error
	if err := checkPage(where); err != nil {
		return err
	}
	if isSocket(where) {
		listener, err = listenPageSocket(where)
	} else {
		listener, err = net.Listen("tcp", where)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("the page cannot listen on %s, where another program does: give --listen another port, or leave "+
			"it out for a free one", where)
	case err != nil:
		return fmt.Errorf("the page cannot listen: %w", err)
	}
	server := &http.Server{
		Handler: p.page.Handler(), ReadHeaderTimeout: pageHeadTime, IdleTimeout: pageIdleTime, MaxHeaderBytes: pageHead,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	p.server, p.at, p.closed = server, listener.Addr(), make(chan struct{})
	closed := p.closed
	go func() { // ended by ClosePage, which waits for it
		defer close(closed)
		if err := server.Serve(netutil.LimitListener(listener, pageConnections)); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the page is gone", "error", err)
		}
	}()
	p.log.Info("the page is open; hanse page prints a link", "listening", p.at.String())
	return nil
}

// listenPageSocket listens on a socket that its user alone can reach, in place of one that nobody listens on.
func listenPageSocket(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := owner.Folder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		if conn, err := net.Dial("unix", path); err == nil {
			return nil, errors.Join(fmt.Errorf("another program listens on %s: choose another path", path), conn.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// isSocket tells a socket's path from an address.
func isSocket(where string) bool { return strings.ContainsRune(where, filepath.Separator) }

// checkPage refuses an address that other machines could reach; "" and sockets are well.
func checkPage(address string) error {
	if address == "" || isSocket(address) {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return usage.Errorf("the page's address %q is neither HOST:PORT, such as 127.0.0.1:8085, nor a socket's path, such "+
			"as ./page.sock", address)
	}
	if at, err := netip.ParseAddr(host); err != nil || !at.IsLoopback() {
		return usage.Errorf("the page is for this machine alone and cannot listen on %s: take 127.0.0.1 or [::1], and come "+
			"from elsewhere by ssh -L 8085:127.0.0.1:8085", host)
	}
	return nil
}

// ClosePage implements node.Pages.
func (p *pages) ClosePage() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	p.page.End()
	err := p.server.Close()
	<-p.closed
	p.server = nil
	return err
}

// run keeps the page, on an address of its own if one is given, until ctx ends.
func (p *pages) run(ctx context.Context, listen string) error {
	if listen != "" {
		p.mu.Lock()
		err := p.listen(listen)
		p.mu.Unlock()
		if err != nil {
			return err
		}
	}
	<-ctx.Done()
	err := p.ClosePage()
	p.mu.Lock()
	p.page = nil
	p.mu.Unlock()
	return err
}
