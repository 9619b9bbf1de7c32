package architecture

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	ledgerHeading  = "## Ledger of promises\n"
	withoutHeading = "### Promises without a test\n"
	scriptFolder   = "cmd/hanse/testdata/script/"
)

// promise is one line of the ledger.
type promise struct {
	line          int    // of docs/testing.md
	page, section string // where the words stand: "audit.md", "Limits"
	words         string
	tests         []namedTest
	layer         string
	long          bool
}

// namedTest is a test as the ledger names it: a function, one of its subtests, or a script.
type namedTest struct{ folder, name, subtest string }

// docs reads a page of docs.
func docs(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// plain is a text without marks for code and stress, with one space between words.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("`", "", "*", "").Replace(s)), " ")
}

// section returns what stands under a heading of the second level, "" if there is none.
func section(page, heading string) string {
	_, text, _ := strings.Cut("\n"+page, "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// cells splits a line of a table, nil for its head and its rule.
func cells(line string) []string {
	if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise | tests |") {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// ledger reads the ledger, and the promises that have no test.
func ledger(t *testing.T) (tested, untested []promise) {
	t.Helper()
	before, text, found := strings.Cut(docs(t, "testing.md"), ledgerHeading)
	if !found || strings.Contains(text, "\n## ") {
		t.Fatal("docs/testing.md does not end with its ledger of promises")
	}
	if !strings.Contains(text, withoutHeading) {
		t.Fatal("the ledger does not list promises without a test")
	}
	page, heading, without := "", "", false
	list := regexp.MustCompile(`^- ([a-z-]+\.md), ([^:"]+): "([^"]+)"`)
	for i, line := range strings.Split(text, "\n") {
		at := strings.Count(before, "\n") + 2 + i
		if title, ok := strings.CutPrefix(line, "### "); ok {
			without = line+"\n" == withoutHeading
			page, heading, _ = strings.Cut(title, ": ")
			continue
		}
		if without {
			if m := list.FindStringSubmatch(line); m != nil {
				untested = append(untested, promise{line: at, page: m[1], section: m[2], words: m[3]})
			} else if strings.HasPrefix(line, "-") {
				t.Errorf("docs/testing.md:%d: not of the form - page.md, Section: \"words\"", at)
			}
			continue
		}
		row := cells(line)
		if row == nil {
			continue
		}
		if len(row) != 4 || row[3] != "" && row[3] != "long" {
			t.Errorf("docs/testing.md:%d: want | words | tests | layer | | or | long |", at)
			continue
		}
		p := promise{at, page, heading, row[0], nil, row[2], row[3] == "long"}
		folder := ""
		for _, span := range regexp.MustCompile("`[^`]+`").FindAllString(row[1], -1) {
			name := strings.Trim(span, "`")
			if strings.HasPrefix(name, scriptFolder) {
				p.tests = append(p.tests, namedTest{name: name})
				continue
			}
			if before, after, ok := strings.Cut(name, " Test"); ok {
				folder, name = before, "Test"+after
			} else if before, after, ok := strings.Cut(name, " Fuzz"); ok {
				folder, name = before, "Fuzz"+after
			}
			name, subtest, _ := strings.Cut(name, "/")
			p.tests = append(p.tests, namedTest{folder, name, subtest})
		}
		tested = append(tested, p)
	}
	return tested, untested
}

// packageTests are a package's test files.
type packageTests struct {
	long  map[string]bool // by function: whether it runs under the tag long alone
	files []source
}

// quotes reports whether a string stands in the tests, as the name of a subtest does.
func (p *packageTests) quotes(text string) bool {
	found := false
	for _, s := range p.files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				said, err := strconv.Unquote(l.Value)
				found = found || err == nil && said == text
			}
			return !found
		})
	}
	return found
}

// names reports whether the tests have a word, in small letters or large.
func (p *packageTests) names(word string) bool {
	return slices.ContainsFunc(p.files, func(s source) bool {
		return bytes.Contains(bytes.ToLower(s.text), []byte(word))
	})
}

// needsLong reports whether a file is compiled under the tag long alone.
func needsLong(s source) bool {
	for _, line := range strings.Split(string(s.text), "\n") {
		if strings.HasPrefix(line, "package ") {
			return false
		}
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(line)
		if err != nil {
			return false
		}
		without := func(others bool) bool {
			return expr.Eval(func(tag string) bool { return tag != "long" && others })
		}
		return !without(true) && !without(false)
	}
	return false
}

// testsOf reads the test files of all packages.
func testsOf(t *testing.T) map[string]*packageTests {
	t.Helper()
	all := make(map[string]*packageTests)
	eachSource(t, func(s source) {
		if !s.test || s.folder == "internal/architecture" {
			return
		}
		p := all[s.folder]
		if p == nil {
			p = &packageTests{long: make(map[string]bool)}
			all[s.folder] = p
		}
		p.files = append(p.files, s)
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				p.long[f.Name.Name] = needsLong(s)
			}
		}
	})
	return all
}

// TestTheLedgerNamesWhatExists: every promise stands on its page in these words, and every test that is to prove it is
// there, in a layer of the table, and runs where the ledger says.
func TestTheLedgerNamesWhatExists(t *testing.T) {
	tested, untested := ledger(t)
	if len(tested) < 250 {
		t.Errorf("the ledger has %d lines, want 250 or more", len(tested))
	}
	layers := make(map[string]bool)
	for line := range strings.Lines(section(docs(t, "testing.md"), "What each layer proves")) {
		if row := cells(strings.TrimSpace(line)); row != nil {
			layers[row[0]] = true
		}
	}
	if len(layers) < 10 {
		t.Errorf("docs/testing.md has the layers %v", slices.Sorted(maps.Keys(layers)))
	}
	sections := make(map[string]string)
	for _, p := range slices.Concat(tested, untested) {
		where := p.page + ": " + p.section
		if _, ok := sections[where]; !ok {
			sections[where] = plain(section(docs(t, p.page), p.section))
			if sections[where] == "" {
				t.Errorf("docs/testing.md:%d: docs/%s has no section %q", p.line, p.page, p.section)
			}
		}
		if words := plain(p.words); words == "" || !strings.Contains(sections[where], words) {
			t.Errorf("docs/testing.md:%d: %q does not stand in docs/%s, %s", p.line, words, p.page, p.section)
		}
	}
	all := testsOf(t)
	for _, p := range tested {
		if !layers[p.layer] {
			t.Errorf("docs/testing.md:%d: %q is no layer of the table", p.line, p.layer)
		}
		if len(p.tests) == 0 {
			t.Errorf("docs/testing.md:%d: no test proves %q", p.line, p.words)
		}
		for _, test := range p.tests {
			if test.folder == "" {
				if _, err := os.Stat(filepath.Join("..", "..", test.name)); err != nil {
					t.Errorf("docs/testing.md:%d: there is no %s", p.line, test.name)
				}
				continue
			}
			in := all[test.folder]
			if in == nil {
				t.Errorf("docs/testing.md:%d: %s has no tests", p.line, test.folder)
				continue
			}
			long, ok := in.long[test.name]
			switch {
			case !ok || !strings.HasPrefix(test.name, "Test") && !strings.HasPrefix(test.name, "Fuzz"):
				t.Errorf("docs/testing.md:%d: %s has no test %s", p.line, test.folder, test.name)
			case long != p.long:
				t.Errorf("docs/testing.md:%d: %s runs under the tag long alone: %t", p.line, test.name, long)
			case test.subtest != "" && !in.quotes(test.subtest):
				t.Errorf("docs/testing.md:%d: %s has no subtest %q", p.line, test.name, test.subtest)
			}
		}
	}
}

// TestEveryAttackerIsInTheLedger: every row of the table of what one member cannot do has a line, and whom the row
// names as the attacker is named in the tests of such a line.
func TestEveryAttackerIsInTheLedger(t *testing.T) {
	const page, heading = "threat-model.md", "One member that deviates"
	tested, _ := ledger(t)
	all := testsOf(t)
	rows, attackers := 0, 0
	for line := range strings.Lines(section(docs(t, page), heading)) {
		row := cells(strings.TrimSpace(line))
		if len(row) != 3 || row[0] == "it cannot" {
			continue
		}
		rows++
		var folders []string
		functions := make(map[string]bool)
		for _, p := range tested {
			if p.page == page && p.section == heading && strings.Contains(plain(line), plain(p.words)) {
				for _, test := range p.tests {
					folders = append(folders, test.folder)
					functions[test.name] = true
				}
			}
		}
		if folders == nil {
			t.Errorf("the ledger has no line for: it cannot %s", row[0])
			continue
		}
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			attackers++
			named := functions[m[1]]
			for _, folder := range folders {
				if in := all[folder]; in != nil && !strings.HasPrefix(m[1], "Test") {
					named = named || in.names(m[1])
				}
			}
			if !named {
				t.Errorf("no test of the ledger's lines for %q names %s", row[0], m[1])
			}
		}
	}
	if rows < 20 || attackers < 20 {
		t.Errorf("the table has %d rows and %d attackers, want 20 or more of each", rows, attackers)
	}
}
