package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/demo"
	"github.com/hanse-project/hanse/internal/trial/online"
)

// TestDemoOfClasses runs the scenario in testdata/classes, with four streams of three classes and three networks.
func TestDemoOfClasses(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "classes"), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(cacheVariable, os.Getenv(cacheVariable))
			if err := writeClassNetworks(filepath.Join(env.WorkDir, "nets")); err != nil {
				return err
			}
			return writeClassStreams(filepath.Join(env.WorkDir, "rows"))
		},
	})
}

// writeClassNetworks writes n1 to n3, of two inputs.
func writeClassNetworks(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for k := 1; k <= 3; k++ {
		layers := []nn.Layer{{Kind: nn.Dense, Units: 2 + k, Activation: nn.ReLU},
			{Kind: nn.Dense, Units: 3, Activation: nn.Softmax}}
		n, err := nn.New([]int{2}, layers, rand.New(rand.NewPCG(uint64(k), 0)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("n%d.safetensors", k)), n.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeClassStreams writes the rows of four clients.
func writeClassStreams(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for c := 1; c <= 4; c++ {
		s := &online.Stream{Columns: []string{"a", "b"}, Label: "kind"}
		for i := range 10 {
			s.Inputs, s.Labels = append(s.Inputs, []float64{float64(i % 3), float64(c)}), append(s.Labels, float64(i%3))
		}
		if err := s.Write(filepath.Join(dir, fmt.Sprintf("client-%d.csv", c))); err != nil {
			return err
		}
	}
	return nil
}

// TestOwnFlagsAreFlags looks for flags that are gone.
func TestOwnFlagsAreFlags(t *testing.T) {
	var known []string
	for _, f := range demoFlags() {
		known = append(known, f.Names()...)
	}
	for _, own := range demo.AllOwnFlags() {
		for _, name := range own.Flags {
			if !slices.Contains(known, name) {
				t.Errorf("--%s is no flag of the demo", name)
			}
		}
	}
}
