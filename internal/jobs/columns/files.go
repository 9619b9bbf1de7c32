package columns

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/vault"
)

// phaseFile is where a party keeps its secret phase seed for a job.
const phaseFile = "phase"

// Rebuildable tells the files of a job that a session makes anew when they are gone: checkpoints, what shards have come
// to, scores that the other parties know as scored, and what figures are made with. What was said in an opening is
// none: it is not said anew.
func Rebuildable(name string) bool {
	files := append(fdskl.Files(), KnownScoresFile, DecisionFile, DecisionRowsFile, TrainedRowsFile, AloneFile)
	return slices.Contains(files, name) || slices.Contains(sealed.Checkpoints(), name) ||
		strings.HasPrefix(name, shardResult)
}

// Clean removes from a job's folder what a finished job no longer needs: opened angles, solver states, requests and
// their scores, and shares.
func Clean(v *vault.Vault) error {
	var errs []error
	for _, name := range append(fdskl.Files(), requestsFile, answersFile, alignmentRootFile, alignmentReceivedFile) {
		errs = append(errs, v.Remove(name))
	}
	return errors.Join(append(errs, v.RemoveAll(sealed.FilePrefix))...)
}

// phaseOf returns the party's secret phase seed for a job, drawn once and kept.
func phaseOf(v *vault.Vault) (seed fdskl.PhaseSeed, err error) {
	err = drawnOnce(v, phaseFile, seed[:], func() { seed = fdskl.NewPhaseSeed() })
	return seed, err
}

// CopyPhase gives a job the phase seed of another, so that both come to the same model.
func CopyPhase(from, to *vault.Vault) error {
	data, err := from.Load(phaseFile)
	if err != nil {
		return err
	}
	if data == nil {
		return fmt.Errorf("%s is not there: no phase was drawn for the job", from.Path(phaseFile))
	}
	return to.Save(phaseFile, data)
}

// drawnOnce reads a secret of a job from its file; where there is none, draw draws it, and it is kept.
func drawnOnce(v *vault.Vault, name string, secret []byte, draw func()) error {
	data, err := v.Load(name)
	switch {
	case err != nil:
		return err
	case data == nil:
		draw()
		return v.Save(name, secret)
	case len(data) != len(secret):
		return fmt.Errorf("%s has %d bytes, want %d", v.Path(name), len(data), len(secret))
	}
	copy(secret, data)
	return nil
}

// keepModel has the session keep a model part.
func (r *session) keepModel(m *fdskl.Model) (err error) {
	r.kept, err = m.Encode()
	return err
}
