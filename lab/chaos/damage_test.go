package chaos

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// draws are reproducible draws.
func draws(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// write writes a file for a test.
func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	path, whole := filepath.Join(t.TempDir(), "file"), []byte("what a file has in it")
	older := [][]byte{[]byte("older"), []byte("oldest")}
	for seed := range uint64(20) {
		for _, way := range damages() {
			write(t, path, whole)
			said, err := damage(path, way, older, draws(seed))
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if gone := os.IsNotExist(err); gone != (way == damageDelete) {
				t.Fatalf("%s: %v", said, err)
			}
			changed := 0
			for i := range min(len(got), len(whole)) {
				changed += bits.OnesCount8(got[i] ^ whole[i])
			}
			right := map[string]bool{
				damageFlip:   len(got) == len(whole) && changed == 1,
				damageCut:    len(got) < len(whole) && bytes.HasPrefix(whole, got),
				damageEmpty:  len(got) == 0,
				damageDelete: true,
				damageOlder:  string(got) == "older" || string(got) == "oldest",
			}
			if !right[way] {
				t.Errorf("%s left %q", said, got)
			}
		}
	}
}

// TestDamageAlwaysChanges: where a way would leave a file as it is, another takes its place.
func TestDamageAlwaysChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, []byte("text"))
	if said, err := damage(path, damageOlder, nil, draws(1)); err != nil || !strings.Contains(said, "flipped") {
		t.Errorf("without older copies: %s, %v", said, err)
	}
	write(t, path, nil)
	if said, err := damage(path, damageFlip, nil, draws(1)); err != nil || said != damageDelete {
		t.Errorf("an empty file: %s, %v", said, err)
	}
}

func TestVictimFiles(t *testing.T) {
	dir := t.TempDir()
	kept := "jobs/a/solver-0 jobs/a/solver-1 jobs/b/solver-1 jobs/a/status.toml proposals/x.toml"
	for _, name := range strings.Fields(kept + " jobs/a/phase.1.tmp " + fillerName) {
		write(t, filepath.Join(dir, name), []byte("x"))
	}
	kinds := make(map[string]int)
	for seed := range uint64(300) {
		path, err := victimFile(dir, draws(seed))
		if err != nil {
			t.Fatal(err)
		}
		kinds[fileKind(path)]++
	}
	if len(kinds) != 3 || kinds["solver"] < 60 || kinds["status.toml"] < 60 || kinds["proposals"] < 60 {
		t.Errorf("drawn kinds are %v, want each of three as often", kinds)
	}
	if _, err := victimFile(t.TempDir(), draws(1)); err == nil {
		t.Error("a file of an empty folder was drawn")
	}
}

func TestChangesAndCopies(t *testing.T) {
	dir := t.TempDir()
	status := filepath.Join(dir, "jobs", "a", "status.toml")
	write(t, status, []byte("one"))
	c, kept := newChanges(dir), newCopies(dir)
	write(t, status, []byte("one and a half")) // the same file
	if n := c.look(); n != 0 {
		t.Errorf("%d changes, want none: a file that grows is the same", n)
	}
	kept.take()
	write(t, status+".1.tmp", []byte("two"))
	if err := os.Rename(status+".1.tmp", status); err != nil {
		t.Fatal(err)
	}
	if n := c.look(); n != 1 || c.last != "status.toml" {
		t.Errorf("%d changes, the last of %s, want one of status.toml", n, c.last)
	}
	kept.take()
	kept.take()
	older := kept.before(status)
	if len(older) != 2 || string(older[0]) != "one" || string(older[1]) != "one and a half" {
		t.Errorf("older copies are %q", older)
	}
}
