package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// TestMain lets the test binary be the program, under the name hanse.
func TestMain(m *testing.M) {
	testscript.Main(measured{m}, map[string]func(){"hanse": main})
}

// cacheVariable names the folder of what a user's programs can find again. The tests have their own: the hundreds of
// nodes that they start find there how fast this machine is, measured once.
const cacheVariable = "XDG_CACHE_HOME"

// measured are the tests of a machine that has been measured.
type measured struct{ *testing.M }

// Run measures the machine and runs the tests.
func (m measured) Run() int {
	builds, err := os.UserCacheDir()
	if err == nil && os.Getenv("GOCACHE") == "" {
		err = os.Setenv("GOCACHE", filepath.Join(builds, "go-build"))
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp("", "hanse-cache-")
	}
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv(cacheVariable, dir)
	}
	if err == nil {
		_, err = forecast.ReadSpeeds(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.M.Run()
}

// ports is how many free ports a scenario is given, as $PORT1, $PORT2, …
const ports = 5

// TestScripts runs the scenarios in testdata/script: the program as people use it, with its exact
// words. Besides the usual commands of testscript there are
//
//	exits CODE PROGRAM ARGS…   runs a program that must end with that status
//	await NAME PATTERN         waits for a file and sets $NAME to its path
//	awaittext PATTERN TEXT     waits for a file that contains a text
//	awaitout REGEXP PROGRAM …  runs a program until what it prints fits, as stdout compares it
//	fill BYTES FILE            writes a file of zeros
//	apart MOST ONE OTHER       compares CSV files: equal but for numbers, which are at most so far apart
//
// and the condition [drawn:K/N], which holds where case K is run today, of which each day runs one in N.
//
// $READER is the program that reads exported models without this one.
func TestScripts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil { // one scenario stops there
		needs.Note(t, "python3 is not installed: apt-get install python3")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setPorts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(condition string) (bool, error) {
			i, of, err := drawing(condition)
			return err == nil && drawn.Today(t, i, of), err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "await": awaitFile, "awaittext": awaitText, "awaitout": awaitOut,
			"apart": apart, "fill": fill,
		},
	})
}

// drawing reads the condition [drawn:K/N].
func drawing(condition string) (i, of int, err error) {
	if n, _ := fmt.Sscanf(condition, "drawn:%d/%d", &i, &of); n < 2 || i < 0 || i >= of {
		return 0, 0, fmt.Errorf("condition %q, want drawn:K/N with K from 0 to N-1", condition)
	}
	return i, of, nil
}

// TestEveryCaseOfAScriptComesRound: a script that has its turn some days draws no case that is drawn on others.
func TestEveryCaseOfAScriptComesRound(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	must(t, err)
	rests, draws := regexp.MustCompile(`(?m)^\[!(drawn:\S+)\] skip`), regexp.MustCompile(`(?m)^\[(drawn:\S+)\]`)
	cases := 0
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		must(t, err)
		turn, turns := 0, 1
		if m := rests.FindSubmatch(text); m != nil {
			if turn, turns, err = drawing(string(m[1])); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, m := range draws.FindAllSubmatch(text, -1) {
			i, of, err := drawing(string(m[1]))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			cases++
			comes := false
			for day := range turns * of {
				comes = comes || drawn.On(day, turn, turns) && drawn.On(day, i, of)
			}
			if !comes {
				t.Errorf("%s: [%s] is drawn on no day that the script is run", name, m[1])
			}
		}
	}
	if cases < 10 {
		t.Errorf("%d drawn lines were found: is the search broken?", cases)
	}
}

// setPorts gives a scenario free ports.
func setPorts(env *testscript.Env) error {
	free, err := localnet.FreePorts(ports)
	if err != nil {
		return err
	}
	env.Defer(free.Close)
	for i, port := range free.Numbers {
		env.Setenv("PORT"+strconv.Itoa(i+1), strconv.Itoa(port))
	}
	env.Setenv(cacheVariable, os.Getenv(cacheVariable))
	env.Setenv("GORACE", "atexit_sleep_ms=0") // of programs compiled for the race detector, which would wait a second
	reader, err := filepath.Abs(filepath.Join("..", "..", "examples", "read_model.py"))
	env.Setenv("READER", reader)
	return err
}

// apart compares two CSV files cell by cell.
func apart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: apart MOST ONE OTHER")
	}
	most, err := strconv.ParseFloat(args[0], 64)
	ts.Check(err)
	var both [2][][]string
	for i, name := range args[1:] {
		both[i], err = csv.NewReader(strings.NewReader(ts.ReadFile(name))).ReadAll()
		ts.Check(err)
	}
	if len(both[0]) < 2 || len(both[0]) != len(both[1]) {
		ts.Fatalf("%d and %d lines", len(both[0]), len(both[1]))
	}
	for i, line := range both[0] {
		for k, cell := range line {
			other := both[1][i][k]
			a, errA := strconv.ParseFloat(cell, 64)
			b, errB := strconv.ParseFloat(other, 64)
			if cell != other && (errA != nil || errB != nil || !(math.Abs(a-b) <= most)) {
				ts.Fatalf("line %d: %s and %s", i+1, cell, other)
			}
		}
	}
}

// fill writes a file of so many zeros.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill BYTES FILE")
	}
	bytes, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), make([]byte, bytes), 0o600))
}

// exits runs a program and compares its exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// awaitFile waits for the only file that fits a pattern.
func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await NAME PATTERN")
	}
	until(ts, args[1], func() bool {
		found, err := filepath.Glob(ts.MkAbs(args[1]))
		ts.Check(err)
		if len(found) == 1 {
			ts.Setenv(args[0], found[0])
		}
		return len(found) == 1
	})
}

// awaitText waits until a file contains a text.
func awaitText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: awaittext PATTERN TEXT")
	}
	until(ts, args[0]+" with "+args[1], func() bool {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		if len(found) != 1 {
			return false
		}
		text, err := os.ReadFile(found[0])
		return err == nil && strings.Contains(string(text), args[1])
	})
}

// awaitOut runs a program until it ends well and prints what fits: a node knows a job a moment after its file is there.
func awaitOut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: awaitout REGEXP PROGRAM ARGS…")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	until(ts, strings.Join(args[1:], " ")+" to print "+args[0], func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && want.MatchString(ts.ReadFile("stdout"))
	})
}

// until polls: the processes of a scenario tell nobody when they have done something. Looking takes at most a fifth of
// the time that it waits, since what it looks for may be a program's to do on the same processor.
func until(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(2 * time.Minute); ; {
		began := time.Now()
		if done() {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited two minutes for %s", what)
		}
		time.Sleep(20*time.Millisecond + 4*time.Since(began))
	}
}
