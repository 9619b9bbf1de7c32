package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
)

// encryptedHead is the head of a job with encrypted sums of which everything is kept.
const encryptedHead = "aggregation = \"he\"\nrecord = \"full\"\n"

// TestEncryptedAndMaskedJobsEndInTheSameModel trains twice with the same phases: the sums are equal bit for
// bit, and so is every party's part of the model.
func TestEncryptedAndMaskedJobsEndInTheSameModel(t *testing.T) {
	for _, c := range []struct{ name, parameters string }{
		{"one active party", activeBank + "features = 96\niterations = 20\n"},
		{"two active parties", activeBoth + "features = 96\niterations = 8\n"},
		{"doubly stochastic", activeBank + "schedule = \"doubly-stochastic\"\niterations = 5\nbatch = 40\nblock_features " +
			"= 4\nsigma = 1.0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 3, 120)
			l.bothHaveLabels()
			l.startAll()
			_, masked, err := l.propose(l.job("train", "", c.parameters))
			must(t, err)
			encrypted := l.trainWithPhasesOf(masked, l.job("train", encryptedHead, c.parameters))
			for i := range l.names {
				if a, b := l.modelText(i, masked), l.modelText(i, encrypted); a != b {
					t.Errorf("%s: the model parts differ:\n%s\n%s", l.names[i], a, b)
				}
			}
			mustVerify(t, l.audit(encrypted), audit.Disclosed)
		})
	}
}

// activeBoth lets two parties hold labels.
const activeBoth = "active = [\"bank\", \"insurer\"]\nlabel = \"y\"\nseed = \"s\"\n"

// bothHaveLabels gives the second party the first one's labels of the training rows.
func (l *testNetwork) bothHaveLabels() {
	l.t.Helper()
	var tables [2][]string
	for i := range tables {
		text, err := os.ReadFile(l.tablePath(i, "train"))
		if err != nil {
			l.t.Fatal(err)
		}
		tables[i] = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	first, second := tables[0], tables[1]
	for i, line := range first {
		second[i] += line[strings.LastIndex(line, ","):]
	}
	l.writeTable(1, "train", strings.Join(second, "\n")+"\n")
}

// trainWithPhasesOf runs a training in which every party has the phases of an earlier one.
func (l *testNetwork) trainWithPhasesOf(earlier keys.Hash, text []byte) keys.Hash {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 3*time.Minute)
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, text, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	give := func(i int) {
		from, _ := l.nodes[i].job(earlier)
		to, _ := l.nodes[i].job(c.Hash())
		phase, err := from.vault.Load("phase")
		if err := errors.Join(err, to.vault.Save("phase", phase)); err != nil {
			l.t.Error(err)
		}
	}
	give(0)
	for i := 1; i < len(l.names); i++ {
		l.watch(i, func(e jobs.Event) {
			if e.Kind == jobs.EventSummary && e.Job == c.Hash().String() {
				give(i)
			}
		})
	}
	if _, err := l.nodes[0].Launch(ctx, c.Hash(), nil); err != nil {
		l.t.Fatal(err)
	}
	return c.Hash()
}

// modelText renders a party's part of a model but for the contract that it comes from.
func (l *testNetwork) modelText(i int, h keys.Hash) string {
	l.t.Helper()
	l.awaitDone(l.t.Context(), h)
	part, err := l.nodes[i].columns.Model(h.String())
	if err != nil {
		l.t.Fatal(err)
	}
	m := fdskl.Of(part)
	m.Contract = keys.Hash{}
	for _, x := range []*float64{&m.Objective, &m.TrainError} {
		if math.IsNaN(*x) { // which a passive party has, and JSON does not
			*x = 0
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

func TestEncryptedPredictionsScoreAndServe(t *testing.T) {
	t.Parallel()
	l := newTestNetwork(t, 3, 100)
	l.startAll()
	_, model, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64"))
	must(t, err)
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"insurer\"\n", model)
	masked, _, err := l.propose(l.job("predict", strings.ReplaceAll(head, "insurer", "bank"), ""))
	must(t, err)
	want := scoresByID(t, masked.Scores)
	for id, line := range want { // the label holder alone has probabilities
		want[id] = strings.Join(strings.Split(line, ",")[:3], ",")
	}
	_, scored, err := l.propose(l.job("predict", encryptedHead+head, ""))
	must(t, err)
	for id, line := range scoresByID(t, l.jobFile(1, scored, "scores.csv")) {
		if !sameScore(line, want[id]) {
			t.Errorf("encrypted sums score %q, masked ones %q", line, want[id])
		}
	}
	mustVerify(t, l.audit(scored), audit.Disclosed)
	l.serveEncrypted(head, want)
}

// sameScore reports whether two lines of scores are those of one row, but for the last digit: who learns the
// scores adds its own part as it is, the others' as fixed-point numbers.
func sameScore(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	if len(x) != 3 || len(y) != 3 || x[0] != y[0] || x[2] != y[2] {
		return false
	}
	p, err := strconv.ParseFloat(x[1], 64)
	q, err2 := strconv.ParseFloat(y[1], 64)
	return err == nil && err2 == nil && math.Abs(p-q) <= 2e-8*max(1, math.Abs(p))
}

// serveEncrypted asks a serving prediction for two rows and audits it: each request is sums of its own.
func (l *testNetwork) serveEncrypted(head string, want map[string]string) {
	l.t.Helper()
	c, err := l.nodes[0].Prepare(l.t.Context(), l.job("predict", encryptedHead+head+"requests = 4", ""), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].Launch(l.t.Context(), c.Hash(), nil)
		served <- err
	}()
	for _, id := range []string{"r00007", "r00099", ""} {
		row, err := l.nodes[1].ScoreRow(l.t.Context(), c.Hash(), id)
		if err != nil || id != "" && !sameScore(strings.Join(row, ","), want[id]) {
			l.t.Errorf("%s: row is %v (%v), want %s", id, row, err, want[id])
		}
	}
	if err := <-served; err != nil {
		l.t.Fatal(err)
	}
	if r := l.audit(c.Hash()); r.Verdict != audit.Disclosed {
		l.t.Errorf("verdict is %s: %s", r.Verdict, r.Summary)
	}
}

// TestAKilledPartyOfAnEncryptedJobResumes: the second session has a key of its own.
func TestAKilledPartyOfAnEncryptedJobResumes(t *testing.T) {
	t.Parallel()
	l := newTestNetwork(t, 3, 150)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	contract, err := l.nodes[0].Prepare(ctx, l.job("train", encryptedHead,
		activeBank+"features = 1024\nsigma = 1.0\nloss = \"logistic\"\niterations = 5"), nil)
	must(t, err)
	l.launchAndKill(ctx, contract.Hash(), 2, 20)
	l.start(2)
	l.awaitDone(ctx, contract.Hash())
	if n := l.sessions(contract.Hash()); n < 2 {
		t.Fatalf("the job took %d session, want it broken off", n)
	}
	mustVerify(t, l.audit(contract.Hash()), audit.Disclosed)
}

func TestSummaryOfAnEncryptedJob(t *testing.T) {
	l := newTestNetwork(t, 4, 600)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(),
		l.job("train", "aggregation = \"he\"", activeBank+"features = 256\nsigma = 1.0"), nil)
	must(t, err)
	got := strings.Join(strings.Fields(summaryOf(t, c, "telco")), " ")
	for _, want := range []string{
		"privacy masked, encrypted sums along a tree, 600 rows",
		"sums by homomorphic encryption (BGV, log N 13)",
		"key: made anew in every session and held by all parties together",
		"security: at least 128 bits of security: a modulus of 120 bits over a ring of degree 8192",
		"flooding: the noise of a decryption share is 2^4",
		"traffic: an angle takes ",
		"homomorphic encryption: noise without every share of the key",
		"half of the encrypted total, for all to decrypt: noise",
		"keys, signatures, counters: nothing of the data",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("summary is\n%s\nwithout %q", got, want)
		}
	}
}

func TestThresholdIsRefusedInJobsOverFeatures(t *testing.T) {
	l := newTestNetwork(t, 3, 50)
	l.startAll()
	refused(t, l, "aggregation = \"he\"\nthreshold = 0.75", activeBank,
		`job "trial": threshold is 0.75, want none: sums over features need every party`)
	refused(t, l, "aggregation = \"he\"\nprivacy = \"published\"", activeBank,
		`job "trial": aggregation is "he" and privacy "published": sums in the clear have no protection to choose`)
}
