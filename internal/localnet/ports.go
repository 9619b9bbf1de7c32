package localnet

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports a trial takes: below those that systems hand out for outgoing connections, which come
// and go at any moment.
const (
	firstPort = 20_000
	portSpan  = 12_000
	portBlock = 8 // of which the first is nobody's: who listens there has the others
)

// Ports are TCP ports of this machine that nobody listens on. No other FreePorts, in this process or another, finds
// them until they are closed, or nobody has them any more.
type Ports struct {
	Numbers []int

	blocks []net.Listener
}

// FreePorts finds n ports.
func FreePorts(n int) (*Ports, error) {
	p := new(Ports)
	for try := 0; len(p.Numbers) < n; try++ {
		first := firstPort + portBlock*rand.IntN(portSpan/portBlock)
		block, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
		if err != nil {
			if try > 20*n+100 {
				p.Close()
				return nil, fmt.Errorf("no free ports between %d and %d: %w", firstPort, firstPort+portSpan, err)
			}
			continue
		}
		p.blocks = append(p.blocks, block)
		for port := first + 1; port < first+portBlock && len(p.Numbers) < n; port++ {
			if l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port)); err == nil {
				l.Close()
				p.Numbers = append(p.Numbers, port)
			}
		}
	}
	return p, nil
}

// Close lets others have the ports.
func (p *Ports) Close() {
	for _, l := range p.blocks {
		l.Close()
	}
}
