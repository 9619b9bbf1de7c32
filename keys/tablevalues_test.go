package keys

import (
	"fmt"
	"testing"
)

// TestFindValue: a mistake in a table that was read before names the line of the file, however the table was written
// out since, and whatever stands around the sentence.
func TestFindValue(t *testing.T) {
	file := []byte("# a comment\nname = \"x\"\nlist = [\n  \"a\",\n]\n\n[parameters]\n# rows\nrounds = 5\nsize = 1e3\n")
	again := []byte("rounds = 5\nsize = 1000.0\n")
	var v struct {
		Rounds int `toml:"rounds"`
		Size   int `toml:"size"`
	}
	err := InTable(again, DecodeStrict("parameters", again, &v))
	wantError(t, err, "parameters: size: want an integer, got a number")
	err = FindValue(fmt.Errorf("job %q: %w", "x", err), file, "parameters")
	wantError(t, err, `job "x": parameters: line 10: size: want an integer, got a number`)
	wantError(t, FindValue(err, file[:40], "parameters"), err.Error())
}
