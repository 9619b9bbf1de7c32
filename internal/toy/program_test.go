package toy

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
)

// program builds the program with the line and the mean in its list: a folder of its own for each, and one line of
// package registry.
func program(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	registry := filepath.Join(root, "algorithms", "registry", "registry.go")
	text, err := os.ReadFile(registry)
	must(t, err)
	changed := string(text)
	for _, c := range []struct{ before, after string }{
		{"glm.Algorithm()}", "glm.Algorithm(), line.Algorithm()}"},
		{"pofmkl.Algorithm()}", "pofmkl.Algorithm(), mean.Algorithm()}"},
		{"import (\n", "import (\n\t\"github.com/hanse-project/hanse/internal/toy/testdata/line\"\n" +
			"\t\"github.com/hanse-project/hanse/internal/toy/testdata/mean\"\n"},
	} {
		if strings.Count(changed, c.before) != 1 {
			t.Fatalf("%s has not one %q", registry, c.before)
		}
		changed = strings.Replace(changed, c.before, c.after, 1)
	}
	dir := t.TempDir()
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {registry: filepath.Join(dir, "registry.go")}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "registry.go"), []byte(changed), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	built := filepath.Join(dir, "hanse")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", built, "./cmd/hanse")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return built
}

// unseen is the code with which a command ends whose audit could not look at everything.
const unseen = 4

// first returns the first of two texts.
func first(a, _ string) string { return a }

// TestAProgramWithOneMore runs the commands of a program that has one algorithm more in its list: a demo among
// processes, and a rehearsal from schemas. The truth is the line that the table is made by.
func TestAProgramWithOneMore(t *testing.T) {
	built, dir := program(t), t.TempDir()
	run := func(args ...string) (out, said string) {
		t.Helper()
		var told bytes.Buffer
		c := exec.CommandContext(t.Context(), built, args...)
		c.Dir, c.Stderr = dir, &told
		text, err := c.Output()
		if err != nil && c.ProcessState.ExitCode() != unseen {
			t.Fatalf("hanse %s: %v\n%s%s", strings.Join(args, " "), err, text, &told)
		}
		return string(text), told.String()
	}
	writeLine(t, dir, 2, "bank", "insurer", "telco")
	writeLine(t, dir, 6, "all")
	var r struct {
		RMSE   float64 `json:"test_rmse"`
		Guess  float64 `json:"majority_error"`
		Kernel string  `json:"kernel"`
		Audit  struct {
			Verdict finding.Verdict `json:"verdict"`
			Ledger  []finding.Learned
		} `json:"audit"`
	}
	out, said := run("demo", "--algorithm", "line", "--data", "all.csv", "--label", "y", "--parties", "3", "--privacy",
		"masked", "--overlap", "1", "--json")
	must(t, json.Unmarshal([]byte(out), &r))
	if r.RMSE > 1e-5 || r.Guess < 1 || r.Kernel != "" {
		t.Errorf("the demo says %+v", r)
	}
	// Of what the program does not know it says that it may be anything.
	if !strings.Contains(said, "insurer and telco will learn 1 line") || r.Audit.Verdict != finding.Disclosed &&
		r.Audit.Verdict != finding.Partial {
		t.Errorf("before consent: %s; the audit: %s", said, r.Audit.Verdict)
	}
	for _, l := range r.Audit.Ledger {
		if l.Kind != contract.KindRowset && (l.Verdict != finding.Disclosed || l.Count != l.Declared) {
			t.Errorf("%s learned %d of %d %s: %s", l.Party, l.Count, l.Declared, l.Kind, l.Verdict)
		}
	}

	// Rehearsals from what the parties say of their tables.
	must(t, os.WriteFile(filepath.Join(dir, "stream.csv"), []byte("id,u,y\na,1,2\nb,3,4\nc,5,6\n"), 0o600))
	for _, c := range []struct {
		text, first, says string
		tables            map[string]string // by party
	}{
		{lineJob("fit", "train") + lineParameters, "bank.csv", `rehearsal of job "fit" (line train, privacy masked): 3 nodes on`,
			map[string]string{"bank": "bank.csv", "insurer": "insurer.csv", "telco": "telco.csv"}},
		{meanJob("masked"), "stream.csv", `rehearsal of job "average" (mean train, privacy masked): 4 nodes on`,
			map[string]string{"north": "stream.csv", "south": "stream.csv", "west": "stream.csv"}},
	} {
		rehearse := []string{"rehearse", "job.toml", "--from-schemas", "--workers", "1"}
		for party, table := range c.tables {
			check := []string{"table", "check", table, "--json"}
			if table == c.first {
				check = append(check, "--label", "y")
			}
			must(t, os.WriteFile(filepath.Join(dir, party+".json"), []byte(first(run(check...))), 0o600))
			rehearse = append(rehearse, "--schema", party+"="+party+".json")
		}
		must(t, os.WriteFile(filepath.Join(dir, "job.toml"), []byte(c.text), 0o600))
		out, _ := run(rehearse...)
		for _, want := range []string{c.says, "audit: disclosed. "} {
			if !strings.Contains(out, want) {
				t.Errorf("the rehearsal says no %q:\n%s", want, out)
			}
		}
	}
}
