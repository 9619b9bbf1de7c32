package needs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWhatIsMissingIsListed: a program that nobody has and a set that is not there skip their tests, each with its line
// in the list; what is there is found.
func TestWhatIsMissingIsListed(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "skipped")
	t.Setenv(List, list)
	t.Setenv("HANSE_DATA", dir)
	if err := os.WriteFile(filepath.Join(dir, "small.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, need := range map[string]func(t *testing.T){
		"program": func(t *testing.T) { Program(t, "apt-get install it", "hanse-has-no-such-program") },
		"data":    func(t *testing.T) { Data(t, "large", "set.csv") },
	} {
		t.Run(name, func(inner *testing.T) {
			defer func() {
				if !inner.Skipped() {
					t.Errorf("%s was not skipped", name)
				}
			}()
			need(inner)
		})
	}
	if path := Program(t, "", "hanse-has-no-such-program", "go"); filepath.Base(path) != "go" {
		t.Errorf("go is at %q", path)
	}
	if path := Data(t, "small.csv"); path != filepath.Join(dir, "small.csv") {
		t.Errorf("the set is at %q", path)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	const program = "TestWhatIsMissingIsListed/program: hanse-has-no-such-program is not installed: apt-get install it\n"
	const data = "TestWhatIsMissingIsListed/data: there is no data set large/set.csv: set HANSE_DATA to its folder\n"
	if got := string(text); got != program+data && got != data+program {
		t.Errorf("the list is\n%s", got)
	}
}
