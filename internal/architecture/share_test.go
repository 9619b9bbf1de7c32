package architecture

import (
	"fmt"
	"go/ast"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// said runs a line of bash in the root of the checkout and returns the lines that it prints.
func said(t *testing.T, line string) []string {
	t.Helper()
	cmd := exec.Command(needs.Program(t, "apt-get install bash", "bash"), "-c", line)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestAsManyDaysRunEveryUnit: from any day on, as many days as there are units of long tests run each of them once.
func TestAsManyDaysRunEveryUnit(t *testing.T) {
	units := said(t, ".ci/share list")
	if len(units) < 15 {
		t.Fatalf("%d units, want at least 15", len(units))
	}
	const first = 20_000 // a day of 2024
	var ran []string
	for day := range len(units) {
		ran = append(ran, said(t, fmt.Sprint(".ci/share list ", first+day))...)
	}
	slices.Sort(units)
	slices.Sort(ran)
	if !slices.Equal(ran, units) {
		t.Errorf("%d days run\n%s\nwant every unit once:\n%s", len(units), strings.Join(ran, "\n"),
			strings.Join(units, "\n"))
	}
}

// TestEveryLongTestIsInAUnit: a test that only the build tag long has, or that draws its cases, is run by a unit of its
// package.
func TestEveryLongTestIsInAUnit(t *testing.T) {
	type unit struct {
		folder string
		tests  *regexp.Regexp
		runs   bool // some test
	}
	var units []unit
	for _, line := range said(t, ".ci/share list") {
		part := strings.SplitN(line, " ", 3)
		tests, _, _ := strings.Cut(part[2], "/") // what follows is a part of a test
		units = append(units, unit{folder: strings.TrimPrefix(part[1], "./"), tests: regexp.MustCompile(tests)})
	}
	long := 0
	eachSource(t, func(s source) {
		if !s.test {
			return
		}
		all := strings.HasPrefix(string(s.text), "//go:build long")
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			runs := false
			for i, u := range units {
				above, nested := strings.CutSuffix(u.folder, "/...")
				if (u.folder == s.folder || nested && within(s.folder, above)) && u.tests.MatchString(f.Name.Name) {
					runs, units[i].runs = true, true
				}
			}
			if !all && !draws(f) {
				continue
			}
			long++
			if !runs {
				t.Errorf("no unit of .ci/share runs %s of %s", f.Name.Name, s.folder)
			}
		}
	})
	for _, u := range units {
		if !u.runs {
			t.Errorf("the unit %s %s of .ci/share runs no test", u.folder, u.tests)
		}
	}
	if long < 15 {
		t.Errorf("%d long tests were found: is the search broken?", long)
	}
}

// draws reports whether a test asks which of its cases are run today.
func draws(f *ast.FuncDecl) (does bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		x, ok := n.(*ast.SelectorExpr)
		if ok {
			from, ok := x.X.(*ast.Ident)
			does = does || ok && slices.Contains([]string{"drawn.Today", "drawn.Turn", "drawn.All", "walk.Page"},
				from.Name+"."+x.Sel.Name)
		}
		return !does
	})
	return does
}

// TestQuietPackagesStartNoGoroutine: what .ci/race compiles without the race detector's probes lies in the cores, whose
// code starts no goroutine but through internal/parallel, and is none of those files that may.
func TestQuietPackagesStartNoGoroutine(t *testing.T) {
	own := 0
	for _, line := range said(t, `. .ci/race && printf '%s\n' "${quiet[@]}"`) {
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

// withoutProbes are the packages that start goroutines, or share loops among them, and that make test runs without the
// race detector all the same, and why. make night runs them with it.
var withoutProbes = map[string]string{
	"algorithms/fdskl":           "internal/node runs it in whole jobs",
	"algorithms/sealed":          "internal/node runs it in whole jobs",
	"algorithms/kernel":          "it is arithmetic",
	"algorithms/kernel/cholesky": "it is arithmetic",
	"audit":                      "internal/node audits whole jobs",
	"secagg/psi/point":           "it is arithmetic",
	"secagg/ring":                "it is arithmetic",
}

// TestEveryPackageIsTested: make test runs the tests of every package of the product.
func TestEveryPackageIsTested(t *testing.T) {
	tested := said(t, ".ci/test --list")
	missing := make(map[string]bool)
	eachSource(t, func(s source) {
		if s.test && !within(s.folder, "lab") && !within(s.folder, "deploy") &&
			!slices.Contains(tested, "race ./"+s.folder) && !slices.Contains(tested, "plain ./"+s.folder) {
			missing[s.folder] = true
		}
	})
	for folder := range missing {
		t.Errorf(".ci/test runs no test of %s", folder)
	}
}

// TestGoroutinesAreTestedWithTheRaceDetector: .ci/test gives it to every package whose code starts a goroutine or
// shares a loop among some, but for those above.
func TestGoroutinesAreTestedWithTheRaceDetector(t *testing.T) {
	raced := said(t, ".ci/test --list")
	unused := maps.Clone(withoutProbes)
	missing := make(map[string]string)
	eachSource(t, func(s source) {
		for _, above := range []string{"cmd", "examples", "lab", "deploy"} {
			if s.test || within(s.folder, above) {
				return
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			imported, ok := n.(*ast.ImportSpec)
			if startsGoroutine(n) || ok && imported.Path.Value == `"`+module+`internal/parallel"` {
				delete(unused, s.folder)
				if _, ok := withoutProbes[s.folder]; !ok && !slices.Contains(raced, "race ./"+s.folder) {
					missing[s.folder] = s.at(n.Pos())
				}
			}
			return true
		})
	})
	for folder, at := range missing {
		t.Errorf("%s has goroutines (%s), and .ci/test does not test it with the race detector", folder, at)
	}
	for folder := range unused {
		t.Errorf("%s starts no goroutine: take it off the list", folder)
	}
}
