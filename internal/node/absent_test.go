package node

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
)

// withoutTables runs a job of one server and four clients until the tables of two clients are gone, these have started
// again, and enough has been heard at the server. It returns all that was said of waits there.
func (l *testNetwork) withoutTables(enough func(said []string) bool) (h keys.Hash, said []string) {
	l.t.Helper()
	l.streams(1, 1200)
	var mu sync.Mutex
	begun, heard := make(chan struct{}), make(chan struct{})
	start, end := sync.OnceFunc(func() { close(begun) }), sync.OnceFunc(func() { close(heard) })
	l.watch(0, func(e jobs.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == jobs.EventProgress && e.Done >= 20 {
			start()
		}
		if e.Kind == jobs.EventWaiting {
			if said = append(said, e.Text); enough(said) {
				end()
			}
		}
	})
	l.startAll()
	c, err := l.nodes[0].Prepare(l.t.Context(), l.servedJob("pofmkl", 1, "privacy = \"masked\"",
		strings.Replace(smallPOFMKL, "rounds = 40", "rounds = 1000", 1)), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	over := l.launched(ctx, 0, c.Hash())
	<-begun
	for _, i := range []int{2, 3} {
		l.stops[i]()
		if err := os.Remove(l.tablePath(i, "train")); err != nil {
			l.t.Fatal(err)
		}
		l.start(i)
	}
	select {
	case <-heard:
	case err := <-over:
		l.t.Errorf("the job is over: %v", err)
	}
	cancel()
	mu.Lock()
	defer mu.Unlock()
	return c.Hash(), said
}

// TestClientsThatCannotGoOnAreNamedNowhere documents what is wrong: two clients of four have lost their tables, and the
// server says no more than that they are too few.
func TestClientsThatCannotGoOnAreNamedNowhere(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	few := func(text string) bool { return strings.HasPrefix(text, "waiting for clients of bank: 2 are there") }
	_, said := l.withoutTables(func(said []string) bool {
		n := 0
		for _, text := range said {
			if few(text) {
				n++
			}
		}
		return n >= 2
	})
	for _, text := range said {
		if few(text) && strings.Contains(text, "telco") {
			t.Errorf("it is said of whom: %s", text)
		}
	}
}
