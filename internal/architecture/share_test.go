package architecture

import (
	"fmt"
	"go/ast"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// share runs .ci/share and returns the lines that it prints.
func share(t *testing.T, args ...string) []string {
	t.Helper()
	bash := needs.Program(t, "apt-get install bash", "bash")
	out, err := exec.Command(bash, append([]string{filepath.Join("..", "..", ".ci", "share")}, args...)...).Output()
	if err != nil {
		t.Fatalf(".ci/share %v: %v", args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestAsManyDaysRunEveryUnit: from any day on, as many days as there are units of long tests run each of them once.
func TestAsManyDaysRunEveryUnit(t *testing.T) {
	units := share(t, "list")
	if len(units) < 15 {
		t.Fatalf("%d units, want at least 15", len(units))
	}
	const first = 20_000 // a day of 2024
	var ran []string
	for day := range len(units) {
		ran = append(ran, share(t, "list", fmt.Sprint(first+day))...)
	}
	slices.Sort(units)
	slices.Sort(ran)
	if !slices.Equal(ran, units) {
		t.Errorf("%d days run\n%s\nwant every unit once:\n%s", len(units), strings.Join(ran, "\n"),
			strings.Join(units, "\n"))
	}
}

// TestEveryLongTestIsInAUnit: a test that only the build tag long has is run by a unit of its package.
func TestEveryLongTestIsInAUnit(t *testing.T) {
	type unit struct {
		folder string
		tests  *regexp.Regexp
	}
	var units []unit
	for _, line := range share(t, "list") {
		part := strings.SplitN(line, " ", 3)
		units = append(units, unit{strings.TrimPrefix(part[1], "./"), regexp.MustCompile(part[2])})
	}
	long := 0
	eachSource(t, func(s source) {
		if !s.test || !strings.HasPrefix(string(s.text), "//go:build long") {
			return
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			long++
			if !slices.ContainsFunc(units, func(u unit) bool {
				return u.folder == s.folder && u.tests.MatchString(f.Name.Name)
			}) {
				t.Errorf("no unit of .ci/share runs %s of %s", f.Name.Name, s.folder)
			}
		}
	})
	if long < 15 {
		t.Errorf("%d long tests were found: is the search broken?", long)
	}
}

// TestQuietPackagesStartNoGoroutine: what .ci/race compiles without the race detector's probes lies in the cores, whose
// code starts no goroutine but through internal/parallel, and is none of those files that may.
func TestQuietPackagesStartNoGoroutine(t *testing.T) {
	bash := needs.Program(t, "apt-get install bash", "bash")
	cmd := exec.Command(bash, "-c", `. .ci/race && printf '%s\n' "${quiet[@]}"`)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, line := range strings.Fields(string(out)) {
		folder, ours := strings.CutPrefix(strings.TrimSuffix(line, "/..."), module)
		if !ours {
			continue
		}
		own++
		if !slices.ContainsFunc(cores, func(core string) bool { return within(folder, core) }) {
			t.Errorf("%s is compiled without probes, and no test holds that it starts no goroutine", folder)
		}
		for path := range starters {
			if within(path, folder) {
				t.Errorf("%s is compiled without probes, and %s may start goroutines", folder, path)
			}
		}
	}
	if own < 5 {
		t.Errorf("%d packages of ours are compiled without probes: is the search broken?", own)
	}
}
