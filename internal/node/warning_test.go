package node

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/protocol/contract"
)

// warned collects, by party, the warnings that came before any progress of it, and counts those after.
type warned struct {
	mu     sync.Mutex
	before map[string][]string
	moving map[string]bool
	after  int
}

// listen has a test network's parties tell it.
func (w *warned) listen(l *testNetwork) {
	w.before, w.moving = make(map[string][]string), make(map[string]bool)
	for i, name := range l.names {
		l.watch(i, func(e jobs.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case e.Kind == jobs.EventProgress:
				w.moving[name] = true
			case e.Kind == jobs.EventWarning && w.moving[name]:
				w.after++
			case e.Kind == jobs.EventWarning:
				w.before[name] = append(w.before[name], e.Text)
			}
		})
	}
}

// gfmlOn renders the parameters of a GFML job of one server, bank.
func gfmlOn(step float64) string {
	return fmt.Sprintf("columns = [\"u\", \"v\"]\nlabel = \"y\"\nseed = \"s\"\nfeatures = 200\niterations = "+
		"10\nparticipants = 3\nclusters = [[\"bank\"]]\nedges = []\nstep = %v", step)
}

// TestALearningRateIsWarnedOfBeforeTheFirstRound to every party by public numbers, and to clients by
// their rows on file.
func TestALearningRateIsWarnedOfBeforeTheFirstRound(t *testing.T) {
	public := "step is 2.2, want a learning rate below 2: E|z|^2 (mean square) is about 1, whatever the rows are"
	for step, want := range map[float64][]string{0.5: nil, 2.2: {public}} {
		l, w := newTestNetwork(t, 4, 0), &warned{}
		w.listen(l)
		l.streams(1, 90)
		l.startAll()
		text := l.servedJob("gfml", 1, "privacy = \"masked\"", gfmlOn(step))
		if _, _, err := l.propose(text); err != nil {
			t.Fatal(err)
		}
		for i, name := range l.names {
			got := w.before[name]
			if i > 0 && want != nil {
				last := got[len(got)-1]
				if !strings.HasPrefix(last, fmt.Sprintf("client %q of server \"bank\": step is 2.2, want a learning rate below ",
					name)) || !strings.HasSuffix(last, "by 90 rows on file") {
					t.Errorf("%s: the warning by rows on file is %q", name, last)
				}
				got = got[:1]
			}
			if !slices.Equal(got, want) {
				t.Errorf("step %v: %s is warned %q, want %q", step, name, got, want)
			}
		}
		if w.after > 0 {
			t.Errorf("step %v: %d warnings after the start", step, w.after)
		}
	}
}

// TestAStepBeyondTheoremFourIsWarnedOf at every party of a job over features, before it begins, and in what a person
// reads before consent; the program's own schedule has no step.
func TestAStepBeyondTheoremFourIsWarnedOf(t *testing.T) {
	const schedule = "schedule = \"doubly-stochastic\"\niterations = 3\nbatch = 8\nblock_features = 2\nsigma = " +
		"1.0\nlambda = 0.1\n"
	beyond := `step is 0.5, FDSKL's Theorem 4 wants one below 0.00429: with lambda 0.1 it does not promise scores right to within 1; compare with another step, or with schedule = "fixed"`
	for parameters, want := range map[string][]string{
		schedule + "step = 0.5":   {beyond},
		schedule + "step = 0.004": nil,
		"features = 8":            nil,
	} {
		l, w := newTestNetwork(t, 3, 60), &warned{}
		w.listen(l)
		l.startAll()
		text := l.job("train", "privacy = \"masked\"", activeBank+parameters)
		contract, err := l.nodes[0].Prepare(t.Context(), text, nil)
		must(t, err)
		says := summary.Of(contract, l.names[1], summary.Known{}).String()
		if got := strings.Contains(says, "Theorem 4"); got != (want != nil) {
			t.Errorf("%s: the summary warns: %v", parameters, got)
		}
		if _, _, err := l.propose(text); err != nil {
			t.Fatal(err)
		}
		for _, name := range l.names {
			if !slices.Equal(w.before[name], want) {
				t.Errorf("%s: %s is warned %q, want %q", parameters, name, w.before[name], want)
			}
		}
		if w.after > 0 {
			t.Errorf("%s: %d warnings after the start", parameters, w.after)
		}
	}
}

func TestAPOFMKLStepIsWarnedOf(t *testing.T) {
	want := "step is 0.8, want one below 0.667: with 3 bins, explore 1, 4 clients and rounds_per_upload 1 the error of " +
		"wide kernels grows from round to round"
	l, w := newTestNetwork(t, 5, 0), &warned{}
	w.listen(l)
	l.streams(1, 60)
	l.startAll()
	parameters := strings.Replace(smallPOFMKL, "step = 0.3", "step = 0.8", 1)
	if _, _, err := l.propose(l.servedJob("pofmkl", 1, "", parameters)); err != nil {
		t.Fatal(err)
	}
	for _, name := range l.names {
		if !slices.Equal(w.before[name], []string{want}) {
			t.Errorf("%s is warned %q, want %q", name, w.before[name], want)
		}
	}
	if w.after > 0 {
		t.Errorf("%d warnings after the start", w.after)
	}
}

// TestWarningsOfContracts are of public numbers, and of no contract there are none.
func TestWarningsOfContracts(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 5)
	l.startAll()
	for _, c := range []struct {
		algorithm, parameters string
		want                  int
	}{
		{"pofmkl", smallPOFMKL, 0}, {"pofmkl", smallPOFMKL + "\nlambda = 2.0", 1}, {"gfml", gfmlOn(1.9), 0}, {"gfml",
			gfmlOn(2), 1},
	} {
		contract, err := l.nodes[0].Prepare(t.Context(), l.servedJob(c.algorithm, 1, "", c.parameters), nil)
		must(t, err)
		if got := summary.Warnings(contract, registry.Program()); len(got) != c.want {
			t.Errorf("%s with %s: %q, want %d", c.algorithm, c.parameters, got, c.want)
		}
	}
	for _, algorithm := range []string{"fdskl", "gfml", "pofmkl"} {
		c := &contract.Contract{Job: &contract.Job{Algorithm: algorithm}}
		if got := summary.Warnings(c, registry.Program()); got != nil {
			t.Errorf("an empty job of %s: %q", algorithm, got)
		}
	}
}
