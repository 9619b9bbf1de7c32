package architecture

import (
	"go/ast"
	"testing"
)

// mostMethods is how many methods a type may have: more is more than one thing.
const mostMethods = 40

// methodsLeft are the types that have more, and how many. A number may only fall.
var methodsLeft = map[string]int{
	"protocol.Session": 61,
}

// TestTypesAreSmall looks for types of the product with too many methods.
func TestTypesAreSmall(t *testing.T) {
	methods := make(map[string]int) // by folder and type
	eachSource(t, func(s source) {
		if s.test || within(s.folder, "lab") {
			return
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if index, ok := of.(*ast.IndexExpr); ok {
				of = index.X
			}
			if name, ok := of.(*ast.Ident); ok {
				methods[s.folder+"."+name.Name]++
			}
		}
	})
	for name, n := range methods {
		if most := max(mostMethods, methodsLeft[name]); n > most {
			t.Errorf("%s has %d methods, at most %d may be", name, n, most)
		}
	}
	for name, was := range methodsLeft {
		if n := methods[name]; n < was {
			t.Errorf("%s has %d methods by now: say so in methodsLeft, or take it off", name, n)
		}
	}
}
