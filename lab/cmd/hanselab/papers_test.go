package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// sources is the top of the source tree.
const sources = "../../.."

// listed is a row of the tables of what the papers hold.
type listed struct{ paper, item, state, why, where string }

// listedItems reads the tables from docs/papers.md: those below its first heading of the second level.
func listedItems(t *testing.T, text string) (items []listed) {
	t.Helper()
	_, section, _ := strings.Cut(text, "\n## Everything in the four papers\n")
	section, _, found := strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/papers.md has no list of what is in the papers")
	}
	paper := ""
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "### "); ok {
			paper = name
		}
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| item |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 4 {
			t.Errorf("a row has %d cells, want 4: %s", len(cells), line)
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		items = append(items, listed{paper, cells[0], cells[1], cells[2], cells[3]})
	}
	return items
}

// TestEveryItemOfThePapersHasItsState: done, differs or not done, with a reason of one sentence, and a place unless
// there is none to name.
func TestEveryItemOfThePapersHasItsState(t *testing.T) {
	items := listedItems(t, readSource(t, "docs/papers.md"))
	papers, seen := make(map[string]int), make(map[[2]string]bool)
	for _, it := range items {
		papers[it.paper]++
		if name := [2]string{it.paper, it.item}; seen[name] {
			t.Errorf("%q of %s is there twice", it.item, it.paper)
		} else {
			seen[name] = true
		}
		if !slices.Contains([]string{"done", "differs", "not done"}, it.state) {
			t.Errorf("%q is %q, want done, differs or not done", it.item, it.state)
		}
		if len(it.why) < 10 || !strings.HasSuffix(it.why, ".") || strings.Count(it.why, ". ") > 0 {
			t.Errorf("%q has the reason %q, want one sentence", it.item, it.why)
		}
		if it.where == "" || it.where == "-" && it.state != "not done" {
			t.Errorf("%q is %s and stands nowhere", it.item, it.state)
		}
	}
	if len(papers) != 4 || len(items) < 120 {
		t.Errorf("the list has %d items by paper %v, want 120 or more of 4", len(items), papers)
	}
}

// TestThePapersPageNamesWhatExists: commands with their flags, tests, files and links.
func TestThePapersPageNamesWhatExists(t *testing.T) {
	text := readSource(t, "docs/papers.md")
	commands := make(map[string][]string)
	for _, c := range newApp(nil, nil, nil).Commands {
		for _, f := range c.Flags {
			commands[c.Name] = append(commands[c.Name], f.Names()...)
		}
		commands[c.Name] = append(commands[c.Name], cli.HelpFlag.Names()...)
	}
	for _, use := range regexp.MustCompile("hanselab ([a-z][a-z0-9-]*)([^`|\n]*)").FindAllStringSubmatch(text, -1) {
		flags, ok := commands[use[1]]
		if !ok {
			t.Errorf("%q: hanselab has no command %q", strings.TrimSpace(use[0]), use[1])
			continue
		}
		for _, flag := range regexp.MustCompile(`--([a-z][a-z-]*)`).FindAllStringSubmatch(use[2], -1) {
			if !slices.Contains(flags, flag[1]) {
				t.Errorf("%q: hanselab %s has no flag --%s", strings.TrimSpace(use[0]), use[1], flag[1])
			}
		}
	}
	tests := allTests(t)
	for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
	var paths []string
	sourcePath := regexp.MustCompile("`((?:algorithms|protocol|audit|internal|secagg|cmd|lab)/[a-z0-9_/.]+)`")
	for _, m := range sourcePath.FindAllStringSubmatch(text, -1) {
		paths = append(paths, m[1])
	}
	for _, m := range regexp.MustCompile(`\]\(([a-z0-9_.-]+)\)`).FindAllStringSubmatch(text, -1) {
		paths = append(paths, "docs/"+m[1])
	}
	for _, p := range paths {
		if _, err := os.Stat(filepath.Join(sources, p)); err != nil {
			t.Errorf("docs/papers.md names %s: %v", p, err)
		}
	}
}

// readSource reads a file of the source tree.
func readSource(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sources, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allTests finds the names of all tests of the source tree, those of other build tags included.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	found, declaration := make(map[string]bool), regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	err := filepath.WalkDir(sources, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
