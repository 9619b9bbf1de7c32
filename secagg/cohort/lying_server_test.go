package cohort

import (
	"context"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// lyingServer takes the steps of one masked sum itself, and lies in some of them.
type lyingServer struct {
	*serverSum
	gone  set // clients whose links have ended
	opens set // clients who have handed out shares although they were lied to
}

// lie lays out the server's next sum without telling anybody.
func lie(s *Server, v Vector, clients []int) (*lyingServer, error) {
	s.sum++
	candidates := newSet(s.links.Parties(), clients...)
	r, err := newRound(s.spec, s.sum, v, candidates)
	if err != nil {
		return nil, err
	}
	n := s.links.Parties()
	sum := &serverSum{Server: s, round: r, total: make([]byte, 8*v.Words), carried: newSet(n), nears: make(map[int][]int)}
	return &lyingServer{serverSum: sum, gone: newSet(n), opens: newSet(n)}, nil
}

// honestly takes the steps until the vectors have come.
func (l *lyingServer) honestly(ctx context.Context) error {
	if err := l.sendBegin(ctx); err != nil {
		return err
	}
	if l.neighbours == nil {
		if err := l.drawCoin(ctx); err != nil {
			return err
		}
	}
	if err := l.receiveDeposits(ctx); err != nil {
		return err
	}
	return l.collect(ctx)
}

// whisper sends one client a message of the sum.
func (l *lyingServer) whisper(ctx context.Context, to int, kind string, payload []byte) error {
	return l.links.Send(ctx, to, l.message(kind, contract.ClassControl, payload))
}

// receiveTags hears the tags of all clients, each over the list that it was shown.
func (l *lyingServer) receiveTags(ctx context.Context) error {
	l.tags = make(map[int][]byte)
	return l.gather(ctx, KindTags, contract.ClassControl, l.survivors, func(m protocol.Message) (bool, error) {
		l.tags[m.From] = m.Payload
		return true, nil
	})
}

// stayed lists to whom each client whose tags came has sent them.
func (l *lyingServer) stayed() map[int][]int {
	stayed := make(map[int][]int)
	for i := range l.tags {
		stayed[i] = l.survivors.among(l.near(i))
	}
	return stayed
}

// tagFrom finds the tag that one client made for another, in the list that it was shown.
func (l *lyingServer) tagFrom(from, to int, shown set) []byte {
	for at, w := range shown.among(l.near(from)) {
		if w == to {
			return l.tags[from][tagSize*at : tagSize*(at+1)]
		}
	}
	return make([]byte, tagSize)
}

// listen hears the clients until each of some has left or has handed out shares.
func (l *lyingServer) listen(ctx context.Context, clients ...int) error {
	for n := l.links.Parties(); newSet(n, clients...).without(l.gone).without(l.opens).count() > 0; {
		a, err := l.arrivals.Next(ctx)
		if err != nil {
			return err
		}
		switch i := l.index[a.From]; {
		case a.Err != nil:
			l.gone.add(i)
		case kindOfFrame(a.Frame) == KindShares:
			l.opens.add(i)
		}
	}
	return nil
}

// wantUnopened wants no shares to have come, and invented ones to open nothing.
func (l *lyingServer) wantUnopened(t testing.TB) {
	t.Helper()
	if l.opens.count() > 0 {
		t.Errorf("clients %v have handed out shares", l.opens.members())
	}
	if l.deposits == nil {
		return
	}
	l.shares = make(map[int][]shamir.Element)
	for i, partners := range l.partners {
		l.shares[i] = make([]shamir.Element, len(partners))
	}
	var unfit *UnfitError
	if err := l.unmask(); !errors.As(err, &unfit) {
		t.Errorf("with invented shares the sum opens with error %v", err)
	}
}

// splitSurvivors shows the survivors without the last client to some clients, and with it to the
// others; it passes on the tags that each wants, or those alone that fit to what it was shown.
func (l *lyingServer) splitSurvivors(ctx context.Context, fitting bool) error {
	clients := l.survivors.members()
	n := len(clients)
	fewer := l.survivors.clone()
	fewer.remove(clients[n-1])
	shown := make(map[int]set)
	for at, i := range clients {
		if shown[i] = l.survivors; at < n/2 {
			shown[i] = fewer
		}
		if err := l.whisper(ctx, i, KindSurvivors, shown[i]); err != nil {
			return err
		}
	}
	if err := l.receiveTags(ctx); err != nil {
		return err
	}
	for _, i := range clients {
		from, tags := newSet(l.links.Parties()), []byte(nil)
		for _, v := range shown[i].among(l.near(i)) {
			if !fitting || string(shown[v]) == string(shown[i]) {
				from.add(v)
				tags = append(tags, l.tagFrom(v, i, shown[v])...)
			}
		}
		if err := l.whisper(ctx, i, KindTagged, append(from, tags...)); err != nil {
			return err
		}
	}
	return l.listen(ctx, clients...)
}

// lieTo lets a server lie in the first masked sum among n clients, and returns the clients' errors.
func lieTo(t *testing.T, n int, server func(ctx context.Context, l *lyingServer) error) []error {
	t.Helper()
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}}
	l.open(t, n)
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		liar, err := lie(s, v, upTo(n))
		if err == nil {
			err = liar.honestly(ctx)
		}
		if err == nil {
			err = server(ctx, liar)
		}
		return err
	}, l.untilRefused(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	return errs
}

func TestAServerThatShowsTwoListsIsFoundOut(t *testing.T) {
	const n = 10
	errs := lieTo(t, n, func(ctx context.Context, l *lyingServer) error {
		defer l.wantUnopened(t)
		return l.splitSurvivors(ctx, false)
	})
	for i, err := range errs[1:] {
		var e *EquivocationError
		if !errors.As(err, &e) || e.Sum != 1 {
			t.Errorf("client %d: error %v, want that the server has equivocated", i+1, err)
			continue
		}
		other := "p6" // the first who was shown the longer list
		if i+1 >= 6 {
			other = "p1"
		}
		wantError(t, err, "the server has shown "+other+" another list", "no share is handed out")
	}
}

func TestAServerThatKeepsBackTheOtherListsTagsGetsNoShare(t *testing.T) {
	errs := lieTo(t, 10, func(ctx context.Context, l *lyingServer) error {
		defer l.wantUnopened(t)
		return l.splitSurvivors(ctx, true)
	})
	for _, err := range errs[1:] {
		wantDeviation(t, err, "4 neighbours have confirmed the survivors, want at least 7: no share is handed out")
	}
}

// TestAServerThatShowsTwoListsOfMembersIsFoundOut: tags are over all that was shown before, too.
func TestAServerThatShowsTwoListsOfMembersIsFoundOut(t *testing.T) {
	const n = 10
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}}
	l.open(t, n)
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	var liar *lyingServer
	errs := l.play(t, func(ctx context.Context, s *Server) (err error) {
		if liar, err = lie(s, v, upTo(n)); err != nil {
			return err
		}
		return liar.splitMembers(ctx)
	}, l.untilRefused(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	liar.wantUnopened(t)
	for i, err := range errs[1:n] {
		var e *EquivocationError
		if !errors.As(err, &e) {
			t.Errorf("client %d: error %v, want that the server has equivocated", i+1, err)
		}
	}
}

// splitMembers shows the first client that the last one is no member, and everybody the same survivors.
func (l *lyingServer) splitMembers(ctx context.Context) error {
	if err := l.sendBegin(ctx); err != nil {
		return err
	}
	if err := l.gather(ctx, KindDeposit, contract.ClassControl, l.candidates,
		func(protocol.Message) (bool, error) { return true, nil }); err != nil {
		return err
	}
	all := l.candidates.members()
	l.survivors = l.candidates.clone()
	l.survivors.remove(all[len(all)-1])
	for at, i := range all {
		shown := l.candidates
		if at == 0 {
			shown = l.survivors
		}
		if err := l.whisper(ctx, i, KindMembers, shown); err != nil {
			return err
		}
	}
	l.members = l.candidates
	if err := l.collect(ctx); err != nil {
		return err
	}
	l.survivors.remove(all[len(all)-1])
	if err := l.sendAll(ctx, KindSurvivors, l.survivors, l.survivors); err != nil {
		return err
	}
	return l.passTags(ctx)
}

// passTags hears the survivors' tags and passes all on.
func (l *lyingServer) passTags(ctx context.Context) error {
	if err := l.receiveTags(ctx); err != nil {
		return err
	}
	for _, i := range l.survivors.members() {
		if err := l.whisper(ctx, i, KindTagged, l.tagsFor(i, l.tagged(), l.stayed())); err != nil {
			return err
		}
	}
	return l.listen(ctx, l.survivors.members()...)
}

func TestTagsThatAreSentBackToTheirSendersAreRefused(t *testing.T) {
	errs := lieTo(t, 7, func(ctx context.Context, l *lyingServer) error {
		defer l.wantUnopened(t)
		if err := l.sendAll(ctx, KindSurvivors, l.survivors, l.survivors); err != nil {
			return err
		}
		if err := l.receiveTags(ctx); err != nil {
			return err
		}
		for _, i := range l.survivors.members() {
			from := newSet(l.links.Parties(), l.near(i)...)
			if err := l.whisper(ctx, i, KindTagged, append(from, l.tags[i]...)); err != nil {
				return err
			}
		}
		return l.listen(ctx, l.survivors.members()...)
	})
	for _, err := range errs[1:] {
		var e *EquivocationError
		if !errors.As(err, &e) {
			t.Errorf("error %v, want that a neighbour's tag is not its own", err)
		}
	}
}
