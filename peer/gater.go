package peer

import (
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// gater is asked by libp2p about every connection. It implements connmgr.ConnectionGater.
//
// A stranger is cut as soon as TLS has shown its key, before it can open a stream. Those who may
// hear why they are refused (revoked members) pass here and are refused in the hello.
type gater struct {
	dials    func(libpeer.ID) bool                      // may this identity be dialled?
	receives func(libpeer.ID, multiaddr.Multiaddr) bool // may this identity, calling from there, say hello?
}

// InterceptPeerDial is asked before an identity is dialled.
func (g gater) InterceptPeerDial(p libpeer.ID) bool { return g.dials(p) }

// InterceptAddrDial is asked before each address of it is dialled.
func (g gater) InterceptAddrDial(libpeer.ID, multiaddr.Multiaddr) bool { return true }

// InterceptAccept is asked before the handshake of an inbound connection, when nothing is known.
func (g gater) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured is asked when the handshake has shown who is there.
func (g gater) InterceptSecured(dir network.Direction, p libpeer.ID, at network.ConnMultiaddrs) bool {
	return dir == network.DirOutbound || g.receives(p, at.RemoteMultiaddr())
}

// InterceptUpgraded is asked when the stream multiplexer stands.
func (g gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }
