// Package conformance holds every implementation of protocol.Transport to the same tests.
package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// patience bounds every test: what a test waits for comes at once or not at all.
const patience = 30 * time.Second

// brief is how long a test waits for the end of something that never comes. Nothing depends on
// what a slow machine manages in it.
const brief = 200 * time.Millisecond

// makeFunc makes n transports that reach each other.
type makeFunc func(t *testing.T, n int) []protocol.Transport

// Conformance tests an implementation. make returns n transports of different members that reach
// each other and have no handler yet, and has what they hold released when t ends. Each is an
// io.Closer too: Close is what the others see of a member whose process dies.
func Conformance(t *testing.T, make func(t *testing.T, n int) []protocol.Transport) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, make makeFunc)
	}{
		{"parties that open a session meet", testMeet},
		{"links follow the lists of peers", testStar},
		{"sessions are apart", testApart},
		{"a session opens once", testOnce},
		{"a late party is waited for", testLate},
		{"an absent party is named", testAbsent},
		{"a gathering of all", testGatherAll},
		{"a gathering of some", testGatherSome},
		{"a gathering of nobody", testGatherNobody},
		{"frames keep content and order", testOrder},
		{"all links at once", testAllLinks},
		{"parts may be reused after send", testReuse},
		{"a frame comes in the buffer given", testBuffer},
		{"the largest frame", testLargest},
		{"an oversized frame is refused", testOversized},
		{"traffic is counted", testTraffic},
		{"a stranger to the mesh", testStranger},
		{"send blocks while nobody reads", testSendBlocks},
		{"a blocked send goes on", testSendResumes},
		{"receive ends with its context", testReceiveCancelled},
		{"an ended context is noticed", testEndedContext},
		{"frames sent before close arrive", testDrain},
		{"close ends the peers' calls", testPeerCloses},
		{"close ends the own calls", testOwnClose},
		{"close ends one session only", testCloseOneSession},
		{"death ends the peers' calls", testDeath},
		{"a call is answered", testCall},
		{"calls run beside each other", testCallsAtOnce},
		{"a handler's error comes back", testCallError},
		{"the largest call", testCallLargest},
		{"oversized calls are refused", testCallOversized},
		{"a call ends with its context", testCallCancelled},
		{"a call to the dead", testCallDead},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, make) })
	}
}

// within returns a context for one test.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sessionID derives a session from the test's name and a number.
func sessionID(t *testing.T, number uint32) protocol.SessionID {
	return sha256.Sum256(binary.BigEndian.AppendUint32([]byte(t.Name()), number))
}

// others lists the ids of all transports but one.
func others(transports []protocol.Transport, but int) []keys.ID {
	var ids []keys.ID
	for i, x := range transports {
		if i != but {
			ids = append(ids, x.Self())
		}
	}
	return ids
}

// together runs one function for each index below n at the same time and waits for all.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- f(i) }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// openAll has all transports open a session with all others.
func openAll(ctx context.Context, t *testing.T, transports []protocol.Transport, r protocol.SessionID) []protocol.Mesh {
	t.Helper()
	meshes := make([]protocol.Mesh, len(transports))
	together(t, len(transports), func(i int) (err error) {
		meshes[i], err = transports[i].Open(ctx, r, others(transports, i))
		return err
	})
	t.Cleanup(func() {
		for _, m := range meshes {
			m.Close()
		}
	})
	return meshes
}

// two makes a pair that has opened a session: a's and b's ends, and their ids.
func two(ctx context.Context, t *testing.T, make makeFunc) (a, b protocol.Mesh, ida, idb keys.ID) {
	t.Helper()
	transports := make(t, 2)
	meshes := openAll(ctx, t, transports, sessionID(t, 0))
	return meshes[0], meshes[1], transports[0].Self(), transports[1].Self()
}

// die ends a transport's member.
func die(x protocol.Transport) error {
	c, ok := x.(io.Closer)
	if !ok {
		return fmt.Errorf("%T has no Close, which the suite needs to end a member", x)
	}
	return c.Close()
}
