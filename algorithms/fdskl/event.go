package fdskl

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/algorithms/joint"
)

// mostClassName is the longest name of a class that a job says, in bytes.
const mostClassName = 256

// validatePositive refuses a class that cannot be the event of the job.
func (p Params) validatePositive() error {
	switch {
	case p.Positive == "":
		return nil
	case p.Target == joint.Regression:
		return fmt.Errorf("positive is %.60q and target %q: numbers have no event; leave one of the two out", p.Positive,
			joint.Regression)
	case p.Classes > 2:
		return fmt.Errorf("positive is %.60q with %d classes: it says which of two is the event; leave it out", p.Positive,
			p.Classes)
	case len(p.Positive) > mostClassName || strings.ContainsFunc(string(p.Positive), unicode.IsControl):
		return fmt.Errorf("positive is %.60q, want at most %d bytes without control characters", p.Positive, mostClassName)
	}
	return nil
}

// ChoosesEvent reports whether the label holder says for itself which of two classes it reads scores as: not where the
// job says it, and not where there is nobody who could say it without telling others, of several label holders and of
// points that open to other parties, which are to add up to one card.
func (p Params) ChoosesEvent() bool {
	if p.ClassCount() != 2 || p.Positive != "" || len(p.Active) != 1 {
		return false
	}
	for _, to := range []string{p.Points, p.ZScores} {
		if to != "" && to != p.Active[0] {
			return false
		}
	}
	return true
}

// validateTurned refuses a part that reads scores the other way round where the job says how, or there are not two
// classes.
func (m *Model) validateTurned() error {
	if m.Turned && !m.Params.ChoosesEvent() {
		return fmt.Errorf("scores are read the other way round, and the job leaves no choice of the event")
	}
	return nil
}
