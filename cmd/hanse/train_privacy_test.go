package main

import (
	"errors"
	"strings"
	"testing"
)

// jobHead begins the job files of these tests.
const jobHead = "format = \"hanse-job-v1\"\nname = \"j\"\n"

func TestMasksAreHintedAtWhereTheyHelp(t *testing.T) {
	refusal := errors.New("refused")
	for _, c := range []struct {
		name, parties, more, parameters string
		hint                            bool
	}{
		{"schedule", `"a", "b", "c"`, "", `schedule = "doubly-stochastic"`, true},
		{"width", `"a", "b", "c"`, "", `features = 4098`, true},
		{"widest", `"a", "b", "c"`, "", `features = 4096`, false},
		{"nothing", `"a", "b", "c"`, "", ``, false},
		{"encryption", `"a", "b", "c"`, "aggregation = \"he\"\n", ``, true},
		{"two parties", `"a", "b"`, "", `features = 4098`, false},
		{"masked already", `"a", "b", "c"`, "privacy = \"masked\"\n", `features = 4098`, false},
	} {
		text := []byte(jobHead + "algorithm = \"fdskl\"\ntask = \"train\"\nparties = [" + c.parties + "]\n" + c.more +
			"[parameters]\nactive = [\"a\"]\nlabel = \"y\"\n" + c.parameters + "\n")
		got := maskedHint(text, refusal)
		if !errors.Is(got, refusal) || strings.Contains(got.Error(), `hint: privacy = "masked"`) != c.hint {
			t.Errorf("%s: error is %v", c.name, got)
		}
	}
	if maskedHint([]byte("no job"), refusal) != refusal {
		t.Error("a text that is no job changes the refusal")
	}
}
