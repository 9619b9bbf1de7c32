package enrol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// pollEvery is the time between two questions of a newcomer that waits.
const pollEvery = 2 * time.Second

// Wait is a newcomer's wait for the others' signatures.
type Wait struct {
	Dial    func(ctx context.Context) (Conn, error) // the inviter's node
	Last    func(ctx context.Context, conn Conn)    // is given the connection when all have signed; may be nil
	Missing func(names []string)                    // hears who has yet to sign, at each change
	Trouble func(error)                             // hears, once in a row, that the inviter's node gives no answer
}

// Until asks the inviter's node for the charter until all have signed it, over conn and, when that
// breaks, over new connections; the last one is closed at the end. The charter is returned complete.
func (w Wait) Until(ctx context.Context, conn Conn, o *Offer) (*keys.SignedCharter, error) {
	told, troubled := []string(nil), false
	for {
		c, err := w.poll(ctx, &conn, o)
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), closeConn(conn))
		}
		if _, hopeless := errors.AsType[*finalError](err); hopeless {
			return nil, errors.Join(err, closeConn(conn))
		}
		switch {
		case err != nil && !troubled:
			w.Trouble(err)
		case err == nil && c.Complete() == nil:
			if w.Last != nil {
				w.Last(ctx, conn)
			}
			return c, closeConn(conn)
		case err == nil && !slices.Equal(missingNames(c), told):
			told = missingNames(c)
			w.Missing(told)
		}
		troubled = err != nil
		next := time.NewTimer(pollEvery)
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return nil, errors.Join(ctx.Err(), closeConn(conn))
		}
	}
}

// poll asks once. A connection that does not carry the question is closed, and the next poll makes
// another one.
func (w Wait) poll(ctx context.Context, conn *Conn, o *Offer) (*keys.SignedCharter, error) {
	if *conn == nil {
		c, err := w.Dial(ctx)
		if err != nil {
			return nil, err
		}
		*conn = c
	}
	if (*conn).Peer() != o.Inviter.ID {
		return nil, &finalError{fmt.Errorf("%s answers instead of %s", (*conn).Peer().Short(), o.Inviter.Name)}
	}
	var reply charterReply
	err := call(ctx, *conn, methodJoinCharter, charterRequest{o.Proposal.Digest().String()}, &reply)
	if remote := (*protocol.RemoteError)(nil); errors.As(err, &remote) && remote.Fault.Code == fault.CodeOutdated {
		return nil, &finalError{fmt.Errorf("%s: %s", o.Inviter.Name, remote.Fault)}
	}
	if err != nil {
		(*conn).Close() // the error of the call says more
		*conn = nil
		return nil, err
	}
	c, err := keys.ParseCharter([]byte(reply.Text))
	if err == nil && c.Digest() != o.Proposal.Digest() {
		err = fmt.Errorf("%s hands out another charter than the one that was signed", o.Inviter.Name)
	}
	if err != nil {
		return nil, &finalError{err}
	}
	return c, nil
}

// finalError is one after which asking again cannot help.
type finalError struct{ error }

// Unwrap returns what is wrong.
func (e *finalError) Unwrap() error { return e.error }

// closeConn closes a connection, if there is one.
func closeConn(c Conn) error {
	if c == nil {
		return nil
	}
	return c.Close()
}
