//go:build race

package raced_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/raced"
)

// quiet writes words that the race detector is told of by Write alone.
//
//go:norace
func quiet(words []uint64, says bool) {
	if says {
		raced.Write(words)
	}
	for i := range words {
		words[i]++
	}
}

// TestRacesOfToldSlicesAreFound: two goroutines that write the same words race, and the detector finds it if they are
// told of, and not if they are not.
func TestRacesOfToldSlicesAreFound(t *testing.T) {
	if says := os.Getenv("RACED"); says != "" {
		words := make([]uint64, 100)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { quiet(words, says == "told") })
		}
		both.Wait()
		return
	}
	for says, want := range map[string]bool{"told": true, "not told": false} {
		again := exec.Command(os.Args[0], "-test.run", "^TestRacesOfToldSlicesAreFound$")
		again.Env = append(os.Environ(), "RACED="+says)
		out, err := again.CombinedOutput()
		if found := strings.Contains(string(out), "DATA RACE"); found != want || (err != nil) != want {
			t.Errorf("%s: a race is found: %v (%v), want %v", says, found, err, want)
		}
	}
}
