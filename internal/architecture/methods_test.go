package architecture

import (
	"go/ast"
	"testing"
)

// mostMethods is how many methods a type may have: more is more than one thing.
const mostMethods = 40

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
	if len(methods) < 100 {
		t.Fatalf("%d types with methods were found", len(methods))
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, at most %d may be", name, n, mostMethods)
		}
	}
}
