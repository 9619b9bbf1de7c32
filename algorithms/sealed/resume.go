package sealed

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// kindResume is the kind of the broadcasts in which the three say where they can go on.
const kindResume = "resume-point"

// How much lies between two checkpoints: of the sums some blocks, and rows for each feature, of the steps some steps.
const (
	saveBlocks = 8
	saveRows   = 8
	saveSteps  = 32
)

// blocksToSave is how many blocks of so many rows lie between two checkpoints of their sums. A checkpoint has the
// square of the features: with more of them it is for more rows, so that it stays a small part of the work.
func blocksToSave(features, rows int) int { return max(saveBlocks, saveRows*features/rows) }

// point is a place where a training can go on. Shares of two sessions do not fit together, so it has the
// session that wrote it.
type point struct {
	stage   stage
	session uint32
	number  int
}

// pointSize is the length of an encoded point, in bytes; maxPoints are told at most.
const (
	pointSize = 9
	maxPoints = 2 + 3*slots
)

// encode returns a point's bytes.
func (p point) encode() []byte {
	b := binary.BigEndian.AppendUint32([]byte{byte(p.stage)}, p.session)
	return binary.BigEndian.AppendUint32(b, uint32(p.number))
}

// decodePoints reads what another party says.
func decodePoints(b []byte) ([]point, error) {
	if len(b)%pointSize != 0 || len(b) > maxPoints*pointSize {
		return nil, fmt.Errorf("%d bytes, want %d for each of at most %d points", len(b), pointSize, maxPoints)
	}
	var list []point
	for ; len(b) > 0; b = b[pointSize:] {
		p := point{stage: stage(b[0]), session: binary.BigEndian.Uint32(b[1:]), number: int(binary.BigEndian.Uint32(b[5:]))}
		if p.stage < stageSums || p.stage > stageSolved {
			return nil, fmt.Errorf("point %v is none", b[:pointSize])
		}
		list = append(list, p)
	}
	return list, nil
}

// resume returns the newest point that all three have, the zero point when there is none.
func (t *trainer) resume(ctx context.Context) (point, error) {
	own, err := t.checkpoints.points()
	if err != nil {
		return point{}, err
	}
	var common []point
	for r, i := range t.parties {
		var data []byte
		if t.role == rss.Role(r) {
			for _, p := range own {
				data = append(data, p.encode()...)
			}
		}
		if data, err = t.Network.Broadcast(ctx, kindResume, i, data, maxPoints*pointSize); err != nil {
			return point{}, err
		}
		theirs, err := decodePoints(data)
		if err != nil {
			return point{}, fmt.Errorf("%s of %s: %w", kindResume, t.Names[i], err)
		}
		if r == 0 {
			common = theirs
		}
		common = slices.DeleteFunc(common, func(p point) bool {
			return !slices.Contains(theirs, p)
		})
	}
	var best point
	for _, p := range common {
		if p.stage > best.stage || p.stage == best.stage && p.number > best.number {
			best = p
		}
	}
	return best, nil
}

// points lists the states that this party has.
func (t *checkpoints) points() ([]point, error) {
	if t.role == rss.Outside {
		return nil, nil
	}
	system, err := t.load(stageSystem.file(0))
	if err != nil {
		return nil, err
	}
	var list []point
	for _, file := range Checkpoints() {
		s, err := t.load(file)
		if err != nil {
			return nil, err
		}
		rests := s != nil && s.Stage > stageSystem && s.Stage < stageSolved
		if s == nil || rests && (system == nil || s.Rests != system.Session) {
			continue
		}
		list = append(list, point{stage: s.Stage, session: s.Session, number: s.Number})
	}
	return list, nil
}

// find returns the state of a point.
func (t *checkpoints) find(p point) (*state, error) {
	for place := range slots {
		s, err := t.load(p.stage.file(place))
		if err != nil {
			return nil, err
		}
		if s != nil && s.Session == p.session && s.Number == p.number {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the checkpoint of %s %d, session %d, is gone", p.stage, p.number, p.session)
}
