// Package needs gives tests what they need of the machine that runs them: a program, a data set, a right. Where it is
// missing the test is skipped, and what is missing is noted, so that a run of many tests can say at its end what it did
// not test.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// List is the variable of the environment that names the file to which every skipped test adds a line.
const List = "HANSE_SKIPPED"

// Program returns the path of the first of some programs that is installed. install is the command that installs it.
func Program(t testing.TB, install string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "%s is not installed: %s", names[0], install)
	return ""
}

// Data returns the path of a file or folder of the real data sets. They are in the folder that HANSE_DATA names, or in
// shared/data beside the checkout.
func Data(t testing.TB, name ...string) string {
	t.Helper()
	dir := os.Getenv("HANSE_DATA")
	if dir == "" {
		dir = filepath.Join(filepath.Dir(Root(t)), "shared", "data")
	}
	path := filepath.Join(append([]string{dir}, name...)...)
	if _, err := os.Stat(path); err != nil {
		Missing(t, "there is no data set %s: set HANSE_DATA to its folder", filepath.Join(name...))
	}
	return path
}

// module is how the product's go.mod begins; those of modules inside the checkout begin otherwise.
const module = "module github.com/hanse-project/hanse\n"

// Root returns the folder of the checkout that the test is in.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), module) {
			return dir
		}
	}
	t.Fatal("the test is in no checkout of " + module)
	return ""
}

// Missing notes what is missing and skips the test.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	Note(t, format, args...)
	t.Skipf(format, args...)
}

// Note notes what is missing where a test goes on without it. One line at a time: tests of many processes write.
func Note(t testing.TB, format string, args ...any) {
	t.Helper()
	path := os.Getenv(List)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s: %s\n", t.Name(), fmt.Sprintf(format, args...)); err != nil {
		t.Fatal(err)
	}
}
