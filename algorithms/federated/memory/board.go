package memory

import (
	"context"
	"sync"
)

// board is a state that several goroutines change and wait for.
type board struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
}

// newBoard returns a board.
func newBoard() *board { return &board{changed: make(chan struct{})} }

// change changes the state and wakes all who wait.
func (b *board) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// await waits until ready, which is called with the state locked, returns true.
func (b *board) await(ctx context.Context, ready func() bool) error {
	for {
		b.mu.Lock()
		done, changed := ready(), b.changed
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
