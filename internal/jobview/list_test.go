package jobview

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

func TestList(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	digits := strings.Repeat("3f9a1c2d", 8)
	all := []node.JobInfo{
		{Contract: digits, Name: "credit", Task: "train", Proposer: "bank", Self: "bank", State: job.Agreed,
			Standing: "waiting for telco", Waiting: "consent is asked for: a person there runs hanse approve credit",
			Made: now.Add(-90 * time.Second), Next: "hanse result credit --wait"},
		{Contract: digits, Name: "loans", Task: "train", Proposer: "telco", Self: "bank", State: job.Running,
			Standing: "running 37 %", Made: now.Add(-47 * time.Hour),
			Progress: &node.Progress{Step: "gram", Done: 3, Total: 8, Percent: 37}},
		{Contract: digits, Name: "old", Task: "predict", Proposer: "bank", Self: "bank", State: job.Refused,
			Standing: "refused", Reason: "telco: not before the audit", Made: now.AddDate(0, 0, -9)},
	}
	var out bytes.Buffer
	if err := List(&out, all, 2, now, "bank-node"); err != nil {
		t.Fatal(err)
	}
	const want = `contract  age    job     task     from   state
3f9a1c2d  1 min  credit  train    bank   waiting for telco
    consent is asked for: a person there runs hanse approve credit
    next: hanse result credit --wait --dir bank-node
3f9a1c2d  47 h   loans   train    telco  running 37 %
    gram 3 of 8, 37 %
3f9a1c2d  9 d    old     predict  bank   refused
    telco: not before the audit
not listed: 2 proposals that ended unanswered (--all lists them)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if err := List(&out, nil, 0, now, ""); err != nil || !strings.Contains(out.String(), "there are no jobs yet") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestListOfTheLongestNames: no line is wider than a screen, and none of the words is cut.
func TestListOfTheLongestNames(t *testing.T) {
	long := strings.Repeat("n", keys.MaxName)
	j := node.JobInfo{Contract: strings.Repeat("ab", 32), Name: long, Task: "predict", Proposer: "m" + long[1:],
		State: job.Agreed, Standing: "waiting for telco, insurer, retailer and the rest"}
	var out bytes.Buffer
	if err := List(&out, []node.JobInfo{j}, 0, time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > wording.Columns {
			t.Errorf("%q is wider than %d", line, wording.Columns)
		}
	}
	for _, word := range []string{long, j.Proposer, "the rest"} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("%q is missing in\n%s", word, out.String())
		}
	}
}
