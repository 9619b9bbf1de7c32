package sealed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/secagg/rss"
)

// checkpoints is what a party keeps of a training, and goes on from.
type checkpoints struct {
	*setting
	kept *kept // nil with the square loss
}

// stateVersion is the version of all states of this package.
const stateVersion = 5

// maxState is the largest state that is read, in bytes.
const maxState = 1 << 30

// state is a checkpoint of one party. Shares of one point are worthless without the other two parties' of
// the same point of the same session; what is not shared is the label holder's.
//
// Evolution: fields are added with new numbers and a zero value that keeps the old meaning; a changed
// meaning is a new version.
type state struct {
	Version    int       `cbor:"1,keyasint"`
	Stage      stage     `cbor:"2,keyasint"`
	Session    uint32    `cbor:"3,keyasint"` // that wrote it
	Number     int       `cbor:"4,keyasint"` // rows, or steps
	Rests      uint32    `cbor:"5,keyasint"` // steps: the session that wrote the system they are of
	Intercepts []float64 `cbor:"7,keyasint"` // at the label holder; of a system the means of its labels
	Reach      float64   `cbor:"8,keyasint"`
	Words      [][]byte  `cbor:"9,keyasint"` // little-endian
}

// stage says what a state is of.
type stage uint8

// The stages, in their order.
const (
	stageNone stage = iota
	stageSums
	stageSystem
	stageSteps // of a square loss
	stageOuter
	stageSolved // the coefficients in their last form
)

// slots is how many states of a stage are kept: parties are killed at different moments, and one may have
// written a state that another has not.
const slots = 2

// names of the stages' files.
func (s stage) String() string {
	return [...]string{"nothing", "sums", "system", "steps", "outer", "solved"}[s]
}

// file returns where a state with the given place in its stage is kept; it replaces the last but one.
func (s stage) file(place int) string {
	if s == stageSystem || s == stageSolved {
		return joint.FilePrefix + s.String()
	}
	return fmt.Sprintf("%s%s-%d", joint.FilePrefix, s, place%slots)
}

// Checkpoints lists the files of states: each of them can be lost, and is made anew.
func Checkpoints() []string {
	list := []string{stageSystem.file(0), stageSolved.file(0)}
	for _, s := range []stage{stageSums, stageSteps, stageOuter} {
		for place := range slots {
			list = append(list, s.file(place))
		}
	}
	return list
}

// space is where states are put together. It is kept from one to the next: states of many features are large, and new
// memory for them costs more than what is written there.
type space struct {
	window []uint64 // sums of words of 32 bits
	words  []byte
	state  bytes.Buffer
}

// stateRest is space for what a state has besides its words; it grows for one that has more.
const stateRest = 1 << 10

// save writes a state of this session.
func (t *checkpoints) save(place int, s state, words ...[]uint64) error {
	s.Version, s.Session = stateVersion, t.Session
	size := 0
	for _, w := range words {
		size += 8 * len(w)
	}
	r := &t.space
	r.words = slices.Grow(r.words[:0], size)
	for _, w := range words {
		at := len(r.words)
		r.words = appendBytes(r.words, w)
		s.Words = append(s.Words, r.words[at:])
	}
	r.state.Reset()
	r.state.Grow(size + stateRest)
	if err := checkpoint.EncodeTo(&r.state, &s); err != nil {
		return err
	}
	if err := t.Vault.Save(s.Stage.file(place), r.state.Bytes()); err != nil {
		return err
	}
	if t.Saved != nil {
		t.Saved(fmt.Sprintf("%s %d", s.Stage, s.Number))
	}
	return nil
}

// load reads a state, nil when there is none.
func (t *checkpoints) load(file string) (*state, error) {
	data, err := t.Vault.Load(file)
	if err != nil || data == nil {
		return nil, err
	}
	s := new(state)
	if err := checkpoint.Decode(data, s, checkpoint.Limits{Bytes: maxState}); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", file, err)
	}
	if err := checkpoint.CheckVersion(s.Version, stateVersion); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", file, err)
	}
	infinite := func(x float64) bool { return !parameters.IsFinite(x) }
	if s.Stage < stageSums || s.Stage > stageSolved || s.Number < 0 || infinite(s.Reach) ||
		slices.ContainsFunc(s.Intercepts, infinite) {
		return nil, fmt.Errorf("checkpoint %s: its numbers are out of range", file)
	}
	return s, nil
}

// intercepts returns those of a state: at the label holder one for each function, nil elsewhere.
func (t *checkpoints) intercepts(s *state) ([]float64, error) {
	if t.role != rss.LabelHolder {
		return nil, nil
	}
	if len(s.Intercepts) != t.sides {
		return nil, fmt.Errorf("checkpoint of %s %d: %d intercepts, want %d", s.Stage, s.Number, len(s.Intercepts), t.sides)
	}
	return s.Intercepts, nil
}

// words returns the vectors of a state, which must have the given lengths.
func (s *state) words(lengths ...int) ([][]uint64, error) {
	if len(s.Words) != len(lengths) {
		return nil, fmt.Errorf("checkpoint of %s %d: %d vectors, want %d", s.Stage, s.Number, len(s.Words), len(lengths))
	}
	list := make([][]uint64, len(lengths))
	for i, b := range s.Words {
		if len(b) != 8*lengths[i] {
			return nil, fmt.Errorf("checkpoint of %s %d: vector %d has %d bytes, want %d", s.Stage, s.Number, i+1, len(b),
				8*lengths[i])
		}
		list[i] = wordsOf(b)
	}
	return list, nil
}

// wordsOf reads little-endian words.
func wordsOf(b []byte) []uint64 {
	words := make([]uint64, len(b)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return words
}

// bytesOf writes what wordsOf reads.
func bytesOf(words []uint64) []byte { return appendBytes(make([]byte, 0, 8*len(words)), words) }

// appendBytes appends words to bytes.
func appendBytes(b []byte, words []uint64) []byte {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// shares returns the vectors of a state as shares.
func (s *state) shares(lengths ...int) ([]rss.Share, error) {
	var twice []int
	for _, n := range lengths {
		twice = append(twice, n, n)
	}
	w, err := s.words(twice...)
	if err != nil {
		return nil, err
	}
	var list []rss.Share
	for i := range lengths {
		list = append(list, rss.Share{X: w[2*i], Y: w[2*i+1]})
	}
	return list, nil
}
