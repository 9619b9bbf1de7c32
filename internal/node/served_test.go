package node

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
)

// streams gives every party but the servers, the first ones, a stream of rows: y is a smooth function
// of two inputs.
func (l *testNetwork) streams(servers, rows int) {
	l.t.Helper()
	for i := servers; i < len(l.names); i++ {
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		var b strings.Builder
		b.WriteString("u,v,y\n")
		for range rows {
			u, v := rng.Float64(), rng.Float64()
			fmt.Fprintf(&b, "%.6f,%.6f,%.6f\n", u, v, 0.5+0.4*math.Sin(3*u+v)+0.02*rng.NormFloat64())
		}
		l.writeTable(i, "train", b.String())
	}
}

// servedJob renders a job over clients whose servers are the first parties.
func (l *testNetwork) servedJob(algorithm string, servers int, head, parameters string) []byte {
	quoted := func(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }
	return fmt.Appendf(nil, "format = \"hanse-job-v1\"\nname = \"online\"\nalgorithm = %q\ntask = \"train\"\nparties = "+
		"[%s]\nservers = [%s]\n%s\n[parameters]\n%s\n",
		algorithm, quoted(l.names), quoted(l.names[:servers]), head, parameters)
}

const smallPOFMKL = "label = \"y\"\nseed = \"s\"\nrounds = 40\nfeatures = 10\nbandwidths = [0.1, 1.0, 10.0]\nstep = " +
	"0.3\nweight_step = 0.3"

func TestPOFMKLInEveryMode(t *testing.T) {
	for i, head := range []string{"privacy = \"masked\"", "privacy = \"published\"",
		"privacy = \"masked\"\naggregation = \"he\"", "privacy = \"masked\"\ntopology = \"tree\""} {
		if !drawn.Today(t, i, 2) {
			continue
		}
		if !drawn.Today(t, i, 2) {
			continue
		}
		t.Run(head, func(t *testing.T) {
			l := newTestNetwork(t, 5, 0)
			l.streams(1, 60)
			l.startAll()
			r, h, err := l.propose(l.servedJob("pofmkl", 1, head, smallPOFMKL))
			must(t, err)
			if r.Online == nil || r.Online.Rounds != 40 || r.Online.Clients != 4 {
				t.Errorf("report %+v", r.Online)
			}
			l.wantPredictions(t, h.String(), 1, 40)
		})
	}
}

const gfmlOnTwo = "columns = [\"u\", \"v\"]\nlabel = \"y\"\nseed = \"s\"\nfeatures = 20\niterations = " +
	"30\nparticipants = 2\nedges = [[\"bank\", \"insurer\"]]\nclusters = [[\"bank\", \"insurer\"]]"

func TestGFMLOnTwoServers(t *testing.T) {
	l := newTestNetwork(t, 6, 0)
	l.streams(2, 60)
	l.startAll()
	r, h, err := l.propose(l.servedJob("gfml", 2, "privacy = \"published\"", gfmlOnTwo))
	must(t, err)
	if r.Online == nil || r.Online.Rounds != 30 {
		t.Errorf("report %+v", r.Online)
	}
	l.wantPredictions(t, h.String(), 2, 30)
}

// TestTheLossOfAServerLeavesItsNeighbourRunning to the job's end, with its own clients.
func TestTheLossOfAServerLeavesItsNeighbourRunning(t *testing.T) {
	l := newTestNetwork(t, 6, 0)
	l.streams(2, 600)
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
	r, h, err := l.propose(l.servedJob("gfml", 2, "privacy = \"published\"",
		strings.Replace(gfmlOnTwo, "iterations = 30", "iterations = 500", 1)))
	stopping.Wait()
	must(t, err)
	if r.Online.Rounds != 500 || r.Online.Clients != 2 {
		t.Errorf("report %+v, want 500 rounds and both clients in the last total", r.Online)
	}
	if s, ok := l.nodes[1].job(h); !ok || s.State() == job.Done {
		t.Error("the other server was done before it was stopped")
	}
}

// TestAClientMayLeaveAndReturn stops a client in the middle of a job, and starts it again when the server
// has gone on without it: it ends with every row predicted once.
func TestAClientMayLeaveAndReturn(t *testing.T) {
	for i, c := range []struct {
		algorithm, parameters string
		rounds                int
	}{
		{"pofmkl", strings.Replace(smallPOFMKL, "rounds = 40", "rounds = 1000", 1), 1000},
		{"pofmkl", strings.Replace(smallPOFMKL, "rounds = 40", "rounds = 1000\ncommon_bin = true", 1), 1000},
		{"ofmsft", strings.Replace(smallOFMSFT, "rounds = 30", "rounds = 300", 1), 300},
	} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		t.Run(c.algorithm, func(t *testing.T) {
			l := newTestNetwork(t, 6, 0)
			l.streams(1, 1200)
			if c.algorithm == "ofmsft" {
				l.networks(4)
			}
			l.leaveAndReturn(l.servedJob(c.algorithm, 1, "privacy = \"masked\"", c.parameters), c.rounds)
		})
	}
}

// leaveAndReturn has a client leave a job of so many rounds and return to it.
func (l *testNetwork) leaveAndReturn(job []byte, rounds int) {
	l.t.Helper()
	const leaver = 3
	leave, back := make(chan struct{}), make(chan struct{})
	left, returned := sync.OnceFunc(func() { close(leave) }), sync.OnceFunc(func() { close(back) })
	l.watch(0, func(e jobs.Event) {
		if e.Kind == jobs.EventProgress && e.Done >= 20 {
			left()
		}
		if e.Kind == jobs.EventWaiting && strings.Contains(e.Text, "goes on without "+l.names[leaver]) {
			returned()
		}
	})
	l.startAll()
	var moving sync.WaitGroup
	moving.Go(func() {
		<-leave
		l.stops[leaver]()
		<-back
		l.start(leaver)
	})
	r, h, err := l.propose(job)
	moving.Wait()
	if err != nil {
		l.t.Fatal(err)
	}
	if r.Sessions < 2 || r.Online.Rounds != rounds {
		l.t.Errorf("%d sessions and %d rounds, want a second session and %d", r.Sessions, r.Online.Rounds, rounds)
	}
	text, err := os.ReadFile(l.dirs[leaver] + "/node/jobs/" + h.String() + "/" + "predictions.csv")
	if err != nil {
		l.t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		if !strings.HasPrefix(line, fmt.Sprintf("%d,", i+1)) {
			l.t.Fatalf("line %d of the predictions is %q: want every row once", i+2, line)
		}
	}
}

// wantPredictions checks that every client has one prediction for each of its first rows.
func (l *testNetwork) wantPredictions(t *testing.T, job string, servers, rows int) {
	t.Helper()
	for i := servers; i < len(l.names); i++ {
		text, err := os.ReadFile(l.dirs[i] + "/node/jobs/" + job + "/" + "predictions.csv")
		must(t, err)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) != rows+1 || !strings.HasPrefix(lines[rows], fmt.Sprintf("%d,", rows)) {
			t.Errorf("%s has %d lines of predictions, the last %q, want %d", l.names[i], len(lines), lines[len(lines)-1], rows+1)
		}
	}
}

func TestJobsOverClientsAreRefusedWithAReason(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 5)
	l.writeTable(3, "train", "u,v,w,y\n1,2,3,0.5\n")
	l.startAll()
	for _, c := range []struct{ job, want string }{
		{string(l.servedJob("pofmkl", 1, "", smallPOFMKL)), "retailer has 3 input columns, insurer has 2: all clients' " +
			"streams need the same"},
		{string(l.servedJob("pofmkl", 2, "", smallPOFMKL)), `servers has 2 names, want the one party that holds the model`},
		{string(l.servedJob("fdskl", 1, "", smallPOFMKL)), "fdskl has no servers"},
		{string(l.servedJob("svm", 1, "", smallPOFMKL)), `algorithm is "svm", this version runs "fdskl", "gfml", "glm", "ofmsft", "pofmkl" and "psi"`},
		{string(l.servedJob("pofmkl", 1, "", strings.Replace(smallPOFMKL, `"y"`, `"z"`, 1))),
			`there is no column "z" for the label`},
	} {
		_, _, err := l.propose([]byte(c.job))
		if err == nil {
			t.Fatalf("it was taken, want %q", c.want)
		}
		full := err.Error()
		for i, name := range l.names[1:] { // all are asked at the same time
			if strings.HasPrefix(full, name+": ") {
				full = l.underReference(1+i, err)
			}
		}
		if !strings.Contains(full, c.want) {
			t.Errorf("error %v, want %q in it", full, c.want)
		}
	}
}

// TestCommonBinsEqualOneProcess: with a common bin nothing in a job is drawn in secret, so that its predictions are
// those of one process, in which every client has its own step of the weights too.
func TestCommonBinsEqualOneProcess(t *testing.T) {
	const parameters = "label = \"y\"\nseed = \"s\"\nrounds = 40\nfeatures = 10\nbandwidths = [0.1, 0.3, 1.0, 3.0, " +
		"10.0]\nchosen = 2\ncommon_bin = true\n" +
		"rounds_per_upload = 3\nstep = 0.05\nweight_step = 0.3\nweight_steps = { telco = 2.0 }"
	for i, head := range []string{"privacy = \"masked\"", "privacy = \"published\"",
		"privacy = \"masked\"\naggregation = \"he\"", "privacy = \"masked\"\ntopology = \"tree\""} {
		if !drawn.Today(t, i, 2) {
			continue
		}
		t.Run(head, func(t *testing.T) {
			l := newTestNetwork(t, 5, 0)
			l.streams(1, 60)
			l.startAll()
			_, h, err := l.propose(l.servedJob("pofmkl", 1, head, parameters))
			must(t, err)
			s, _ := l.nodes[0].job(h)
			params, err := pofmkl.ParamsOf(withServer(s.Contract().Job), s.Contract().Job.Parties)
			must(t, err)
			params.WeightSteps = map[string]float64{"2": params.WeightStepOf("telco")} // where clients have numbers
			d, err := pofmkl.NewDictionary(params, []string{"x1", "x2"})
			must(t, err)
			f, err := pofmkl.NewFederation(d, 4, [32]byte{})
			must(t, err)
			for round := range 40 {
				var rows [][]float64
				var labels []float64
				want := make([]float64, 4)
				for i := 1; i < 5; i++ {
					row := l.numbers(i, "train.csv")[round]
					rows, labels = append(rows, row[:2]), append(labels, row[2])
				}
				must(t, f.Round(rows, labels, want))
				for i := 1; i < 5; i++ {
					got := l.numbers(i, "node/jobs/"+h.String()+"/"+"predictions.csv")[round]
					if got[0] != float64(round+1) || math.Abs(got[1]-want[i-1]) > 1e-9 {
						t.Fatalf("%s, round %d: the prediction is %v, want %v", l.names[i], round+1, got, want[i-1])
					}
				}
			}
		})
	}
}

// withServer returns a job's parameters with its one server, which its text does not repeat.
func withServer(job *contract.Job) map[string]any {
	all := maps.Clone(job.Parameters)
	all["server"] = job.Servers[0]
	return all
}

// numbers reads a table of a party without its first line.
func (l *testNetwork) numbers(i int, name string) (rows [][]float64) {
	l.t.Helper()
	text, err := os.ReadFile(l.dirs[i] + "/" + name)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		var row []float64
		for _, cell := range strings.Split(line, ",") {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				l.t.Fatal(err)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}
