package columns

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// TestKnownScoresOfClasses are kept, as many for a row as there are classes, and a log of another model's is refused.
func TestKnownScoresOfClasses(t *testing.T) {
	v, err := vault.Open(filepath.Join(t.TempDir(), "job"), vault.Options{})
	must(t, err)
	k, err := openKnownScores(v, 3)
	must(t, err)
	o := opening{keys.HashOf("job"), 1}
	for range 2 { // the second adds nothing
		must(t, k.add(o, []string{"a", "bc"}, []float64{1, 2, 3, -4, 5, 0.5}))
	}
	if k, err = openKnownScores(v, 3); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]float64{"a": {1, 2, 3}, "bc": {-4, 5, 0.5}} {
		if got, ok := k.of(id, 1); !ok || !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", id, got, want)
		}
		if _, ok := k.of(id, 2); ok {
			t.Errorf("%s was scored once and is known as scored twice", id)
		}
	}
	before, _ := k.of("a", 1)
	must(t, k.add(opening{o.contract, 2}, []string{"a"}, []float64{7, 8, 9}))
	got, ok := k.of("a", 2)
	if !ok || !slices.Equal(got, []float64{7, 8, 9}) || !slices.Equal(before, []float64{1, 2, 3}) {
		t.Errorf("a, scored again, has %v, want the new scores; who had the old ones has %v", got, before)
	}
	if got, ok := k.of("bc", 1); !ok || !slices.Equal(got, []float64{-4, 5, 0.5}) {
		t.Errorf("bc has %v once a was scored again", got)
	}
	if _, ok := k.of("d", 1); ok {
		t.Error("d was never scored and is known")
	}
	if _, err := openKnownScores(v, 2); err == nil {
		t.Error("a log of three scores a row is read as one of two")
	}
}
