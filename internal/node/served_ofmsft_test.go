package node

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

// networks gives the first party a folder of small networks of two inputs.
func (l *testNetwork) networks(count int) {
	l.t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	dir := l.tablePath(0, "train")
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		l.t.Fatal(err)
	}
	for k := range count {
		layers := []nn.Layer{{Kind: nn.Dense, Units: 3 + k%2, Activation: nn.ReLU},
			{Kind: nn.Dense, Units: 1, Activation: nn.Linear}}
		n, err := nn.New([]int{2}, layers, rng)
		if err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("m%d.safetensors", k+1)), n.Bytes(), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

const smallOFMSFT = "label = \"y\"\nbudget = 2\nrounds = 30\nstep = 0.05\nlabel_high = 2"

func TestOFMSFTInEveryMode(t *testing.T) {
	for i, c := range []struct {
		head   string
		rounds int
	}{
		{"privacy = \"masked\"", 30}, {"privacy = \"published\"", 30}, {"privacy = \"masked\"\naggregation = \"he\"", 6},
	} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		head, rounds := c.head, c.rounds
		t.Run(head, func(t *testing.T) {
			l := newTestNetwork(t, 6, 0)
			l.streams(1, 60)
			l.networks(4)
			l.startAll()
			parameters := strings.Replace(smallOFMSFT, "rounds = 30", fmt.Sprintf("rounds = %d", rounds), 1)
			r, h, err := l.propose(l.servedJob("ofmsft", 1, head, parameters))
			must(t, err)
			if r.Online == nil || r.Online.Rounds != rounds || r.Online.Clients != 5 {
				t.Errorf("report %+v", r.Online)
			}
			l.wantPredictions(t, h.String(), 1, rounds)
		})
	}
}

// TestOFMSFTWithoutFineTuning has no sums at all.
func TestOFMSFTWithoutFineTuning(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 60)
	l.networks(4)
	l.startAll()
	r, h, err := l.propose(l.servedJob("ofmsft", 1, "privacy = \"masked\"", smallOFMSFT+"\nupdate = \"none\""))
	must(t, err)
	if r.Online.Rounds != 30 {
		t.Errorf("report %+v", r.Online)
	}
	l.wantPredictions(t, h.String(), 1, 30)
}

func TestOFMSFTRefusesWhatDoesNotFit(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 10)
	l.networks(4)
	l.startAll()
	job := func(parameters string) string { return string(l.servedJob("ofmsft", 1, "", parameters)) }
	for _, c := range []struct{ job, want string }{
		{job(strings.Replace(smallOFMSFT, "budget = 2", "budget = 1.5", 1)), `budget is 1.5, want at least 2`},
		{job(smallOFMSFT + "\nbandwidth = 0.5"), "bandwidth is 0.5, want at least"},
		{job(smallOFMSFT + "\nmodels = [{name = \"m9\"}]"), `table "train" has no network "m9"; it has m1, m2, m3, m4`},
		{job(smallOFMSFT + "\nmodels = \"m1\""), "want a list of tables"},
	} {
		if _, _, err := l.propose([]byte(c.job)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	for i := 1; i < len(l.names); i++ {
		l.writeTable(i, "train", "u,v,w,y\n1,2,3,0.5\n")
	}
	if _, _, err := l.propose([]byte(job(smallOFMSFT))); err == nil ||
		!strings.Contains(err.Error(), "insurer has 3 input columns, the models have 2 inputs") {
		t.Errorf("error %v, want the client and both numbers", err)
	}
	damaged := filepath.Join(l.tablePath(0, "train"), "m3.safetensors")
	must(t, os.WriteFile(damaged, []byte("no network"), 0o600))
	if _, _, err := l.propose([]byte(job(smallOFMSFT))); err == nil || !strings.Contains(err.Error(), "m3.safetensors: ") {
		t.Errorf("error %v, want the file's name", err)
	}
}
