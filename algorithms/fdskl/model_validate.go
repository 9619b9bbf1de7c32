package fdskl

import (
	"fmt"
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
	if err := m.target().validate(m.Params.Target); err != nil {
		return err
	}
	return m.validateCoefficients()
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

// validateCoefficients checks the numbers that make scores.
func (m *Model) validateCoefficients() error {
	if err := parameters.Positive("sigma", m.Sigma); err != nil {
		return err
	}
	if !finite(m.Intercept) {
		return fmt.Errorf("intercept is %v, want a finite number", m.Intercept)
	}
	count, next := 0, 0
	for _, r := range m.Held {
		if r.First < next || r.Count < 1 || r.Count > m.Params.Features-r.First {
			return fmt.Errorf("%d features from number %d on, of %d, are out of range or order", r.Count, r.First, m.Params.Features)
		}
		count, next = count+r.Count, r.First+r.Count
	}
	if count != len(m.Alpha) {
		return fmt.Errorf("%d coefficients for %d features", len(m.Alpha), count)
	}
	for i, a := range m.Alpha {
		if !finite(a) {
			return fmt.Errorf("coefficient %d is %v, want a finite number", i+1, a)
		}
	}
	if want := m.Params.Features + 1; m.Shares != nil && (len(m.Shares.X) != want || len(m.Shares.Y) != want) {
		return fmt.Errorf("components of %d and %d words, want %d", len(m.Shares.X), len(m.Shares.Y), want)
	}
	return nil
}
