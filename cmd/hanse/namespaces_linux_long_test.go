//go:build long && linux

package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// internet connects network namespaces of this machine by TUN devices, as lines with a delay and a loss do. It carries
// IPv4 packets to whoever has their address; kernels without netem have no other way to make a line slow.
type internet struct {
	t     *testing.T
	delay time.Duration // each way
	loss  float64       // of packets

	mu    sync.Mutex
	lines map[netip.Addr]*line
	cut   map[netip.Addr]bool // whose line carries nothing
	down  chan struct{}       // closed at the end
	run   sync.WaitGroup
	names []string // of namespaces, deleted at the end
}

// line is one namespace's end.
type line struct {
	device *os.File
	queue  chan packet
}

// packet is on its way until due.
type packet struct {
	due  time.Time
	data []byte
}

// newInternet skips the test where namespaces, or devices in them, are forbidden, and says why.
func newInternet(t *testing.T, delay time.Duration, loss float64) *internet {
	t.Helper()
	if os.Geteuid() != 0 {
		needs.Missing(t, "network namespaces need root")
	}
	needs.Program(t, "apt-get install iproute2", "ip")
	needs.Program(t, "apt-get install iptables", "iptables")
	n := &internet{t: t, delay: delay, loss: loss, lines: make(map[netip.Addr]*line), cut: make(map[netip.Addr]bool),
		down: make(chan struct{})}
	t.Cleanup(n.close)
	if _, err := n.namespace("probe"); err != nil {
		needs.Missing(t, "network namespaces are forbidden here: %v", err)
	}
	if _, err := n.open(n.names[0], "probe0"); err != nil {
		needs.Missing(t, "TUN devices are forbidden here: %v", err)
	}
	return n
}

// namespace makes a namespace of its own name.
func (n *internet) namespace(of string) (string, error) {
	name := fmt.Sprintf("hanse-%d-%d-%s", os.Getpid(), rand.IntN(1_000_000), of)
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s", strings.TrimSpace(string(out)))
	}
	n.names = append(n.names, name)
	n.do("-n", name, "link", "set", "lo", "up")
	return name, nil
}

// do runs ip.
func (n *internet) do(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %s", strings.Join(args, " "), out)
	}
}

// open makes a TUN device in a namespace. A thread enters it and ends there.
func (n *internet) open(namespace, device string) (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread does not come back
		f, err := openTUN(filepath.Join("/var/run/netns", namespace), device)
		made <- result{f, err}
	}()
	r := <-made
	return r.file, r.err
}

// openTUN moves this thread into a namespace and makes the device there.
func openTUN(namespace, device string) (*os.File, error) {
	ns, err := os.Open(namespace)
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ask, err := unix.NewIfreq(device)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	ask.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ask); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), device), nil
}

// host makes a namespace with a public address.
func (n *internet) host(name, address string) string {
	n.t.Helper()
	ns, err := n.namespace(name)
	if err != nil {
		n.t.Fatal(err)
	}
	n.attach(ns, "wan0", address)
	return ns
}

// attach gives a namespace a line with a public address.
func (n *internet) attach(ns, device, address string) {
	n.t.Helper()
	f, err := n.open(ns, device)
	if err != nil {
		n.t.Fatal(err)
	}
	n.do("-n", ns, "addr", "add", address+"/24", "dev", device)
	n.do("-n", ns, "link", "set", device, "up")
	l := &line{f, make(chan packet, 1<<14)}
	n.mu.Lock()
	n.lines[netip.MustParseAddr(address)] = l
	n.mu.Unlock()
	n.run.Go(func() { n.carry(l) })
	n.run.Go(func() {
		for {
			select {
			case p := <-l.queue:
				time.Sleep(time.Until(p.due)) // the line's delay
				l.device.Write(p.data)
			case <-n.down:
				return
			}
		}
	})
}

// move gives a namespace's line another public address.
func (n *internet) move(ns, from, to string) {
	n.t.Helper()
	n.mu.Lock()
	n.lines[netip.MustParseAddr(to)] = n.lines[netip.MustParseAddr(from)]
	delete(n.lines, netip.MustParseAddr(from))
	n.mu.Unlock()
	n.do("-n", ns, "addr", "del", from+"/24", "dev", "wan0")
	n.do("-n", ns, "addr", "add", to+"/24", "dev", "wan0")
}

// How a NAT shows one port of a machine inside: as one to all outside, or as another to each, which no hole leads
// through.
const (
	onePortToAll  = "MASQUERADE"
	anotherToEach = "MASQUERADE --random-fully"
)

// behind makes a namespace with a private address behind a NAT with a public one, which lets nobody in that nobody
// inside has called.
func (n *internet) behind(name, public, nat string) string {
	n.t.Helper()
	router := n.host(name+"-nat", public)
	inside, err := n.namespace(name)
	if err != nil {
		n.t.Fatal(err)
	}
	n.do("-n", router, "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", inside)
	n.do("-n", router, "addr", "add", "10.1.0.1/24", "dev", "lan0")
	n.do("-n", router, "link", "set", "lan0", "up")
	n.do("-n", inside, "addr", "add", "10.1.0.2/24", "dev", "eth0")
	n.do("-n", inside, "link", "set", "eth0", "up")
	n.do("-n", inside, "route", "add", "default", "via", "10.1.0.1")
	for _, command := range []string{
		"sysctl -qw net.ipv4.ip_forward=1",
		"iptables -t nat -A POSTROUTING -o wan0 -j " + nat,
		"iptables -A FORWARD -i wan0 -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
		"iptables -A FORWARD -i wan0 -j DROP",
		"iptables -A INPUT -i wan0 -j DROP",
	} {
		args := append([]string{"netns", "exec", router}, strings.Fields(command)...)
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			needs.Missing(n.t, "NAT is not to be had here: %s: %s", command, out)
		}
	}
	return inside
}

// carry takes packets off a line until it ends.
func (n *internet) carry(l *line) {
	buf := make([]byte, 1<<16)
	for {
		size, err := l.device.Read(buf)
		if err != nil {
			return
		}
		if size < 20 || buf[0]>>4 != 4 {
			continue // IPv6 neighbours and the like
		}
		from, to := netip.AddrFrom4([4]byte(buf[12:16])), netip.AddrFrom4([4]byte(buf[16:20]))
		n.mu.Lock()
		dest := n.lines[to]
		if dest != nil && !n.cut[from] && !n.cut[to] && rand.Float64() >= n.loss {
			p := packet{time.Now().Add(n.delay), append([]byte(nil), buf[:size]...)}
			select {
			case dest.queue <- p:
			default: // the line is full, as routers' are
			}
		}
		n.mu.Unlock()
	}
}

// setCut parts a public address from all others, or ends that.
func (n *internet) setCut(address string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[netip.MustParseAddr(address)] = cut
}

// close takes everything down.
func (n *internet) close() {
	close(n.down)
	n.mu.Lock()
	for _, l := range n.lines {
		l.device.Close()
	}
	n.mu.Unlock()
	n.run.Wait()
	for _, name := range n.names {
		exec.Command("ip", "netns", "del", name).Run()
	}
}
