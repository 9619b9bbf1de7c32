package sealed

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
)

// slowness is how slow links are made.
type slowness struct {
	rate  float64       // bytes a second out of a node, and as many into it
	delay time.Duration // one way
}

// Sizes of what is on its way between two nodes in one direction.
const (
	slowPiece  = 16 << 10
	slowPieces = 64 // a window of 1 MiB, above what 100 Mbit/s hold in 40 ms
	slowBurst  = 2 * time.Millisecond
)

// slowNet stands between the nodes of a network: at the addresses that the charter gives it takes their connections
// and carries them on to where the nodes listen, slowly.
type slowNet struct {
	slowness
	behind    *localnet.Federation
	ports     *localnet.Ports // where the nodes listen
	out, in   []*slowLine
	listeners []net.Listener
	carried   atomic.Int64
}

// slowLine is one node's line in one direction.
type slowLine struct {
	mu   sync.Mutex
	free time.Time // when it has carried all that was booked
	rate float64
}

// reserve returns when n bytes that come at a time have been carried.
func (l *slowLine) reserve(at time.Time, n int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if idle := at.Add(-slowBurst); l.free.Before(idle) {
		l.free = idle
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	return l.free
}

// openSlowNet takes the addresses of a network's members.
func openSlowNet(l *localnet.Federation, s slowness) (*slowNet, error) {
	ports, err := localnet.FreePorts(len(l.Names))
	if err != nil {
		return nil, err
	}
	n := &slowNet{slowness: s, behind: l, ports: ports}
	for i, name := range l.Names {
		n.out, n.in = append(n.out, &slowLine{rate: s.rate}), append(n.in, &slowLine{rate: s.rate})
		listener, err := net.Listen("tcp", l.Address(name))
		if err != nil {
			n.close()
			return nil, err
		}
		n.listeners = append(n.listeners, listener)
		go n.accept(listener, i)
	}
	return n, nil
}

// listen is where a member's node listens.
func (n *slowNet) listen(name string) string {
	return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", n.ports.Numbers[slices.Index(n.behind.Names, name)])
}

// close stops taking connections; those that there are end with their nodes.
func (n *slowNet) close() {
	for _, l := range n.listeners {
		l.Close()
	}
	n.ports.Close()
}

// accept takes connections to node i.
func (n *slowNet) accept(l net.Listener, i int) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go n.carry(c, i)
	}
}

// carry carries a connection to node i. One that comes from none of the nodes that are known is closed: it is tried
// again.
func (n *slowNet) carry(from net.Conn, i int) {
	defer from.Close()
	j := n.caller(from.RemoteAddr().(*net.TCPAddr).Port)
	if j < 0 {
		return
	}
	to, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", n.ports.Numbers[i]))
	if err != nil {
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	both.Go(func() { n.pipe(to, from, n.out[j], n.in[i]) })
	both.Go(func() { n.pipe(from, to, n.out[i], n.in[j]) })
	both.Wait()
}

// slowParcel is some bytes on their way.
type slowParcel struct {
	data []byte
	at   time.Time // when they come to the receiver's line
}

// pipe carries one direction of a connection.
func (n *slowNet) pipe(dst, src net.Conn, out, in *slowLine) {
	way := make(chan slowParcel, slowPieces)
	go func() {
		defer close(way)
		for {
			buffer := make([]byte, slowPiece)
			count, err := src.Read(buffer)
			if count > 0 {
				sent := out.reserve(time.Now(), count)
				time.Sleep(time.Until(sent))
				way <- slowParcel{buffer[:count], sent.Add(n.delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.at))
		time.Sleep(time.Until(in.reserve(p.at, len(p.data))))
		n.carried.Add(int64(len(p.data)))
		if _, err := dst.Write(p.data); err != nil {
			src.Close() // ends the reader
			io.Copy(io.Discard, src)
		}
	}
	dst.Close()
}

// caller finds which node has a connection from a port of this machine, -1 when none has.
func (n *slowNet) caller(port int) int {
	inode := socketAt(port)
	for _, p := range n.behind.Nodes() {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Pid()))
		for _, f := range files {
			if target, _ := os.Readlink(f); inode != "" && target == "socket:["+inode+"]" {
				return slices.Index(n.behind.Names, p.Name)
			}
		}
	}
	return -1
}

// socketAt returns the inode of the TCP socket that has a local port and is connected, "" when there is none.
func socketAt(port int) string {
	text, err := os.ReadFile("/proc/net/tcp")
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	want := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], want) && f[3] == "01" {
			return f[9]
		}
	}
	return ""
}
