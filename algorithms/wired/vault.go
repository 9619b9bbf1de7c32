package wired

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
)

// PhaseFile is where a party's vault keeps its secret phase seed for a job.
const PhaseFile = "phase"

// PhaseOf returns the party's secret phase seed for a job, drawn once and kept.
func PhaseOf(v joint.Vault) (seed fdskl.PhaseSeed, err error) {
	err = DrawnOnce(v, PhaseFile, seed[:], func() { seed = fdskl.NewPhaseSeed() })
	return seed, err
}

// DrawnOnce reads a secret of a job from its file in a vault; where there is none, draw draws it, and it is kept.
func DrawnOnce(v joint.Vault, name string, secret []byte, draw func()) error {
	data, err := v.Load(name)
	switch {
	case err != nil:
		return err
	case data == nil:
		draw()
		return v.Save(name, secret)
	case len(data) != len(secret):
		return fmt.Errorf("%s in the vault has %d bytes, want %d", name, len(data), len(secret))
	}
	copy(secret, data)
	return nil
}
