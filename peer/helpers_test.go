package peer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/multiformats/go-multiaddr"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// patience bounds what a test waits for; nothing depends on how long it takes.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within returns a context for one test.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// newKeys makes n keys, the lowest id first.
func newKeys(t testing.TB, n int) []*keys.PrivateKey {
	t.Helper()
	out := make([]*keys.PrivateKey, n)
	for i := range out {
		k, err := keys.GenerateKey()
		mustDo(t, err)
		out[i] = k
	}
	slices.SortFunc(out, func(a, b *keys.PrivateKey) int { return a.ID().Compare(b.ID()) })
	return out
}

// names are the members' in the order of their ids.
var names = []string{"bank", "insurer", "retailer", "telco"}

// nameAt returns the name of a member by its place.
func nameAt(i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("member-%d", i)
}

// noon is when the first charters are made.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// dated gives a draft a date, if it has none.
func dated(c keys.Charter) keys.Charter {
	if c.Created.IsZero() {
		c.Created = noon.Add(time.Duration(c.Version) * time.Hour)
	}
	return c
}

// draft returns version 1 of a charter of these keys without addresses.
func draft(ks []*keys.PrivateKey) keys.Charter {
	c := keys.Charter{Name: "credit", Version: 1, Created: noon}
	for i, k := range ks {
		c.Members = append(c.Members, keys.Member{Name: nameAt(i), ID: k.ID()})
	}
	return c
}

// signed makes a charter and has all of its members sign it.
func signed(t testing.TB, c keys.Charter, ks []*keys.PrivateKey) *keys.SignedCharter {
	t.Helper()
	s, err := keys.NewCharter(dated(c))
	mustDo(t, err)
	for _, k := range ks {
		if _, ok := c.Member(k.ID()); ok {
			mustDo(t, s.Sign(k))
		}
	}
	return s
}

// The pulse of tests that do not wait for silence.
const (
	testBeat    = time.Second
	testSilence = patience
)

// config is a test host's: loopback, no discovery, silence that no test waits for.
func config(k *keys.PrivateKey, c *keys.SignedCharter) Config {
	return Config{
		Key:       k,
		Charter:   c,
		Listen:    []string{"/ip4/127.0.0.1/tcp/0"},
		Discovery: []string{DiscoverAddresses},
		Heartbeat: testBeat,
		Silence:   testSilence,
	}
}

// start makes a host and runs it until the test ends.
func start(t testing.TB, cfg Config) *Host {
	t.Helper()
	h, err := New(cfg)
	mustDo(t, err)
	run(t, h)
	return h
}

// run runs a host until the test ends, and waits for its end then.
func run(t testing.TB, h *Host) {
	done := make(chan error, 1)
	go func() { done <- h.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// introduce tells a host where another one listens.
func introduce(t testing.TB, to, of *Host) {
	t.Helper()
	point(t, to, of.Self(), of.Addresses()...)
}

// point tells a host addresses of a member.
func point(t testing.TB, h *Host, id keys.ID, addresses ...string) {
	t.Helper()
	var list []multiaddr.Multiaddr
	for _, text := range addresses {
		a, err := multiaddr.NewMultiaddr(text)
		mustDo(t, err)
		if len(a) > 2 && a[len(a)-1].Protocol().Code == multiaddr.P_P2P {
			a = a[:len(a)-1]
		}
		list = append(list, a)
	}
	h.addresses.Found(id, list)
}

// federation starts n hosts that know each other's addresses.
func federation(t testing.TB, n int, change ...func(*Config)) []*Host {
	t.Helper()
	ks := newKeys(t, n)
	c := signed(t, draft(ks), ks)
	hosts := make([]*Host, n)
	for i, k := range ks {
		cfg := config(k, c)
		for _, f := range change {
			f(&cfg)
		}
		h, err := New(cfg)
		mustDo(t, err)
		hosts[i] = h
	}
	for _, to := range hosts {
		for _, of := range hosts {
			if to != of {
				introduce(t, to, of)
			}
		}
	}
	for _, h := range hosts {
		run(t, h)
	}
	return hosts
}

// openAll has all hosts open a session with each other.
func openAll(t testing.TB, session protocol.SessionID, hosts ...*Host) []protocol.Mesh {
	t.Helper()
	ctx := within(t)
	meshes := make([]protocol.Mesh, len(hosts))
	var opening sync.WaitGroup
	for i, h := range hosts {
		opening.Go(func() {
			var peers []keys.ID
			for _, other := range hosts {
				if other != h {
					peers = append(peers, other.Self())
				}
			}
			m, err := h.Open(ctx, session, peers)
			if err != nil {
				t.Error(err)
				return
			}
			meshes[i] = m
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for _, m := range meshes {
			m.Close()
		}
	})
	return meshes
}

// mustDo ends the test on an error.
func mustDo(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
