package enrol

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
)

// testNetwork is a federation in fake time: a folder, a key and a node for each name. The guests have a
// key and a place in the network, but no node.
type testNetwork struct {
	t     *testing.T
	net   *testnet.Network
	keys  map[string]*keys.PrivateKey
	nodes map[string]*node
	first *keys.SignedCharter
	names []string
	near  map[string][]keys.ID // Config.Near of nodes that are started from now on
}

// node is one member's node.
type node struct {
	*Enrolment
	dir   string
	log   *logBuffer
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu      sync.Mutex
	changed []int            // versions that Changed was told of
	called  map[keys.ID]bool // whom it has called
}

// newTestNetwork makes members that have signed version 1 and whose nodes run until the test ends.
func newTestNetwork(t *testing.T, members []string, guests ...string) *testNetwork {
	f := testnet.Found(t, slices.Concat(members, guests)...)
	l := &testNetwork{t: t, net: f.Network, keys: make(map[string]*keys.PrivateKey), nodes: make(map[string]*node),
		names: members}
	for i, name := range f.Names {
		l.keys[name] = f.Keys[i]
	}
	l.first = l.charter(members...)
	for _, name := range members {
		dir := t.TempDir()
		l.write(filepath.Join(dir, "charter.toml"), l.first)
		l.start(name, dir)
	}
	t.Cleanup(func() {
		for _, n := range l.nodes {
			n.stop()
			n.ended.Wait()
		}
		synctest.Wait() // a call that was given up is still being answered, and may write
	})
	return l
}

// must returns v, or fails the test.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		mustDo(t, err)
		return v
	}
}

// card is the card of a name.
func (l *testNetwork) card(name string) keys.Card {
	return keys.Card{Name: name, ID: l.keys[name].ID(), Addresses: []string{"/dns4/" + name + ".example/tcp/4001"}}
}

// charter makes a version 1 that its members have signed.
func (l *testNetwork) charter(members ...string) *keys.SignedCharter {
	draft := keys.Charter{Name: "credit", Version: 1, Created: time.Now()}
	for _, name := range members {
		draft.Admit(l.card(name))
	}
	c := must(keys.NewCharter(draft))(l.t)
	l.sign(c, members...)
	return c
}

// sign adds the signatures of some.
func (l *testNetwork) sign(c *keys.SignedCharter, names ...string) {
	l.t.Helper()
	for _, name := range names {
		if err := c.Sign(l.keys[name]); err != nil {
			l.t.Fatal(err)
		}
	}
}

// write writes a charter's file as it stands.
func (l *testNetwork) write(path string, c *keys.SignedCharter) {
	l.t.Helper()
	if err := textfile.Replace(path, c.Text()); err != nil {
		l.t.Fatal(err)
	}
}

// start starts a member's node on its folder.
func (l *testNetwork) start(name, dir string) {
	l.t.Helper()
	n := &node{dir: dir, log: new(logBuffer), called: make(map[keys.ID]bool)}
	id := l.keys[name].ID()
	transport := l.net.Transport(id)
	ctx, stop := context.WithCancel(context.Background())
	var err error
	n.Enrolment, err = New(Config{
		Key: l.keys[name], Charter: must(ReadInForce(filepath.Join(dir, "charter.toml")))(l.t),
		CharterFile: filepath.Join(dir, "charter.toml"),
		Dir:         dir, Call: n.calling(transport.Call), Near: l.near[name], Changed: n.note, Log: slog.New(n.log),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	transport.Handle(n.Handle)
	n.stop = stop
	n.ended.Go(func() {
		if err := n.Run(ctx); err != nil {
			l.t.Error(err)
		}
	})
	l.nodes[name] = n
}

// calling notes whom the node calls.
func (n *node) calling(call func(context.Context, keys.ID, string, []byte) ([]byte, error)) func(context.Context,
	keys.ID, string, []byte) ([]byte, error) {
	return func(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
		n.mu.Lock()
		n.called[to] = true
		n.mu.Unlock()
		return call(ctx, to, method, request)
	}
}

// kill ends a member's node; start it again with restart.
func (l *testNetwork) kill(name string) {
	l.net.Kill(l.keys[name].ID())
	l.nodes[name].stop()
	l.nodes[name].ended.Wait()
}

// restart starts a killed node.
func (l *testNetwork) restart(name string) {
	l.net.Restart(l.keys[name].ID())
	l.start(name, l.nodes[name].dir)
}

// note is the callback of a change.
func (n *node) note(c *keys.SignedCharter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed = append(n.changed, c.Version)
}

// told returns the versions that the callback has heard of.
func (n *node) told() []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.changed)
}

// settle lets the nodes do what they have to do.
func settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// proposalFiles lists a node's proposals.
func (n *node) proposalFiles(t testing.TB) []string {
	return must(filepath.Glob(filepath.Join(n.dir, proposalsDir, "*.toml")))(t)
}

// signOnDisk is what hanse charter sign does, on the only proposal of a node.
func (l *testNetwork) signOnDisk(name string) {
	l.t.Helper()
	files := l.nodes[name].proposalFiles(l.t)
	if len(files) != 1 {
		l.t.Fatalf("%s has the proposals %v, want one", name, files)
	}
	err := UpdateFile(files[0], func(text []byte) ([]byte, error) {
		c, err := keys.ParseCharter(text)
		if err != nil {
			return nil, err
		}
		l.sign(c, name)
		return c.Text(), nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// invite lets a member invite guests for ten minutes.
func (l *testNetwork) invite(inviter string, guests ...string) *Issued {
	l.t.Helper()
	g := Guests{Key: l.keys[inviter], Charter: l.inForce(inviter), Expires: time.Now().Add(10 * time.Minute)}
	for _, name := range guests {
		g.Cards = append(g.Cards, l.card(name))
	}
	return must(Invite(l.nodes[inviter].dir, g))(l.t)
}

// inForce is the charter in a member's charter file.
func (l *testNetwork) inForce(name string) *keys.SignedCharter {
	l.t.Helper()
	return must(readCharter(filepath.Join(l.nodes[name].dir, "charter.toml")))(l.t)
}

// wantVersion checks what is in force at some members.
func (l *testNetwork) wantVersion(version int, names ...string) {
	l.t.Helper()
	for _, name := range names {
		c := l.inForce(name)
		if err := c.Complete(); err != nil {
			l.t.Errorf("%s: %v", name, err)
		}
		if c.Version != version {
			l.t.Errorf("%s is on version %d, want %d; its log:\n%s", name, c.Version, version, l.nodes[name].log)
		}
	}
}

// newcomer is a guest who knows its inviter.
func (l *testNetwork) newcomer(name, inviter string) *Newcomer {
	card := l.card(name)
	return &Newcomer{Key: l.keys[name], Card: &card, Inviter: l.keys[inviter].ID()}
}

// conn is a newcomer's connection in the simulated network.
type conn struct {
	transport *testnet.Transport
	peer      keys.ID
}

// dial connects a guest to a member's node.
func (l *testNetwork) dial(guest, member string) Conn {
	return &conn{l.net.Transport(l.keys[guest].ID()), l.keys[member].ID()}
}

// Peer implements Conn.
func (c *conn) Peer() keys.ID { return c.peer }

// Call implements Conn.
func (c *conn) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	return c.transport.Call(ctx, c.peer, method, request)
}

// Close implements Conn.
func (c *conn) Close() error { return nil }

// join lets a guest fetch and sign.
func (l *testNetwork) join(guest, inviter string) *Offer {
	l.t.Helper()
	n, c := l.newcomer(guest, inviter), l.dial(guest, inviter)
	o := must(n.Fetch(l.t.Context(), c))(l.t)
	if err := n.Sign(l.t.Context(), c, o); err != nil {
		l.t.Fatal(err)
	}
	return o
}

// wantError compares the whole message.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want: %s", want)
	} else if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

// mustDo ends the test on an error.
func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
