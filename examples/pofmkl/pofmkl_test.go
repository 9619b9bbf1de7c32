// Package pofmkl is a walk through a job of POF-MKL by hand; its test runs it.
package pofmkl

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/hanse-project/hanse/examples/walk"
)

// TestWalk runs every command of the page. Every park does better than who guesses its mean.
func TestWalk(t *testing.T) {
	found := regexp.MustCompile(`mean squared error\s+(\S+),`).FindAllStringSubmatch(walk.Page(t, 0), -1)
	if len(found) != 5 {
		t.Fatalf("%d parks say how well they predict, want 5", len(found))
	}
	for i, guess := range []float64{0.0413, 0.0433, 0.0344, 0.0402, 0.0469} { // the variances of their outputs
		if e, err := strconv.ParseFloat(found[i][1], 64); err != nil || e >= guess {
			t.Errorf("park %d: the error is %v, want one below %v (%v)", i+1, e, guess, err)
		}
	}
}
