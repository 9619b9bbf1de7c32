package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
)

// threeKinds is a table of three classes of 50, 30 and 20 rows of a hundred, which a linear model tells apart: each has
// a column of its own that is 1.
func threeKinds(t *testing.T, label func(row int, kind string) string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,a,b,c,kind\n")
	for row := range 400 {
		k := []int{0, 1, 2, 0, 0, 1, 0, 2, 0, 1}[row%10]
		cells := []string{"0", "0", "0"}
		cells[k] = fmt.Sprintf("1.%d", row%7)
		kind := []string{"oak", "ash", "elm"}[k]
		if label != nil {
			kind = label(row, kind)
		}
		fmt.Fprintf(&b, "r%03d,%s,%s\n", row, strings.Join(cells, ","), kind)
	}
	path := filepath.Join(t.TempDir(), "trees.csv")
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// TestBaselinesOfClasses: guessing is the commonest label, and the linear model is one against the rest.
func TestBaselinesOfClasses(t *testing.T) {
	d, err := Files([]string{threeKinds(t, nil)}, dataset.Options{Label: "kind"}, 3, 1)
	must(t, err)
	target, classes, err := d.Target("")
	if err != nil || target != joint.Classification || classes != 3 {
		t.Fatalf("target %q of %d classes: %v", target, classes, err)
	}
	p := fdskl.Params{Active: []string{"bank"}, Label: d.Label, Classes: 3, Features: 4}.WithDefaults()
	rest := 0
	c, err := d.Test[0].Column("kind")
	must(t, err)
	for _, code := range c.Codes {
		if c.Levels[code] != "oak" {
			rest++
		}
	}
	if e, err := d.Guess(p); err != nil || e != float64(rest)/100 {
		t.Errorf("guessing is wrong of %v, want %d of 100: %v", e, rest, err)
	}
	if b, err := d.Linear(p); err != nil || b.Error != 0 {
		t.Errorf("the linear model is wrong of %v: %v", b.Error, err)
	}
}

// TestLabelsThatCannotBeMeasured are named before anything is trained.
func TestLabelsThatCannotBeMeasured(t *testing.T) {
	d, err := Files([]string{threeKinds(t, func(row int, kind string) string {
		if row == 9 {
			return ""
		}
		return kind
	})}, dataset.Options{Label: "kind"}, 3, 1)
	must(t, err)
	p := fdskl.Params{Label: "kind", Classes: 3}.WithDefaults()
	if _, err = d.Guess(p); err == nil || !strings.Contains(err.Error(), `label column "kind" is empty in 1 of `) ||
		!strings.Contains(err.Error(), `the first with id "r009": fill these cells or leave their rows out`) {
		t.Errorf("error is %v", err)
	}
	whole, err := Files([]string{threeKinds(t, nil)}, dataset.Options{Label: "kind"}, 3, 1)
	must(t, err)
	strange := whole.Test[0].IDs[0]
	d, err = Files([]string{threeKinds(t, func(row int, kind string) string {
		if fmt.Sprintf("r%03d", row) == strange {
			return "yew"
		}
		return kind
	})}, dataset.Options{Label: "kind"}, 3, 1)
	must(t, err)
	want := fmt.Sprintf(`has "yew" at id %q, which is none of the classes "ash", "elm"`, strange)
	if _, err = d.Guess(p); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v", err)
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
