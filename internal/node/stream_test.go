package node

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
)

// TestEventsAfterTheStream: a member's word that comes when the command it is for has ended, and its connection is
// closed, reaches nobody and harms nothing. The node that wrote it to the connection all the same went down.
func TestEventsAfterTheStream(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	l.startAll()
	n := l.nodes[0]
	l.serveSocketOf(0)
	c, err := n.Prepare(t.Context(), l.job("train", "", activeBank+"features = 8"), nil)
	must(t, err)
	var late atomic.Pointer[func(jobs.Event)] // as a member's call has it that is under way when the job ends
	l.watch(0, func(jobs.Event) {
		n.roster.mu.Lock()
		defer n.roster.mu.Unlock()
		if listen := n.hearers[c.Hash()]; listen != nil {
			late.Store(&listen)
		}
	})
	path, err := socketOf(n.config.Dir)
	must(t, err)
	conn, err := net.Dial("unix", path)
	must(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "POST /launch?job=%s HTTP/1.1\r\nHost: node\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		c.Hash())

	if _, err := io.ReadAll(conn); err != nil { // until the node has closed it
		t.Fatal(err)
	}
	(*late.Load())(jobs.Event{Kind: jobs.EventError, Text: "it has ended"})
}
