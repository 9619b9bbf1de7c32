package node

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/glm"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/secagg/rss"
)

// glm is a job's text with scorecards in place of kernels.
func asGLM(text []byte) []byte {
	return []byte(strings.Replace(string(text), `algorithm = "fdskl"`, `algorithm = "glm"`, 1))
}

// TestScorecards trains sealed scorecards, reads their points, predicts with them, whole tables and single rows, and
// audits all of it: nothing opens that the contract does not list.
func TestScorecards(t *testing.T) {
	for i, c := range []struct {
		name, parameters, openTo string
		idle                     int    // who has no table; 0: nobody
		cards                    []bool // who learns points
		verdict                  audit.Verdict
	}{
		{"logistic, to owners", "bins = 4\npoints = \"owners\"\nz_scores = \"owners\"", "telco", 0,
			[]bool{true, true, true, true}, audit.Clean},
		{"a helper without data", "points = \"insurer\"\nz_scores = \"insurer\"\nhelper = \"retailer\"", "bank", 3,
			[]bool{false, true, false, false}, audit.Clean},
		{"compact, square", "loss = \"square\"\nring = 48", "insurer", 0, make([]bool, 4), audit.Clean},
	} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, 4, 400)
			if c.idle > 0 {
				for _, name := range []string{"train", "test"} {
					must(t, os.Remove(l.tablePath(c.idle, name)))
				}
				l.idle = c.idle
			}
			l.startAll()
			parameters := "active = [\"bank\"]\nlabel = \"y\"\niterations = 40\n" + c.parameters
			_, h, err := l.propose(asGLM(l.job("train", "privacy = \"sealed\"\nrecord = \"full\"", parameters)))
			must(t, err)
			l.wantVerdict(h, c.verdict)
			var models []*fdskl.Model
			for i, n := range l.nodes {
				part, err := ReadModel(registry.Program(), filepath.Join(n.config.Dir, "jobs", h.String()))
				must(t, err)
				m := fdskl.Of(part)
				models = append(models, m)
				card, err := glm.CardOf(part, m.Names[i])
				must(t, err)
				known := len(card.Rows) > 0 && card.Rows[len(card.Rows)-1].Points != nil
				if (m.ZScores != nil) != c.cards[i] || known && card.Rows[len(card.Rows)-1].Z == nil {
					t.Errorf("%s has the z-scores %v", m.Names[i], m.ZScores)
				}
				if known != c.cards[i] || (m.Points != nil) != c.cards[i] {
					t.Errorf("%s knows points: %t, want %t", m.Names[i], known, c.cards[i])
				}
			}
			head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = %q\nprivacy = \"sealed\"\n", h, c.openTo)
			_, scored, err := l.propose(asGLM(l.job("predict", head, "")))
			must(t, err)
			got, want := lines(t, l.scoresOf(c.openTo, scored)), l.cardScores(models)
			for j, line := range got {
				f, err := strconv.ParseFloat(strings.Split(line, ",")[1], 64)
				if err != nil || math.Abs(f-want[j]) > math.Ldexp(3, -models[0].Params.ScoreBits) { // the rounding, and two dithers
					t.Fatalf("row %d has the score %v (%v), its bins and all shares together give %v", j, f, err, want[j])
				}
			}
			l.wantVerdict(scored, audit.Partial) // its payloads were not kept
		})
	}
}

// cardScores are the scores of the test rows from all parties' parts of a scorecard and their tables, in one place.
func (l *testNetwork) cardScores(models []*fdskl.Model) []float64 {
	l.t.Helper()
	label, keeper := models[0], models[slices.Index(models[0].Names, models[0].Params.Keeper)]
	words := rss.Reconstruct(rss.Share(*label.Shares), rss.Share(*keeper.Shares))
	real := func(w uint64) float64 { return math.Ldexp(float64(int64(w)), -22) }
	var scores []float64
	at := 0
	for i, m := range models {
		if i == l.idle && l.idle > 0 {
			continue
		}
		table, err := dataset.Read(l.tablePath(i, "test"), vertical.ScoringOptions(dataset.Options{}, m.Model()))
		if err != nil {
			l.t.Fatal(err)
		}
		rows, err := vertical.PrepareScoring(table, m.Model())
		if err != nil {
			l.t.Fatal(err)
		}
		if scores == nil {
			scores = make([]float64, rows.Rows)
			for j := range scores {
				scores[j] = label.Intercept + real(words[len(words)-1])
			}
		}
		for j := range rows.Rows {
			rows.EachInRow(j, func(bin int, _ float64) { scores[j] += real(words[at+bin]) })
		}
		at += rows.Columns()
	}
	return scores
}

// TestScorecardsServe asks a scorecard for single rows.
func TestScorecardsServe(t *testing.T) {
	l := newTestNetwork(t, 4, 200)
	l.startAll()
	parameters := "active = [\"bank\"]\nlabel = \"y\""
	_, h, err := l.propose(asGLM(l.job("train", "privacy = \"sealed\"", parameters)))
	must(t, err)
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\nprivacy = \"sealed\"\nrequests = 3\n", h)
	c, err := l.nodes[0].Prepare(t.Context(), asGLM(l.job("predict", head, "")), nil)
	must(t, err)
	served := make(chan *jobs.Report, 1)
	go func() {
		r, err := l.nodes[0].Launch(t.Context(), c.Hash(), nil)
		if err != nil {
			t.Error(err)
		}
		served <- r
	}()
	first, err := l.nodes[0].ScoreRow(t.Context(), c.Hash(), "r00007")
	must(t, err)
	again, err := l.nodes[0].ScoreRow(t.Context(), c.Hash(), "r00007")
	if err != nil || strings.Join(first, ",") != strings.Join(again, ",") {
		t.Errorf("the row again is %v (%v), first it was %v", again, err, first)
	}
	if _, err := l.nodes[0].ScoreRow(t.Context(), c.Hash(), ""); err != nil {
		t.Error(err)
	}
	if r := <-served; r == nil || r.Rows != 1 {
		t.Errorf("report is %+v, want one row", r)
	}
}

// TestScorecardsThatAreRefused are refused by text before anything is sent.
func TestScorecardsThatAreRefused(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	for _, c := range []struct{ head, parameters, want string }{
		{"privacy = \"masked\"", "bins = 5", `jobs with algorithm "glm" are always "sealed"`},
		{"", "features = 100", "features is about kernels"},
		{"", "bins = 1", "bins is 1"},
		{"", "points = \"smith\"", `points is "smith", want "owners", one of the job's parties`},
		{"", "z_scores = \"smith\"", `z_scores is "smith", want "owners", one of the job's parties`},
		{"", "outer = 4", "outer is 4, want 5 to 16"},
		{"", "loss = \"square\"\npoints = \"owners\"", "points are of odds"},
		{"", "iterations = 39", "iterations is 39, want 40 or more with loss"},
		{"", "[parameters.edges]\nage = [3, 2]", `edges of "age": edge 2 is 2`},
	} {
		head := cmp.Or(c.head, "privacy = \"sealed\"")
		text := asGLM(l.job("train", head, "active = [\"bank\"]\nlabel = \"y\"\n"+c.parameters))
		if _, _, err := l.propose(text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error is %v, want one with %q", c.head, c.parameters, err, c.want)
		}
	}
	kernel := l.job("train", "privacy = \"sealed\"", "active = [\"bank\"]\nlabel = \"y\"\nbins = 10")
	if _, _, err := l.propose(kernel); err == nil || !strings.Contains(err.Error(), "bins are of jobs with algorithm") {
		t.Errorf("a kernel's job with bins: %v", err)
	}
}

// TestAScorecardOfNumbers trains on a label of numbers, which the label holder's node takes for what it is.
func TestAScorecardOfNumbers(t *testing.T) {
	l := newTestNetwork(t, 4, 120)
	for _, name := range []string{"train", "test"} {
		rows := lines(t, l.tablePath(0, name))
		text := "id,a,y\n"
		for i, row := range rows {
			cells := strings.Split(row, ",")
			text += fmt.Sprintf("%s,%s,%v\n", cells[0], cells[1], float64(i%17)*1.5)
		}
		must(t, os.WriteFile(l.tablePath(0, name), []byte(text), 0o600))
	}
	l.startAll()
	_, h, err := l.propose(asGLM(l.job("train", "privacy = \"sealed\"", "active = [\"bank\"]\nlabel = \"y\"")))
	must(t, err)
	part, err := ReadModel(registry.Program(), filepath.Join(l.nodes[0].config.Dir, "jobs", h.String()))
	must(t, err)
	m := fdskl.Of(part)
	if m.Params.Target != joint.Regression || m.Params.Loss != "square" || m.Params.Outer != 0 {
		t.Errorf("the model is %+v", m)
	}
}

// TestPoliciesKnowWhatOpens wants a word for every opening of a scorecard with points and of a kernel that chooses its
// lambda: an owner whose rule lists what may open can list it.
func TestPoliciesKnowWhatOpens(t *testing.T) {
	l := newTestNetwork(t, 4, 100)
	l.policy = nil // nobody is asked
	l.startAll()
	card := l.job("train", "privacy = \"sealed\"",
		"active = [\"bank\"]\nlabel = \"y\"\npoints = \"owners\"\nz_scores = \"bank\"")
	chosen := l.job("train", "privacy = \"sealed\"", "active = [\"bank\"]\nlabel = \"y\"\nlambda = \"auto\"")
	seen := make(map[string]bool)
	for _, text := range [][]byte{asGLM(card), chosen} {
		for _, o := range l.proposed(text).Openings {
			if seen[o.Kind] = true; !slices.Contains(consent.Kinds(), o.Kind) {
				t.Errorf("no policy has a word for %q: %s", o.Kind, o.Meaning)
			}
		}
	}
	if !seen["points"] || !seen["z-scores"] || !seen["validation"] {
		t.Errorf("the jobs open %v, want points, z-scores and validation among it", seen)
	}
}

// TestPointsAreWarnedOf before consent, where they open to another than the label holder, who has the labels anyway.
func TestPointsAreWarnedOf(t *testing.T) {
	l := newTestNetwork(t, 4, 100)
	l.policy = nil // nobody is asked
	l.startAll()
	for points, want := range map[string]int{"owners": 1, "telco": 1, "bank": 0, "": 0} {
		c := l.proposed(asGLM(l.job("train", "privacy = \"sealed\"",
			fmt.Sprintf("active = [\"bank\"]\nlabel = \"y\"\npoints = %q", points))))
		got := summary.Warnings(c, registry.Program())
		if len(got) != want || want > 0 && !strings.Contains(got[0], "are that row's label") {
			t.Errorf("points %q: the warnings are %q, want %d", points, got, want)
		}
	}
}

// TestProbabilitiesOfAScorecardAreItsOwn: a member that has no label reads probabilities in its scores, and they add up
// to the rows that have the event, a rare one: to 2 %, where those of steps that end early are off by half.
func TestProbabilitiesOfAScorecardAreItsOwn(t *testing.T) {
	const rows = 1200
	l := newTestNetwork(t, 3, rows)
	rng := rand.New(rand.NewPCG(5, 8))
	tables := make([]strings.Builder, 3)
	events := 0
	for j := range rows {
		signal := rng.NormFloat64()
		for i := range tables {
			x := rng.NormFloat64()
			signal += x
			fmt.Fprintf(&tables[i], "r%05d,%.4f", j, x)
			if i > 0 {
				tables[i].WriteByte('\n')
			}
		}
		if signal > 3 {
			events++
			tables[0].WriteString(",1\n")
		} else {
			tables[0].WriteString(",0\n")
		}
	}
	for i := range tables {
		head := "id,a\n"
		if i == 0 {
			head = "id,a,y\n"
		}
		l.writeTable(i, "train", head+tables[i].String())
	}
	l.startAll()
	_, h, err := l.propose(asGLM(l.job("train", "privacy = \"sealed\"", "active = [\"bank\"]\nlabel = \"y\"")))
	must(t, err)
	head := fmt.Sprintf("model = %q\ntable = \"train\"\nopen_to = \"telco\"\nprivacy = \"sealed\"\n", h)
	_, scored, err := l.propose(asGLM(l.job("predict", head, "")))
	must(t, err)
	sum := 0.0
	for _, line := range lines(t, l.scoresOf("telco", scored)) {
		p, err := strconv.ParseFloat(strings.Split(line, ",")[3], 64)
		if err != nil {
			t.Fatalf("%q has no probability: %v", line, err)
		}
		sum += p
	}
	if off := sum/float64(events) - 1; math.Abs(off) > .02 {
		t.Errorf("probabilities add up to %.2f of %d rows, %d have the event", sum, rows, events)
	}
}
