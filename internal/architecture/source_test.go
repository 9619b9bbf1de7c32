package architecture

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// source is one Go file.
type source struct {
	path   string // from the root, with slashes
	folder string
	test   bool
	text   []byte
	file   *ast.File
	set    *token.FileSet
}

// at names a place in the file: path:line.
func (s source) at(p token.Pos) string { return fmt.Sprintf("%s:%d", s.path, s.set.Position(p).Line) }

// sources reads and parses every Go file of the checkout, once for all tests.
var sources = sync.OnceValues(func() (all []source, err error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil; _, err = os.Stat(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			return nil, errors.New("no go.mod above the test")
		}
		root = filepath.Dir(root)
	}
	set := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") { // .git is a file in a linked worktree
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		folder := rel[:max(strings.LastIndexByte(rel, '/'), 0)]
		all = append(all, source{rel, folder, strings.HasSuffix(rel, "_test.go"), text, file, set})
		return nil
	})
	return all, err
})

// eachSource calls f for every Go file of the checkout: the product, and the lab, which is a module of its own.
func eachSource(t *testing.T, f func(s source)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("%d Go files were found: is the walk through the folders broken?", len(all))
	}
	for _, s := range all {
		f(s)
	}
}
