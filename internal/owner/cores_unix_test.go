//go:build unix

package owner

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// TestWithoutCores has a process set its limit, and looks at that of what it starts.
func TestWithoutCores(t *testing.T) {
	const asked = "HANSE_TEST_CORES"
	shell := needs.Program(t, "a shell", "sh")
	if os.Getenv(asked) != "" {
		must(t, WithoutCores())
		out, err := exec.Command(shell, "-c", "ulimit -Sc; ulimit -Hc").Output()
		if got := strings.Fields(string(out)); err != nil || len(got) != 2 || got[0] != "0" || got[1] != "0" {
			t.Errorf("the soft and the hard limit are %q, %v", got, err)
		}
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestWithoutCores$")
	child.Env = append(os.Environ(), asked+"=yes")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
