package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/lab/sets"
)

// benchmarkSet is a data set with the settings it is measured with.
type benchmarkSet struct {
	name     string
	files    []string // where they are, or copies that the program reads
	label    string   // column; "" lets the reader find it
	missing  string   // what empty cells become; "": there are none
	loss     string
	features int
	sigma    float64
	lambda   float64
	scale    string
	gamma    float64 // of svm-train; 0 stands for 1 / (2 sigma^2)
	limit    float64 // the test error that is aimed at; 0: none is known
	ready    bool    // prepare was called
	guest    bool    // its files are not at hand for most, so it is measured only if it is asked for
}

// tableCells is how many cells the program reads of a file at most, the label's among them.
const tableCells = 1 << 28

// benchmarkSets returns all sets. Settings were tuned, but those of guests: their kernel is the one that svm-train
// takes when it is told nothing, exp(-|x-x'|^2 / columns).
func benchmarkSets() []benchmarkSet {
	return []benchmarkSet{
		{name: "a9a", loss: "square", features: 1024, sigma: 5.657, lambda: 1e-6, scale: "minmax", gamma: 1 / 31.36,
			limit: 0.152},
		{name: "defaultcredit", label: "default.payment.next.month", loss: "square", features: 1024, sigma: 2.790,
			lambda: 1e-6, scale: "rank", limit: 0.187},
		{name: "phishing", loss: "smooth-hinge", features: 2048, sigma: 4.643, lambda: 1e-8, scale: "minmax", limit: 0.034},
		{name: "w8a", loss: "smooth-hinge", features: 2048, sigma: 9, lambda: 1e-9, scale: "minmax", limit: 0.0135},
		{name: "ijcnn1", loss: "smooth-hinge", features: 2048, sigma: 0.376, lambda: 1e-6, scale: "minmax", limit: 0.0175},
		{name: "gisette", guest: true, loss: "square", features: 1024, sigma: 50, lambda: 1e-6, scale: "minmax"},
		{name: "cod-rna", guest: true, loss: "square", features: 1024, sigma: 2, lambda: 1e-6, scale: "minmax"},
		{name: "real-sim", guest: true, loss: "square", features: 1024, sigma: 102.4, lambda: 1e-6, scale: "minmax"},
		{name: "epsilon", guest: true, loss: "square", features: 1024, sigma: 31.62, lambda: 1e-6, scale: "minmax"},
		{name: "givemecredit", guest: true, label: sets.CreditLabel, missing: "median", loss: "square", features: 1024,
			sigma: 2.236, lambda: 1e-6, scale: "rank"},
	}
}

// rowsFlag cuts sets to size.
func rowsFlag() cli.Flag {
	return &cli.IntFlag{Name: "rows", Usage: "keep the first `N` rows of each file (default: all that the program reads)"}
}

// setNames lists the sets that are measured unless others are asked for.
func setNames() []string {
	var names []string
	for _, s := range benchmarkSets() {
		if !s.guest {
			names = append(names, s.name)
		}
	}
	return names
}

// chooseSets returns the named sets in the order of their names, with the files that dir has of them.
func chooseSets(names []string, dir string) ([]benchmarkSet, error) {
	var chosen []benchmarkSet
	all := benchmarkSets()
	for _, name := range names {
		i := slices.IndexFunc(all, func(s benchmarkSet) bool { return s.name == name })
		if i < 0 {
			var names []string
			for _, s := range all {
				names = append(names, s.name)
			}
			return nil, fmt.Errorf("there is no set %q; there are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	for i := range chosen {
		known, err := sets.Named(chosen[i].name)
		if err != nil {
			return nil, err
		}
		if chosen[i].files, err = known.Find(dir); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// prepare puts copies in place of files that the program does not read as they are: those packed by bzip2, those
// with more cells than it reads, and givemecredit. With rows above 0 no file keeps more of them. Copies go to dir.
// Calls after the first do nothing.
func (s *benchmarkSet) prepare(dir string, rows int) error {
	if s.ready {
		return nil
	}
	s.ready = true
	if rows < 0 {
		return fmt.Errorf("--rows is %d, want at least 1, or 0 for all", rows)
	}
	known, err := sets.Named(s.name)
	if err != nil {
		return err
	}
	most := tableCells / (known.Columns + 1)
	if rows > 0 {
		most = min(most, rows)
	}
	plain := !slices.ContainsFunc(s.files, func(f string) bool { return strings.HasSuffix(f, ".bz2") })
	if plain && most >= known.Rows && s.name != "givemecredit" {
		return nil
	}
	if rows > 0 && s.name == "defaultcredit" {
		return fmt.Errorf("--rows does not go with the set %q", s.name)
	}
	for i, from := range s.files {
		to, of := filepath.Join(dir, fmt.Sprintf("%s-%d.svm", s.name, i+1)), func(w io.Writer) error {
			_, err := sets.CopyLIBSVM(w, from, most, known.Columns)
			return err
		}
		if s.name == "givemecredit" {
			to, of = filepath.Join(dir, s.name+".csv"), func(w io.Writer) error {
				_, err := sets.CopyCredit(w, from, most)
				return err
			}
		}
		if err := writeTo(to, of); err != nil {
			return err
		}
		s.files[i] = to
	}
	return nil
}

// writeTo makes a file of what write writes.
func writeTo(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return write(f)
}

// options says how the set's files are read.
func (s *benchmarkSet) options() dataset.Options {
	return dataset.Options{Label: s.label, Missing: s.missing}
}

// flags returns the demo's flags for a set.
func (s *benchmarkSet) flags(parties int, seed uint64) []string {
	var flags []string
	for _, f := range s.files {
		flags = append(flags, "--data", f)
	}
	if s.label != "" {
		flags = append(flags, "--label", s.label)
	}
	if s.missing != "" {
		flags = append(flags, "--missing", s.missing)
	}
	return append(flags,
		"--parties", fmt.Sprint(parties), "--privacy", fdskl.Masked, "--schedule", fdskl.Fixed,
		"--loss", s.loss, "--features", fmt.Sprint(s.features), "--sigma", fmt.Sprint(s.sigma),
		"--lambda", fmt.Sprint(s.lambda), "--scale", s.scale, "--seed", fmt.Sprint(seed))
}

// svmGamma returns the kernel width of svm-train.
func (s *benchmarkSet) svmGamma() float64 {
	if s.gamma > 0 {
		return s.gamma
	}
	return 1 / (2 * s.sigma * s.sigma)
}
