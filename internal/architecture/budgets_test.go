package architecture

import (
	"fmt"
	"go/ast"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// budget is how much there may be of something, and where that is to go. A most may only fall; raising one is a
// decision with its reason in docs/decisions.
type budget struct {
	what       string
	most, goal float64
}

// budgets are of the product, test files, packages that tests alone import and the lab excepted but where they say so.
// TestBudgets counts.
var budgets = []budget{
	{"lines of code", 124_700, 100_000}, // neither blank nor of a comment alone
	{"lines of tests", 110_000, 88_000},
	{"lines of the lab", 25_700, 15_000},
	{"packages", 123, 80},
	{"folders under internal", 57, 16},
	{"private functions, in 1,000 lines", 39.3, 32},
	{"embedded fields", 211, 90},
	{"methods of an interface", 10, 6},
	{"doc comments of six words or fewer, in 1,000 lines", 6.7, 3},
	{"five phrases that read twice, in 1,000 words of comments", 4.3, 2},
}

// phrases are those that make a reader read twice.
var phrases = regexp.MustCompile(`(?i)\b(so many|those of|that of|told|whoever)\b`)

// TestBudgets holds the house to its budgets, and docs/design.md to the same. With -v it prints what there is.
func TestBudgets(t *testing.T) {
	var lines, tests, lab, private, embedded, methods, short, said, words int
	packages, folders := make(map[string]bool), make(map[string]bool)
	eachSource(t, func(s source) {
		code := linesOfCode(s)
		switch {
		case within(s.folder, "lab"):
			lab += code
			return
		case s.test || within(s.folder, "internal/testnet"): // which tests alone import
			tests += code
			return
		}
		lines += code
		packages[s.folder] = true
		if below, ok := strings.CutPrefix(s.folder, "internal/"); ok {
			first, _, _ := strings.Cut(below, "/")
			folders[first] = true
		}
		for _, group := range s.file.Comments {
			words += len(strings.Fields(group.Text()))
			said += len(phrases.FindAllString(group.Text(), -1))
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if !n.Name.IsExported() {
					private++
				}
				if n.Doc != nil && len(strings.Fields(n.Doc.Text())) <= 6 {
					short++
				}
			case *ast.StructType:
				for _, f := range n.Fields.List {
					if f.Names == nil {
						embedded++
					}
				}
			case *ast.InterfaceType:
				methods = max(methods, len(n.Methods.List))
			}
			return true
		})
	})
	thousands := float64(lines) / 1000
	counts := []float64{float64(lines), float64(tests), float64(lab), float64(len(packages)), float64(len(folders)),
		float64(private) / thousands, float64(embedded), float64(methods), float64(short) / thousands,
		1000 * float64(said) / float64(words)}
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range budgets {
		now := math.Ceil(10*counts[i]-1e-9) / 10
		t.Logf("%s: %v", b.what, now)
		if now > b.most {
			t.Errorf("%s: %v, at most %v may be: take something out", b.what, now, b.most)
		}
		if row := fmt.Sprintf("| %s | %v | %v |\n", b.what, b.most, b.goal); !strings.Contains(string(page), row) {
			t.Errorf("docs/design.md has no row %s", row)
		}
	}
}

// linesOfCode counts the lines of a file that are neither blank nor of a comment alone.
func linesOfCode(s source) (n int) {
	for line := range strings.Lines(string(s.text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
