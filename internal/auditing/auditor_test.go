package auditing

import (
	"runtime"
	"testing"

	"github.com/hanse-project/hanse/internal/build"
)

// TestReportsNameTheBuild holds that a report says of the program what hanse version does: between releases the commit.
func TestReportsNameTheBuild(t *testing.T) {
	of := build.Info{Version: "devel-01a41a0+", Go: runtime.Version()}
	if got, want := program(of), "hanse devel-01a41a0+, "+runtime.Version(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := program(build.Read()); got != "hanse "+build.Version()+", "+runtime.Version() {
		t.Errorf("%q of version %s", got, build.Version())
	}
}
