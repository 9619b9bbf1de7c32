package node

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
)

// gfmlOnThree is a job of three servers that are all neighbours, two of them in one cluster.
const gfmlOnThree = "columns = [\"u\", \"v\"]\nlabel = \"y\"\nseed = \"s\"\nfeatures = 20\niterations = " +
	"12\nparticipants = 3\n" +
	"edges = [[\"bank\", \"insurer\"], [\"insurer\", \"telco\"], [\"bank\", \"telco\"]]\n" +
	"clusters = [[\"bank\", \"insurer\"], [\"telco\"]]\n"

// predicted returns what the clients of a job predicted, row by row.
func (l *testNetwork) predicted(h keys.Hash, servers int) []float64 {
	l.t.Helper()
	var all []float64
	for i := servers; i < len(l.names); i++ {
		text, err := os.ReadFile(l.dirs[i] + "/node/jobs/" + h.String() + "/" + "predictions.csv")
		if err != nil {
			l.t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
			v, err := strconv.ParseFloat(strings.Split(line, ",")[1], 64)
			if err != nil {
				l.t.Fatal(err)
			}
			all = append(all, v)
		}
	}
	return all
}

// TestServersDiffuseUnderMasks: in every mode and along every topology clients predict what they do when servers send
// each other their models, and no message of a model passes between servers.
func TestServersDiffuseUnderMasks(t *testing.T) {
	var want []float64
	for i, c := range []struct{ head, parameters string }{
		{"privacy = \"masked\"", "diffusion = \"plain\"\n"},
		{"privacy = \"masked\"", ""},
		{"privacy = \"masked\"\ntopology = \"star\"", ""},
		{"privacy = \"masked\"\ntopology = \"ring\"", "diffusion = \"masked\"\n"},
		{"privacy = \"masked\"\naggregation = \"he\"", ""},
	} {
		if i > 0 && !drawn.Today(t, i, 4) {
			continue
		}
		t.Run(fmt.Sprintf("%s %s", c.head, c.parameters), func(t *testing.T) {
			l := newTestNetwork(t, 12, 0)
			l.streams(3, 60)
			l.startAll()
			r, h, err := l.propose(l.servedJob("gfml", 3, c.head, gfmlOnThree+c.parameters))
			must(t, err)
			if r.Online == nil || r.Online.Rounds != 12 {
				t.Errorf("report %+v", r.Online)
			}
			got := l.predicted(h, 3)
			if want == nil {
				want = got
			}
			for i := range want {
				if !(math.Abs(got[i]-want[i]) < 1e-9) {
					t.Fatalf("prediction %d is %v, want %v", i, got[i], want[i])
				}
			}
			l.wantVerdict(h, audit.Disclosed)
			s, _ := l.nodes[0].job(h)
			plain := strings.Contains(c.parameters, "plain")
			if exchanges := strings.Contains(string(s.Text()), `kind = "psi`); exchanges != plain {
				t.Errorf("the contract has exchanges of models: %v, want %v", exchanges, plain)
			}
		})
	}
}

// TestAServerThatLeavesIsDoneWithoutUnderMasks: the others go on, and each of the sums that open afterwards has two
// of them in it, or none opens.
func TestAServerThatLeavesIsDoneWithoutUnderMasks(t *testing.T) {
	l := newTestNetwork(t, 16, 0)
	l.streams(4, 400)
	mid := make(chan struct{})
	reached := sync.OnceFunc(func() { close(mid) })
	l.watch(0, func(e jobs.Event) {
		if e.Kind == jobs.EventProgress && e.Done >= 20 {
			reached()
		}
	})
	l.startAll()
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-mid
		l.stops[1]()
	})
	parameters := strings.Replace(gfmlOnFour, "iterations = 12", "iterations = 80", 1)
	r, h, err := l.propose(l.servedJob("gfml", 4, "privacy = \"masked\"", parameters))
	stopping.Wait()
	must(t, err)
	if r.Online.Rounds != 80 || r.Online.Clients != 3 {
		t.Errorf("report %+v, want 80 rounds and all three clients in the last total", r.Online)
	}
	if s, ok := l.nodes[1].job(h); !ok || s.State() == job.Done {
		t.Error("the other server was done before it was stopped")
	}
	opened := int64(0)
	for _, o := range r.Openings {
		if o.Kind == gfml.KindDiffusion {
			opened += o.Count
		}
	}
	if most := int64(80 * 20); opened < most-5*20 || opened > most {
		t.Errorf("%d numbers of its neighbourhood opened, want about %d: sums go on with those who are left", opened, most)
	}
}

// gfmlOnFour is a job of four servers that are all neighbours, two by two in a cluster.
const gfmlOnFour = "columns = [\"u\", \"v\"]\nlabel = \"y\"\nseed = \"s\"\nfeatures = 20\niterations = " +
	"12\nparticipants = 3\n" +
	"edges = [[\"bank\", \"insurer\"], [\"insurer\", \"telco\"], [\"telco\", \"retailer\"], [\"bank\", \"retailer\"], " +
	"[\"bank\", \"telco\"], [\"insurer\", \"retailer\"]]\n" +
	"clusters = [[\"bank\", \"insurer\"], [\"telco\", \"retailer\"]]\n"

// TestAServerThatRestartsComesBackIntoTheSums: it goes on some iterations ahead of the others, whose sums it passes
// over, with the keys in them that they send once. The others do not wait for it meanwhile.
func TestAServerThatRestartsComesBackIntoTheSums(t *testing.T) { restartsAServer(t, "masked") }

// restartsAServer stops and starts one of four servers in the middle of a job.
func restartsAServer(t *testing.T, aggregation string) {
	t.Helper()
	l := newTestNetwork(t, 16, 0)
	l.streams(4, 400)
	mid := make(chan struct{})
	reached := sync.OnceFunc(func() { close(mid) })
	l.watch(1, func(e jobs.Event) {
		if e.Kind == jobs.EventProgress && e.Done >= 12 {
			reached()
		}
	})
	l.startAll()
	var moving sync.WaitGroup
	moving.Go(func() {
		<-mid
		l.stops[1]()
		l.start(1)
	})
	parameters := strings.Replace(gfmlOnFour, "iterations = 12", "iterations = 60", 1)
	head := fmt.Sprintf("privacy = \"masked\"\naggregation = %q", aggregation)
	r, _, err := l.propose(l.servedJob("gfml", 4, head, parameters))
	moving.Wait()
	must(t, err)
	if r.Online.Rounds != 60 || r.Sessions < 2 {
		t.Errorf("%d rounds in %d sessions, want 60 in two or more", r.Online.Rounds, r.Sessions)
	}
}
