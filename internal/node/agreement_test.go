package node

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
)

// refused proposes a training and wants it refused with exactly this error.
func refused(t *testing.T, l *testNetwork, head, parameters, want string) {
	t.Helper()
	_, _, err := l.propose(l.job("train", head, parameters))
	if err == nil || strings.ReplaceAll(err.Error(), l.dirs[0], "BANK") != want {
		t.Errorf("error is\n%v, want\n%s", err, want)
	}
}

func TestBadJobsAreRefused(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	for _, c := range []struct{ name, head, parameters, want string }{
		{"unknown field", "", activeBank + "featurs = 3",
			`job "trial": parameters: line 12: unknown key "featurs"; did you mean "features"?`},
		{"no features", "", activeBank + "features = 0", `job "trial": features is 0, want 1 to 1048576`},
		{"10^9 features", "", activeBank + "features = 1000000000", `job "trial": features is 1000000000, want 1 to 1048576`},
		{"unknown table", "table = \"trian\"", activeBank,
			`this node has no table "trian"; it has "test", "train": start it with --data trian=FILE; did you mean "train"?`},
		{"stranger", "", "active = [\"smith\"]\nlabel = " +
			"\"y\"", `job "trial": active party "smith" is not among the job's parties`},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, l, c.head, c.parameters, c.want) })
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		party int
		edit  func(text string) string
		want  string
	}{
		{"label missing", 0, func(s string) string { return strings.Replace(s, ",y\n", ",z\n", 1) }, `"y"`},
		{"label constant", 0, func(s string) string { return strings.ReplaceAll(s, ",1\n", ",0\n") }, `label column "y"`},
		{"text in a number", 1, func(s string) string { return strings.Replace(s, "r00007,", "r00007,x", 1) },
			"row 8 (line 9)"},
		{"missing cell", 2, func(s string) string { return s[:strings.LastIndex(s, ",")+1] + "\n" }, "row 50 (line 51)"},
		{"not a number", 2, func(s string) string { return s[:strings.LastIndex(s, ",")+1] + "Inf\n" }, "Inf"},
		{"duplicate id", 3, func(s string) string { return strings.Replace(s, "r00007", "r00006", 1) }, "r00006"},
		{"empty file", 3, func(string) string { return "" }, "empty"},
		{"constant column", 1, func(s string) string { return constantColumn(s) }, `"a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, 4, 50)
			text, err := os.ReadFile(l.tablePath(c.party, "train"))
			must(t, err)
			l.writeTable(c.party, "train", c.edit(string(text)))
			l.startAll()
			spec := l.nodes[c.party].tables.Specs["train"]
			spec.Options.Missing = "refuse"
			l.nodes[c.party].tables.Specs["train"] = spec
			_, _, err = l.propose(l.job("train", "", activeBank+"constant = \"refuse\"\n"))
			if err == nil {
				t.Fatal("the table was taken")
			}
			full := err.Error()
			if c.party > 0 {
				if want := l.names[c.party] + ": its table cannot be used as the job asks (its owner reads more with hanse jobs " +
					"--ref "; !strings.HasPrefix(full, want) {
					t.Errorf("error is %v, want %s", err, want)
				}
				full = l.underReference(c.party, err)
			}
			if !strings.Contains(full, c.want) || !strings.Contains(full, "train.csv") {
				t.Errorf("the owner reads %s, want one with train.csv and %s", full, c.want)
			}
		})
	}
}

// constantColumn sets the last column to one value.
func constantColumn(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = lines[i][:strings.LastIndex(lines[i], ",")] + ",1.5"
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestDifferentRowsAreCounted(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	for party, lines := range map[int]int{1: 48, 2: 49} { // header and 47, header and 48
		text, err := os.ReadFile(l.tablePath(party, "train"))
		must(t, err)
		l.writeTable(party, "train", strings.Join(strings.SplitAfter(string(text), "\n")[:lines], ""))
	}
	l.startAll()
	refused(t, l, "", activeBank, "bank has 50 rows and insurer has 47, and not all are common: "+
		"find those that are with hanse align --name common-train --table train --parties bank,insurer,telco,retailer, then "+
		"propose the job anew with rows = \"common-train\"")
}

// TestDataThatChangedAfterConsentPausesTheJob until the old table is back, as the message says.
func TestDataThatChangedAfterConsentPausesTheJob(t *testing.T) {
	t.Parallel() // it waits for the most part
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 32"), nil)
	must(t, err)
	agreed, err := os.ReadFile(l.tablePath(2, "train"))
	must(t, err)
	changed, named := false, false
	l.watch(2, func(e jobs.Event) {
		if strings.HasPrefix(e.Text, "paused: ") && strings.Contains(e.Text, "train.csv changed after consent") &&
			strings.HasSuffix(e.Text, "put the old table back and the job goes on, or end it with hanse cancel trial") {
			named = true
			l.writeTable(2, "train", string(agreed))
		}
	})
	_, err = l.nodes[0].Launch(ctx, c.Hash(), func(e jobs.Event) {
		if e.Text == "retailer consents" && !changed { // the last one
			changed = true
			l.writeTable(2, "train", string(agreed)+"r99999,1.0\n")
		}
	})
	if err != nil || !changed || !named {
		t.Errorf("error is %v, changed %v, named %v", err, changed, named)
	}
}

func TestConsentByHand(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = nil
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 32"), nil)
	must(t, err)
	l.decideAt(c.Hash(), 1, true)
	l.decideAt(c.Hash(), 2, true)
	l.decideAt(c.Hash(), 3, false)
	_, err = l.nodes[0].Launch(t.Context(), c.Hash(), nil)
	want := `retailer: refuses job "trial": not before the audit`
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// decideAt decides at party i as soon as the job is there.
func (l *testNetwork) decideAt(h keys.Hash, i int, yes bool) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for {
			_, err := l.nodes[i].Decide(Decision{Contract: h, Yes: yes, Reason: "not before the audit"})
			if err == nil || pause(ctx, time.Millisecond) != nil {
				return
			}
		}
	}()
}

func TestPolicy(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = &consent.Policy{
		Format: consent.Format, Accept: []consent.Rule{consent.Wide(
			consent.Rule{Privacy: []string{"masked"}, MaxRows: new(int64(100))})},
		Refuse: []consent.Rule{{Tables: []string{"test"}}},
	}
	l.startAll()
	if _, _, err := l.propose(l.job("train", "", activeBank+"features = 32")); err != nil {
		t.Errorf("a job within the policy: %v", err)
	}
	_, _, err := l.propose(l.job("train", "table = \"test\"", activeBank+"features = 32"))
	want := `: refuses job "trial": the policy of its owner refuses it` // of whoever answers first
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error is %v, want who%s", err, want)
	}
}
