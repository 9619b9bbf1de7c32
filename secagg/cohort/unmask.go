package cohort

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// unmask takes from the total the own masks of the survivors, and the masks that survivors share
// with members who left.
func (s *serverSum) unmask() error {
	masks := secagg.NewMasks(secagg.Fixed64)
	for _, i := range s.members.members() {
		var err error
		if s.survivors.has(i) {
			err = s.undoOwn(masks, i)
		} else {
			err = s.undoShared(masks, i)
		}
		if err != nil {
			return err
		}
	}
	masks.Apply(s.total)
	return nil
}

// undoOwn includes what cancels a survivor's own mask.
func (s *serverSum) undoOwn(masks *secagg.Masks, client int) error {
	secret, err := s.recover(client, 0)
	if err != nil {
		return err
	}
	return masks.Include(keyFrom(string(selfMask), secret), true)
}

// undoShared includes what cancels the masks that survivors share with one who left.
func (s *serverSum) undoShared(masks *secagg.Masks, client int) error {
	secret, err := s.recover(client, 1)
	if err != nil {
		return err
	}
	neighbours := s.near(client)
	list, err := openKeys(s.operation, secret, s.deposits[client].sealed)
	if err != nil {
		return &UnfitError{Sum: s.sum, Owner: s.links.Name(client)}
	}
	for j, v := range neighbours {
		if !s.survivors.has(v) {
			continue
		}
		key := list[secagg.MaskKeySize*j : secagg.MaskKeySize*(j+1)]
		if err := masks.Include(key, !subtracts(s.links, v, client)); err != nil {
			return fmt.Errorf("mask of %s: %w", s.links.Name(client), err)
		}
	}
	return nil
}

// recover puts together a client's secret, the which-th of bothKinds, and holds it against the
// deposit's digest.
func (s *serverSum) recover(client, which int) (shamir.Element, error) {
	neighbours := s.near(client)
	scheme, err := s.scheme(len(neighbours), s.schemes)
	if err != nil {
		return shamir.Element{}, err
	}
	var holders []int
	var shares []shamir.Element
	for j, v := range neighbours {
		if s.shares[v] == nil {
			continue
		}
		at, _ := slices.BinarySearch(s.partners[v], client)
		holders, shares = append(holders, j+1), append(shares, s.shares[v][at])
	}
	d := s.deposits[client]
	fits := func(e shamir.Element) bool {
		return secretDigest(s.links, s.operation, bothKinds()[which], client, e) == d.digest[which]
	}
	t := s.threshold
	secret, err := scheme.Recover(d.public[which], holders[:t], shares[:t])
	if err != nil || fits(secret) {
		return secret, err
	}
	off := s.culprit(scheme, d.public[which], holders, shares, fits)
	e := &UnfitError{Sum: s.sum, Owner: s.links.Name(client)}
	if off > 0 {
		e.Off = s.links.Name(neighbours[off-1])
	}
	return secret, e
}

// culprit finds the holder without whom the shares give the right secret, 0 if there is not one.
func (s *serverSum) culprit(scheme *shamir.Scheme, public []shamir.Element, holders []int, shares []shamir.Element, fits func(shamir.Element) bool) int {
	for i := range holders {
		if len(holders)-1 < scheme.Threshold() {
			break
		}
		h, e := slices.Delete(slices.Clone(holders), i, i+1), slices.Delete(slices.Clone(shares), i, i+1)
		t := scheme.Threshold()
		if secret, err := scheme.Recover(public, h[:t], e[:t]); err == nil && fits(secret) {
			return holders[i]
		}
	}
	return 0
}
