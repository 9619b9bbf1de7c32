//go:build race

package rss

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestPadsAtTheSameTimeAreFound: pads of one session share the room of their key stream, so that two which make words
// at the same time would mix them. The race detector finds that, whatever the words go to; pads in turn pass.
func TestPadsAtTheSameTimeAreFound(t *testing.T) {
	const variable = "PADS"
	if when := os.Getenv(variable); when != "" {
		source := padsFor(t, LabelHolder, "race")
		var both sync.WaitGroup
		for use := range Use(2) {
			pad, err := source.Pad(Keeper, Place{Number: 1}, use)
			if err != nil {
				t.Fatal(err)
			}
			if when == "together" {
				both.Go(func() { pad.Words(make([]uint64, 100), 0) })
			} else {
				pad.Words(make([]uint64, 100), 0)
			}
		}
		both.Wait()
		return
	}
	for when, want := range map[string]bool{"together": true, "in turn": false} {
		again := exec.Command(os.Args[0], "-test.run", "^TestPadsAtTheSameTimeAreFound$")
		again.Env = append(os.Environ(), variable+"="+when)
		out, err := again.CombinedOutput()
		if found := strings.Contains(string(out), "DATA RACE"); found != want || (err != nil) != want {
			t.Errorf("%s: a race is found: %v (%v), want %v", when, found, err, want)
		}
	}
}
