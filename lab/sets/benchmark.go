package sets

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/lab"
)

// Benchmark is a data set with the settings it is measured with.
type Benchmark struct {
	Name     string
	Files    []string // where they are, or copies that the program reads
	Label    string   // column; "" lets the reader find it
	missing  string   // what empty cells become; "": there are none
	Loss     string
	Features int
	Sigma    float64
	Lambda   float64
	Scale    string
	Gamma    float64 // of svm-train; 0 stands for 1 / (2 sigma^2)
	Limit    float64 // the test error that is aimed at; 0: none is known
	ready    bool    // prepare was called
	guest    bool    // its files are not at hand for most, so it is measured only if it is asked for
}

// tableCells is how many cells the program reads of a file at most, the label's among them.
const tableCells = 1 << 28

// Benchmarks returns all sets. Settings were tuned, but those of guests: their kernel is the one that svm-train
// takes when it is told nothing, exp(-|x-x'|^2 / columns).
func Benchmarks() []Benchmark {
	return []Benchmark{
		{Name: "a9a", Loss: "square", Features: 1024, Sigma: 5.657, Lambda: 1e-6, Scale: "minmax", Gamma: 1 / 31.36,
			Limit: 0.152},
		{Name: "defaultcredit", Label: "default.payment.next.month", Loss: "square", Features: 1024, Sigma: 2.790,
			Lambda: 1e-6, Scale: "rank", Limit: 0.187},
		{Name: "phishing", Loss: "smooth-hinge", Features: 2048, Sigma: 4.643, Lambda: 1e-6, Scale: "minmax",
			Limit: 0.034},
		{Name: "w8a", Loss: "smooth-hinge", Features: 2048, Sigma: 9, Lambda: 1e-6, Scale: "minmax", Limit: 0.0135},
		{Name: "ijcnn1", Loss: "smooth-hinge", Features: 2048, Sigma: 0.376, Lambda: 1e-6, Scale: "minmax",
			Limit: 0.0175},
		{Name: "gisette", guest: true, Loss: "square", Features: 1024, Sigma: 50, Lambda: 1e-6, Scale: "minmax"},
		{Name: "cod-rna", guest: true, Loss: "square", Features: 1024, Sigma: 2, Lambda: 1e-6, Scale: "minmax"},
		{Name: "real-sim", guest: true, Loss: "square", Features: 1024, Sigma: 102.4, Lambda: 1e-6, Scale: "minmax"},
		{Name: "epsilon", guest: true, Loss: "square", Features: 1024, Sigma: 31.62, Lambda: 1e-6, Scale: "minmax"},
		{Name: "givemecredit", guest: true, Label: CreditLabel, missing: "median", Loss: "square", Features: 1024,
			Sigma: 2.236, Lambda: 1e-6, Scale: "rank"},
	}
}

// Usual lists the sets that are measured unless others are asked for.
func Usual() []string {
	var names []string
	for _, s := range Benchmarks() {
		if !s.guest {
			names = append(names, s.Name)
		}
	}
	return names
}

// Choose returns the named sets in the order of their names, with the files that a folder has of them.
func Choose(names []string, folder string) ([]Benchmark, error) {
	var chosen []Benchmark
	all := Benchmarks()
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Benchmark) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("there is no set %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	for i := range chosen {
		if err := chosen[i].find(folder); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// Any is Choose for one set, which may also be a file of that name, in LIBSVM format, of which nothing is known.
func Any(name, folder string) (Benchmark, error) {
	all := Benchmarks()
	i := slices.IndexFunc(all, func(s Benchmark) bool { return s.Name == name })
	if i >= 0 {
		return all[i], all[i].find(folder)
	}
	s := Benchmark{Name: name, Loss: "smooth-hinge", Features: 2048, Lambda: 1e-7, Scale: "minmax", ready: true}
	var err error
	s.Files, err = Set{Name: name, Files: [][]string{{name, name + ".csv", name + ".txt"}}}.Find(folder)
	return s, err
}

// find fills in where the set's files are.
func (s *Benchmark) find(folder string) error {
	known, err := Named(s.Name)
	if err == nil {
		s.Files, err = known.Find(folder)
	}
	return err
}

// Prepare puts copies in place of files that the program does not read as they are: those packed by bzip2, those
// with more cells than it reads, and givemecredit. With rows above 0 no file keeps more of them. Copies go to dir.
// Calls after the first do nothing.
func (s *Benchmark) Prepare(dir string, rows int) error {
	if s.ready {
		return nil
	}
	s.ready = true
	if rows < 0 {
		return fmt.Errorf("--rows is %d, want at least 1, or 0 for all", rows)
	}
	known, err := Named(s.Name)
	if err != nil {
		return err
	}
	most := tableCells / (known.Columns + 1)
	if rows > 0 {
		most = min(most, rows)
	}
	plain := !slices.ContainsFunc(s.Files, func(f string) bool { return strings.HasSuffix(f, ".bz2") })
	if plain && most >= known.Rows && s.Name != "givemecredit" {
		return nil
	}
	if rows > 0 && s.Name == "defaultcredit" {
		return fmt.Errorf("--rows does not go with the set %q", s.Name)
	}
	for i, from := range s.Files {
		to, of := filepath.Join(dir, fmt.Sprintf("%s-%d.svm", s.Name, i+1)), func(w io.Writer) error {
			_, err := CopyLIBSVM(w, from, most, known.Columns)
			return err
		}
		if s.Name == "givemecredit" {
			to, of = filepath.Join(dir, s.Name+".csv"), func(w io.Writer) error {
				_, err := CopyCredit(w, from, most)
				return err
			}
		}
		if err := lab.WriteFile(to, of); err != nil {
			return err
		}
		s.Files[i] = to
	}
	return nil
}

// Options says how the set's files are read.
func (s *Benchmark) Options() dataset.Options {
	return dataset.Options{Label: s.Label, Missing: s.missing}
}

// Flags returns the demo's flags for a set.
func (s *Benchmark) Flags(parties int, seed uint64) []string {
	var flags []string
	for _, f := range s.Files {
		flags = append(flags, "--data", f)
	}
	if s.Label != "" {
		flags = append(flags, "--label", s.Label)
	}
	if s.missing != "" {
		flags = append(flags, "--missing", s.missing)
	}
	return append(flags,
		"--parties", fmt.Sprint(parties), "--privacy", fdskl.Masked, "--schedule", fdskl.Fixed,
		"--loss", s.Loss, "--features", fmt.Sprint(s.Features), "--sigma", fmt.Sprint(s.Sigma),
		"--lambda", fmt.Sprint(s.Lambda), "--scale", s.Scale, "--seed", fmt.Sprint(seed))
}

// SVMGamma returns the kernel width of svm-train.
func (s *Benchmark) SVMGamma() float64 {
	if s.Gamma > 0 {
		return s.Gamma
	}
	return 1 / (2 * s.Sigma * s.Sigma)
}

// Parties is how many parties share the columns of a set.
const Parties = 4
