package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	libtls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/protocol/contract"
)

// bareChunk is how many bytes are written at once: as many as a sum sends in a frame.
const bareChunk = contract.DefaultChunk

// bareEnd is a party's end of plain libp2p streams: what the bytes of a sum cost by themselves.
type bareEnd struct {
	swarm    *swarm.Swarm
	incoming chan network.Stream
	children []network.Stream
	parent   network.Stream // nil at the root
}

// listenBare starts a libp2p swarm with TCP, TLS and yamux in the settings they come with.
func listenBare(parties int) (*bareEnd, error) {
	key, _, err := crypto.GenerateEd25519Key(nil)
	if err != nil {
		return nil, err
	}
	s, err := newBareSwarm(key)
	if err != nil {
		return nil, err
	}
	e := &bareEnd{swarm: s, incoming: make(chan network.Stream, parties)}
	s.SetStreamHandler(func(s network.Stream) { e.incoming <- s })
	if err := errors.Join(addBareTCP(s, key), s.Listen(multiaddr.StringCast("/ip4/127.0.0.1/tcp/0"))); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return e, nil
}

// newBareSwarm makes what keeps connections.
func newBareSwarm(key crypto.PrivKey) (*swarm.Swarm, error) {
	id, err := libpeer.IDFromPrivateKey(key)
	if err != nil {
		return nil, err
	}
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(store.AddPrivKey(id, key), store.AddPubKey(id, key.GetPublic())); err != nil {
		return nil, err
	}
	return swarm.NewSwarm(id, store, eventbus.NewBus())
}

// addBareTCP lets a swarm speak TCP with TLS 1.3 and yamux.
func addBareTCP(s *swarm.Swarm, key crypto.PrivKey) error {
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: yamux.DefaultTransport}}
	security, err := libtls.New(libtls.ID, key, muxers)
	if err != nil {
		return err
	}
	up, err := upgrader.New([]sec.SecureTransport{security}, muxers, nil, nil, nil)
	if err != nil {
		return err
	}
	transport, err := tcp.NewTCPTransport(up, nil, nil)
	if err != nil {
		return err
	}
	return s.AddTransport(transport)
}

// address returns where others find this end.
func (e *bareEnd) address() string {
	return fmt.Sprintf("%s/p2p/%s", e.swarm.ListenAddresses()[0], e.swarm.LocalPeer())
}

// connect opens a stream to the parent in the plan and waits for those of the children.
func (e *bareEnd) connect(ctx context.Context, plan contract.Plan, self int, addresses []string) error {
	if up := plan.Parent[self]; up >= 0 {
		info, err := libpeer.AddrInfoFromString(addresses[up])
		if err != nil {
			return err
		}
		e.swarm.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.PermanentAddrTTL)
		if e.parent, err = e.swarm.NewStream(ctx, info.ID); err != nil {
			return err
		}
		if _, err := e.parent.Write([]byte{1}); err != nil { // the other side sees a stream with its first byte
			return err
		}
	}
	for range plan.Children[self] {
		select {
		case s := <-e.incoming:
			if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
				return err
			}
			e.children = append(e.children, s)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stream sends size bytes to the parent while it reads as many from each child. Nothing waits for
// anything else: a sum cannot be faster.
func (e *bareEnd) stream(size int) error {
	errs := make([]error, len(e.children)+1)
	var all sync.WaitGroup
	for i, s := range e.children {
		all.Go(func() { errs[i] = readBare(s, size) })
	}
	if e.parent != nil {
		errs[len(e.children)] = writeBare(e.parent, size)
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// writeBare writes size bytes in chunks.
func writeBare(w io.Writer, size int) error {
	chunk := make([]byte, bareChunk)
	for size > 0 {
		n, err := w.Write(chunk[:min(size, len(chunk))])
		if err != nil {
			return err
		}
		size -= n
	}
	return nil
}

// readBare reads size bytes in chunks.
func readBare(r io.Reader, size int) error {
	chunk := make([]byte, bareChunk)
	for size > 0 {
		n, err := io.ReadFull(r, chunk[:min(size, len(chunk))])
		if err != nil {
			return err
		}
		size -= n
	}
	return nil
}
