package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// limitOf matches a limit on docs/limits.md with the constant that it is held against: a line of a table, or a number
// in a sentence with the constant in brackets.
var limitOf = regexp.MustCompile("(?m)(?:^\\| .* \\| (\\S+(?: [KMG]iB)?) \\| |([\\d,]+) \\()`([a-z0-9_/]+\\.go)` (\\w+)(?: \\|$|\\))")

// shownNumber reads a number as the page writes it: 4,096, 2^24 or 16 GiB.
func shownNumber(s string) (int64, error) {
	number, unit, _ := strings.Cut(strings.ReplaceAll(s, ",", ""), " ")
	shift := map[string]int{"": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]
	if power, ok := strings.CutPrefix(number, "2^"); ok {
		n, err := strconv.Atoi(power)
		return 1 << (n + shift), err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return n << shift, err
}

// namedNumber returns the number that a file of Go gives a constant or a field of a literal.
func namedNumber(path, name string) (int64, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	var values []ast.Expr
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if id.Name == name && i < len(n.Values) {
					values = append(values, n.Values[i])
				}
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok && id.Name == name {
				values = append(values, n.Value)
			}
		}
		return true
	})
	if len(values) != 1 {
		return 0, fmt.Errorf("%s gives %s %d values, want one", path, name, len(values))
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(values[0]))
	if err != nil {
		return 0, err
	}
	n, exact := constant.Int64Val(constant.ToInt(v.Value))
	if !exact {
		return 0, fmt.Errorf("%s: %s is %v, want a whole number", path, name, v.Value)
	}
	return n, nil
}

// TestLimitsOfThePageAreThePrograms holds the numbers of docs/limits.md against the constants that it names.
func TestLimitsOfThePageAreThePrograms(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "limits.md"))
	must(t, err)
	limits := limitOf.FindAllStringSubmatch(string(text), -1)
	for _, m := range limits {
		shown, err := shownNumber(m[1] + m[2])
		if err != nil {
			t.Errorf("the page shows %q for %s: %v", m[1]+m[2], m[4], err)
			continue
		}
		is, err := namedNumber(filepath.Join(root, filepath.FromSlash(m[3])), m[4])
		if err != nil {
			t.Error(err)
		} else if is != shown {
			t.Errorf("the page shows %s for %s, and %s says %d", m[1]+m[2], m[4], m[3], is)
		}
	}
	if named := strings.Count(string(text), ".go` "); len(limits) != named || named < 45 {
		t.Errorf("%d limits were read, and the page names %d constants: is the search broken?", len(limits), named)
	}
}
