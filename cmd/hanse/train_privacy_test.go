package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/protocol"
)

// jobHead begins the job files of these tests.
const jobHead = "format = \"hanse-job-v1\"\nname = \"j\"\n"

func TestTrainingsOverColumnsAreSealedUnlessTheySayOtherwise(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\n", "sealed"},
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\"]\nprivacy = \"\"\n", "sealed"},
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\nprivacy = \"masked\"\n", "masked"},
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\nprivacy = \"published\"\n", "published"},
		{"algorithm = \"pofmkl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\nservers = [\"a\"]\n", "masked"},
		{"algorithm = \"fdskl\"\ntask = \"predict\"\nparties = [\"a\", \"b\", \"c\"]\nmodel = \"" + strings.Repeat("0", 64) + "\"\nopen_to = \"a\"\n", "masked"},
	} {
		text, err := withPrivacy([]byte(jobHead + c.text + "[parameters]\nseed = \"s\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		job, err := protocol.ParseJob(text)
		if err != nil {
			t.Fatal(err)
		}
		if job.Privacy != c.want || job.Parameters["seed"] != "s" {
			t.Errorf("privacy is %q, want %q, and the parameters %v, in\n%s", job.Privacy, c.want, job.Parameters, c.text)
		}
	}
	if _, err := withPrivacy([]byte(jobHead + "colour = \"red\"\n")); err == nil || !strings.Contains(err.Error(), `line 3: unknown key "colour"`) {
		t.Errorf("error is %v, want the line of the unknown key", err)
	}
}

func TestMasksAreHintedAtWhereTheyHelp(t *testing.T) {
	refusal := errors.New("refused")
	for _, c := range []struct {
		name, parties, more, parameters string
		hint                            bool
	}{
		{"schedule", `"a", "b", "c"`, "", `schedule = "doubly-stochastic"`, true},
		{"width", `"a", "b", "c"`, "", `features = 4097`, true},
		{"widest", `"a", "b", "c"`, "", `features = 4096`, false},
		{"nothing", `"a", "b", "c"`, "", ``, false},
		{"encryption", `"a", "b", "c"`, "aggregation = \"he\"\n", ``, true},
		{"two parties", `"a", "b"`, "", `features = 4097`, false},
		{"masked already", `"a", "b", "c"`, "privacy = \"masked\"\n", `features = 4097`, false},
	} {
		text, err := withPrivacy([]byte(jobHead + "algorithm = \"fdskl\"\ntask = \"train\"\nparties = [" + c.parties + "]\n" + c.more + "[parameters]\nactive = [\"a\"]\nlabel = \"y\"\n" + c.parameters + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := maskedHint(text, refusal)
		if !errors.Is(got, refusal) || strings.Contains(got.Error(), `hint: privacy = "masked"`) != c.hint {
			t.Errorf("%s: error is %v", c.name, got)
		}
	}
	if maskedHint([]byte("no job"), refusal) != refusal {
		t.Error("a text that is no job changes the refusal")
	}
}
