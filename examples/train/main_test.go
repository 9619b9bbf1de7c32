package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// outside builds the program in a module of its own, with some files in place of its own or beside them, runs it there
// and returns what it prints. That module knows this one by a replace directive alone, so that what is internal cannot
// be imported; what is not in the module cache cannot be had.
func outside(t *testing.T, files map[string]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	checkout, err := filepath.Abs("../..")
	sums, e := os.ReadFile("../../go.sum")
	mustDo(t, errors.Join(err, e, os.CopyFS(dir, os.DirFS("."))))
	files["go.sum"], files["go.mod"] = string(sums), "module example.org/train\n\ngo 1.26.0\n\nrequire "+
		"github.com/hanse-project/hanse v0.0.0\n\nreplace github.com/hanse-project/hanse => "+checkout+"\n"
	for name, text := range files {
		mustDo(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	program := exec.CommandContext(t.Context(), "go", "build", "-o", "train", ".")
	program.Dir = dir
	program.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod")
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("the program does not build outside of this module: %v\n%s", err, out)
	}
	program = exec.CommandContext(t.Context(), filepath.Join(dir, "train"))
	program.Dir, program.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	out, err := program.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestOutside builds and runs the program where a reader would, and audits what it leaves as hanse audit does.
func TestOutside(t *testing.T) {
	left, err := outside(t, map[string]string{})
	if err != nil {
		t.Fatalf("%v\n%s", err, left)
	}
	request := auditing.Request{Charter: filepath.Join(left, "charter.toml"), Told: io.Discard, Workers: 1}
	for _, name := range []string{"bank", "insurer", "telco"} {
		folder := filepath.Join(left, name)
		part, err := os.ReadFile(filepath.Join(folder, "part"))
		mustDo(t, err)
		m, err := fdskl.DecodeModel(part)
		if err != nil || len(m.Columns) != 3 || m.Params.Label != "default" || m.TrainError > .1 {
			t.Errorf("%s has a part of columns %q, label %q, error %v (%v)", name, m.Columns, m.Params.Label, m.TrainError, err)
		}
		request.Given = append(request.Given, folder)
		request.Data = append(request.Data, name+"="+name+".csv")
	}
	in, err := auditing.Read(request)
	mustDo(t, err)
	who, err := auditing.NewAuditor("", nil, in)
	mustDo(t, err)
	r, err := who.Audit(t.Context(), in)
	mustDo(t, err)

	// All is looked at but one thing: a node has a record of which table its owner consented to, and a program has none.
	if r.Exit != audit.ExitPartial || r.Verdict != finding.Disclosed || len(r.NotLookedAt) != 1 ||
		!strings.HasPrefix(r.NotLookedAt[0], "Tables: nobody confirmed") {
		t.Errorf("the audit ends with %d, %s: %s\n%q", r.Exit, r.Verdict, r.Summary, r.NotLookedAt)
	}
	passed := 0
	for _, c := range r.Checks {
		if c.Verdict == finding.Passed {
			passed++
		} else if c.Name != finding.CheckConsented {
			t.Errorf("%s, %s: %s", c.Party, c.Name, c.Detail)
		}
	}
	if passed < 40 {
		t.Errorf("%d checks passed, want 40 or more", passed)
	}
}

// greedy is the program of a telco that sends one vector more than agreed when its part is done.
const greedy = `package main

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

type greedy struct{ wired.Part }

func (g greedy) Train(ctx context.Context, s *protocol.Session, c *contract.Contract) (joint.Part, error) {
	model, err := g.Part.Train(ctx, s, c)
	if err != nil || s.Name(s.Self()) != "telco" {
		return model, err
	}
	network, err := wired.NewNetwork(ctx, s, c, nil)
	if err == nil {
		err = network.SumTurns(ctx, fdskl.KindAngles, 0, make([]uint16, 512))
	}
	fmt.Println(err)
	return nil, err
}
`

// TestOneVectorMore: the budget of the contract stops a party whose own code sends what nobody has signed.
func TestOneVectorMore(t *testing.T) {
	program, err := os.ReadFile("main.go")
	mustDo(t, err)
	changed := strings.Replace(string(program), "wired.Part{Table: tables[i]}.Train",
		"greedy{wired.Part{Table: tables[i]}}.Train", 1)
	out, err := outside(t, map[string]string{"main.go": changed, "greedy.go": greedy})
	if want := "angles to bank not sent: it would be frame 2 of 1 agreed"; err == nil || !strings.Contains(out, want) {
		t.Errorf("error is %v, and it printed\n%s\nwant %s", err, out, want)
	}
}

// TestWithoutABudget: a program that leaves the budget out has no session.
func TestWithoutABudget(t *testing.T) {
	key, err := keys.GenerateKey()
	mustDo(t, err)
	_, err = protocol.NewSession(t.Context(), nil, protocol.SessionConfig{Number: 1, Key: key,
		Parties: []contract.Party{{Name: "telco", ID: key.ID()}}, Unrecorded: true})
	if err == nil || !strings.Contains(err.Error(), "has no Budget, and this party could send anything") {
		t.Errorf("error is %v", err)
	}
}

// mustDo ends the test on an error.
func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
