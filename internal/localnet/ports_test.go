package localnet

import (
	"fmt"
	"net"
	"testing"
)

// TestPortsAreHandedOutOnce: of two scenarios that run at once none finds the other's ports, which nobody listens on
// before the other's programs have started. Six hundred random ports of twelve thousand would be some of them the same.
func TestPortsAreHandedOutOnce(t *testing.T) {
	seen := make(map[int]bool)
	for range 60 {
		p, err := FreePorts(10)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if len(p.Numbers) != 10 {
			t.Fatalf("got the ports %v, want 10", p.Numbers)
		}
		for _, port := range p.Numbers {
			if seen[port] {
				t.Errorf("port %d was handed out twice", port)
			}
			seen[port] = true
		}
	}
	for port := range seen {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Error(err)
			continue
		}
		l.Close()
	}
}
