package node

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// relabel changes the bank's labels in both tables, by row and by what they are now.
func (l *testNetwork) relabel(label func(row int, a, y string) string) {
	l.t.Helper()
	for _, table := range []string{"train", "test"} {
		var out strings.Builder
		for row, line := range allLines(l.t, l.tablePath(0, table)) {
			cells := strings.Split(line, ",")
			if row > 0 {
				cells[2] = label(row-1, cells[1], cells[2])
			}
			out.WriteString(strings.Join(cells, ",") + "\n")
		}
		l.writeTable(0, table, out.String())
	}
}

// allLines reads a file's lines, the header too.
func allLines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// fourLabels tells apart both signs of the bank's column and of the product of the first two columns.
func fourLabels(_ int, a, y string) string {
	if strings.HasPrefix(a, "-") {
		return map[string]string{"0": "north", "1": "east"}[y]
	}
	return map[string]string{"0": "south", "1": "west"}[y]
}

// TestFourClasses has the label holder's node infer them, whoever proposes; the others' nodes learn the number and the
// names, and consent to nothing else. New rows have the class of the largest score, in a table and one by one.
func TestFourClasses(t *testing.T) {
	for i, c := range []struct {
		privacy  string
		proposer int
		announce audit.Verdict
	}{{keys.PrivacyMasked, 0, audit.Disclosed}, {keys.PrivacyMasked, 2, audit.Disclosed},
		{keys.PrivacySealed, 2, audit.Clean}} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		proposer, isSealed := c.proposer, c.privacy == keys.PrivacySealed
		privacy := fmt.Sprintf("privacy = %q\n", c.privacy)
		t.Run(c.privacy+", proposed by "+[]string{"bank", "", "telco"}[proposer], func(t *testing.T) {
			l := newTestNetwork(t, 3, 120)
			l.relabel(fourLabels)
			l.startAll()
			var told []string
			n := l.nodes[proposer]
			announced := c.announce
			c, err := n.Prepare(t.Context(), l.job("train", privacy+`record = "full"`,
				activeBank+"loss = \"square\"\nfeatures = 64\niterations = 60"),
				func(e jobs.Event) { told = append(told, e.Text) })
			must(t, err)
			want := `target: 4 classes of column y (inferred; say target = "regression" for a number)`
			if strings.Join(told, "\n") != want || c.Job.Parameters["classes"] != int64(4) {
				t.Errorf("told %q, parameters %v", told, c.Job.Parameters)
			}
			r, err := n.Launch(t.Context(), c.Hash(), nil)
			must(t, err)
			if proposer == 0 && !isSealed && !(*r.Trained.TrainError < 0.2) {
				t.Errorf("%v of the training labels are wrong", *r.Trained.TrainError)
			}
			if f := r.Figures; proposer == 0 && !isSealed && (f == nil || f.Several == nil || f.Several.Rows != 120 ||
				len(f.Against) != 3 || f.Several.Error.Value != *r.Trained.TrainError || !(f.Against[0].Error.Value > 0.6)) {
				t.Errorf("figures of the training rows are %+v", f)
			}
			mustVerify(t, l.audit(c.Hash()), announced)

			// The receiver is a party without the label: it has the names from the label holder.
			// Of a sealed model the rows that were asked for one by one are known to it when it asks for the table.
			head := privacy + fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"telco\"\n", c.Hash())
			single := l.serveClasses(head)
			report, scored, err := l.propose(l.job("predict", head+`record = "full"`, ""))
			must(t, err)
			if want := int64(len(single)); isSealed && report.Known != want {
				t.Errorf("%d rows were known, want %d", report.Known, want)
			}
			mustVerify(t, l.audit(scored), announced)
			if s, _ := l.nodes[0].job(scored); isSealed { // what a policy adds up
				if o, want := asOpened(s).Openings[0], int64(4*(120-len(single))); o.Kind != "scores" || o.Count != want {
					t.Errorf("the prediction counts as %+v, want %d scores", o, want)
				}
			}
			batch := scoresByID(t, l.scoresOf("telco", scored))
			for id, row := range single {
				if row != batch[id] {
					t.Errorf("%s: row is %s, the batch has %s", id, row, batch[id])
				}
			}
			all := allLines(t, l.scoresOf("telco", scored))
			if all[0] != "id,score,class,score east,score north,score south,score west" || len(all) != 121 {
				t.Errorf("%d lines, the first %q", len(all), all[0])
			}
			labels, wrong := allLines(t, l.tablePath(0, "test")), 0
			for i, line := range all[1:] {
				cells := strings.Split(line, ",")
				for k, class := range []string{"east", "north", "south", "west"} {
					best, _ := strconv.ParseFloat(cells[1], 64)
					f, err := strconv.ParseFloat(cells[3+k], 64)
					if err != nil || f > best || class == cells[2] && f != best {
						t.Fatalf("line %q: class %s, %v", line, class, err)
					}
				}
				if !strings.HasSuffix(labels[1+i], ","+cells[2]) {
					wrong++
				}
			}
			if wrong > 40 {
				t.Errorf("%d of 120 rows have another class than their label", wrong)
			}
			f, err := l.nodes[2].columns.FiguresOf(c.Hash(), "test", l.tablePath(0, "test"), []byte(strings.Join(all, "\n")),
				nil)
			if err != nil || f.Several == nil || f.Several.Error.Value != float64(wrong)/120 {
				t.Errorf("figures of the scored rows are %+v: %v", f, err)
			}
		})
	}
}

// serveClasses asks telco's node for single rows, one of them twice, and returns them by id.
func (l *testNetwork) serveClasses(head string) map[string]string {
	l.t.Helper()
	telco := l.nodes[2]
	c, err := telco.Prepare(l.t.Context(), l.job("predict", head+"requests = 5", ""), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	ended := l.launched(l.t.Context(), 2, c.Hash())
	rows := make(map[string]string)
	for _, id := range []string{"r00007", "r00119", "r00007"} {
		row, err := telco.ScoreRow(l.t.Context(), c.Hash(), id)
		text := strings.Join(row, ",")
		if err != nil || rows[id] != "" && rows[id] != text {
			l.t.Errorf("%s: row is %s (%v), it was %q", id, text, err, rows[id])
		}
		rows[id] = text
	}
	if _, err := telco.ScoreRow(l.t.Context(), c.Hash(), ""); err != nil {
		l.t.Error(err)
	}
	if err := <-ended; err != nil {
		l.t.Error(err)
	}
	return rows
}

// TestFourClassesUnderEncryptedSums: what protects sums changes nothing of the classes.
func TestFourClassesUnderEncryptedSums(t *testing.T) {
	l := newTestNetwork(t, 3, 60)
	l.relabel(fourLabels)
	l.startAll()
	const head = "privacy = \"masked\"\naggregation = \"he\"\n"
	r, model, err := l.propose(l.job("train", head, activeBank+"features = 64\nsigma = 1.0"))
	must(t, err)
	if !(*r.Trained.TrainError < 0.2) {
		t.Errorf("%v of the training labels are wrong", *r.Trained.TrainError)
	}
	_, scored, err := l.propose(l.job("predict", head+fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"telco\"\n",
		model), ""))
	must(t, err)
	if all := allLines(t, l.scoresOf("telco", scored)); len(all) != 61 || strings.Count(all[60], ",") != 6 {
		t.Errorf("%d lines, the last %q", len(all), all[len(all)-1])
	}
}

// TestTargetsOfJobs are what the job says, or else what the label looks like; what does not go together is refused
// before anybody is asked for consent.
func TestTargetsOfJobs(t *testing.T) {
	codes := func(row int, _, _ string) string { return fmt.Sprint(1 + row%3) }
	for _, c := range []struct {
		name       string
		label      func(row int, a, y string) string
		parameters string
		told, want string // of which one is expected
	}{
		{"two texts", func(_ int, _, y string) string { return "is-" + y }, "",
			`target: 2 classes of column y (inferred; say target = "regression" for a number)` + "\n" +
				`event: y = "is-1", the rarer class; positive = "is-1" in the job tells all`, ""},
		{"the event, said", func(_ int, _, y string) string { return "is-" + y }, `positive = "is-0"`,
			`target: 2 classes of column y (inferred; say target = "regression" for a number)` + "\n" +
				`event: y = "is-0", as the job says`, ""},
		{"the event, all said", func(_ int, _, y string) string { return y }, "classes = 2\npositive = 0",
			`event: y = "0", as the job says`, ""},
		{"the event, of other classes", func(_ int, _, y string) string { return "is-" + y }, `positive = 1`, "",
			`label column "y" has no class "1", which the job says is the event: want positive = "is-0" or "is-1" in its ` +
				`parameters`},
		{"the event of three", codes, `positive = 1`, "", `whose label y has 3 classes: positive is "1" with 3 classes`},
		{"codes", codes, "", `target: 3 classes of column y (inferred; say target = "regression" for a number)`, ""},
		{"codes as numbers", codes, `target = "regression"`, "", ""},
		{"codes, said", codes, `target = "classification"`, "target: 3 classes of column y", ""},
		{"codes, all said", codes, `classes = 3`, "", ""},
		{"codes, miscounted", codes, `classes = 4`, "", `label column "y" has 3 different labels (1, 2, 3), the job says 4 ` +
			`classes: want classes = 3 in its parameters, or target = "regression" for numbers`},
		{"numbers", func(_ int, a, _ string) string { return a }, "",
			`target: numbers of column y (inferred; say target = "classification" for classes)`, ""},
		{"numbers as classes", func(_ int, a, _ string) string { return a }, `target = "classification"`, "",
			`label column "y" has more than 64 different labels, at id "r00064"`},
		{"numbers with a loss of classes", func(_ int, a, _ string) string { return a }, `loss = "logistic"`, "",
			`label column "y" has more than 64 different labels`},
		{"texts as numbers", fourLabels, `target = "regression"`, "",
			`label column "y" holds texts; regression wants numbers`},
		{"texts, one empty", func(row int, a, y string) string {
			if row == 5 {
				return ""
			}
			return fourLabels(row, a, y)
		}, "", "", `label column "y" is empty in 1 of 90 rows, the first with id "r00005", and no other party has labels: ` +
			`fill these cells or leave their rows out`},
		{"no label at all", func(int, string, string) string { return "" }, "", "",
			`label column "y" is empty: no row is labelled here`},
		{"the paper's schedule", codes, `schedule = "doubly-stochastic"`, "",
			`whose label y has 3 classes: schedule is "doubly-stochastic" with 3 classes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, 3, 90)
			l.relabel(c.label)
			l.startAll()
			var told []string
			_, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 8\n"+c.parameters),
				func(e jobs.Event) { told = append(told, e.Text) })
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error is %v, want %q", err, c.want)
			case err == nil && strings.Join(told, "\n") != c.told:
				t.Errorf("told %q, want %q", told, c.told)
			}
		})
	}
}

// TestSealedJobsOfSeveralClassesTakeTheSquareLoss: with another they are refused before anybody is asked for consent,
// whoever proposes, with what to do, and so are scorecards.
func TestSealedJobsOfSeveralClassesTakeTheSquareLoss(t *testing.T) {
	l := newTestNetwork(t, 3, 90)
	l.relabel(fourLabels)
	l.startAll()
	const loss = `loss is "logistic" with 4 classes: a sealed job tells two apart by it; take loss = "square", or ` +
		`privacy "masked"`
	for _, proposer := range []int{0, 1} {
		for said, want := range map[string]string{`loss = "logistic"`: loss, "loss = \"logistic\"\nclasses = 4": loss,
			"bins = 4": "the target has 4 classes, and a scorecard tells two apart: take a label of two classes"} {
			text := l.job("train", `privacy = "sealed"`, activeBank+said)
			if strings.Contains(said, "bins") {
				text = bytes.Replace(text, []byte(`"fdskl"`), []byte(`"glm"`), 1)
				text = bytes.Replace(text, []byte(`seed = `), []byte(`# seed = `), 1)
			}
			_, err := l.nodes[proposer].Prepare(t.Context(), text, nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("proposed by %s with %q: %v", l.names[proposer], said, err)
			}
		}
	}
	for i, n := range l.nodes {
		if len(n.Jobs()) > 0 {
			t.Errorf("%s has jobs", l.names[i])
		}
	}
}

// TestNobodyElseSettlesATarget: what a party says of a target counts where it holds the label and the job is silent.
func TestNobodyElseSettlesATarget(t *testing.T) {
	l := newTestNetwork(t, 3, 0)
	kind := columns.New(&jobs.Member{Name: func() string { return "telco" }}, registry.Program())
	for _, c := range []struct {
		name, parameters, party string
		settled                 jobs.Settled
		want                    string
	}{
		{"the label holder", "", "bank", jobs.Settled{Target: "classification", Classes: 3}, ""},
		{"a passive party", "", "insurer", jobs.Settled{Target: "classification", Classes: 3}, "insurer settles a target"},
		{"a target that is said", `target = "regression"`, "bank", jobs.Settled{Target: "classification", Classes: 3},
			"bank settles a target"},
		{"another than is said", `target = "classification"`, "bank", jobs.Settled{Target: "regression"},
			"bank settles a target"},
		{"a number that is said", "classes = 4", "bank", jobs.Settled{Target: "classification", Classes: 3},
			"bank settles a target"},
		{"too many", "", "bank", jobs.Settled{Target: "classification", Classes: 1 << 40}, "want 2 to 64"},
		{"less than none", "", "bank", jobs.Settled{Target: "classification", Classes: -1}, "want 2 to 64"},
		{"no target", "", "bank", jobs.Settled{Target: "\x00", Classes: 3}, `want "classification" or "regression"`},
	} {
		job, err := contract.ParseJob(l.job("train", "", activeBank+c.parameters))
		must(t, err)
		_, err = kind.TakeIn(job, c.party, c.settled)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error is %v, want %q", c.name, err, c.want)
		}
	}
}
