package architecture

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// homes holds the names of the algorithms and where they may stand: each in its own packages, and where jobs get their
// names. All others ask the algorithm's entry in algorithms/registry.
var homes = map[string][]string{
	"GFML": {"algorithms/gfml"}, "OFMSFT": {"algorithms/ofmsft"}, "POFMKL": {"algorithms/pofmkl"},
	"FDSKL": {"algorithms/registry"}, "GLM": {"algorithms/glm", "algorithms/fdskl", "algorithms/sealed"},
}

// namesLeft says how many of these names are left in a folder. A number may only fall; a folder without one has none.
var namesLeft = map[string]int{"internal/demo": 15, "internal/trial/online": 3, "peer/testnet": 1}

// TestAlgorithmsAreAskedNotNamed looks for the names in the product, as constants and in quotes.
func TestAlgorithmsAreAskedNotNamed(t *testing.T) {
	found := make(map[string][]string)
	own := make(map[string]bool)
	eachSource(t, func(s source) {
		if s.test || within(s.folder, "lab") || within(s.folder, "cmd") || s.path == "protocol/contract/names.go" {
			return
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			name := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				name = n.Sel.Name
			case *ast.BasicLit:
				name = strings.ToUpper(strings.Trim(n.Value, "\"`"))
			}
			if at, ok := homes[name]; slices.Contains(at, s.folder) {
				own[name] = true
			} else if ok {
				found[s.folder] = append(found[s.folder], fmt.Sprintf("%s: %s", s.at(n.Pos()), name))
			}
			return true
		})
	})
	if len(own) != len(homes) {
		t.Errorf("algorithms that name themselves: %v, want %v", own, homes)
	}
	onlyFewer(t, "names of algorithms", namesLeft, found)
}
