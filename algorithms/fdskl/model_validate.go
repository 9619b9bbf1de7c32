package fdskl

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// validate checks a model part that came from a disk.
func (m *Model) validate() error {
	if m.Version != modelVersion {
		return fmt.Errorf("version is %d, this program reads version %d", m.Version, modelVersion)
	}
	if err := m.Params.Validate(m.Names); err != nil {
		return err
	}
	if !slices.Contains([]string{Published, Masked, Sealed}, m.Privacy) {
		return fmt.Errorf("privacy is %q, want %q, %q or %q", m.Privacy, Published, Masked, Sealed)
	}
	if err := m.validateNormaliser(); err != nil {
		return err
	}
	if err := cmp.Or(m.validatePoints(), m.validateTurned()); err != nil {
		return err
	}
	if err := m.target().validate(m.Params); err != nil {
		return err
	}
	// Checks the numbers that make scores.
	if err := parameters.Positive("sigma", m.Sigma); err != nil {
		return err
	}
	if !(m.Lambda >= 0) || math.IsInf(m.Lambda, 0) {
		return fmt.Errorf("lambda is %v, want a positive number, or none", m.Lambda)
	}
	if !(m.ToGo >= 0) || math.IsInf(m.ToGo, 0) {
		return fmt.Errorf("the optimum is %v standard errors away, want a positive number, or none", m.ToGo)
	}
	count, next := 0, 0
	for _, r := range m.Held {
		if r.First < next || r.Count < 1 || r.Count > m.Params.Features-r.First {
			return fmt.Errorf("%d features from number %d on, of %d, are out of range or order", r.Count,
				r.First, m.Params.Features)
		}
		count, next = count+r.Count, r.First+r.Count
	}
	if err := m.validateFunctions(count); err != nil {
		return err
	}
	want := m.Params.Scores() * (m.Params.Features + 1)
	if m.Shares != nil && (len(m.Shares.X) != want || len(m.Shares.Y) != want) {
		return fmt.Errorf("components of %d and %d words, want %d", len(m.Shares.X), len(m.Shares.Y), want)
	}
	return nil
}

// validateFunctions checks the coefficients of a party that holds those of so many features.
func (m *Model) validateFunctions(features int) error {
	switch want := m.Params.Scores(); {
	case want == 1 && len(m.Against) > 0, len(m.Against) > 0 && len(m.Against) != want:
		return fmt.Errorf("functions of %d classes, the job has %d", len(m.Against), m.Params.ClassCount())
	case want > 1 && (len(m.Alpha) > 0 || m.Intercept != 0):
		return fmt.Errorf("one function for %d classes, want %d", want, want)
	}
	for _, f := range m.Functions() {
		if len(f.Alpha) != features {
			return fmt.Errorf("%d coefficients for %d features", len(f.Alpha), features)
		}
		if !parameters.IsFinite(f.Intercept) {
			return fmt.Errorf("intercept is %v, want a finite number", f.Intercept)
		}
		for i, a := range f.Alpha {
			if !parameters.IsFinite(a) {
				return fmt.Errorf("coefficient %d is %v, want a finite number", i+1, a)
			}
		}
	}
	return nil
}

// validateNormaliser checks how columns are normalised; a sealed model's part has none where there are no
// columns.
func (m *Model) validateNormaliser() error {
	switch {
	case m.Normaliser != nil:
		return m.Normaliser.Validate()
	case m.Privacy == Sealed && len(m.Columns) == 0:
		return nil
	}
	return fmt.Errorf("the normaliser is missing")
}

// target returns what the model knows of the target.
func (m *Model) target() description {
	return description{Mean: m.Mean, Scale: m.Scale, Classes: m.Classes}
}
