package cohort

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// corrupt is the client whose secrets a server that attacks the coin knows.
const corrupt = 40

// coinSpec is of sums along a graph, the default for 40 clients.
func coinSpec() Spec { return Spec{Backend: Masked, Topology: contract.Star} }

// attackCoin lets a server that knows the secrets of some corrupt clients attack the coin of a sum's graph among 40
// clients, and returns the clients' errors. The server may open no total.
func attackCoin(t *testing.T, server func(ctx context.Context, l *lyingServer) error) []error {
	t.Helper()
	const n = 40
	l := &testNetwork{spec: coinSpec()}
	l.open(t, n)
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		liar, err := lie(s, v, upTo(n))
		if err == nil {
			err = liar.sendBegin(ctx)
		}
		if err == nil {
			err = server(ctx, liar)
		}
		if err == nil && liar.opens.count() > 0 {
			if open := liar.openTotal(corrupt); open.count() > 0 {
				t.Errorf("the server opens a total of clients %v", open.members())
			}
		}
		return err
	}, l.untilRefused(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	return errs
}

// openTotal returns the honest clients whose vectors are in the largest total that the server can open once it has
// the shares of those who handed them out, and all that the corrupt clients know. The secret of each one's own mask
// has shares enough, and each mask with a neighbour is taken off by the neighbour's vector.
func (l *lyingServer) openTotal(corrupt ...int) set {
	open := l.candidates.without(newSet(l.links.Parties(), corrupt...))
	helps := func(u, v int) bool {
		return slices.Contains(corrupt, u) || l.opens.has(u) && slices.Contains(l.near(u), v)
	}
	covered := func(v int) bool {
		shares, covered := 0, true
		for _, u := range l.near(v) {
			if helps(u, v) {
				shares++
			}
			covered = covered && (slices.Contains(corrupt, u) || open.has(u) && slices.Contains(l.near(u), v))
		}
		return covered && shares >= l.threshold
	}
	for before := -1; before != open.count(); {
		before = open.count()
		for _, v := range open.members() {
			if !covered(v) {
				open.remove(v)
			}
		}
	}
	return open
}

// TestTheServersOwnCountOfATotal is the control of the attacks on the coin: of an honest sum all clients' shares
// open the total of all, and with fewer shares than one secret needs there is no total.
func TestTheServersOwnCountOfATotal(t *testing.T) {
	const n = 40
	l := &testNetwork{spec: coinSpec()}
	l.open(t, n)
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		liar, err := lie(s, v, upTo(n))
		if err == nil {
			err = liar.honestly(ctx)
		}
		if err != nil {
			return err
		}
		liar.opens = liar.candidates.clone()
		if got := liar.openTotal().count(); got != n {
			t.Errorf("with the shares of all clients a total of %d opens, want %d", got, n)
		}
		liar.opens = newSet(n+1, liar.near(victim)[:liar.threshold-1]...)
		if got := liar.openTotal().count(); got != 0 {
			t.Errorf("with the shares of %d clients a total of %d opens, want none", liar.opens.count(), got)
		}
		return nil
	}, l.untilRefused(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
}

// commitments hears those of all candidates.
func (l *lyingServer) commitments(ctx context.Context) (map[int][]byte, error) {
	all := make(map[int][]byte)
	err := l.gather(ctx, KindCommit, contract.ClassControl, l.candidates, func(m protocol.Message) (bool, error) {
		all[m.From] = bytes.Clone(m.Payload)
		return true, nil
	})
	return all, err
}

// nonces hears those of some candidates.
func (l *lyingServer) nonces(ctx context.Context, of set) (map[int][]byte, error) {
	all := make(map[int][]byte)
	err := l.gather(ctx, KindReveal, contract.ClassControl, of, func(m protocol.Message) (bool, error) {
		all[m.From] = bytes.Clone(m.Payload)
		return true, nil
	})
	return all, err
}

// pledge shows clients the digest of commitments.
func (l *lyingServer) pledge(ctx context.Context, to set, commitments map[int][]byte) error {
	var list [][]byte
	for _, i := range l.candidates.members() {
		list = append(list, commitments[i])
	}
	d := pledgesOf(l.links, l.operation, l.candidates, list)
	for _, i := range to.members() {
		if err := l.whisper(ctx, i, KindPledged, slices.Concat(l.candidates, d[:])); err != nil {
			return err
		}
	}
	return nil
}

// TestAServerCannotChooseTheCoin: it has all honest nonces, and looks for one of a corrupt client with which the
// first client gets the neighbours that it likes. Every client sees that it is not the nonce of the commitment.
func TestAServerCannotChooseTheCoin(t *testing.T) {
	errs := attackCoin(t, func(ctx context.Context, l *lyingServer) error {
		commitments, err := l.commitments(ctx)
		if err != nil {
			return err
		}
		if err := l.pledge(ctx, l.candidates, commitments); err != nil {
			return err
		}
		nonces, err := l.nonces(ctx, l.candidates)
		if err != nil {
			return err
		}
		// The control: whoever may still choose one nonce chooses the graph.
		for guess := byte(0); ; guess++ {
			nonces[corrupt] = bytes.Repeat([]byte{guess}, nonceSize)
			clear(l.nears)
			var all []byte
			for _, i := range l.candidates.members() {
				all = append(all, nonces[i]...)
			}
			if err := l.lay(l.spec, l.candidates, coinOf(l.links, l.operation, l.candidates, all)); err != nil {
				return err
			}
			if slices.Contains(l.near(victim), 38) && slices.Contains(l.near(victim), 39) &&
				slices.Contains(l.near(victim), 40) {
				break
			}
			if guess == 255 {
				t.Fatal("the control: none of 256 coins gives the victim three corrupt neighbours")
			}
		}
		clear(l.nears)
		if err := l.sendNonces(ctx, l.candidates, nonces); err != nil {
			return err
		}
		return l.listen(ctx, upTo(corrupt)...)
	})
	for _, err := range errs[1:corrupt] {
		wantDeviation(t, err, "p0", KindNonces, "the nonces are not those that the server had committed itself to before it knew this client's")
	}
}

// TestNoncesOfOthersAreNotTheOwn: a server that shows a client another nonce than its own is found out.
func TestNoncesOfOthersAreNotTheOwn(t *testing.T) {
	errs := attackCoin(t, func(ctx context.Context, l *lyingServer) error {
		commitments, err := l.commitments(ctx)
		if err != nil {
			return err
		}
		invented := make([]byte, nonceSize)
		c := commitmentOf(l.links, l.operation, victim, invented)
		commitments[victim] = c[:]
		if err := l.pledge(ctx, newSet(l.links.Parties(), victim), commitments); err != nil {
			return err
		}
		nonces, err := l.nonces(ctx, newSet(l.links.Parties(), victim))
		if err != nil {
			return err
		}
		for i := range commitments {
			nonces[i] = invented
		}
		if err := l.sendNonces(ctx, l.candidates, nonces); err != nil {
			return err
		}
		return l.listen(ctx, victim)
	})
	wantDeviation(t, errs[victim], "p0", KindNonces, "this client's nonce is not the one it has sent")
}

// TestAServerThatShowsTwoCoinsIsFoundOut: half the clients hear one nonce of a corrupt client, and half another, each
// with its commitment. Every client's view is in order, and their graphs differ. The tags do, too. Whether the
// server passes on all or those alone that fit, only clients that happen to have nearly all their neighbours
// in their own half hand out shares. No total opens with them: each half has masks with the other.
func TestAServerThatShowsTwoCoinsIsFoundOut(t *testing.T) {
	const n = 40
	for _, fitting := range []bool{false, true} {
		errs := attackCoin(t, func(ctx context.Context, l *lyingServer) error {
			commitments, err := l.commitments(ctx)
			if err != nil {
				return err
			}
			parties := l.links.Parties()
			halves := [2]set{newSet(parties, upTo(n/2)...), nil}
			halves[1] = l.candidates.without(halves[0])
			own := [2][]byte{bytes.Repeat([]byte{1}, nonceSize), bytes.Repeat([]byte{2}, nonceSize)}
			for h := range halves {
				halves[h].remove(corrupt)
				c := commitmentOf(l.links, l.operation, corrupt, own[h])
				commitments[corrupt] = c[:]
				if err := l.pledge(ctx, halves[h], commitments); err != nil {
					return err
				}
			}
			honest := l.candidates.clone()
			honest.remove(corrupt)
			nonces, err := l.nonces(ctx, honest)
			if err != nil {
				return err
			}
			all, near := l.candidates, [2]map[int][]int{}
			for h := range halves {
				nonces[corrupt] = own[h]
				var list []byte
				for _, i := range all.members() {
					list = append(list, nonces[i]...)
				}
				if err := l.lay(l.spec, all, coinOf(l.links, l.operation, all, list)); err != nil {
					return err
				}
				l.nears = make(map[int][]int)
				for _, i := range halves[h].members() {
					if err := l.whisper(ctx, i, KindNonces, appendKeys(slices.Clone(list), l.lacking(i, l.near(i)))); err != nil {
						return err
					}
				}
				near[h] = maps.Clone(l.nears)
			}
			half := func(i int) int {
				if halves[0].has(i) {
					return 0
				}
				return 1
			}
			for i := range near[0] {
				l.nears[i] = near[0][i]
			}
			for i := range near[1] {
				l.nears[i] = near[1][i]
			}
			steps := []struct{ kind, awaited string }{{KindMembers, KindDeposit}, {KindSurvivors, l.vector.Kind}}
			for _, step := range steps {
				class := contract.ClassControl
				if step.awaited == l.vector.Kind {
					class = contract.ClassMasked
				}
				if err := l.gather(ctx, step.awaited, class, honest,
					func(protocol.Message) (bool, error) { return true, nil }); err != nil {
					return err
				}
				if err := l.sendAll(ctx, step.kind, honest, all); err != nil {
					return err
				}
			}
			l.survivors = honest
			if err := l.receiveTags(ctx); err != nil {
				return err
			}
			for _, i := range honest.members() {
				from, tags := newSet(parties), []byte(nil)
				for _, v := range l.near(i) {
					if v == corrupt || !slices.Contains(l.near(v), i) || fitting && half(v) != half(i) {
						continue
					}
					from.add(v)
					tags = append(tags, l.tagFrom(v, i, all)...)
				}
				if err := l.whisper(ctx, i, KindTagged, append(from, tags...)); err != nil {
					return err
				}
			}
			return l.listen(ctx, honest.members()...)
		})
		found := 0
		for _, err := range errs[1:corrupt] {
			var e *EquivocationError
			if err == nil {
				t.Fatal("a client has gone on")
			}
			if errors.As(err, &e) {
				found++
			}
		}
		if !fitting && found == 0 {
			t.Errorf("nobody has found out that the server has shown two coins: %v", errs[1])
		}
	}
}

// TestAServerDrawsNoCoinsWithoutEnd: it sees the victim's nonce, and begins anew until it likes the graph. So many
// times are counted; the last is refused before the nonce leaves, and by the client's disk in a later
// session, too.
func TestAServerDrawsNoCoinsWithoutEnd(t *testing.T) {
	draws := 0
	errs := attackCoin(t, func(ctx context.Context, l *lyingServer) error {
		commitments, err := l.commitments(ctx)
		if err != nil {
			return err
		}
		only := newSet(l.links.Parties(), victim)
		for ; ; draws++ {
			if err := l.pledge(ctx, only, commitments); err != nil {
				return err
			}
			nonces, err := l.nonces(ctx, only)
			if err != nil {
				return err
			}
			if len(nonces) == 0 { // the victim has left
				return nil
			}
			b := begin{vector: l.vector, patience: l.spec.Patience, again: l.operation, candidates: l.candidates}
			l.sum++
			l.operation = l.sum
			if err := l.whisper(ctx, victim, KindBegin, b.encode()); err != nil {
				return err
			}
			err = l.gather(ctx, KindCommit, contract.ClassControl, only, func(m protocol.Message) (bool, error) {
				commitments[victim] = bytes.Clone(m.Payload)
				return true, nil
			})
			if err != nil {
				return err
			}
		}
	})
	wantDeviation(t, errs[victim], "1024 graphs were drawn in this job whose sums this client has not seen to their end, at most 1024: it draws no more")
	if draws != maxSpent {
		t.Errorf("the server has seen %d coins, want %d", draws, maxSpent)
	}
}

// TestCoinsAreOnDiskBeforeTheirNoncesLeave, some ahead, and the exact number at the end.
func TestCoinsAreOnDiskBeforeTheirNoncesLeave(t *testing.T) {
	var kept []byte
	c := &Client{}
	keep := func(b []byte) error { kept = bytes.Clone(b); return nil }
	must(t, c.Remember(nil, keep))
	for drawn := uint64(1); drawn <= 3*spentAhead+1; drawn++ {
		must(t, c.spend())
		again := &Client{}
		if err := again.Remember(kept, keep); err != nil || again.past.Drawn < drawn || again.past.Drawn > drawn+spentAhead {
			t.Fatalf("after %d coins the disk has %d, error %v", drawn, again.past.Drawn, err)
		}
	}
	c.past.Whole, c.past.Candidates = 7, 33
	must(t, c.save(c.past.Drawn))
	again := &Client{}
	if err := again.Remember(kept, keep); err != nil || again.past != c.past {
		t.Errorf("kept %+v, want %+v, error %v", again.past, c.past, err)
	}
	full := errors.New("the disk is full")
	again.keep = func([]byte) error { return full }
	if err := again.spend(); !errors.Is(err, full) {
		t.Errorf("a nonce may leave with a full disk: error %v", err)
	}
	wantError(t, again.Remember(kept[1:], nil), "has 19 bytes, want 20")
	wantError(t, again.Remember(append(make([]byte, 8), kept[:12]...), nil), "want at most the 0 drawn")
}

// TestFewCandidatesAreRefused: fewer than half of the latest sum's, once, and then fewer than a quarter; and
// never fewer than those who may be corrupt and two. Nobody who was not agreed on is a candidate.
func TestFewCandidatesAreRefused(t *testing.T) {
	const n = 40
	for _, c := range []struct {
		before []int // candidates of the sums before
		last   int
		picks  bool
		says   string // "": the last sum opens
	}{
		{[]int{40}, 20, false, ""},
		{[]int{40}, 19, false, "sum 2: the server names 19 candidates after 40, fewer than half: this client takes no part"},
		{[]int{40}, 19, true, ""},
		{[]int{40, 20}, 10, false, ""},
		{[]int{36, 20}, 9, false, "sum 3: the server names 9 candidates after 20"},
		{nil, 6, false, ""},
	} {
		spec := coinSpec()
		spec.Picks = c.picks
		l := &testNetwork{spec: spec}
		l.open(t, n)
		v := Vector{Kind: "updates", Words: 5, Bits: 64}
		errs := l.play(t, func(ctx context.Context, s *Server) error {
			s.spec.MinContributors = 3 // the server's own check is no obstacle to it
			for _, k := range c.before {
				if _, err := s.Sum(ctx, v, upTo(k)); err != nil {
					return err
				}
			}
			_, err := s.Sum(ctx, v, upTo(c.last))
			var few *TooFewError
			if c.says != "" && errors.As(err, &few) {
				return nil
			}
			return err
		}, l.untilRefused(v))
		if errs[0] != nil {
			t.Errorf("%v: %v", c.before, errs[0])
		}
		if c.says != "" {
			wantError(t, errs[victim], c.says)
		}
	}
}

// TestCandidatesAreMoreThanTheCorrupt: of 40 clients four may be corrupt, and a total of five would be one honest
// client's vector for them.
func TestCandidatesAreMoreThanTheCorrupt(t *testing.T) {
	errs := attackCoin(t, func(ctx context.Context, l *lyingServer) error {
		if _, err := l.commitments(ctx); err != nil {
			return err
		}
		few := newSet(l.links.Parties(), victim, 37, 38, 39, 40)
		if err := l.whisper(ctx, victim, KindPledged, slices.Concat(few, make([]byte, 32))); err != nil {
			return err
		}
		return l.listen(ctx, victim)
	})
	wantDeviation(t, errs[victim], "it names 5 candidates, want at least 6: a total of fewer is not to be opened")
}

// TestARefusalHalvesWhatIsRemembered, so that clients of whom most have left go on.
func TestARefusalHalvesWhatIsRemembered(t *testing.T) {
	c := &Client{}
	for _, step := range []struct {
		n    int
		ok   bool
		kept uint32
	}{{300, true, 300}, {149, false, 150}, {70, false, 75}, {70, true, 70}, {35, true, 35},
		{17, false, 18}, {17, true, 17}} {
		err := c.checkFall(protocol.Message{}, step.n)
		if (err == nil) != step.ok || c.past.Candidates != step.kept {
			t.Fatalf("%d candidates: error %v, remembered %d, want %d", step.n, err, c.past.Candidates, step.kept)
		}
	}
}

// TestOthersThanTheServersClientsAreNoCandidates: with two servers, the corrupt clients of one are not added to
// those of the other.
func TestOthersThanTheServersClientsAreNoCandidates(t *testing.T) {
	l := &testNetwork{spec: coinSpec()}
	l.spec.Clients = upTo(8)
	l.open(t, 10)
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		liar, err := lie(s, v, upTo(8))
		if err != nil {
			return err
		}
		liar.candidates.add(9)
		if err := liar.sendBegin(ctx); err != nil {
			return err
		}
		return liar.listen(ctx, victim)
	}, l.untilRefused(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	wantDeviation(t, errs[victim], "the candidates it names have others than the server's clients among them")
}

// TestHoldersDealOncePerNumber: what holders of a collective key deal to each other is encrypted under a key of the
// sum's number, with one nonce. A server that names holders for the same number again would get two
// plaintexts under it. For the next number the key is another one.
func TestHoldersDealOncePerNumber(t *testing.T) {
	const n = 4
	for _, again := range []bool{true, false} {
		l := &testNetwork{spec: Spec{Backend: HE, Topology: contract.Star, KeyHolders: n}}
		l.open(t, n)
		v := Vector{Kind: "updates", Words: 5, Bits: 64}
		var deals []map[int][]byte
		holders := newSet(n+1, upTo(n)...)
		var plans []*keyPlan
		errs := l.play(t, func(ctx context.Context, s *Server) error {
			liar, err := lie(s, v, upTo(n))
			if err != nil {
				return err
			}
			for range 2 {
				p := newKeyPlan(s.links, s.spec, liar.operation, holders)
				if err := liar.nameHolders(ctx, holders); err != nil {
					return err
				}
				one, err := liar.gatherLong(ctx, KindDeal, contract.ClassControl, holders, p.dealSize())
				var few *TooFewError
				if errors.As(err, &few) {
					return nil
				}
				if err != nil {
					return err
				}
				deals, plans = append(deals, one), append(plans, p)
				if !again { // as when a holder was lost: the others start over
					s.sum++
					liar.operation = s.sum
					continue
				}
				for j, i := range p.holders {
					if err := liar.sendLong(ctx, i, liar.message(KindDealt, contract.ClassControl, dealtTo(p, one, j))); err != nil {
						return err
					}
				}
				if _, err := liar.gatherLong(ctx, KindConfirm, contract.ClassControl, holders, signatureSize); err != nil {
					return err
				}
			}
			return nil
		}, l.untilRefused(v))
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		if again {
			if len(deals) != 1 {
				t.Errorf("holders have dealt %d times for one number", len(deals))
			}
			wantDeviation(t, errs[victim], "p0", KindHolders, "holders are named for sum 1 after sum 1: this client deals once for each")
			continue
		}
		if len(deals) != 2 {
			t.Fatalf("holders have dealt %d times for two numbers", len(deals))
		}
		first, err := plans[0].dealCipher(l.links[1], 1, 2)
		must(t, err)
		head := len(deals[0][1]) - plans[0].deals()*encryptedDealSize
		nonce := make([]byte, first.NonceSize())
		if _, err := first.Open(nil, nonce, deals[0][1][head:head+encryptedDealSize], nil); err != nil {
			t.Errorf("the first deal does not open with its key: %v", err)
		}
		if _, err := first.Open(nil, nonce, deals[1][1][head:head+encryptedDealSize], nil); err == nil {
			t.Error("the second deal opens with the first one's key")
		}
	}
}

// TestCoinsAreOfAllThatIsPublic: another number, session, set or nonce makes another coin, and another pledge.
func TestCoinsAreOfAllThatIsPublic(t *testing.T) {
	l := &testNetwork{spec: coinSpec()}
	l.open(t, 3)
	seen := make(map[keys.Hash]bool)
	note := func(h keys.Hash) {
		if seen[h] {
			t.Error("two coins, pledges or commitments are the same")
		}
		seen[h] = true
	}
	one, two := make([]byte, nonceSize), bytes.Repeat([]byte{7}, nonceSize)
	for operation := range uint64(2) {
		for _, who := range []set{newSet(4, 1, 2), newSet(4, 1, 3)} {
			for _, nonces := range [][]byte{slices.Concat(one, two), slices.Concat(two, one)} {
				note(coinOf(l.links[0], operation, who, nonces))
				note(pledgesOf(l.links[0], operation, who, [][]byte{nonces}))
			}
		}
		for owner := range 2 {
			note(commitmentOf(l.links[0], operation, owner, one))
			note(commitmentOf(l.links[0], operation, owner, two))
		}
	}
}
