package protocol

import (
	"context"
	"errors"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Limits of the search for a peer's last words.
const (
	lastWordsTime = 500 * time.Millisecond
	maxUnread     = 64 // frames, besides those that the session has begun to receive
)

// AbortError is inside the error of a party whose peer left the session and said why. It is the
// peer's word, not a finding of this node.
type AbortError struct{ Fault *fault.Fault }

// Error implements error.
func (e *AbortError) Error() string { return "left the session: " + e.Fault.String() }

// ReasonOf makes of a session's error what Abort says of it: who deviated in which messages, or that the session is
// left.
func ReasonOf(err error) *fault.Fault {
	var step *StepError
	if errors.Is(err, contract.ErrDeviation) && errors.As(err, &step) {
		return &fault.Fault{Code: fault.CodeDeviation, Names: []string{step.Peer, step.Kind}}
	}
	return &fault.Fault{Code: fault.CodeLink}
}

// Abort tells every other party why this one leaves the session, as far as the links still carry
// it, so that all can name who is gone. The session is of no use afterwards.
func (s *Session) Abort(ctx context.Context, reason *fault.Fault) {
	text := reason.Encode()
	for i, p := range s.config.Parties {
		if i == s.self {
			continue
		}
		h := header{
			class: contract.ClassControl, kind: contract.KindAbort, contract: s.config.Contract, session: s.config.Number,
			sequence: s.sent[i], operation: s.operation, size: uint64(len(text)),
		}
		if s.permit(&h, i, text) != nil {
			continue
		}
		_ = s.mesh.Send(ctx, p.ID, h.appendTo(nil), text) // a link that is broken cannot be told
	}
}

// blame tells every other party of a deviation with which a session ends before it is the caller's.
func (s *Session) blame(ctx context.Context, err error) {
	var step *StepError
	if !errors.Is(err, contract.ErrDeviation) || !errors.As(err, &step) {
		return
	}
	f := &fault.Fault{Code: fault.CodeDeviation, Names: []string{step.Peer, step.Kind},
		Numbers: []int64{int64(step.Operation)}}
	if step.Other != "" {
		f.Names = append(f.Names, step.Other)
	}
	s.Abort(ctx, f)
}

// sayGone says to every other party who is gone when a session ends with that before it is the caller's.
func (s *Session) sayGone(ctx context.Context, err error) {
	var step *StepError
	if _, ok := gone(err); !ok || !errors.As(err, &step) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastWordsTime)
	defer cancel()
	s.Abort(ctx, &fault.Fault{Code: fault.CodeLink, Names: []string{step.Peer}})
}

// lastWords looks for a reason that a peer left behind when sending to it failed with err: frames
// that it sent before it closed can still be read. Without one the error stays as it is.
func (w *wire) lastWords(ctx context.Context, peer int, err error) error {
	if _, ok := gone(err); !ok {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lastWordsTime)
	defer cancel()
	for range maxUnread + w.due(peer) {
		frame, failed := w.frame(ctx, peer, nil)
		if failed != nil {
			return err
		}
		h, payload, malformed := parseHeader(frame)
		if malformed != nil {
			return err
		}
		if h.kind == contract.KindAbort && h.contract == w.config.Contract && h.session == w.config.Number {
			return &AbortError{fault.DecodeFault(payload)}
		}
	}
	return err
}
