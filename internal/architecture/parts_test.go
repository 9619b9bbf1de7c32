package architecture

import (
	"go/ast"
	"slices"
	"testing"
)

// wholes are types that are made of parts, by folder. Each part is a field that points to it, in the order in which
// they may call each other.
var wholes = map[string]string{"internal/node": "Node", "algorithms/sealed": "trainer", "algorithms/fdskl": "trainer",
	"internal/enrol": "Enrolment"}

// TestPartsCallDownwards: a part has fields for parts alone that stand before it in the whole, so that it can call no
// other, and no two can call each other.
func TestPartsCallDownwards(t *testing.T) {
	for folder, whole := range wholes {
		types := make(map[string]*ast.StructType)
		eachSource(t, func(s source) {
			if s.test || s.folder != folder {
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
				if name, ok := star.X.(*ast.Ident); ok && types[name.Name] != nil {
					return name.Name
				}
			}
			return ""
		}
		var parts []string
		for _, f := range types[whole].Fields.List {
			if part := pointsTo(f); part != "" {
				parts = append(parts, part)
			}
		}
		if len(parts) < 3 {
			t.Fatalf("%s has the parts %v", whole, parts)
		}
		for i, part := range parts {
			for _, f := range types[part].Fields.List {
				if at := slices.Index(parts, pointsTo(f)); at >= i || pointsTo(f) == whole {
					t.Errorf("%s %s has a field for %s, which does not stand before it in %s", folder, part, pointsTo(f), whole)
				}
			}
		}
	}
}
