package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hanse-project/hanse/internal/trial"
)

// TestMain lets the test binary be the program, under the name hanse.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hanse": main})
}

// ports is how many free ports a scenario is given, as $PORT1, $PORT2, …
const ports = 5

// TestScripts runs the scenarios in testdata/script: the program as people use it, with its exact
// words. Besides the usual commands of testscript there are
//
//	exits CODE PROGRAM ARGS…   runs a program that must end with that status
//	await NAME PATTERN         waits for a file and sets $NAME to its path
//	awaittext PATTERN TEXT     waits for a file that contains a text
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setPorts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "await": awaitFile, "awaittext": awaitText,
		},
	})
}

// setPorts gives a scenario free ports.
func setPorts(env *testscript.Env) error {
	free, err := trial.FreePorts(ports)
	if err != nil {
		return err
	}
	for i, port := range free {
		env.Setenv("PORT"+strconv.Itoa(i+1), strconv.Itoa(port))
	}
	return nil
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

// until polls: the processes of a scenario tell nobody when they have done something.
func until(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited 30 s for %s", what)
		}
	}
}
