// Package gfml is a walk through a job of O-GFML by hand; its test runs it.
package gfml

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/hanse-project/hanse/examples/walk"
)

// TestWalk runs every command of the page. Every sensor does better than who guesses its mean.
func TestWalk(t *testing.T) {
	found := regexp.MustCompile(`mean squared error\s+(\S+),`).FindAllStringSubmatch(walk.Page(t, 1), -1)
	if len(found) != 9 {
		t.Fatalf("%d sensors say how well they predict, want 9", len(found))
	}
	// the variances of their labels
	for i, guess := range []float64{0.182, 0.744, 0.456, 0.462, 0.555, 0.636, 0.613, 0.362, 0.257} {
		if e, err := strconv.ParseFloat(found[i][1], 64); err != nil || e >= guess {
			t.Errorf("sensor %d: the error is %v, want one below %v (%v)", i+1, e, guess, err)
		}
	}
}
