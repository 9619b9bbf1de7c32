package sealed

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/secagg/rss"
)

// job is what is run again and again, with the first inputs or the second: all parties' parts. It returns all that
// the subject has in the end.
type job func(l *lab, second bool) (string, error)

// maxSweeps is how often a tape is corrected at most.
const maxSweeps = 500

// replayed runs a job with both inputs and returns how the subject could tell them apart, nil when it could not.
// blank is a use whose pads are left out, or 0.
func replayed(t testing.TB, names []string, role rss.Role, subject int, blank rss.Use, run job) (*replay, error) {
	t.Helper()
	r := &replay{role: role, subject: subject, tape: newTape("first"), public: make(map[string][]uint64)}
	r.tape.blank = blank
	r.run = func(heard func(int, *message) error, second bool) (string, error) {
		r.begin()
		l := newLab(names, r.tape.source)
		l.heard = heard
		return run(l, second)
	}
	first, err := r.run(r.record, false)
	if err != nil {
		return r, fmt.Errorf("first run: %w", err)
	}
	r.at = len(r.log)
	if err := r.done(); err != nil {
		return r, fmt.Errorf("first run: %w", err)
	}
	if err := r.settle(); err != nil {
		return r, err
	}
	second, err := r.run(r.verify, true)
	if err != nil {
		return r, err
	}
	if second != first {
		return r, fmt.Errorf("what the %s has in the end differs", role)
	}
	return r, r.done()
}

// settle corrects the tape until nothing differs. While it does, the subject is handed words that nobody sent, and what
// opens of a step, or the check of the steps, may end a run; what is known by then is corrected.
func (r *replay) settle() error {
	for r.sweeps = 1; r.sweeps <= maxSweeps; r.sweeps++ {
		_, err := r.run(r.solve, true)
		var checked *rss.DeviationError
		ends := []string{kindCheck, kindPace, kindProgress}
		if errors.As(err, &checked) && slices.Contains(ends, checked.Kind) && len(r.patches) > 0 {
			err = nil
		}
		if err != nil || len(r.patches) == 0 {
			return err
		}
		for _, p := range r.patches {
			r.tape.apply(p)
		}
	}
	return fmt.Errorf("after %d sweeps %d words still differ", r.sweeps, len(r.patches))
}

// roleOrder lists the three.
func roleOrder() []rss.Role { return []rss.Role{rss.LabelHolder, rss.Keeper, rss.Helper} }
