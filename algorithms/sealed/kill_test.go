package sealed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
)

// mortal is a Mesh that ends at one of its frames, sent and received ones counted together.
type mortal struct {
	protocol.Mesh
	only  []string // kinds of frames that count; none: all
	mu    sync.Mutex
	left  int // frames until the end; none when it is negative from the start
	count int
	dead  bool
	end   func()
}

// errKilled is what the killed party is told.
var errKilled = errors.New("killed")

// A frame's header before its kind has headSize bytes, of which number kindLength is the kind's length.
const (
	headSize   = 68
	kindLength = 2
)

// step counts a frame.
func (m *mortal) step(frame []byte) error {
	if len(frame) < headSize || len(m.only) > 0 && !slices.Contains(m.only,
		string(frame[headSize:headSize+int(frame[kindLength])])) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	if m.left--; m.left != 0 {
		return nil
	}
	m.dead = true
	m.end()
	return errKilled
}

// last is what an error is at a party that may have been killed meanwhile, by a frame that another goroutine read.
func (m *mortal) last(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && m.dead {
		return errKilled
	}
	return err
}

// Send implements protocol.Mesh.
func (m *mortal) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if err := m.step(parts[0]); err != nil {
		return err
	}
	return m.last(m.Mesh.Send(ctx, to, parts...))
}

// Receive implements protocol.Mesh.
func (m *mortal) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	frame, err := m.Mesh.Receive(ctx, from, buf)
	if err == nil {
		err = m.step(frame)
	}
	return frame, m.last(err)
}

// life says who dies at which frame of a session, or at which write to its vault. Of those whose frame is even, what is
// under way is lost too; of those whose write is even, it is on the disk all the same.
type life struct{ party, frame, write int }

// live runs one session of a training and returns the model parts and how many frames each party had.
func (f *fixture) live(t testing.TB, testNetwork *federation, l life) ([]*fdskl.Model, []int, error) {
	t.Helper()
	models := make([]*fdskl.Model, len(f.names))
	frames, err := testNetwork.live(l, f.vaults, nil, func(ctx context.Context, i int, n joint.SealedNetwork) (err error) {
		models[i], err = Train(ctx, f.party(i, n, testNetwork.session))
		return err
	})
	for i, v := range f.vaults {
		if v.scratches != 0 {
			t.Errorf("%+v: %s leaves %d files of features", l, f.names[i], v.scratches)
		}
	}
	return models, frames, err
}

// live runs one session in which a party may die, and returns how many frames each had. only are the kinds of frames
// that count; none: all.
func (f *federation) live(l life, vaults []*vaultInMemory, only []string,
	part func(ctx context.Context, i int, n joint.SealedNetwork) error) ([]int, error) {
	meshes := make([]*mortal, len(f.Names))
	f.mesh = func(i int, m protocol.Mesh) protocol.Mesh {
		meshes[i] = &mortal{Mesh: m, only: only, left: -1, end: func() { m.Close() }}
		if i == l.party {
			meshes[i].left = l.frame
			if l.frame%2 == 0 {
				meshes[i].end = func() { f.Kill(f.IDs[i]) }
			}
		}
		return meshes[i]
	}
	for i, v := range vaults {
		v.writes, v.dieAt, v.stored = 0, 0, l.write%2 == 0
		if i == l.party {
			v.dieAt = l.write
		}
	}
	errs := f.run(part)
	for _, id := range f.IDs {
		f.Restart(id)
	}
	frames := make([]int, len(meshes))
	for i, m := range meshes {
		if m != nil { // frames that were to come may still be read
			m.mu.Lock()
			frames[i] = m.count
			m.mu.Unlock()
		}
	}
	return frames, ended(errs)
}

// ended returns the error that ended a session: one that is not a party's absence, if there is any.
func ended(errs []error) error {
	for i, err := range errs {
		if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, testnet.ErrKilled) && !gone(err) {
			return fmt.Errorf("party %d: %w", i, err)
		}
	}
	if first(errs) != nil {
		return errKilled
	}
	return nil
}

// gone reports whether an error says that another party, or this one, is no longer there.
func gone(err error) bool {
	var g *protocol.GoneError
	return errors.As(err, &g)
}
