package columns

import (
	"errors"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/vault"
)

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
	return errors.Join(append(errs, v.RemoveAll(joint.FilePrefix))...)
}
