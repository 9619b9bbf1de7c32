package node

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// noTable takes a party's table away and starts its node again.
func (l *testNetwork) noTable(i int) {
	if err := os.Remove(l.tablePath(i, "train")); err != nil {
		l.t.Error(err)
	}
	l.start(i)
}

// withoutTables runs a job of one server and four clients, ends two of these on the way, has back do what comes in
// their place, and ends when what is said at the server is enough. It returns how the server lists the job then, and
// all that was said of waits there.
func (l *testNetwork) withoutTables(back func(i int), enough func(text string) bool) (seen JobInfo, said []string) {
	l.t.Helper()
	l.streams(1, 1200)
	var mu sync.Mutex
	var c *contract.Contract
	begun, heard := make(chan struct{}), make(chan struct{})
	start := sync.OnceFunc(func() { close(begun) })
	end := sync.OnceFunc(func() {
		seen = l.infoAt(0, c.Hash())
		close(heard)
	})
	l.watch(0, func(e jobs.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == jobs.EventProgress && e.Done >= 20 {
			start()
		}
		if e.Kind == jobs.EventWaiting {
			if said = append(said, e.Text); enough(e.Text) {
				end()
			}
		}
	})
	l.startAll()
	var err error
	c, err = l.nodes[0].Prepare(l.t.Context(), l.servedJob("pofmkl", 1, "privacy = \"masked\"",
		strings.Replace(smallPOFMKL, "rounds = 40", "rounds = 1000", 1)), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	over := l.launched(ctx, 0, c.Hash())
	<-begun
	for _, i := range []int{2, 3} {
		l.stops[i]()
		back(i)
	}
	select {
	case <-heard:
	case err := <-over:
		l.t.Errorf("the job is over: %v", err)
	}
	cancel()
	mu.Lock()
	defer mu.Unlock()
	return seen, said
}

// TestTheServerSaysWhichClientsCannotGoOn: two clients of four have lost their tables. The server's waits, its list and
// its reason name both, by a public code; the path stands at their own nodes alone.
func TestTheServerSaysWhichClientsCannotGoOn(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	want := []string{"too few clients of bank: 2 of 3 needed are there; ",
		"telco: its table cannot be read, or is not the one that it consented to (data, reference ",
		"retailer: its table cannot be read, or is not the one that it consented to (data, reference "}
	seen, said := l.withoutTables(l.noTable, func(text string) bool { return hasAll(text, want) })
	for _, text := range append(said, seen.Reason) {
		if strings.Contains(text, l.dirs[2]) || strings.Contains(text, l.dirs[3]) {
			t.Errorf("the path of a table is told: %q", text)
		}
	}
	if !hasAll(seen.Reason, want) || len(seen.Absent) != 2 || seen.Absent[0].Party != "telco" ||
		seen.Absent[0].Code != fault.CodeData || seen.Absent[0].Since.IsZero() {
		t.Errorf("the server's list has %q and %+v", seen.Reason, seen.Absent)
	}
	for _, i := range []int{2, 3} {
		l.awaitWhy(i, seen.Contract, l.tablePath(i, "train"))
	}
}

// TestEveryServerSaysWhichClientsCannotGoOn: with two servers the one whose client has lost its table says so, and so
// does the other, which proposed the job.
func TestEveryServerSaysWhichClientsCannotGoOn(t *testing.T) {
	l := newTestNetwork(t, 6, 0)
	l.streams(2, 600)
	begun := make(chan struct{})
	start := sync.OnceFunc(func() { close(begun) })
	l.watch(0, func(e jobs.Event) {
		if e.Kind == jobs.EventProgress && e.Done >= 20 {
			start()
		}
	})
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.servedJob("gfml", 2, "privacy = \"published\"",
		strings.Replace(gfmlOnTwo, "iterations = 30", "iterations = 500", 1)), nil)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.launched(ctx, 0, c.Hash())
	<-begun
	gone := c.Job.ClientsOf(1)[0]
	l.stops[gone]()
	l.noTable(gone)
	for _, server := range []int{0, 1} {
		l.awaitWhy(server, c.Hash().String(), "too few clients of insurer: 1 of 2 needed are there; "+l.names[gone]+
			": its table cannot be read")
	}
}

// awaitWhy waits until a node gives a reason with a text for where a job stands.
func (l *testNetwork) awaitWhy(i int, of, want string) {
	l.t.Helper()
	var h keys.Hash
	if err := h.UnmarshalText([]byte(of)); err != nil {
		l.t.Fatal(err)
	}
	for tries := 0; !strings.Contains(l.infoAt(i, h).Reason, want); tries++ {
		if err := pause(l.t.Context(), retryEvery/30); err != nil || tries == 2000 {
			l.t.Fatalf("%s gives the reason %q, want %q", l.names[i], l.infoAt(i, h).Reason, want)
		}
	}
}

// slanderer is a client whose node, once the job is under way, answers with what makes another client look bad and
// fills the server's screen.
type slanderer struct{ said *fault.Fault }

// TestSlandererSpeaksOfNobodyElse: whatever a client's node says, the server says it of that client, in words of its
// own. The control is the same answer as it is, which names the other.
func TestSlandererSpeaksOfNobodyElse(t *testing.T) {
	long := strings.Repeat("insurer-", 200)
	for name, c := range map[string]struct {
		slanderer
		want string
	}{
		"names another": {slanderer{&fault.Fault{Code: fault.CodeDeviation, Names: []string{"insurer", "sum", "retailer"},
			Numbers: []int64{7}, Ref: "abcdef"}},
			"telco: a party did not follow the protocol (deviation, reference abcdef)"},
		"has another say": {slanderer{&fault.Fault{Code: fault.CodeSays, Names: []string{"insurer", "damaged"}}},
			"telco: another party cannot go on (says)"},
		"a code of its own": {slanderer{&fault.Fault{Code: "insurer-cheats"}},
			"telco: it says that something is wrong, and its words cannot be read (malformed)"},
		"graffiti": {slanderer{&fault.Fault{Code: fault.CodeDisk, Names: []string{long, graffiti}, Ref: "insurer"}},
			"telco: it says that something is wrong, and its words cannot be read (malformed)"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.said.String(), "insurer") {
				t.Fatal("the control speaks of nobody else")
			}
			w := new(watched)
			w.answered("telco", false, faults.SaidBy("telco", c.said))
			if got := w.whyMissing([]string{"insurer", "telco"}); got != "; "+c.want {
				t.Errorf("it is said %q, want %q", got, c.want)
			}
			for i := range 300 { // each has a place, and a sentence names three
				w.answered(fmt.Sprintf("client-%03d", i), false, faults.SaidBy("x", c.said))
			}
			w.answered("telco", true, nil)
			info := JobInfo{}
			for i := range 300 {
				info.Parties = append(info.Parties, fmt.Sprintf("client-%03d", i))
			}
			if text := w.whyMissing(append(info.Parties, "telco")); len(text) > 400 || !strings.HasSuffix(text, "and 297 more") {
				t.Errorf("%d bytes are said: %s", len(text), text)
			}
		})
	}
	// Over the wire, too: the node of telco is the slanderer's.
	l := newTestNetwork(t, 5, 0)
	bad := slanderer{&fault.Fault{Code: fault.CodeDeviation, Names: []string{"insurer", graffiti}, Ref: "abcdef"}}
	seen, said := l.withoutTables(func(i int) {
		l.transport(i).Handle(func(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) { return nil, bad.said })
	}, func(text string) bool {
		return strings.HasPrefix(text, "too few") && hasAll(text, []string{"telco: ", "retailer: "})
	})
	for _, text := range append(said, seen.Reason) {
		if strings.Contains(text, "\x1b") || strings.Contains(text, "insurer did") {
			t.Errorf("it is said %q", text)
		}
	}
}

// hasAll reports whether a text has all of some parts.
func hasAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
