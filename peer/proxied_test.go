package peer

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/protocol"
)

// connectProxy is an HTTP proxy that makes tunnels alone (CONNECT), as those of companies do. It resolves the names of
// the test itself, wants a name and password, and counts what it was asked for.
type connectProxy struct {
	at    map[string]string // where host:port is in truth
	mu    sync.Mutex
	asked map[string]int
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked[r.Method+" "+r.Host]++
	to, known := p.at[r.Host]
	p.mu.Unlock()
	switch {
	case r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("bank:secret")):
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	case r.Method != http.MethodConnect || !known:
		w.WriteHeader(http.StatusForbidden)
		return
	}
	there, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(there, buffered)
		there.Close()
	}()
	io.Copy(here, there)
	here.Close()
	<-done
}

// count returns how often something was asked for.
func (p *connectProxy) count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[what]
}

// TestProxy has a member that only a proxy lets out meet one by a name that the proxy alone can resolve. It sees the
// other at that name, and what NO_PROXY lists it dials itself.
func TestProxy(t *testing.T) {
	ks := newKeys(t, 3)
	d := draft(ks)
	d.Members[0].Addresses = []string{"/dns4/bank.invalid/tcp/4001"}
	d.Members[2].Addresses = []string{"/dns4/retailer.invalid/tcp/4001"}
	c := signed(t, d, ks)
	bank := start(t, config(ks[0], c))
	p := &connectProxy{at: map[string]string{"bank.invalid:4001": dialable(t, bank)}, asked: map[string]int{}}
	server := httptest.NewServer(p)
	defer server.Close()
	t.Setenv("NO_PROXY", "retailer.invalid")
	t.Setenv("HTTPS_PROXY", strings.Replace(server.URL, "http://", "http://bank:secret@", 1))
	proxy, err := NewProxy("")
	mustDo(t, err)
	cfg := config(ks[1], c)
	cfg.Listen, cfg.Proxy = nil, proxy
	inside := start(t, cfg)
	s := until(t, inside, bank.Self(), "connected", connected)
	if s.Address != "/dns4/bank.invalid/tcp/4001" {
		t.Errorf("the other end is at %s, want the address that was dialled", s.Address)
	}
	meetAll(t, inside, bank)
	openAll(t, protocol.SessionID{1}, inside, bank)
	if n := p.count("CONNECT bank.invalid:4001"); n < 1 {
		t.Errorf("the proxy was asked %v", p.asked)
	}
	until(t, inside, ks[2].ID(), "in trouble", troubled)
	if n := p.count("CONNECT retailer.invalid:4001"); n > 0 {
		t.Errorf("the proxy was asked for what NO_PROXY lists")
	}
}

// dialable is host:port of a host's first address.
func dialable(t *testing.T, h *Host) string {
	t.Helper()
	part := strings.Split(h.Addresses()[0], "/")
	return net.JoinHostPort(part[2], part[4])
}

// TestProxyRefusals says what a proxy answered, and nothing of its password; a newcomer hears so too.
func TestProxyRefusals(t *testing.T) {
	p := &connectProxy{asked: map[string]int{}}
	server := httptest.NewServer(p)
	defer server.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			io.WriteString(conn, "SSH-2.0-nothing of the kind\r\n")
			conn.Close()
		}
	}))
	defer silent.Close()
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	for url, want := range map[string]string{
		"http://bank:secret@" + host(server): fmt.Sprintf(`the proxy %s: it answers "403 Forbidden" to CONNECT bank.invalid:4001: `+
			"ask those who run it to let this node out to that port", host(server)),
		"http://" + host(server): fmt.Sprintf(`the proxy %s: it answers "407 Proxy Authentication Required" to CONNECT `+
			"bank.invalid:4001: ask those who run it to let this node out to that port", host(server)),
		"http://" + host(silent): fmt.Sprintf("the proxy %s: it does not answer as an HTTP proxy does: ", host(silent)),
	} {
		proxy, err := NewProxy(url)
		mustDo(t, err)
		_, err = DialJoin(within(t), newKeys(t, 1)[0], "/dns4/bank.invalid/tcp/4001", proxy)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error\n%v, want it to say\n%s", err, want)
		}
	}
	for _, url := range []string{"proxy.example:3128", "socks5://proxy.example:1080", "http://"} {
		if _, err := NewProxy(url); err == nil {
			t.Errorf("%s is taken for a proxy", url)
		}
	}
}

// TestProxyAnswersWithoutEnd ends the reading of an answer that has no end.
func TestProxyAnswersWithoutEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for err == nil {
			_, err = io.WriteString(conn, "X-More: "+strings.Repeat("a", 1000)+"\r\n")
		}
	}))
	defer server.Close()
	proxy, err := NewProxy(server.URL)
	mustDo(t, err)
	if conn, err := proxy.dial(context.Background(), "tcp", "bank.invalid:4001"); err == nil {
		conn.Close()
		t.Error("an answer without end is read to its end")
	}
}
