package node

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// barrier is a proposer's network on which no first call of a method to a member gets through before all other members
// have been called.
type barrier struct {
	protocol.Transport
	others int

	mu     sync.Mutex
	called map[string]map[keys.ID]bool
	all    map[string]chan struct{}
}

func (b *barrier) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	if method != methodDescribe && method != methodConsent && method != methodStart {
		return b.Transport.Call(ctx, to, method, request)
	}
	b.mu.Lock()
	if b.called[method] == nil {
		b.called[method], b.all[method] = make(map[keys.ID]bool), make(chan struct{})
	}
	if b.called[method][to] = true; len(b.called[method]) == b.others {
		select {
		case <-b.all[method]:
		default:
			close(b.all[method])
		}
	}
	all := b.all[method]
	b.mu.Unlock()
	select {
	case <-all:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return b.Transport.Call(ctx, to, method, request)
}

// TestPartiesAreAskedTogether: a job goes from its proposal to its end although no party is answered to before all have
// been asked, be it for its facts, its consent or the start.
func TestPartiesAreAskedTogether(t *testing.T) {
	l := newTestNetwork(t, 6, 50)
	l.wrap = func(i int, transport *testnet.Transport) protocol.Transport {
		if i > 0 {
			return transport
		}
		return &barrier{Transport: transport, others: 5, called: make(map[string]map[keys.ID]bool),
			all: make(map[string]chan struct{})}
	}
	l.startAll()
	c, err := l.nodes[0].Prepare(minute(t), l.job("train", "", activeBank+"features = 32"), nil)
	must(t, err)
	if _, err := l.nodes[0].Launch(minute(t), c.Hash(), nil); err != nil {
		t.Error(err)
	}
}

// TestManyWhoHaveYetToConsentAreCounted: eight parties wait for a person; five are named.
func TestManyWhoHaveYetToConsentAreCounted(t *testing.T) {
	l := newTestNetwork(t, 9, 50)
	l.policy = nil
	l.startAll()
	ctx, cancel := context.WithCancel(minute(t))
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 32"), nil)
	must(t, err)
	said := ""
	_, err = l.nodes[0].Launch(ctx, c.Hash(), func(e jobs.Event) {
		if e.Kind == jobs.EventWaiting && len(e.Who) == 8 {
			said = e.Text
			cancel()
		}
	})
	if err == nil || !strings.HasPrefix(said, "waiting for the consent of ") || strings.Count(said, ", ") != 4 ||
		!strings.Contains(said, " and 3 more") {
		t.Errorf("%q, error %v", said, err)
	}
}

// sitter is a member of many jobs that keeps its link up and answers no call.
type sitter struct {
	protocol.Transport
	id keys.ID
}

func (s sitter) Call(ctx context.Context, to keys.ID, _ string, _ []byte) ([]byte, error) {
	if to == s.id {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []byte{0xa0}, nil
}

// TestSitterHoldsNobodyUp: as many calls as a node makes at the same time are to the sitter. Another member is asked
// all the same. The control is the time before their places are given on: until then nobody is.
func TestSitterHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := contract.Party{Name: "telco", ID: keys.ID{1}}, contract.Party{Name: "insurer", ID: keys.ID{2}}
		n := &asker{config: &Config{Transport: sitter{id: bad.ID}}, slots: make(chan struct{}, askedAtOnce)}
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range askedAtOnce {
			waiting.Go(func() { n.askOne(ctx, bad, methodConsent, nil, &consentResponse{}) })
		}
		synctest.Wait()
		for _, c := range []struct {
			within time.Duration
			asked  bool
		}{{askTime / 2, false}, {askTime, true}} {
			short, stop := context.WithTimeout(ctx, c.within)
			if err := n.askOne(short, good, methodConsent, nil, &consentResponse{}); (err == nil) != c.asked {
				t.Errorf("within %s more, asking another member: %v", c.within, err)
			}
			stop()
		}
		cancel()
		waiting.Wait()
		if len(n.slots) != 0 {
			t.Errorf("%d places are kept", len(n.slots))
		}
	})
}
