package testnet

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// ErrKilled is what everything a killed member still tries comes to.
var ErrKilled = errors.New("this member was killed")

// Network links members in one process. All methods may be called concurrently.
type Network struct {
	delay   atomic.Int64 // nanoseconds
	hook    atomic.Pointer[hook]
	buffers sync.Pool // of *[]byte, for frames
	calls   sync.WaitGroup

	mu       sync.Mutex // guards all below, and the structure (not the queues) of sessions and meshes
	members  map[keys.ID]*member
	sessions map[protocol.SessionID]map[keys.ID]*mesh
	cuts     map[pair]bool
	active   map[*call]bool
	counts   map[direction]*count
	closed   bool
}

// member is what survives the death of a member's process.
type member struct {
	id        keys.ID
	transport *Transport // of its present or last life; guarded by Network.mu
	tap       atomic.Pointer[Tap]
}

// pair is two members, the lower id first.
type pair struct{ low, high keys.ID }

// pairOf sorts two ids.
func pairOf(a, b keys.ID) pair {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return pair{a, b}
}

// New makes a network of members that are all up and reach each other.
func New(ids []keys.ID) *Network {
	n := &Network{
		members:  make(map[keys.ID]*member, len(ids)),
		sessions: make(map[protocol.SessionID]map[keys.ID]*mesh),
		cuts:     make(map[pair]bool),
		active:   make(map[*call]bool),
		counts:   make(map[direction]*count),
	}
	for _, id := range ids {
		m := &member{id: id}
		m.transport = newTransport(n, m)
		n.members[id] = m
	}
	return n
}

// Transport returns the member's present end of the network; after Restart it is another one.
// It panics when id is not of the network.
func (n *Network) Transport(id keys.ID) *Transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.member(id).transport
}

// member finds a member that the test knows to exist.
func (n *Network) member(id keys.ID) *member {
	m, ok := n.members[id]
	if !ok {
		panic(fmt.Sprintf("testnet: %s is not in this network", id.Short()))
	}
	return m
}

// Delay sets how long every frame, request and response from now on is under way. A link holds
// what is under way too, so that its throughput is bounded by its buffer over the delay.
func (n *Network) Delay(d time.Duration) { n.delay.Store(int64(d)) }

// due returns when what is sent now arrives; the zero time means at once.
func (n *Network) due() time.Time {
	if d := n.delay.Load(); d > 0 {
		return time.Now().Add(time.Duration(d))
	}
	return time.Time{}
}

// Close kills every member and waits until no call is being handled any more.
func (n *Network) Close() {
	n.mu.Lock()
	n.closed = true
	for _, m := range n.members {
		m.transport.kill()
	}
	n.mu.Unlock()
	n.calls.Wait()
}
