package he

import (
	"fmt"

	"github.com/tuneinsight/lattigo/v5/core/rlwe"
	"github.com/tuneinsight/lattigo/v5/mhe"
)

// threshold is a holder's part of a key of which fewer than all holders decrypt: every holder's secret is
// Shamir-shared among all (Mouchet, Bertrand, Hubaux 2022).
type threshold struct {
	needed   int
	own      mhe.ShamirPublicPoint
	points   []mhe.ShamirPublicPoint
	dealer   mhe.Thresholdizer
	combiner mhe.Combiner
	secret   mhe.ShamirPolynomial
	sum      mhe.ShamirSecretShare // of what was accepted
	accepted []bool
	missing  int
}

// newThreshold draws the holder's polynomial and accepts its own deal.
func newThreshold(h *Holder, needed int) (*threshold, error) {
	t := &threshold{needed: needed, own: mhe.ShamirPublicPoint(h.index + 1),
		accepted: make([]bool, h.holders), missing: h.holders}
	for i := range h.holders {
		t.points = append(t.points, mhe.ShamirPublicPoint(i+1))
	}
	t.dealer = mhe.NewThresholdizer(h.scheme.params)
	t.combiner = mhe.NewCombiner(h.scheme.params, t.own, t.points, needed)
	t.sum = t.dealer.AllocateThresholdSecretShare()
	var err error
	if t.secret, err = t.dealer.GenShamirPolynomial(needed, h.secret); err != nil {
		return nil, fmt.Errorf("threshold key: %w", err)
	}
	return t, t.accept(h.index, t.deal(h.index))
}

// deal evaluates the polynomial at a holder's point.
func (t *threshold) deal(to int) []byte {
	share := t.dealer.AllocateThresholdSecretShare()
	t.dealer.GenShamirSecretShare(t.points[to], t.secret, &share)
	out := make([]byte, PolySize)
	writePoly(out, share.Q.Coeffs)
	return out
}

// accept adds what a holder dealt.
func (t *threshold) accept(from int, dealt []byte) error {
	if t.accepted[from] {
		return fmt.Errorf("threshold key: holder %d dealt before", from)
	}
	if err := CheckPolys(fmt.Sprintf("deal of holder %d", from), dealt, 1); err != nil {
		return err
	}
	share := t.dealer.AllocateThresholdSecretShare()
	readPoly(share.Q.Coeffs, dealt)
	if err := t.dealer.AggregateShares(t.sum, share, &t.sum); err != nil {
		return fmt.Errorf("deal of holder %d: %w", from, err)
	}
	t.accepted[from] = true
	t.missing--
	return nil
}

// Deal returns what this holder of a threshold key gives to another: PolySize bytes. They are secret, and
// travel encrypted to that holder alone: whoever has those of enough holders has the key.
func (h *Holder) Deal(to int) ([]byte, error) {
	if err := h.checkOther("deal to", to); err != nil {
		return nil, err
	}
	return h.group.deal(to), nil
}

// Accept takes what another holder dealt to this one, once.
func (h *Holder) Accept(from int, dealt []byte) error {
	if err := h.checkOther("deal of", from); err != nil {
		return err
	}
	return h.group.accept(from, dealt)
}

// checkOther checks that there is another holder of that index, and something to deal.
func (h *Holder) checkOther(what string, other int) error {
	if h.group == nil {
		return fmt.Errorf("%s holder %d: this key needs all holders, nothing is dealt", what, other)
	}
	if other < 0 || other >= h.holders || other == h.index {
		return fmt.Errorf("%s holder %d: want another of the %d holders", what, other, h.holders)
	}
	return nil
}

// addend writes this holder's share of the secret key among the active, who are exactly as many as needed.
func (t *threshold) addend(active []int, out *rlwe.SecretKey) error {
	if t.missing > 0 {
		return fmt.Errorf("threshold key: %d of %d holders have not dealt yet", t.missing, len(t.points))
	}
	if len(active) != t.needed {
		return fmt.Errorf("decryption by %d holders: this key needs exactly %d", len(active), t.needed)
	}
	points, self := make([]mhe.ShamirPublicPoint, 0, t.needed), false
	seen := make([]bool, len(t.points))
	for _, a := range active {
		if a < 0 || a >= len(seen) || seen[a] {
			return fmt.Errorf("decryption by holders %v: want different ones, from 0 to %d", active, len(seen)-1)
		}
		seen[a], self = true, self || t.points[a] == t.own
		points = append(points, t.points[a])
	}
	if !self {
		return fmt.Errorf("decryption by holders %v: holder %d is not among them", active, t.own-1)
	}
	if err := t.combiner.GenAdditiveShare(points, t.own, t.sum, out); err != nil {
		return fmt.Errorf("threshold key: %w", err)
	}
	return nil
}
