package peer

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"
	"github.com/multiformats/go-multistream"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
)

// The protocols of streams. The number after the name changes with its wire format.
const (
	protoHello   libproto.ID = "/hanse/hello/1"
	protoCall    libproto.ID = "/hanse/call/1"
	protoSession libproto.ID = "/hanse/session/1"
	protoWorker  libproto.ID = "/hanse/worker/1"
)

// Time limits of connecting. TLS, where this side asks for it, the hello, and a stream's first byte to its protocol
// have session.AnswerTime each.
const (
	connectTimeout = 10 * time.Second                    // for TCP, which asks at once and after 1, 3 and 7 s
	dialTimeout    = connectTimeout + session.AnswerTime // to TLS, of one address
	partTimeout    = time.Second                         // for the other side to hear why we leave
)

// openStream opens a stream and sends its protocol's name together with the first bytes, so that
// asking and answering take one round trip. readProtocol must run before anything is read.
func openStream(ctx context.Context, conn network.Conn, proto libproto.ID, first []byte) (network.Stream, error) {
	s, err := conn.NewStream(network.WithAllowLimitedConn(ctx, "hanse"))
	if err != nil {
		return nil, err
	}
	if err := s.SetProtocol(proto); err != nil {
		s.Reset()
		return nil, err
	}
	b := make([]byte, 0, len(multistream.ProtocolID)+len(proto)+2*(binary.MaxVarintLen16+1)+len(first))
	b = appendToken(b, multistream.ProtocolID)
	b = appendToken(b, string(proto))
	release := session.InterruptIO(ctx, s.SetWriteDeadline)
	_, err = s.Write(append(b, first...))
	if release() {
		err = ctx.Err()
	}
	if err != nil {
		s.Reset()
		return nil, err
	}
	return s, nil
}

// appendToken writes a multistream-select token: a varint length, the text and a line feed.
func appendToken(b []byte, token string) []byte {
	b = binary.AppendUvarint(b, uint64(len(token)+1))
	return append(append(b, token...), '\n')
}

// readProtocol reads the answer to what openStream has sent.
func readProtocol(s network.Stream, proto libproto.ID) error {
	for _, want := range []string{multistream.ProtocolID, string(proto)} {
		got, err := multistream.ReadNextToken[string](s)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("the other side does not serve %s", proto)
		}
	}
	return nil
}

// openNegotiated opens a stream and waits until the other side has taken its protocol.
func openNegotiated(ctx context.Context, conn network.Conn, proto libproto.ID, first []byte) (network.Stream, error) {
	s, err := openStream(ctx, conn, proto, first)
	if err != nil {
		return nil, err
	}
	release := session.InterruptIO(ctx, s.SetReadDeadline)
	err = readProtocol(s, proto)
	if release() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.Reset()
		return nil, err
	}
	return s, nil
}

// relayed reports whether a relay carries a connection.
func relayed(c network.Conn) bool {
	_, err := c.RemoteMultiaddr().ValueForProtocol(multiaddr.P_CIRCUIT)
	return err == nil
}

// relayOf is the member that carries a connection; ok is false for a direct one.
func relayOf(c network.Conn) (id keys.ID, ok bool) {
	if !relayed(c) {
		return id, false
	}
	text, err := c.RemoteMultiaddr().ValueForProtocol(multiaddr.P_P2P)
	if err != nil {
		return id, false
	}
	p, err := libpeer.Decode(text)
	if err != nil {
		return id, false
	}
	id, err = memberID(p)
	return id, err == nil
}
