package node

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// written is what an exported model predicts, by the formulas of docs/model-format.md and nothing else; networks are
// read from the files' bytes.
func written(t *testing.T, m *portable.Model, x []float64) float64 {
	t.Helper()
	sum := 0.0
	if k := m.Kernels; k != nil {
		for i, one := range k.List {
			for j := range k.Count {
				angle := 0.0
				for c, v := range x {
					angle += k.Frequencies[(i*k.Count+j)*len(x)+c] * v / m.Inputs.DivideBy
				}
				switch k.Features {
				case portable.SinCos:
					theta := k.Theta[2*k.Count*i:]
					sum += *one.Weight / math.Sqrt(float64(k.Count)) * (theta[j]*math.Sin(angle) + theta[k.Count+j]*math.Cos(angle))
				case portable.Cos:
					sum += *one.Weight * math.Sqrt(2/float64(k.Count)) * k.Theta[k.Count*i+j] * math.Cos(angle+k.Phases[k.Count*i+j])
				}
			}
		}
	}
	for _, n := range m.Networks {
		if n.Weight == nil {
			continue
		}
		network, err := nn.Parse(n.Content)
		must(t, err)
		single := make([]float32, len(x))
		for i, v := range x {
			single[i] = float32(v / m.Inputs.DivideBy)
		}
		sum += *n.Weight * float64(network.NewWorkspace().Predict(single, 1)[0])
	}
	return m.Label.Low + sum*(m.Label.High-m.Label.Low)
}

// servedKinds are small jobs over clients, one of each kind, and how many servers they have.
var servedKinds = map[string]struct {
	servers    int
	parameters string
}{
	"pofmkl": {1, smallPOFMKL},
	"gfml":   {2, gfmlOnTwo},
	"ofmsft": {1, smallOFMSFT},
}

// ownTestNetwork returns a federation in which a small job over clients is done, and starts its nodes.
func ownTestNetwork(t *testing.T, algorithm string) (*testNetwork, keys.Hash) {
	t.Helper()
	l, h := finishedNetwork(t, algorithm, func(t testing.TB) (*testNetwork, keys.Hash) {
		kind := servedKinds[algorithm]
		l := newTestNetwork(t, 6, 0)
		l.streams(kind.servers, 60)
		if algorithm == "ofmsft" {
			l.networks(4)
		}
		l.startAll()
		_, h, err := l.propose(l.servedJob(algorithm, kind.servers, "privacy = \"published\"", kind.parameters))
		must(t, err)
		return l, h
	})
	l.startAll()
	return l, h
}

// folder returns a party's folder of jobs' node.
func (l *testNetwork) folder(i int) string { return filepath.Join(l.dirs[i], "node") }

// ownJob returns what a party's folder says of a job.
func (l *testNetwork) ownJob(i int, h keys.Hash) *JobInfo {
	l.t.Helper()
	all, err := ReadJobs(l.folder(i))
	if err != nil {
		l.t.Fatal(err)
	}
	for k := range all {
		if all[k].Contract == h.String() {
			return &all[k]
		}
	}
	l.t.Fatalf("%s has no job %s", l.names[i], h.Short())
	return nil
}

// TestClientsPredictAloneAfterEveryKindOfJob: every party's model is in its folder when the job is done, while its node
// runs and after it was stopped. A client's predicts what its exported numbers say.
func TestClientsPredictAloneAfterEveryKindOfJob(t *testing.T) {
	for algorithm, kind := range servedKinds {
		t.Run(algorithm, func(t *testing.T) {
			l, h := ownTestNetwork(t, algorithm)
			rng := rand.New(rand.NewPCG(5, 6))
			for i := range l.names {
				s, _ := l.nodes[i].job(h)
				<-s.Final()
				m, err := ReadOwnModel(registry.Program(), l.folder(i), l.ownJob(i, h))
				if err != nil {
					t.Fatalf("%s: %v", l.names[i], err)
				}
				p := m.Portable()
				if m.Server != (i < kind.servers) || m.Round() != p.Rounds || m.Party != l.names[i] || p.Contract != h.String() {
					t.Errorf("%s: server %t, round %d of %d, of %s in %s", l.names[i], m.Server, m.Round(), p.Rounds, m.Party,
						p.Contract)
				}
				if m.Server {
					if p.Private != "" || p.Role != portable.RoleServer {
						t.Errorf("%s exports as a %s: %s", l.names[i], p.Role, p.Private)
					}
					continue
				}
				if seen := strings.Contains(p.Private, "its server saw"); seen != (algorithm == "gfml") {
					t.Errorf("%s of a published %s: %q", l.names[i], algorithm, p.Private) // who uploads the model itself shows it
				}
				if got := strings.Join(m.Columns(), " "); got != "u v" || !strings.Contains(p.Private, l.names[i]) {
					t.Errorf("%s: columns %q, private %q", l.names[i], got, p.Private)
				}
				for row := range 5 {
					x := []float64{rng.Float64(), rng.Float64()}
					got, err := m.Predict(row+1, x)
					must(t, err)
					if want := written(t, p, x); math.Abs(got.Value-want) > 1e-12 || got.Value == 0 {
						t.Errorf("%s: the prediction of %v is %v, want %v", l.names[i], x, got.Value, want)
					}
				}
			}
			last := len(l.names) - 1
			before, err := ReadOwnModel(registry.Program(), l.folder(last), l.ownJob(last, h))
			must(t, err)
			x := []float64{0.25, 0.75}
			want, err := before.Predict(1, x)
			must(t, err)
			l.stops[last]()
			l.start(last)
			if info := l.ownJob(last, h); info.State != job.Done || info.Algorithm != algorithm || info.Self != l.names[last] {
				t.Errorf("after a restart the folder says %+v", info)
			}
			after, err := ReadOwnModel(registry.Program(), l.folder(last), l.ownJob(last, h))
			must(t, err)
			if got, err := after.Predict(1, x); err != nil || got.Value != want.Value {
				t.Errorf("after a restart the prediction is %v (%v), want %v", got.Value, err, want.Value)
			}
		})
	}
}

// TestADamagedModelIsNamed, whatever became of its file; nothing is predicted with it.
func TestADamagedModelIsNamed(t *testing.T) {
	l, h := ownTestNetwork(t, "pofmkl")
	info := l.ownJob(1, h)
	path := filepath.Join(l.folder(1), jobsDir, h.String(), federated.ModelSlot)
	whole, err := os.ReadFile(path)
	must(t, err)
	server, err := os.ReadFile(filepath.Join(l.folder(0), jobsDir, h.String(), federated.ModelSlot))
	must(t, err)
	for what, c := range map[string]struct {
		file []byte // nil: removed
		want string
	}{
		"gone":         {nil, `job "online" left no model at this node`},
		"cut short":    {whole[:100], "is damaged: it "},
		"the server's": {server, "state: weights has 0 numbers, want 3"},
		"of another":   {vault.Envelope(keys.Hash{1}, federated.ModelSlot, []byte("x")), "it belongs to contract"},
		"something": {vault.Envelope(h, federated.ModelSlot, []byte("something of another program's, and longer")),
			"its checksum is not the one of its bytes"},
		"of other kind": {vault.Envelope(h, "server", whole), `it is a "server", want a "model"`},
	} {
		t.Run(what, func(t *testing.T) {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if c.file != nil {
				must(t, os.WriteFile(path, c.file, 0o600))
			}
			_, err := ReadOwnModel(registry.Program(), l.folder(1), info)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	must(t, os.WriteFile(path, whole, 0o600))
	for at := 0; at < len(whole); at += len(whole) / 40 {
		must(t, flipBit(path, int64(at)))
		_, err := ReadOwnModel(registry.Program(), l.folder(1), info)
		if err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("bit %d flipped: error %v", 8*at, err)
		}
		must(t, flipBit(path, int64(at)))
	}
}

// TestOnlyJobsThatAreDoneHaveAModel: the folder of one that was cancelled has the model of its first rounds, and no
// command gives it out.
func TestOnlyJobsThatAreDoneHaveAModel(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 2000)
	under := make(chan string, 1)
	l.watch(0, func(e jobs.Event) {
		if e.Kind == jobs.EventProgress && e.Done >= 200 {
			select {
			case under <- e.Job:
			default:
			}
		}
	})
	l.startAll()
	ended := make(chan struct{})
	var cancelling sync.WaitGroup
	cancelling.Go(func() {
		var h keys.Hash
		select {
		case j := <-under:
			if err := h.UnmarshalText([]byte(j)); err != nil {
				t.Error(err)
			}
		case <-ended:
			return
		}
		for i := range l.names {
			want := fmt.Sprintf(`job "online" is running, not done: hanse result online --wait --dir %s waits for it`,
				l.folder(i))
			if _, err := ReadOwnModel(registry.Program(), l.folder(i), l.ownJob(i, h)); err == nil || err.Error() != want {
				t.Errorf("%s: error %v, want %q", l.names[i], err, want)
			}
		}
		if err := l.nodes[0].Cancel(h, "enough"); err != nil {
			t.Error(err)
		}
	})
	rounds := strings.Replace(smallPOFMKL, "rounds = 40", "rounds = 1600", 1)
	_, h, err := l.propose(l.servedJob("pofmkl", 1, "privacy = \"published\"", rounds))
	close(ended)
	cancelling.Wait()
	if err == nil {
		t.Fatal("the job was done before it could be cancelled")
	}
	for i := range l.names {
		s, _ := l.nodes[i].job(h)
		<-s.Final()
		info := l.ownJob(i, h)
		if info.State != job.State(contract.OutcomeCancelled) {
			t.Fatalf("%s has the job as %s", l.names[i], info.State)
		}
		if _, err := ReadOwnModel(registry.Program(), l.folder(i), info); err == nil ||
			!strings.Contains(err.Error(), `job "online" is cancelled`) ||
			!strings.Contains(err.Error(), "enough: no model came of it") {
			t.Errorf("%s: error %v", l.names[i], err)
		}
	}
	if _, err := os.Stat(filepath.Join(l.folder(1), jobsDir, h.String(), federated.ModelSlot)); err != nil {
		t.Errorf("the test shows nothing: no model was kept in %v", err)
	}
}

// TestAFolderIsReadAndNothingMore: a command that finds no node running changes nothing in its folder.
func TestAFolderIsReadAndNothingMore(t *testing.T) {
	l, h := ownTestNetwork(t, "gfml")
	s, _ := l.nodes[3].job(h)
	<-s.Final()
	l.stops[3]()
	before := snapshotOf(t, l.folder(3))
	client, err := NewClient(l.folder(3))
	must(t, err)
	all, running, err := client.Trainings(t.Context())
	if err != nil || running || len(all) != 1 || all[0].State != job.Done {
		t.Fatalf("%+v, running %t, error %v", all, running, err)
	}
	if _, err := ReadOwnModel(registry.Program(), l.folder(3), &all[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := client.TablePath(t.Context(), "train"); !NoNode(err) {
		t.Errorf("error %v, want that no node runs", err)
	}
	if after := snapshotOf(t, l.folder(3)); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
	nobody := &Client{dir: t.TempDir(), http: client.http, patience: client.patience}
	if _, _, err := nobody.Trainings(t.Context()); !NoNode(err) {
		t.Errorf("a folder of nobody's: error %v, want that no node runs", err)
	}
}

// snapshotOf lists the files below a folder with their sizes and times.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	}))
	return b.String()
}
