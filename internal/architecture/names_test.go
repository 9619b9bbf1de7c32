package architecture

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// ofClients holds the names of the algorithms over clients and where they may stand: each in its own package, and where
// jobs get their names. All others ask the algorithm's entry in algorithms/registry.
var ofClients = map[string]string{
	"GFML": "algorithms/gfml", "OFMSFT": "algorithms/ofmsft", "POFMKL": "algorithms/pofmkl",
}

// namesLeft says how many of these names are left in a folder. A number may only fall; a folder without one has none.
var namesLeft = map[string]int{"internal/demo": 6, "internal/trial/online": 3}

// TestAlgorithmsOverClientsAreAskedNotNamed looks for the names in the product, as constants and in quotes.
func TestAlgorithmsOverClientsAreAskedNotNamed(t *testing.T) {
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
			if folder, ok := ofClients[name]; ok && folder == s.folder {
				own[name] = true
			} else if ok {
				found[s.folder] = append(found[s.folder], fmt.Sprintf("%s: %s", s.at(n.Pos()), name))
			}
			return true
		})
	})
	if len(own) != len(ofClients) {
		t.Errorf("algorithms that name themselves: %v, want %v", own, ofClients)
	}
	onlyFewer(t, "names of algorithms over clients", namesLeft, found)
}
