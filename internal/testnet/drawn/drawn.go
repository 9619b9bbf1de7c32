// Package drawn says which of a test's cases are run today. Where one case stands for another, each day draws some, and
// as many days as it takes draw them all; under the build tag long every case is run. And it says how likely counts are
// to be drawn from a distribution.
package drawn

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Day names the variable of the environment that says which day it is, since 1970: to run again what another day drew.
const Day = "HANSE_DAY"

// T is a test that is told what is drawn.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Today reports whether case i is run, of which each day runs one in so many.
func Today(t T, i, of int) bool {
	t.Helper()
	day := int(time.Now().Unix() / 86_400)
	if text := os.Getenv(Day); text != "" {
		var err error
		if day, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s is %q, want a number of days", Day, text)
		}
	}
	run := All || On(day, i, of)
	if run && !All {
		t.Logf("case %d is drawn, one of %d: %s=%d draws it again", i, of, Day, day)
	}
	return run
}

// On reports whether a day since 1970 draws case i, one of so many.
func On(day, i, of int) bool { return (day+i)%of == 0 }

// Turn skips a test, one of so many that stand for one another, unless today is its turn.
func Turn(t testing.TB, i, of int) {
	t.Helper()
	if !Today(t, i, of) {
		t.Skip("its turn is another day")
	}
}
