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
		if s.survivors.has(i) { // its own mask
			secret, err := s.recover(i, 0)
			if err == nil {
				err = masks.Include(keyFrom(string(selfMask), secret), true)
			}
			if err != nil {
				return err
			}
			continue
		}
		// The masks that survivors share with one who left.
		secret, err := s.recover(i, 1)
		if err != nil {
			return err
		}
		list, err := decryptKeys(s.operation, secret, s.deposits[i].maskKeys)
		if err != nil {
			return &UnfitError{Sum: s.sum, Owner: s.links.Name(i)}
		}
		for j, v := range s.near(i) {
			if !s.survivors.has(v) {
				continue
			}
			key := list[secagg.MaskKeySize*j : secagg.MaskKeySize*(j+1)]
			if err := masks.Include(key, !subtracts(s.links, v, i)); err != nil {
				return fmt.Errorf("mask of %s: %w", s.links.Name(i), err)
			}
		}
	}
	masks.Apply(s.total)
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
	// Somebody's share is false: the holder's without whom the others give the right secret, if there is one.
	e := &UnfitError{Sum: s.sum, Owner: s.links.Name(client)}
	for i := range holders {
		if len(holders)-1 < t {
			break
		}
		others, theirs := slices.Delete(slices.Clone(holders), i, i+1), slices.Delete(slices.Clone(shares), i, i+1)
		if secret, err := scheme.Recover(d.public[which], others[:t], theirs[:t]); err == nil && fits(secret) {
			e.Off = s.links.Name(neighbours[holders[i]-1])
			break
		}
	}
	return secret, e
}
