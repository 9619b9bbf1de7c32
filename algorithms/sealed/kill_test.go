package sealed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/simnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// mortal is a Mesh that ends at one of its frames, sent and received ones counted together.
type mortal struct {
	protocol.Mesh
	mu    sync.Mutex
	left  int // frames until the end; none when it is negative from the start
	count int
	end   func()
}

// errKilled is what the killed party is told.
var errKilled = errors.New("killed")

// step counts a frame.
func (m *mortal) step() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	if m.left--; m.left != 0 {
		return nil
	}
	m.end()
	return errKilled
}

// Send implements protocol.Mesh.
func (m *mortal) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.Mesh.Send(ctx, to, parts...)
}

// Receive implements protocol.Mesh.
func (m *mortal) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	return m.Mesh.Receive(ctx, from, buf)
}

// life says who dies at which frame of a session, or at which write to its vault. Of those whose frame is even, what is
// under way is lost too; of those whose write is even, it is on the disk all the same.
type life struct{ party, frame, write int }

// nobody dies.
const nobody = -1

// live runs one session of a training and returns the model parts and how many frames each party had.
func (f *fixture) live(t testing.TB, league *federation, l life) ([]*fdskl.Model, []int, error) {
	t.Helper()
	meshes := make([]*mortal, len(f.names))
	league.mesh = func(i int, m protocol.Mesh) protocol.Mesh {
		meshes[i] = &mortal{Mesh: m, left: -1, end: func() { m.Close() }}
		if i == l.party {
			meshes[i].left = l.frame
			if l.frame%2 == 0 {
				meshes[i].end = func() { league.net.Kill(league.members[i].ID) }
			}
		}
		return meshes[i]
	}
	for i, v := range f.vaults {
		v.writes, v.dieAt, v.stored, v.died = 0, 0, l.write%2 == 0, ""
		if i == l.party {
			v.dieAt = l.write
		}
	}
	models := make([]*fdskl.Model, len(f.names))
	errs := league.run(func(ctx context.Context, i int, n Network) (err error) {
		models[i], err = Train(ctx, f.party(i, n, league.session))
		return err
	})
	for _, m := range league.members {
		league.net.Restart(m.ID)
	}
	frames := make([]int, len(meshes))
	for i, m := range meshes {
		if m != nil {
			frames[i] = m.count
		}
	}
	return models, frames, ended(errs)
}

// ended returns the error that ended a session: one that is not a party's absence, if there is any.
func ended(errs []error) error {
	for i, err := range errs {
		if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, simnet.ErrKilled) && !gone(err) {
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
