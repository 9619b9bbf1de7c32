// Package credit is a walk through a federation by hand; its test runs it.
package credit

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/examples/walk"
)

// TestWalk runs every command of the page.
func TestWalk(t *testing.T) {
	out := walk.Page(t, 0)
	for _, want := range []string{"bank learned", "common to all  900\n", "id,score,class,probability\n",
		"\n150\n", "credit-scores", "done", "CLEAN: ",
		"test   bank      5     2       600   20          22 "} {
		if !strings.Contains(out, want) {
			t.Errorf("the walk did not print %q:\n%s", want, out)
		}
	}
}
