package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Gather is Open that makes do with the peers who have come when ctx ends. Those who have not, or
// cannot come any more, are named with a *protocol.GoneError each. With nobody there it fails as
// Open does.
func (h *Host) Gather(ctx context.Context, room protocol.Room, peers []keys.ID) (protocol.Mesh, map[keys.ID]error, error) {
	a, err := h.assemble(ctx, room, peers, false)
	if err != nil {
		return nil, nil, err
	}
	absent := a.absent()
	if len(a.mesh.lanes) == 0 {
		a.mesh.Close()
		return nil, nil, h.explainOpen(ctx, room, absent)
	}
	for id, err := range absent {
		absent[id] = h.explainAbsent(id, err)
	}
	a.mesh.absent = maps.Clone(absent)
	return a.mesh, absent, nil
}

// assembly is what came of an attempt to meet peers.
type assembly struct {
	mesh  *mesh             // of those who came
	late  map[keys.ID]error // who did not come by the end
	never map[keys.ID]error // who cannot come any more
}

// absent joins late and never.
func (a assembly) absent() map[keys.ID]error {
	out := maps.Clone(a.late)
	maps.Copy(out, a.never)
	return out
}

// assemble opens a room and meets the peers, as far as they come. If all must come, the first
// who never can ends the wait for the others, who are not to blame then.
func (h *Host) assemble(ctx context.Context, room protocol.Room, peers []keys.ID, all bool) (assembly, error) {
	a := assembly{
		mesh:  &mesh{room: room, rooms: h.rooms, lanes: make(map[keys.ID]*lane, len(peers))},
		late:  make(map[keys.ID]error),
		never: make(map[keys.ID]error),
	}
	members, err := h.invite(peers, a.never)
	if err != nil {
		return a, err
	}
	if all {
		for _, err := range a.never {
			return a, err
		}
	}
	if !h.enter() {
		return a, errClosed
	}
	defer h.leave()
	callers := slices.DeleteFunc(slices.Clone(members), h.lower)
	if err := h.rooms.begin(room, callers); err != nil {
		return a, err
	}
	h.meetAll(ctx, a, members, all)
	return a, nil
}

// invite has links kept with all peers and returns those that are members; the others go into
// never. It refuses a list that no mesh can be made of.
func (h *Host) invite(peers []keys.ID, never map[keys.ID]error) (members []keys.ID, err error) {
	listed := make(map[keys.ID]bool, len(peers))
	for _, id := range peers {
		if listed[id] {
			return nil, fmt.Errorf("%s is listed twice among the peers of a session", id.Short())
		}
		listed[id] = true
		if err := h.want(id); err != nil {
			never[id] = err
			continue
		}
		members = append(members, id)
	}
	return members, nil
}

// meetAll meets all peers at once and notes who came and who did not.
func (h *Host) meetAll(ctx context.Context, a assembly, peers []keys.ID, all bool) {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var meetings sync.WaitGroup
	for _, id := range peers {
		meetings.Go(func() {
			l, err := h.meet(waiting, seat{id, a.mesh.room})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				a.mesh.lanes[id] = l
			case waiting.Err() != nil:
				a.late[id] = err
			default:
				a.never[id] = err
				if all {
					stop()
				}
			}
		})
	}
	meetings.Wait()
}

// explainOpen names those who did not come.
func (h *Host) explainOpen(ctx context.Context, room protocol.Room, absent map[keys.ID]error) error {
	e := &openError{}
	var clauses []string
	for _, id := range slices.SortedFunc(maps.Keys(absent), keys.ID.Compare) {
		gone := h.explainAbsent(id, absent[id])
		e.causes = append(e.causes, gone)
		clauses = append(clauses, fmt.Sprintf("%s: %s", called(h.nameOf(id), id), gone.Reason))
	}
	e.text = fmt.Sprintf("session %x did not start without %s", room[:4], strings.Join(clauses, "; "))
	if err := ctx.Err(); err != nil {
		e.causes = append(e.causes, err)
		e.text += ": " + err.Error()
	}
	return e
}

// explainAbsent says why a peer did not come to a session.
func (h *Host) explainAbsent(id keys.ID, err error) *protocol.GoneError {
	if gone, ok := errors.AsType[*protocol.GoneError](err); ok {
		return gone
	}
	return &protocol.GoneError{Peer: id, Reason: cmp.Or(h.absence(id, levelFull), "connected, but it has not opened the session")}
}

// openError says who is missing in a session.
type openError struct {
	text   string
	causes []error
}

func (e *openError) Error() string   { return e.text }
func (e *openError) Unwrap() []error { return e.causes }
