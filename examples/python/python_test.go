// Package python holds a Python module that drives a node, and a walk with it; its test runs them.
package python

import (
	"os/exec"
	"testing"

	"github.com/hanse-project/hanse/examples/walk"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// oldest is what the module needs of Python, as an expression of its own.
const oldest = "import sys; sys.exit(sys.version_info < (3, 11))"

// TestWalk runs the commands of the page, and what the module's own documentation says of itself.
func TestWalk(t *testing.T) {
	if err := exec.Command("python3", "-c", oldest).Run(); err != nil {
		needs.Missing(t, "there is no python3 of 3.11 or later here: %v", err)
	}
	if out, err := exec.Command("python3", "-B", "-m", "doctest", "hanse.py").CombinedOutput(); err != nil {
		t.Errorf("the documentation of hanse.py: %v\n%s", err, out)
	}
	walk.Page(t, 1)
}
