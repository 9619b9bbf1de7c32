package architecture

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared lists what a file declares at its top level: functions, methods as "Type.Method", types, variables.
func declared(file *ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				t := d.Recv.List[0].Type
				if p, ok := t.(*ast.StarExpr); ok {
					t = p.X
				}
				switch g := t.(type) {
				case *ast.IndexExpr:
					t = g.X
				case *ast.IndexListExpr:
					t = g.X
				}
				name = t.(*ast.Ident).Name + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				}
			}
		}
	}
	return names
}

// TestTheTourNamesWhatExists: every path on the page is there, and every name that follows a file in a step of a walk
// is declared in it.
func TestTheTourNamesWhatExists(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "tour-of-the-code.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]map[string]bool)
	eachSource(t, func(s source) { names[s.path] = declared(s.file) })
	name := regexp.MustCompile(`^[A-Za-z]\w*(\.\w+)?$`)
	found := 0
	walks, _, _ := strings.Cut(string(page), "## To change something")
	_, walks, _ = strings.Cut(walks, "## 1. ")
	file := ""
	for _, span := range regexp.MustCompile("`[^`]+`").FindAllString(walks, -1) {
		span = strings.Trim(span, "`")
		switch {
		case strings.Contains(span, "/"):
			if _, err := os.Stat(filepath.Join(root, span)); err != nil {
				t.Errorf("the tour names %s, which is not there", span)
			}
			file = span
		case name.MatchString(span) && names[file] != nil:
			found++
			if !names[file][span] && span != "keys.InForce" && span != "secagg" {
				t.Errorf("the tour looks for %s in %s, which does not declare it", span, file)
			}
		}
	}
	if found < 35 {
		t.Errorf("the walks name %d functions and types, want 35 or more", found)
	}
}
