package cohort

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// forger is the client that sends false messages, of forgers clients: each has seven neighbours,
// five of whom recover a secret of its.
const forger, forgers = 3, 8

// forgedSum runs two sums of a test network in which one client forges, and maybe others leave; it
// returns the first sum's end and why the forger was lost.
func forgedSum(t *testing.T, kind string, forge func(*forgery), at map[int]string) (first *Total, err, lost error) {
	t.Helper()
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	left := leaving(at, false)
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star, Patience: 2 * patience}}
	l.wrap = func(i int, m protocol.Mesh) protocol.Mesh {
		if m = left(i, m); i == forger {
			return forging(kind, forge)(m)
		}
		return m
	}
	l.open(t, forgers)
	errs := l.play(t, func(ctx context.Context, s *Server) (end error) {
		first, err = s.Sum(ctx, v, upTo(forgers))
		lost = s.Lost(forger)
		return nil
	}, sumAgain(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	return first, err, lost
}

// others lists the clients without the forger.
func others() []int { return []int{1, 2, 4, 5, 6, 7, 8} }

// TestFalseMessagesAreNamed: whoever sends what it must not is lost to the session, and named; the
// total is that of the others, and of the forger if its vector had come before.
func TestFalseMessagesAreNamed(t *testing.T) {
	const updates = "updates"
	everyone := upTo(forgers)
	longer := func(f *forgery) { f.resize(len(f.payload) + 1) }
	shorter := func(f *forgery) { f.resize(len(f.payload) - 1) }
	empty := func(f *forgery) { f.resize(0) }
	tooLarge := func(f *forgery) { binary.LittleEndian.PutUint64(f.payload, shamir.P) }
	for name, c := range map[string]struct {
		kind      string
		forge     func(*forgery)
		says      string
		survivors []int
	}{
		"deposit too long":  {KindDeposit, longer, "it has 545 bytes, want 544 for 7 neighbours and threshold 5", others()},
		"deposit too short": {KindDeposit, shorter, "it has 543 bytes, want 544 for 7 neighbours and threshold 5", others()},
		"no deposit":        {KindDeposit, empty, "it has 0 bytes, want 544", others()},
		"point of p":        {KindDeposit, tooLarge, "word 0 is not below 2^61 - 1", others()},
		"vector too long":   {updates, longer, "its vector has 163 bytes, want 162", others()},
		"vector too short":  {updates, shorter, "its vector has 161 bytes, want 162", others()},
		"no vector":         {updates, empty, "its vector has 0 bytes, want 162", others()},
		"chunk too long": {updates, func(f *forgery) { f.payload = append(f.payload, 0) },
			"chunk 0 has 163 bytes, want 162", others()},
		"another chunk": {updates, func(f *forgery) { f.setChunk(1) }, "it is chunk 1, want chunk 0", others()},
		"vector in the clear": {updates, func(f *forgery) { f.setClass(contract.ClassPublished) },
			"its class is published, want masked", others()},
		"of two clients":    {updates, func(f *forgery) { f.payload[0] |= 1 << 4 }, "its vector has addends of others than those who send through it", others()},
		"of another client": {updates, func(f *forgery) { f.payload[0] = 1 << 4 }, "its vector is of nobody", others()},
		"of the server":     {updates, func(f *forgery) { f.payload[0] |= 1 }, "its vector is of nobody", others()},
		"of nobody":         {updates, func(f *forgery) { f.payload[0] = 0 }, "its vector is of nobody", others()},
		"of a later sum": {updates, func(f *forgery) { f.setOperation(f.operation() + 1) },
			"it came where updates is awaited in sum 1", others()},
		"of another session":  {updates, func(f *forgery) { f.header[7]++ }, "it is of session 2, want 1", others()},
		"of another contract": {updates, func(f *forgery) { f.header[40] ^= 1 }, "it is for contract", others()},
		"frame left out": {updates, func(f *forgery) { f.header[15]++ },
			"frame 3 came, want frame 2: one is missing or out of order", others()},
		"tags too long":        {KindTags, longer, "113 bytes of tags, want 112", everyone},
		"tags too short":       {KindTags, shorter, "111 bytes of tags, want 112", everyone},
		"no tags":              {KindTags, empty, "0 bytes of tags, want 112", everyone},
		"shares too long":      {KindShares, longer, "281 bytes of shares, want 7 of 40", everyone},
		"shares too short":     {KindShares, shorter, "279 bytes of shares, want 7 of 40", everyone},
		"no shares":            {KindShares, empty, "0 bytes of shares, want 7 of 40", everyone},
		"share of p":           {KindShares, tooLarge, "word 0 is not below 2^61 - 1", everyone},
		"share of nothing but": {KindShares, func(f *forgery) { f.payload[279] = 0xff }, "word 4", everyone},
	} {
		t.Run(name, func(t *testing.T) {
			total, err, lost := forgedSum(t, c.kind, c.forge, nil)
			must(t, err)
			wantTotal(t, total, Vector{Kind: updates, Words: 20, Bits: 64}, 0, c.survivors)
			wantDeviation(t, lost, "("+c.kind+"): p3: ", c.says)
		})
	}
}

// TestFalseSharesAreNamed: the holder is found as long as more than the threshold have answered.
func TestFalseSharesAreNamed(t *testing.T) {
	_, err, _ := forgedSum(t, KindShares, func(f *forgery) { f.flip(0) }, nil)
	var e *UnfitError
	if !errors.As(err, &e) || *e != (UnfitError{Sum: 1, Owner: "p1", Off: "p3"}) {
		t.Errorf("error %v, want that p3's share of p1 is false", err)
	}
	wantDeviation(t, err, "sum 1 is not opened: p3 has sent a false share of p1's secret")
}

// TestFalseSharesAmongTheFewestAreNotOpened: with as many shares as the threshold it cannot be told
// who is off.
func TestFalseSharesAmongTheFewestAreNotOpened(t *testing.T) {
	_, err, _ := forgedSum(t, KindShares, func(f *forgery) { f.flip(0) }, map[int]string{7: KindShares, 8: KindShares})
	var e *UnfitError
	if !errors.As(err, &e) || *e != (UnfitError{Sum: 1, Owner: "p1"}) {
		t.Errorf("error %v, want that p1's secret cannot be recovered", err)
	}
	wantDeviation(t, err, "sum 1 is not opened: secret of p1: the shares and the deposit do not fit together")
}

// TestFalseDepositsAreNamed: points, digests and keys that do not fit are those of their owner. The
// keys are looked at only when the owner has left.
func TestFalseDepositsAreNamed(t *testing.T) {
	const points = 3 * shamir.Size
	left := map[int]string{forger: "updates"}
	for name, c := range map[string]struct {
		at    int // the byte that is false
		leave map[int]string
		opens bool
	}{
		"own mask's point":                 {0, nil, false},
		"own mask's last point":            {points - shamir.Size, nil, false},
		"own mask's digest":                {points, nil, false},
		"recovery point, looked at":        {points + 32, left, false},
		"recovery digest, looked at":       {2*points + 32, left, false},
		"encrypted keys, looked at":        {2*points + 64, left, false},
		"end of encrypted keys, looked at": {-1, left, false},
		"own mask's point, not looked at":  {0, left, true},
		"own mask's digest, not looked at": {points, left, true},
		"recovery point, not looked at":    {points + 32, nil, true},
		"encrypted keys, not looked at":    {-1, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			total, err, _ := forgedSum(t, KindDeposit, func(f *forgery) { f.flip(c.at) }, c.leave)
			if c.opens {
				must(t, err)
				wantTotal(t, total, Vector{Kind: "updates", Words: 20, Bits: 64}, 0, stayed(forgers, c.leave, "updates"))
				return
			}
			var e *UnfitError
			if !errors.As(err, &e) || *e != (UnfitError{Sum: 1, Owner: "p3"}) {
				t.Errorf("error %v, want that p3's secret cannot be recovered", err)
			}
		})
	}
}

// TestVectorsOfOldSumsAreNotSummed: a vector under an old number counts as one that came too late.
func TestVectorsOfOldSumsAreNotSummed(t *testing.T) {
	total, err, lost := forgedSum(t, "updates", func(f *forgery) { f.setOperation(0) }, nil)
	must(t, err)
	wantTotal(t, total, Vector{Kind: "updates", Words: 20, Bits: 64}, 0, others())
	if lost != nil || len(total.Lost) != 1 || total.Lost[0].String() != "p3: no updates in time" {
		t.Errorf("lost %v, p3 %v, want p3 to have sent no updates in time", total.Lost, lost)
	}
}
