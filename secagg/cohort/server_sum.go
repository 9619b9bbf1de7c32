package cohort

import (
	"context"
	"errors"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// serverSum is the server's part in one sum.
type serverSum struct {
	*Server
	*round
	total    []byte        // 64-bit words, little-endian
	carried  set           // whose vectors are in it
	again    uint64        // the sum that this one repeats, 0: none
	begun    bool          // clients were told of this sum
	asked    set           // who was told of it
	spoiled  bool          // a candidate's nonce did not come
	nears    map[int][]int // see near
	partners map[int][]int // each member's neighbours among the members, ascending
	deposits map[int]*deposit
	tags     map[int][]byte
	shares   map[int][]shamir.Element // by holder, one for each of its neighbours among the members
}

// maxRepeats bounds how often a sum is repeated: a homomorphic one under a new key, one along a graph with
// a new coin.
const maxRepeats = 3

// untilOpened runs the sum. It repeats it under a new key when a holder of the key was lost before it had
// decrypted, and with a new coin when a candidate was lost before it had shown its nonce.
func (s *serverSum) untilOpened(ctx context.Context, v Vector, candidates set) error {
	for repeats := 0; ; repeats++ {
		var err error
		if s.round, err = newRound(s.spec, s.sum, v, candidates); err != nil {
			return err
		}
		s.spoiled, s.nears = false, make(map[int][]int)
		err = s.run(ctx)
		var few *TooFewError
		candidates = newSet(s.links.Parties(), s.present.among(candidates.members())...)
		repeatable := (s.spec.Backend == HE || s.spoiled) && errors.As(err, &few) &&
			candidates.count() >= s.spec.MinContributors
		if !repeatable || repeats == maxRepeats {
			return err
		}
		if s.begun {
			s.again, s.begun = s.sum, false
		}
		s.sum++
		s.carried = newSet(s.links.Parties())
	}
}

// run is the whole sum.
func (s *serverSum) run(ctx context.Context) error {
	if s.spec.Backend == HE {
		if err := s.prepareKey(ctx); err != nil {
			return err
		}
	}
	if err := s.sendBegin(ctx); err != nil {
		return err
	}
	switch s.spec.Backend {
	case Masked:
		if s.neighbours == nil {
			if err := s.drawCoin(ctx); err != nil {
				return err
			}
		}
		if err := s.receiveDeposits(ctx); err != nil {
			return err
		}
		if err := s.collect(ctx); err != nil {
			return err
		}
		if err := s.recoverable(s.survivors, "their vectors"); err != nil {
			return err
		}
		if err := s.receiveTags(ctx); err != nil {
			return err
		}
		if err := s.receiveShares(ctx); err != nil {
			return err
		}
		return s.unmask()
	case HE:
		return s.sumEncrypted(ctx)
	}
	s.members = s.candidates
	if err := s.collect(ctx); err != nil {
		return err
	}
	return s.sendAll(ctx, KindSurvivors, s.survivors, s.survivors)
}

// sendBegin tells the candidates what is summed among whom, with the keys that they lack.
func (s *serverSum) sendBegin(ctx context.Context) error {
	s.begun, s.asked = true, s.candidates
	for _, i := range s.candidates.members() {
		b := begin{vector: s.vector, patience: s.spec.Patience, again: s.again, candidates: s.candidates}
		if s.neighbours != nil {
			b.keys = s.lacking(i, s.near(i))
		}
		if err := s.send(ctx, i, s.message(KindBegin, contract.ClassControl, b.encode())); err != nil {
			return err
		}
	}
	return nil
}

// lacking returns the session keys of some clients that another was not sent yet, and notes that it
// is sent them.
func (s *Server) lacking(client int, others []int) []clientKey {
	var list []clientKey
	for _, v := range others {
		if v != client && !s.keysSent[client].has(v) {
			list = append(list, clientKey{v, s.keys[v]})
			s.keysSent[client].add(v)
		}
	}
	return list
}

// near returns a candidate's neighbours, ascending.
func (s *serverSum) near(client int) []int {
	list, ok := s.nears[client]
	if !ok {
		list = s.neighbours.Neighbours(client)
		s.nears[client] = list
	}
	return list
}

// sendAll sends a set to clients.
func (s *serverSum) sendAll(ctx context.Context, kind string, to set, named []byte) error {
	for _, i := range to.members() {
		if err := s.send(ctx, i, s.message(kind, contract.ClassControl, named)); err != nil {
			return err
		}
	}
	return nil
}

// gather hears one round of this sum's messages from the clients that are still in it. The other
// candidates' come too late.
func (s *serverSum) gather(
	ctx context.Context, kind string, class contract.Class, in set, accept func(m protocol.Message) (bool, error),
) error {
	g := &gathering{Server: s.Server, waiting: in.clone(), kind: kind, class: class, late: s.asked.without(in)}
	return g.run(ctx, accept)
}

// enough refuses to go on with fewer clients than a total may have.
func (s *serverSum) enough(stayed set, step string, v Vector) error {
	if n := stayed.count(); n < s.spec.MinContributors {
		return &TooFewError{Sum: s.sum, Kind: v.Kind, Step: step, Stayed: n, Want: s.spec.MinContributors, Lost: s.losses}
	}
	return nil
}

// collect takes in the members' vectors. Those below a client that was lost on the way are asked,
// each once, to send theirs to the server.
func (s *serverSum) collect(ctx context.Context) error {
	parts := make(map[int]*assembly)
	// Some members' bundles are waited for. Those of others come too, when their parents are gone.
	receive := func(from set) error {
		g := &gathering{
			Server: s.Server, waiting: from, also: s.members.without(s.carried), kind: s.vector.Kind,
			class: s.spec.Backend.class(), late: s.asked.without(s.members),
		}
		return g.run(ctx, func(m protocol.Message) (bool, error) { return s.addChunk(parts, m) })
	}

	first := newSet(s.links.Parties()) // who sends to the server in the first place
	for _, i := range s.members.members() {
		if parent := s.plan.Parent[i]; parent == s.spec.Server || !s.members.has(parent) {
			first.add(i)
		}
	}
	if err := receive(first); err != nil {
		return err
	}
	for asked := newSet(s.links.Parties()); ; {
		// Of the missing members those that are there, and whose bundles nobody will bring.
		missing, again := s.members.without(s.carried), newSet(s.links.Parties())
		for _, i := range missing.without(asked).members() {
			parent := s.plan.Parent[i]
			if s.present.has(i) && parent != s.spec.Server && (!missing.has(parent) || !s.present.has(parent)) {
				again.add(i)
			}
		}
		if again.count() == 0 {
			break
		}
		asked.join(again)
		if err := s.sendAll(ctx, KindResend, again, newSet(s.links.Parties())); err != nil {
			return err
		}
		if err := receive(again); err != nil {
			return err
		}
	}
	s.survivors = s.carried.clone()
	return s.enough(s.survivors, "their vectors", s.vector)
}

// addChunk takes the next chunk of a client's bundle, and adds it when it is whole.
func (s *serverSum) addChunk(parts map[int]*assembly, m protocol.Message) (bool, error) {
	a := parts[m.From]
	if a == nil {
		a = &assembly{size: s.bundleSize(s.links.Parties())}
		parts[m.From] = a
	}
	done, err := a.add(m, s.links.Chunk())
	if err != nil || !done {
		return false, err
	}
	delete(parts, m.From)
	return true, s.addBundle(s.plan, m.From, a.bytes, s.carried, s.total)
}
