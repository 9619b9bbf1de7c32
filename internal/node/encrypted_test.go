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

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/he"
)

// encryptedHead is the head of a job with encrypted sums of which everything is kept.
const encryptedHead = "aggregation = \"he\"\nrecord = \"full\"\n"

// TestEncryptedAndMaskedJobsEndInTheSameModel trains twice with the same phases: the sums are equal bit for
// bit, and so is every party's part of the model.
func TestEncryptedAndMaskedJobsEndInTheSameModel(t *testing.T) {
	for _, c := range []struct{ name, parameters string }{
		{"one active party", activeBank + "features = 24\niterations = 20\n"},
		{"two active parties", activeBoth + "features = 24\niterations = 8\n"},
		{"doubly stochastic", activeBank + "schedule = \"doubly-stochastic\"\niterations = 12\nbatch = 40\nblock_features = 4\nsigma = 1.0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLeague(t, 3, 120)
			l.bothHaveLabels()
			l.startAll()
			_, masked, err := l.propose(l.job("train", "", c.parameters))
			if err != nil {
				t.Fatal(err)
			}
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
func (l *league) bothHaveLabels() {
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
func (l *league) trainWithPhasesOf(earlier keys.Hash, text []byte) keys.Hash {
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
		phase, err := from.vault.Load(phaseFile)
		if err := errors.Join(err, to.vault.Save(phaseFile, phase)); err != nil {
			l.t.Error(err)
		}
	}
	give(0)
	for i := 1; i < len(l.names); i++ {
		l.told[i] = func(e Event) {
			if e.Kind == EventSummary && e.Job == c.Hash().String() {
				give(i)
			}
		}
	}
	if _, err := l.nodes[0].Launch(ctx, c.Hash(), nil); err != nil {
		l.t.Fatal(err)
	}
	return c.Hash()
}

// modelText renders a party's part of a model but for the contract that it comes from.
func (l *league) modelText(i int, h keys.Hash) string {
	l.t.Helper()
	l.awaitDone(l.t.Context(), h)
	m, err := l.nodes[i].modelOf(h.String())
	if err != nil {
		l.t.Fatal(err)
	}
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
	l := newLeague(t, 3, 100)
	l.startAll()
	_, model, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64"))
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"insurer\"\n", model)
	masked, _, err := l.propose(l.job("predict", strings.ReplaceAll(head, "insurer", "bank"), ""))
	if err != nil {
		t.Fatal(err)
	}
	want := scoresByID(t, masked.Scores)
	_, scored, err := l.propose(l.job("predict", encryptedHead+head, ""))
	if err != nil {
		t.Fatal(err)
	}
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
func (l *league) serveEncrypted(head string, want map[string]string) {
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
	l := newLeague(t, 3, 150)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	contract, err := l.nodes[0].Prepare(ctx, l.job("train", encryptedHead, activeBank+"features = 4096\nsigma = 1.0\nloss = \"logistic\"\niterations = 5"), nil)
	if err != nil {
		t.Fatal(err)
	}
	l.launchAndKill(ctx, contract.Hash(), 2, 70)
	l.start(2)
	l.awaitDone(ctx, contract.Hash())
	if n := l.sessions(contract.Hash()); n < 2 {
		t.Fatalf("the job took %d session, want it broken off", n)
	}
	mustVerify(t, l.audit(contract.Hash()), audit.Disclosed)
}

// TestTheBudgetOfEncryptedSumsIsEnough for any sizes that make up the agreed number of words, and not much
// more than that.
func TestTheBudgetOfEncryptedSumsIsEnough(t *testing.T) {
	p, err := newPackings(4)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 3*he.Degree), rapid.IntRange(0, 300*he.Degree)), 1, 12).Draw(t, "sizes")
		packing := rapid.SampledFrom([]*he.Packing{p.turns, p.reals}).Draw(t, "packing")
		var words int64
		sent := make(map[string]he.Line)
		for _, n := range sizes {
			words += int64(n)
			for _, l := range packing.Cost("angles", n, 1) {
				have := sent[l.Kind]
				sent[l.Kind] = he.Line{Count: have.Count + l.Count, Bytes: have.Bytes + l.Bytes}
			}
		}
		for i, l := range costOf(packing, "angles", words, int64(len(sizes))) {
			if have := sent[l.Kind]; have.Count > l.Count || have.Bytes > l.Bytes {
				t.Errorf("%s: %d operations of %d bytes are needed, %d of %d are agreed", l.Kind, have.Count, have.Bytes, l.Count, l.Bytes)
			}
			if most := sent[l.Kind].Bytes + int64(len(sizes)*packing.Residues()*he.CiphertextSize); i == 0 && l.Bytes > most {
				t.Errorf("%d bytes are agreed for %d", l.Bytes, sent[l.Kind].Bytes)
			}
		}
	})
}

func TestASumOfOneSizeHasExactlyItsBudget(t *testing.T) {
	p, err := newPackings(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, he.Degree - 1, he.Degree, he.Degree + 1, 200*he.Degree + 7} {
		got, want := costOf(p.turns, "angles", int64(n), 1), p.turns.Cost("angles", n, 1)
		if got[0] != want[0] || got[2] != want[2] {
			t.Errorf("one sum of %d words is budgeted %+v, want %+v", n, got, want)
		}
	}
}

func TestSummaryOfAnEncryptedJob(t *testing.T) {
	l := newLeague(t, 4, 600)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "aggregation = \"he\"", activeBank+"features = 256\nsigma = 1.0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := summaryOf(t, c, "telco")
	for _, want := range []string{
		"privacy masked, encrypted sums along a tree, 600 rows\n",
		"sums by homomorphic encryption (BGV, log N 13)\n",
		"  key: made anew in every session and held by all parties together",
		"  security: at least 128 bits of security: a modulus of 120 bits over a ring of degree 8192",
		"  flooding: the noise of a decryption share is 2^4",
		"  traffic: an angle takes ",
		"homomorphic encryption: noise without every share of the key\n",
		"half of the encrypted total, for all to decrypt: noise\n",
		"keys, signatures, counters: nothing of the data\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("summary is\n%s\nwithout %q", got, want)
		}
	}
}

func TestThresholdIsRefusedInJobsOverFeatures(t *testing.T) {
	l := newLeague(t, 3, 50)
	l.startAll()
	refused(t, l, "aggregation = \"he\"\nthreshold = 0.75", activeBank, `job "trial": threshold is 0.75, want none: sums over features need every party`)
	refused(t, l, "aggregation = \"he\"\nprivacy = \"published\"", activeBank, `job "trial": aggregation is "he" and privacy "published": sums in the clear have no protection to choose`)
}
