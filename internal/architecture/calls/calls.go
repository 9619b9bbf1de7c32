// Package main lists, for folders of Go, the calls from a lower file to a higher one.
//
//	go run ./internal/architecture/calls internal/node peer
//
// In a folder that reads from the top down files can be put in an order in which each calls only files below it. The
// program looks for the order with the fewest calls back up, and prints the files in that order. A call counts once for
// each pair of files, and a function that is named without being called counts as one. Types, constants and variables
// do not count: the files at the bottom are there to define them. Tests are left out.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: calls FOLDER…")
		os.Exit(2)
	}
	for _, folder := range os.Args[1:] {
		f, err := read(folder)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(f)
	}
}

// folder is the calls between the files of a folder, in the order with the fewest back up.
type folder struct {
	path  string
	files []string // from the top down
	calls map[[2]string]bool
}

// read parses a folder.
func read(path string) (*folder, error) {
	set, files := token.NewFileSet(), []*ast.File(nil)
	names, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no file of Go", path)
	}
	// What is imported stays unknown: calls within the folder do not hang on it.
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: unknown{}, Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check(path, set, files, info)
	f := &folder{path: path, calls: make(map[[2]string]bool)}
	base := func(p token.Pos) string { return filepath.Base(set.Position(p).Filename) }
	for id, used := range info.Uses {
		if _, ok := used.(*types.Func); !ok || used.Pkg() != pkg {
			continue
		}
		if from, to := base(id.Pos()), base(used.Pos()); from != to {
			f.calls[[2]string{from, to}] = true
			f.files = append(f.files, from, to)
		}
	}
	slices.Sort(f.files)
	f.files = slices.Compact(f.files)
	f.sort()
	return f, nil
}

// unknown is an importer of packages that nothing is known of.
type unknown struct{}

func (unknown) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// tries is how many orders the search begins with.
const tries = 64

// sort puts the files into the order with the fewest calls back up that it finds: from many orders it moves one file at
// a time for as long as that helps. It finds the same each time.
func (f *folder) sort() {
	random := rand.New(rand.NewPCG(1, 2))
	best := slices.Clone(f.files)
	fewest := len(f.back(best))
	for range tries {
		order := slices.Clone(f.files)
		random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		for f.improve(order) {
		}
		if n := len(f.back(order)); n < fewest {
			best, fewest = order, n
		}
	}
	f.files = best
}

// improve moves files to where fewer of their calls run back up, and reports whether any was moved.
func (f *folder) improve(order []string) (moved bool) {
	up := func(from, to string) int {
		if f.calls[[2]string{from, to}] {
			return 1
		}
		return 0
	}
	for i := range order {
		file, to, least := order[i], i, 0
		for at, change := i-1, 0; at >= 0; at-- { // above the file that stands at at
			if change += up(order[at], file) - up(file, order[at]); change < least {
				to, least = at, change
			}
		}
		for at, change := i+1, 0; at < len(order); at++ { // below it
			if change += up(file, order[at]) - up(order[at], file); change < least {
				to, least = at, change
			}
		}
		if to != i {
			copy(order[i:], order[i+1:])
			copy(order[to+1:], order[to:len(order)-1])
			order[to], moved = file, true
		}
	}
	return moved
}

// back lists the calls that run back up in an order of the files.
func (f *folder) back(order []string) (calls [][2]string) {
	at := make(map[string]int)
	for i, file := range order {
		at[file] = i
	}
	for call := range f.calls {
		if at[call[0]] > at[call[1]] {
			calls = append(calls, call)
		}
	}
	slices.SortFunc(calls, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return calls
}

// share is how many of a hundred calls run back up.
func (f *folder) share() float64 {
	return 100 * float64(len(f.back(f.files))) / float64(max(1, len(f.calls)))
}

// String lists the files and what runs back up.
func (f *folder) String() string {
	var b strings.Builder
	back := f.back(f.files)
	fmt.Fprintf(&b, "%s: %d of %d calls between files run back up, %.0f %%\n", f.path, len(back), len(f.calls), f.share())
	for _, file := range f.files {
		fmt.Fprintf(&b, "  %s", file)
		for _, call := range back {
			if call[0] == file {
				fmt.Fprintf(&b, " ^%s", call[1])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
