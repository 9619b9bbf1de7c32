package cohort

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/graph"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// conspiracy is a server that opens both secrets of its victim, client 1, together with corrupt clients, the
// last ones. It tells the first honest clients that the victim has stayed, and the others that it has left.
type conspiracy struct {
	*lyingServer
	ends    []*protocol.Links // the corrupt clients', who tell the server everything
	corrupt set
	stayed  set // who are told that the victim stayed
}

// told returns the survivors that a client is shown.
func (c *conspiracy) told(client int) set {
	all := c.members.clone()
	if !c.stayed.has(client) {
		all.remove(victim)
	}
	return all
}

// fellows are the clients whose tags fit to what a client was shown.
func (c *conspiracy) fellows(client int) []int {
	return slices.DeleteFunc(slices.Clone(c.near(client)), func(i int) bool {
		return !c.corrupt.has(i) && c.stayed.has(i) != c.stayed.has(client)
	})
}

// split shows the honest clients the two lists, passes on the tags that fit, with the corrupt clients' own, and
// hears who hands out shares.
func (c *conspiracy) split(ctx context.Context) error {
	honest := c.members.without(c.corrupt)
	for _, i := range honest.members() {
		if err := c.whisper(ctx, i, KindSurvivors, c.told(i)); err != nil {
			return err
		}
	}
	c.tags = make(map[int][]byte)
	err := c.gather(ctx, KindTags, contract.ClassControl, honest, func(m protocol.Message) (bool, error) {
		c.tags[m.From] = m.Payload
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, i := range honest.members() {
		from, tags := newSet(c.links.Parties()), []byte(nil)
		for _, v := range c.fellows(i) {
			var tag []byte
			if c.corrupt.has(v) {
				shown := *c.round
				shown.survivors = c.told(i)
				if tag, err = survivorTag(c.ends[v], &shown, v, i); err != nil {
					return err
				}
			} else {
				tag = c.tagFrom(v, i, c.told(v))
			}
			from.add(v)
			tags = append(tags, tag...)
		}
		if err := c.whisper(ctx, i, KindTagged, append(from, tags...)); err != nil {
			return err
		}
	}
	c.shares = make(map[int][]shamir.Element)
	return c.gather(ctx, KindShares, contract.ClassMasked, honest, func(m protocol.Message) (bool, error) {
		shares, err := parseShares(m.Payload, len(c.partners[m.From]))
		c.shares[m.From] = shares
		return true, err
	})
}

// secret opens one of the victim's secrets with the shares that honest clients have handed out and those of
// the corrupt ones.
func (c *conspiracy) secret(which int) (secret shamir.Element, ok bool, err error) {
	all := c.shares
	defer func() { c.shares = all }()
	c.shares = make(map[int][]shamir.Element)
	for _, v := range c.partners[victim] {
		at, _ := slices.BinarySearch(c.partners[v], victim)
		switch {
		case c.corrupt.has(v):
			c.shares[v] = make([]shamir.Element, len(c.partners[v]))
			if c.shares[v][at], err = shareOf(c.ends[v], c.operation, bothKinds()[which], victim, v); err != nil {
				return secret, false, err
			}
		case c.stayed.has(v) == (which == 0) && all[v] != nil:
			c.shares[v] = all[v]
		}
	}
	if len(c.shares) < c.threshold {
		return secret, false, nil
	}
	secret, err = c.recover(victim, which)
	return secret, err == nil, err
}

// bare takes all masks from the victim's vector, nil without both secrets.
func (c *conspiracy) bare(vector []byte) ([]uint64, error) {
	own, first, err := c.secret(0)
	if err != nil {
		return nil, err
	}
	recovery, second, err := c.secret(1)
	if err != nil || !first || !second {
		return nil, err
	}
	masks := secagg.NewMasks(secagg.Fixed64)
	if err := masks.Include(keyFrom(string(selfMask), own), true); err != nil {
		return nil, err
	}
	list, err := decryptKeys(c.operation, recovery, c.deposits[victim].maskKeys)
	if err != nil {
		return nil, err
	}
	for j, v := range c.near(victim) {
		if err := masks.Include(list[secagg.MaskKeySize*j:secagg.MaskKeySize*(j+1)],
			!subtracts(c.links, victim, v)); err != nil {
			return nil, err
		}
	}
	masks.Apply(vector)
	return toWords(vector), nil
}

// conspire runs the attack on a sum of 40 clients, of whom so many are told that the victim has stayed, and
// returns the victim's vector, or nil.
func conspire(t *testing.T, spec Spec, stayed int) []uint64 {
	t.Helper()
	const n = 40
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	l := &testNetwork{spec: spec}
	l.open(t, n)
	tap := l.Tap(l.IDs[0])
	var words []uint64
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		liar, err := lie(s, v, upTo(n))
		if err != nil {
			return err
		}
		c := &conspiracy{
			lyingServer: liar, ends: l.links, corrupt: newSet(n+1, 37, 38, 39, 40), stayed: newSet(n+1, upTo(stayed)...),
		}
		if err := c.honestly(ctx); err != nil {
			return err
		}
		if err := c.split(ctx); err != nil {
			return err
		}
		var vector []byte
		for _, f := range tap.Frames() {
			if f.From == l.IDs[victim] && kindOfFrame(f.Data) == v.Kind {
				vector = slices.Clone(f.Data[68+len(v.Kind)+setSize(n+1):])
			}
		}
		words, err = c.bare(vector)
		return err
	}, l.untilRefused(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if words != nil && !slices.Equal(words, vectorOf(v, victim, 0)) {
		t.Fatalf("the server computes %x, which is not the victim's vector", words[:3])
	}
	return words
}

// TestTwoSetsOfHoldersDoNotOpenAVector: of 40 clients, all of them neighbours, four tell the server everything. With
// the least threshold that a job may have it gets one of the victim's secrets, however it splits the
// others. Where sums are made for no corrupt clients at all, as the control is, half the holders and one
// are enough, and the server prints the victim's vector.
func TestTwoSetsOfHoldersDoNotOpenAVector(t *testing.T) {
	spec := Spec{Backend: Masked, Topology: contract.Star, Complete: 40}
	unprotected := spec
	unprotected.Tolerance, unprotected.Threshold = graph.Tolerance{Dropout: 0.1}, 0.51
	if conspire(t, unprotected, 18) == nil {
		t.Error("the control: the server does not open the victim's vector with 20 of 39 holders")
	}
	for _, threshold := range []float64{0.5641, 0} {
		for _, stayed := range []int{17, 18, 19, 20} {
			t.Run(fmt.Sprintf("threshold %v, split at %d", threshold, stayed), func(t *testing.T) {
				spec := spec
				spec.Threshold = threshold
				if words := conspire(t, spec, stayed); words != nil {
					t.Errorf("the server has opened the victim's vector: %x", words[:3])
				}
			})
		}
	}
}

// TestThresholdsThatOpenVectorsAreRefused, with the least one in the error, and that one is taken.
func TestThresholdsThatOpenVectorsAreRefused(t *testing.T) {
	for _, c := range []struct {
		clients int
		backend Backend
		low     float64
		least   string
		ok      float64
	}{
		{5, Masked, 0.501, "", 0},
		{12, Masked, 0.51, "0.6363: fewer than 7 of 11 holders of a client's secret, 1 of them corrupt", 0.6363},
		{32, Masked, 0.51, "0.5806: fewer than 18 of 31 holders of a client's secret, 3 of them corrupt", 0.5806},
		{40, Masked, 0.51, "0.7142: fewer than 10 of 14 holders of a client's secret, 5 of them corrupt", 0.7142},
		{300, Masked, 0.68, "0.6969: fewer than 46 of 66 holders of a client's secret, 25 of them corrupt", 0.6969},
		{1000, Masked, 0.6, "0.6979: fewer than 67 of 96 holders of a client's secret, 37 of them corrupt", 0.6979},
		{8, HE, 0.501, "", 0},
		{64, HE, 0.51, "0.5625: fewer than 36 of 64 holders of a client's secret, 6 of them corrupt", 0.5625},
	} {
		spec := Spec{Backend: c.backend, Threshold: c.low, KeyHolders: min(c.clients, maxKeyHolders)}
		_, err := spec.complete(c.clients + 1)
		if c.least == "" {
			if err != nil {
				t.Errorf("%d clients: error %v", c.clients, err)
			}
			continue
		}
		wantError(t, err, fmt.Sprintf("threshold is %v, want at least %s, would let the server open that client's vector", c.low, c.least))
		spec.Threshold = c.ok
		if _, err := spec.complete(c.clients + 1); err != nil {
			t.Errorf("%d clients: the least threshold %v is refused: %v", c.clients, c.ok, err)
		}
	}
}
