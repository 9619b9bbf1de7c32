// Package enrol brings newcomers into a charter and new versions of it into force.
package enrol

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hanse-project/hanse/keys"
)

// Config is what an Enrolment is made of.
type Config struct {
	Key         *keys.PrivateKey
	Charter     *keys.SignedCharter // in force
	CharterFile string              // where it stands; replaced when a new version comes into force
	Dir         string              // the node's own folder
	// Call asks another member's node; a host's Call.
	Call    func(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error)
	Changed func(*keys.SignedCharter) // hears of a charter that came into force; may be nil
	Log     *slog.Logger              // nil: no log
}

// Enrolment is a member's side of joining.
type Enrolment struct{ config Config }

// New prepares it.
func New(c Config) (*Enrolment, error) { return &Enrolment{config: c}, nil }

// Handle is a protocol.Handler.
func (e *Enrolment) Handle(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, error) {
	return nil, errors.New("this node has no method " + method)
}

// Run runs until ctx ends.
func (e *Enrolment) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Invited reports whether id holds an invitation.
func (e *Enrolment) Invited(id keys.ID) bool { return false }
