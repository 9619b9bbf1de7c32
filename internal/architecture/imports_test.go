// Package architecture holds tests about the shape of the source tree. It reads the sources, not
// the build list, so that nothing is cached and test files count too.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path that our own imports start with.
const module = "github.com/hanse-project/hanse/"

// may lists what the packages under each folder may import of ours, test files excepted. The
// longest folder that fits counts.
var may = map[string][]string{
	"keys":                  {},
	"protocol":              {"keys"},
	"secagg":                {"keys", "protocol"},
	"algorithms":            {"keys", "algorithms"},
	"algorithms/sealed":     {"keys", "algorithms", "secagg/rss"},
	"audit":                 {"keys", "protocol", "secagg", "algorithms", "audit"},
	"peer":                  {"keys", "protocol"},
	"internal/simnet":       {"keys", "protocol", "internal/simnet"},
	"internal/inbox":        {"keys", "protocol"},
	"internal/shelf":        {"keys"},
	"internal/stream":       {},
	"internal/dataset":      {"keys"},
	"internal/credit":       {"internal/dataset"},
	"internal/durable":      {},
	"internal/owner":        {},
	"internal/vault":        {"keys", "internal/durable"},
	"internal/stat":         {},
	"internal/message":      {},
	"internal/textfile":     {},
	"internal/vertical":     {"keys", "algorithms", "internal/dataset", "internal/vault"},
	"internal/recorder":     {"keys", "protocol"},
	"internal/reference":    {"protocol", "internal/durable"},
	"internal/enrol":        {"keys", "protocol", "internal/textfile", "internal/message", "internal/reference"},
	"internal/consent":      {"keys", "protocol"},
	"internal/node":         {"keys", "protocol", "secagg", "algorithms", "internal/consent", "internal/dataset", "internal/durable", "internal/inbox", "internal/message", "internal/owner", "internal/recorder", "internal/reference", "internal/shelf", "internal/stream", "internal/textfile", "internal/vault", "internal/vertical"},
	"internal/trial":        {"keys", "algorithms", "internal"},
	"internal/simfed":       {"keys", "protocol", "secagg", "algorithms", "internal/inbox", "internal/recorder", "internal/simnet"},
	"internal/chaos":        {"keys", "protocol", "algorithms", "internal"},
	"internal/lab/regret":   {},
	"internal/lab":          {"keys", "protocol", "secagg", "algorithms", "peer", "internal"},
	"internal/lab/rivals":   {"algorithms"},
	"cmd":                   {"keys", "protocol", "secagg", "algorithms", "audit", "peer", "internal", "cmd"},
	"examples":              {"keys", "protocol", "secagg", "algorithms", "audit", "peer", "internal", "cmd", "examples"},
	"internal/architecture": {},
}

// outsiders lists modules that a few folders alone may import.
var outsiders = map[string][]string{
	"github.com/libp2p/":      {"peer", "cmd/hanselab"}, // hanselab measures bare streams beside ours
	"github.com/tuneinsight/": {"secagg/he"},
	"github.com/urfave/cli":   {"cmd"},
	"filippo.io/age":          {"keys"},
	"gonum.org/v1/plot":       {"cmd/hanselab"},
}

func TestImports(t *testing.T) {
	root := sourceRoot(t)
	eachSource(t, root, func(path string, file *ast.File) {
		folder := filepath.ToSlash(filepath.Dir(path))
		test := strings.HasSuffix(path, "_test.go")
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if own, ok := strings.CutPrefix(name, module); ok && !test {
				checkOwn(t, path, folder, own)
			}
			for prefix, where := range outsiders {
				allowed := slices.ContainsFunc(where, func(w string) bool { return within(folder, w) })
				if strings.HasPrefix(name, prefix) && !allowed {
					t.Errorf("%s imports %s, which only %s may", path, name, strings.Join(where, ", "))
				}
			}
		}
	})
}

// checkOwn checks one import of ours against the longest folder that fits.
func checkOwn(t *testing.T, path, folder, own string) {
	t.Helper()
	rule := ""
	for f := range may {
		if within(folder, f) && len(f) > len(rule) {
			rule = f
		}
	}
	if rule == "" {
		t.Errorf("%s: folder %s has no rule about imports", path, folder)
		return
	}
	if !slices.ContainsFunc(may[rule], func(allowed string) bool { return within(own, allowed) }) && !within(own, rule) {
		t.Errorf("%s imports %s, which %s must not", path, own, rule)
	}
}

// TestNoGoroutinesInTheCore keeps the protocol core synchronous.
func TestNoGoroutinesInTheCore(t *testing.T) {
	eachSource(t, sourceRoot(t), func(path string, file *ast.File) {
		folder := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || !within(folder, "protocol") && !within(folder, "secagg") && !within(folder, "keys") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", path)
			}
			return true
		})
	})
}

// TestEveryPackageHasOneDoc wants a package comment, once.
func TestEveryPackageHasOneDoc(t *testing.T) {
	docs := make(map[string]int)
	eachSource(t, sourceRoot(t), func(path string, file *ast.File) {
		folder := filepath.Dir(path)
		if _, ok := docs[folder]; !ok {
			docs[folder] = 0
		}
		if file.Doc != nil && !strings.HasSuffix(file.Name.Name, "_test") {
			docs[folder]++
		}
	})
	for folder, n := range docs {
		if n != 1 {
			t.Errorf("%s has %d package comments, want 1", folder, n)
		}
	}
}

// within reports whether path is folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// sourceRoot finds the folder of go.mod.
func sourceRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// eachSource parses every Go file below root.
func eachSource(t *testing.T, root string, f func(path string, file *ast.File)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" || d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f(rel, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
