package sum

import (
	"context"
	"errors"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// sumKind is the kind of the vectors' messages.
const sumKind = "sum"

// errLeft is what a client finds that has dropped out.
var errLeft = errors.New("this client drops out here")

// leavingSteps lists the steps at which a client may drop out: the kind of the message at which it
// does so instead of sending it. At sum-survivors, which the server sends, it has done its part
// of a sum without masks.
func leavingSteps(b cohort.Backend) []string {
	if b == cohort.Masked {
		return []string{cohort.KindDeposit, sumKind, cohort.KindTags, cohort.KindShares}
	}
	return []string{sumKind, cohort.KindSurvivors}
}

// watchedMesh notes what a party sends, and lets it drop out at a step. It has one sender, as Links
// have.
type watchedMesh struct {
	protocol.Mesh
	sent    map[keys.ID][]int // sizes of frames by receiver; nil: nobody wants to know
	leaveAt string            // one of leavingSteps, empty: it stays
	leave   func() error
	left    bool
}

// Send sends a frame, unless it is the one at which the party leaves.
func (m *watchedMesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if m.leaveAt != "" && kindOf(parts[0]) == m.leaveAt {
		return m.dropOut()
	}
	err := m.Mesh.Send(ctx, to, parts...)
	if err == nil && m.sent != nil {
		m.sent[to] = append(m.sent[to], lengthOf(parts))
	}
	return err
}

// Receive receives a frame, and leaves when it is the one at which the party does.
func (m *watchedMesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	frame, err := m.Mesh.Receive(ctx, from, buf)
	if err == nil && m.leaveAt == cohort.KindSurvivors && kindOf(frame) == m.leaveAt {
		return nil, m.dropOut()
	}
	return frame, err
}

// lengthOf returns the length of a frame.
func lengthOf(parts [][]byte) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// dropOut leaves.
func (m *watchedMesh) dropOut() error {
	m.left = true
	return errors.Join(errLeft, m.leave())
}

// Where a frame's header says what kind of message it is; see protocol.
const (
	kindLengthAt = 2
	kindAt       = 68
)

// kindOf returns the kind of the message in a frame, or nothing when it is none.
func kindOf(frame []byte) string {
	if len(frame) < kindAt || len(frame) < kindAt+int(frame[kindLengthAt]) {
		return ""
	}
	return string(frame[kindAt : kindAt+int(frame[kindLengthAt])])
}
