package fdskl

import (
	"context"
)

// The one number that opens of a sealed job's kernel width is a word of SealedWidth bits, SealedPoint of them behind
// the point; SealedMost is the largest addend, so that up to 2^6 parties' do not pass its end.
const (
	SealedWidth = 40
	SealedPoint = 16
	SealedMost  = 1<<(SealedWidth-6) - 1
)

// Solo is the Network of a party that is alone: every sum is its own vector. The pooled
// computation in the clear runs on it, through the same code as the federation.
type Solo struct{}

// SumTurns implements joint.Summer.
func (Solo) SumTurns(context.Context, string, int, []uint16) error { return nil }

// SumReals implements joint.Summer.
func (Solo) SumReals(context.Context, string, int, []float64) error { return nil }

// SumTree implements joint.TreeSummer.
func (Solo) SumTree(context.Context, string, int, int, int, []float64) error { return nil }

// Broadcast implements joint.Broadcaster.
func (Solo) Broadcast(_ context.Context, _ string, _ int, data []byte, _ int) ([]byte, error) {
	return data, nil
}

// Confirm implements joint.Broadcaster.
func (Solo) Confirm(context.Context) error { return nil }
