package node

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// networks gives the first party a folder of small networks of two inputs.
func (l *league) networks(count int) {
	l.t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	dir := l.tablePath(0, "train")
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		l.t.Fatal(err)
	}
	for k := range count {
		layers := []nn.Layer{{Kind: nn.Dense, Units: 3 + k%2, Activation: nn.ReLU}, {Kind: nn.Dense, Units: 1, Activation: nn.Linear}}
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
	for _, head := range []string{"privacy = \"masked\"", "privacy = \"published\"", "privacy = \"masked\"\naggregation = \"he\""} {
		t.Run(head, func(t *testing.T) {
			l := newLeague(t, 6, 0)
			l.streams(1, 60)
			l.networks(4)
			l.startAll()
			r, h, err := l.propose(l.servedJob("ofmsft", 1, head, smallOFMSFT))
			if err != nil {
				t.Fatal(err)
			}
			if r.Online == nil || r.Online.Rounds != 30 || r.Online.Clients != 5 {
				t.Errorf("report %+v", r.Online)
			}
			l.wantPredictions(t, h.String(), 1, 30)
		})
	}
}
