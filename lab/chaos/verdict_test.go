package chaos

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/node/job"
)

// at is where the job stands at a party.
func at(party string, state job.State, reason string) standing {
	return standing{party, "trial", "c0ffee", state, reason}
}

func TestVerdicts(t *testing.T) {
	done := []standing{at("bank", job.Done, ""), at("telco", job.Done, "")}
	for name, c := range map[string]struct {
		account account
		verdict Verdict
		what    string
	}{
		"done and right": {account{jobs: done, done: true}, Right, "right"},
		"signed by nobody's word": {
			account{jobs: done, done: true, unasked: []string{"telco is agreed"}}, Failed, "nobody approved: telco"},
		"a panic in a log": {
			account{jobs: done, done: true, panics: []string{"telco: panic: x"}}, Failed, "crash"},
		"wrong, and nobody says so": {account{jobs: done, done: true, wrong: "scores differ"}, Silent, "scores differ"},
		"wrong, and the command says": {
			account{jobs: done, done: true, wrong: "scores differ", code: 1}, Failed, "scores differ"},
		"done, but the command failed": {
			account{jobs: done, done: true, code: 1, said: "something went wrong"}, Failed, "exit code lies"},
		"done, but the command's node was killed": {
			account{jobs: done, done: true, code: 1, said: "the node was stopped", excused: true}, Right, ""},
		"done, and the command said that it goes on": {
			account{jobs: done, done: true, code: 1, said: "the job goes on without this command"}, Right, ""},
		"the command says done, the parties do not": {
			account{jobs: []standing{at("bank", job.Done, "")}}, Failed, "exit code lies"},
		"agreed for ever": {
			account{lasting: true,
				jobs: []standing{at("telco", job.Agreed, "")}}, Failed, "never ends: trial is agreed at telco: no reason"},
		"no state at all": {account{jobs: []standing{at("telco", "", "")}}, Failed, "in no state"},
		"paused with a name and a remedy": {
			account{lasting: true,
				jobs: []standing{at("telco", job.Paused, "jobs/c0/angles is damaged; delete it and start again")}},
			Degraded, "paused at telco"},
		"paused with a name and no remedy": {
			account{lasting: true,
				jobs: []standing{at("telco", job.Paused, "jobs/c0/angles is damaged")}}, Failed, "never ends"},
		"paused with a remedy and no name": {
			account{lasting: true, parties: []string{"bank", "telco"},
				jobs: []standing{at("telco", job.Paused, "something is damaged; start again")}}, Failed, "never ends"},
		"paused after a fault that is over": {
			account{jobs: []standing{at("telco", job.Paused, "bank is gone: start its node")}, parties: []string{"bank"}},
			Failed, "never ends"},
		"one party waits with a remedy, another without": {
			account{lasting: true,
				jobs: []standing{at("bank", job.Paused, "model.hanse is damaged; restore it"),
					at("telco", job.Running, "")}},
			Failed, "never ends: trial is running at telco"},
		"failed with a name": {
			account{lasting: true, code: 1, parties: []string{"telco"},
				jobs: []standing{at("bank", job.Failed, "telco: its checkpoint is damaged")}}, Degraded, "failed at bank"},
		"failed without a name": {
			account{lasting: true, code: 1, parties: []string{"telco"},
				jobs: []standing{at("bank", job.Failed, "unexpected EOF")}}, Failed, "unexpected EOF"},
		"failed after a fault that is over": {
			account{code: 1, parties: []string{"telco"},
				jobs: []standing{at("bank", job.Failed, "telco: gone")}}, Failed, "telco: gone"},
		"expired, with a name": {
			account{lasting: true, code: 1, parties: []string{"telco"},
				jobs: []standing{at("bank", stateExpired, "telco did not answer")}}, Degraded, "expired"},
		"the command refuses and names": {
			account{lasting: true, code: 1, said: "jobs/c0/model.hanse is damaged"}, Degraded, "the command ended"},
		"the command refuses, no name": {account{lasting: true, code: 1, said: "EOF"}, Failed, "EOF"},
		"the command does not end":     {account{lasting: true, running: true, said: "waiting"}, Failed, "does not end"},
		"the command waits and says what helps": {
			account{lasting: true, running: true, parties: []string{"telco"},
				said: "waiting for telco: start its node"}, Degraded, "the command waits"},
		"a clock is off and not named": {
			account{lasting: true, cause: clockCause, running: true, parties: []string{"telco"},
				said: "waiting for telco: ask for an invitation"}, Failed, "invitation"},
		"paused for another cause": {
			account{lasting: true, cause: rotCause, parties: []string{"telco"},
				jobs: []standing{at("bank", job.Paused, "telco is gone: start its node")}}, Failed, "never ends"},
		"a clock is off and named": {
			account{lasting: true, cause: clockCause, running: true, parties: []string{"telco"},
				said: "waiting for telco: set its clock"}, Degraded, "clock"},
		"a node refuses to start and names": {
			account{lasting: true, ended: []string{"telco: node/peers.toml: line 3"}}, Degraded, "peers.toml"},
		"a node ends without a name": {account{lasting: true, ended: []string{"EOF"}}, Failed, "EOF"},
		"a report cannot be read": {
			account{lasting: true, jobs: done, done: true, unread: "EOF"}, Failed, "cannot be had"},
		"a report cannot be read, with its name": {
			account{lasting: true, jobs: done, done: true, unread: "report.json is damaged"}, Degraded, "cannot be had"},
		"a folder is left alone, and the log names it": {
			account{lasting: true,
				jobs: done[:1], warned: "warn folder is unreadable  error=jobs/c0/status.toml"}, Degraded, "status.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			got, what := judge(c.account)
			if got != c.verdict || !strings.Contains(what, c.what) {
				t.Errorf("%s: %q, want %s with %q", got, what, c.verdict, c.what)
			}
		})
	}
}

func TestNamesAndRemedies(t *testing.T) {
	parties := []string{"bank", "telco"}
	for text, want := range map[string][2]bool{
		"telco: gone":                                {true, false},
		"bankrupt":                                   {false, false},
		"jobs/c0/status.toml: line 2":                {true, false},
		"model.hanse is damaged; restore it":         {true, true},
		"unexpected EOF":                             {false, false},
		"the session did not start without telco":    {true, false},
		"session 1 starts":                           {false, false},
		"free some space and the job goes on":        {false, true},
		"telco: a person there runs hanse approve x": {true, true},
	} {
		if got := [2]bool{named(text, parties), remedied(text)}; got != want {
			t.Errorf("%q: named and remedied are %v, want %v", text, got, want)
		}
	}
}
