package peer

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multistream"
)

// The protocols of streams. The number after the name changes with its wire format.
const (
	protoHello   libproto.ID = "/hanse/hello/1"
	protoCall    libproto.ID = "/hanse/call/1"
	protoSession libproto.ID = "/hanse/session/1"
)

// Time limits that keep a half-open exchange from staying.
const (
	helloTimeout  = 10 * time.Second // from the connection to the verdict
	streamTimeout = 10 * time.Second // from a stream's first byte to its protocol
	partTimeout   = time.Second      // for the other side to hear why we leave
)

// openStream opens a stream and sends its protocol's name together with the first bytes, so that
// asking and answering take one round trip. readProtocol must run before anything is read.
func openStream(ctx context.Context, conn network.Conn, proto libproto.ID, first []byte) (network.Stream, error) {
	s, err := conn.NewStream(ctx)
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
	release := onDone(ctx, s.SetWriteDeadline)
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

// onDone makes the end of ctx interrupt I/O that keeps to the deadline set by setDeadline. The
// function it returns must be called after the I/O: it reports whether ctx ended it, and clears
// the deadline then, so that the stream can go on if no byte was lost.
func onDone(ctx context.Context, setDeadline func(time.Time) error) (release func() bool) {
	if ctx.Done() == nil {
		return func() bool { return false }
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		setDeadline(time.Unix(1, 0))
		close(fired)
	})
	return func() bool {
		if stop() {
			return false
		}
		<-fired
		setDeadline(time.Time{})
		return true
	}
}
