package architecture

import (
	"go/ast"
	"slices"
	"testing"
)

// TestPartsOfANodeCallDownwards: a part of a node has fields for parts that stand before it in the node alone, so that
// it can call no other, and no two can call each other.
func TestPartsOfANodeCallDownwards(t *testing.T) {
	types := make(map[string]*ast.StructType)
	eachSource(t, func(s source) {
		if s.test || s.folder != "internal/node" {
			return
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if body, ok := spec.Type.(*ast.StructType); ok {
					types[spec.Name.Name] = body
				}
			}
			return true
		})
	})
	pointsTo := func(f *ast.Field) string {
		if star, ok := f.Type.(*ast.StarExpr); ok {
			if name, ok := star.X.(*ast.Ident); ok {
				return name.Name
			}
		}
		return ""
	}
	var parts []string
	for _, f := range types["Node"].Fields.List {
		if f.Names == nil {
			parts = append(parts, pointsTo(f))
		}
	}
	if len(parts) < 10 {
		t.Fatalf("a node has the parts %v", parts)
	}
	for i, part := range parts {
		for _, f := range types[part].Fields.List {
			if at := slices.Index(parts, pointsTo(f)); at >= i || pointsTo(f) == "Node" {
				t.Errorf("%s has a field of type %s, which stands before no part that it may call", part, pointsTo(f))
			}
		}
	}
}
