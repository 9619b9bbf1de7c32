package federated

import (
	"context"
	"fmt"
)

// The names under which parties of all algorithms keep their states in their vaults.
const (
	ClientSlot = "client"
	ServerSlot = "server"
)

// Part is what one algorithm does at a party. It is for one session.
type Part interface {
	// Resume takes the part up where a state of State has it, or begins when there is none.
	Resume(ctx context.Context, state []byte) error
	// State returns what the party goes on from after the death of its process.
	State() ([]byte, error)
	// Model returns the model so far; nil: there is none in this session.
	Model() ([]byte, error)
}

// Resume takes a part up where the vault has it.
func Resume(ctx context.Context, v Vault, slot string, p Part) error {
	state, err := v.Load(slot)
	if err != nil {
		return err
	}
	return p.Resume(ctx, state)
}

// Save keeps a part's state in the vault.
func Save(v Vault, slot string, p Part) error {
	state, err := p.State()
	if err != nil {
		return err
	}
	return v.Save(slot, state)
}

// keep keeps a part's model in the vault, if there is one; after says when, for errors.
func keep(v Vault, p Part, after string) error {
	model, err := p.Model()
	if err == nil && model != nil {
		err = v.Save(ModelSlot, model)
	}
	if err != nil {
		return fmt.Errorf("keep the model%s: %w", after, err)
	}
	return nil
}
