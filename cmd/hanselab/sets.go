package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
)

// benchmarkSet is a data set with the settings it is measured with.
type benchmarkSet struct {
	name     string
	files    []string
	label    string // column; "" lets the reader find it
	loss     string
	features int
	sigma    float64
	lambda   float64
	scale    string
	gamma    float64 // of svm-train; 0 stands for 1 / (2 sigma^2)
	limit    float64 // the test error that is aimed at
}

// benchmarkSets returns all sets; the settings are those of the FDSKL specification.
func benchmarkSets() []benchmarkSet {
	return []benchmarkSet{
		{name: "a9a", files: []string{"a9a.gz", "a9a.t.gz"}, loss: "square", features: 1024, sigma: 5.657, lambda: 1e-6, scale: "minmax", gamma: 1 / 31.36, limit: 0.152},
		{name: "defaultcredit", files: []string{"defaultcredit.csv.gz"}, label: "default.payment.next.month", loss: "square", features: 1024, sigma: 2.790, lambda: 1e-6, scale: "rank", limit: 0.187},
		{name: "phishing", files: []string{"phishing.gz"}, loss: "smooth-hinge", features: 2048, sigma: 4.643, lambda: 1e-8, scale: "minmax", limit: 0.034},
		{name: "w8a", files: []string{"w8a.gz"}, loss: "smooth-hinge", features: 2048, sigma: 9, lambda: 1e-9, scale: "minmax", limit: 0.0135},
		{name: "ijcnn1", files: []string{"ijcnn1.gz"}, loss: "smooth-hinge", features: 2048, sigma: 0.376, lambda: 1e-6, scale: "minmax", limit: 0.0175},
	}
}

// setNames lists the names of all sets.
func setNames() []string {
	var names []string
	for _, s := range benchmarkSets() {
		names = append(names, s.name)
	}
	return names
}

// chooseSets returns the named sets in the order of their names, with the files in dir.
func chooseSets(names []string, dir string) ([]benchmarkSet, error) {
	var chosen []benchmarkSet
	all := benchmarkSets()
	for _, name := range names {
		i := slices.IndexFunc(all, func(s benchmarkSet) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no set %q; there are %s", name, strings.Join(setNames(), ", "))
		}
		s := all[i]
		for f := range s.files {
			s.files[f] = filepath.Join(dir, s.files[f])
		}
		chosen = append(chosen, s)
	}
	return chosen, nil
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
