package cohort

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// receiveDeposits hears the deposits and settles who the members are.
func (s *serverSum) receiveDeposits(ctx context.Context) error {
	s.deposits = make(map[int]*deposit)
	err := s.gather(ctx, KindDeposit, contract.ClassControl, s.candidates, func(m protocol.Message) (bool, error) {
		d, err := parseDeposit(m.Payload, len(s.near(m.From)), s.threshold)
		s.deposits[m.From] = d
		return true, err
	})
	if err != nil {
		return err
	}
	s.members = newSet(s.links.Parties())
	for i, d := range s.deposits {
		if d != nil {
			s.members.add(i)
		}
	}
	for changed := true; changed; { // the secrets of members with too few neighbours left could not be recovered
		changed = false
		for _, i := range s.members.members() {
			if len(s.members.among(s.near(i))) < s.threshold {
				s.members.remove(i)
				changed = true
			}
		}
	}
	if err := s.enough(s.members, "their deposits", s.vector); err != nil {
		return err
	}
	s.partners = make(map[int][]int)
	for _, i := range s.members.members() {
		s.partners[i] = s.members.among(s.near(i))
	}
	return s.sendAll(ctx, KindMembers, s.members, s.members)
}

// recoverable refuses to go on when some member's secret has too few holders left: nothing opens.
func (s *serverSum) recoverable(holders set, step string) error {
	for _, i := range s.members.members() {
		if n := len(holders.among(s.near(i))); n < s.threshold {
			return &TooFewError{
				Sum: s.sum, Kind: s.vector.Kind, Step: fmt.Sprintf("%s among the neighbours of %s", step, s.links.Name(i)),
				Stayed: n, Want: s.threshold, Lost: s.losses,
			}
		}
	}
	return nil
}

// receiveTags shows the survivors to the survivors, and passes on what each tells its neighbours.
func (s *serverSum) receiveTags(ctx context.Context) error {
	if err := s.sendAll(ctx, KindSurvivors, s.survivors, s.survivors); err != nil {
		return err
	}
	s.tags = make(map[int][]byte)
	err := s.gather(ctx, KindTags, contract.ClassControl, s.survivors, func(m protocol.Message) (bool, error) {
		want := tagSize * len(s.survivors.among(s.near(m.From)))
		if len(m.Payload) != want {
			return false, fmt.Errorf("%d bytes of tags, want %d", len(m.Payload), want)
		}
		s.tags[m.From] = m.Payload
		return true, nil
	})
	if err != nil {
		return err
	}
	tagged, stayed := s.tagged(), make(map[int][]int)
	for _, i := range tagged.members() {
		stayed[i] = s.survivors.among(s.near(i))
	}
	if err := s.recoverable(tagged, "their tags"); err != nil {
		return err
	}
	for _, i := range tagged.members() {
		if err := s.send(ctx, i, s.message(KindTagged, contract.ClassControl, s.tagsFor(i, tagged, stayed))); err != nil {
			return err
		}
	}
	return nil
}

// tagged returns those whose tags came.
func (s *serverSum) tagged() set {
	t := newSet(s.links.Parties())
	for i := range s.tags {
		t.add(i)
	}
	return t
}

// tagsFor puts together what a client's neighbours tell it; stayed lists to whom each has sent tags.
func (s *serverSum) tagsFor(client int, tagged set, stayed map[int][]int) []byte {
	from := tagged.among(s.near(client))
	out := []byte(newSet(s.links.Parties(), from...))
	for _, v := range from {
		at, _ := slices.BinarySearch(stayed[v], client)
		out = append(out, s.tags[v][tagSize*at:tagSize*(at+1)]...)
	}
	return out
}

// receiveShares hears the shares of those who have had the tags.
func (s *serverSum) receiveShares(ctx context.Context) error {
	s.shares = make(map[int][]shamir.Element)
	err := s.gather(ctx, KindShares, contract.ClassMasked, s.tagged(), func(m protocol.Message) (bool, error) {
		shares, err := parseShares(m.Payload, len(s.partners[m.From]))
		if err == nil {
			s.shares[m.From] = shares
		}
		return true, err
	})
	if err != nil {
		return err
	}
	holders := newSet(s.links.Parties())
	for i := range s.shares {
		holders.add(i)
	}
	return s.recoverable(holders, "their shares")
}

// parseShares reads one share of each of n clients.
func parseShares(m []byte, n int) ([]shamir.Element, error) {
	if len(m) != n*shamir.Size {
		return nil, fmt.Errorf("%d bytes of shares, want %d of %d", len(m), n, shamir.Size)
	}
	shares := make([]shamir.Element, n)
	for i := range shares {
		var err error
		if shares[i], err = shamir.Parse(m[i*shamir.Size : (i+1)*shamir.Size]); err != nil {
			return nil, err
		}
	}
	return shares, nil
}

// errShares is the reason of an UnfitError.
var errShares = errors.New("the shares and the deposit do not fit together")

// UnfitError says that a client's secret could not be recovered although enough shares came:
// somebody's share, or the client's deposit, is false. Nothing is opened.
type UnfitError struct {
	Sum   uint64
	Owner string
	Off   string // the one whose share is false, if it can be told
}

// Error implements error.
func (e *UnfitError) Error() string {
	if e.Off != "" {
		return fmt.Sprintf("sum %d is not opened: %s has sent a false share of %s's secret", e.Sum, e.Off, e.Owner)
	}
	return fmt.Sprintf("sum %d is not opened: secret of %s: %v", e.Sum, e.Owner, errShares)
}

// Unwrap says that somebody has deviated.
func (e *UnfitError) Unwrap() error { return contract.ErrDeviation }
