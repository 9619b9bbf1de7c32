package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/audit/finding"
)

// city is a report of a job over clients.
func city() *finding.Report {
	r := &finding.Report{
		Verdict: finding.Disclosed, Summary: "Totals over clients opened, as the contract says.",
		Job: finding.Job{Name: "meters", Algorithm: "pofmkl", Task: "train", Privacy: "masked", Aggregation: "he",
			Topology: "star", Servers: []string{"city"}},
		Federations: []finding.Federation{{
			Server: "city", Clients: 20, Sums: 1200, Opened: 1199, Fewest: 17, Median: 19,
			Counted:  "counted by the vectors that came",
			Dropouts: []finding.Dropout{{Client: "m3", Sums: 41}, {Client: "m7", Sums: 1}},
		}},
	}
	r.Job.Parties = append(r.Job.Parties, finding.Party{Name: "city", Role: "server"})
	for i := range 20 {
		r.Job.Parties = append(r.Job.Parties, finding.Party{Name: fmt.Sprintf("m%d", i), Role: "client", Columns: 3})
	}
	return r
}

func TestStoriesNameClients(t *testing.T) {
	text := strings.Join(strings.Fields(string(render(t, ".txt", city()))), " ")
	for _, want := range []string{
		"City and 20 clients trained a model together in the job \"meters\".",
		"what clients send is encrypted under a key that some of them hold together",
		"City summed over 20 clients: it began 1,200 sums and opened 1,199, each with at least 17 contributors, in the median 19 (counted by the vectors that came).",
		"Sums went on without clients that had been asked: m3 in 41 sums and m7 in 1 sum.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// TestStoriesNameAnswers of single clients, which no sum hides.
func TestStoriesNameAnswers(t *testing.T) {
	r := city()
	r.Job.Algorithm, r.Job.Beside = "ofmsft", ofmsft.Algorithm().Beside
	f := &r.Federations[0]
	f.Questions, f.Answers, f.Silent = 1200, 23999, 1
	text := strings.Join(strings.Fields(string(render(t, ".txt", r))), " ")
	for _, want := range []string{
		"It also asked 1,200 questions, to which single clients gave 23,999 answers: it knows whose each is, and the lines on who learned what say what follows; 1 answer did not come in time.",
		"only totals are opened, to the clients' server; beside the totals each client's choice of models goes to the server by itself,",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	f.Questions, f.Answers, f.Silent = 0, 0, 0
	if text := string(render(t, ".txt", r)); strings.Contains(text, "It also asked") {
		t.Errorf("questions of nobody in:\n%s", text)
	}
}

func TestDropoutsAreFew(t *testing.T) {
	var lost []finding.Dropout
	for i := range 12 {
		lost = append(lost, finding.Dropout{Client: fmt.Sprintf("c%d", i), Sums: uint64(20 - i)})
	}
	if got, want := dropouts(lost), "c7 in 13 sums and 4 other clients less often."; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want it to end with %q", got, want)
	}
	if got := dropouts(nil); got != "No client was lost in a sum." {
		t.Error(got)
	}
}
