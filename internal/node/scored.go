package node

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// A sealed prediction scores a row once, over all jobs and receivers. Two logs see to it, in the folder of the
// training, so that they are the model's under whatever name, and live as long as its part.
const (
	scoredRowsFile  = "scored-rows"  // at a party with rows: which of them opened, by which opening of which job
	knownScoresFile = "known-scores" // at a party that scores open to: these scores
)

// scoredVersion is the first byte of the records of both logs; opening and entries follow. Evolution: a changed meaning
// is a new version.
const scoredVersion = 1

// The lengths of a record's head and of a row in the log of scored rows, in bytes.
const (
	openingHead = 1 + len(keys.Hash{}) + 4
	rowKeySize  = 16
)

// opening names an opening of a prediction: the same in all sessions of its job.
type opening struct {
	contract keys.Hash
	number   uint32
}

// encode returns the head of a record.
func (o opening) encode() []byte {
	return binary.BigEndian.AppendUint32(append([]byte{scoredVersion}, o.contract[:]...), o.number)
}

// decodeOpening reads what encode wrote, and returns what follows it.
func decodeOpening(b []byte) (o opening, rest []byte, err error) {
	if len(b) < openingHead || b[0] != scoredVersion {
		return o, nil, fmt.Errorf("a record of %d bytes, want a head of %d bytes of version %d", len(b), openingHead,
			scoredVersion)
	}
	copy(o.contract[:], b[1:])
	o.number = binary.BigEndian.Uint32(b[openingHead-4:])
	return o, b[openingHead:], nil
}

// scored is what a node keeps of the predictions with one model; it is read when it is first asked for.
type scored struct {
	mu    sync.Mutex
	rows  *scoredRows
	known *knownScores
}

// scoredRows returns which rows of this party were scored with the model that a training made.
func (s *jobState) scoredRows(m *fdskl.Model) (*scoredRows, error) {
	s.scored.mu.Lock()
	defer s.scored.mu.Unlock()
	if s.scored.rows != nil {
		return s.scored.rows, nil
	}
	rows, err := openScoredRows(s.vault, m)
	if err == nil {
		s.scored.rows = rows
	}
	return rows, err
}

// knownScores returns the scores that opened to this party of the model that a training made.
func (s *jobState) knownScores() (*knownScores, error) {
	s.scored.mu.Lock()
	defer s.scored.mu.Unlock()
	if s.scored.known != nil {
		return s.scored.known, nil
	}
	known, err := openKnownScores(s.vault)
	if err == nil {
		s.scored.known = known
	}
	return known, err
}

// rowKey is a keyed hash of a row's id at this party. The key follows from a secret of the model part.
type rowKey [rowKeySize]byte

// scoredRows counts how often each row of this party was scored with a model, whoever received the score and whatever
// the row's place in the table was.
type scoredRows struct {
	vault *vault.Vault
	key   keys.Hash

	mu       sync.Mutex
	times    map[rowKey]uint32
	openings map[opening]keys.Hash // those that are counted, with a digest of their rows
}

// openScoredRows reads what is kept of a model, whose part is this party's.
func openScoredRows(v *vault.Vault, m *fdskl.Model) (*scoredRows, error) {
	b := &scoredRows{
		vault: v, key: keys.HashOf("hanse scored rows key v1", m.Contract[:], m.Phase[:]),
		times: make(map[rowKey]uint32), openings: make(map[opening]keys.Hash),
	}
	_, err := v.Records(scoredRowsFile, -1, func(record []byte) error {
		o, rest, err := decodeOpening(record)
		if err != nil || len(rest)%rowKeySize != 0 {
			return &vault.DamagedError{Path: v.Path(scoredRowsFile), Why: fmt.Sprintf(
				"a record of %d bytes is none of scored rows", len(record))}
		}
		b.count(o, rest)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// count counts the rows of an opening, unless they are counted already.
func (b *scoredRows) count(o opening, rows []byte) {
	if _, ok := b.openings[o]; ok {
		return
	}
	b.openings[o] = rowsDigest(rows)
	for ; len(rows) > 0; rows = rows[rowKeySize:] {
		b.times[rowKey(rows)]++
	}
}

// rowsDigest is a digest of the rows of an opening.
func rowsDigest(rows []byte) keys.Hash { return keys.HashOf("hanse scored rows v1", rows) }

// keysOf returns the keys of rows, one after the other.
func (b *scoredRows) keysOf(ids []string) []byte {
	rows := make([]byte, 0, rowKeySize*len(ids))
	for _, id := range ids {
		h := keys.HashOf("hanse scored row v1", b.key[:], []byte(id))
		rows = append(rows, h[:rowKeySize]...)
	}
	return rows
}

// spent counts those of the rows of an opening that were scored as often as they may be by other openings.
func (b *scoredRows) spent(o opening, ids []string, most int) int {
	rows := b.keysOf(ids)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spentOf(o, rows, most)
}

// spentOf is spent for a caller who holds the lock.
func (b *scoredRows) spentOf(o opening, rows []byte, most int) int {
	n := 0
	if _, ok := b.openings[o]; ok {
		return 0
	}
	for ; len(rows) > 0; rows = rows[rowKeySize:] {
		if int64(b.times[rowKey(rows)]) >= int64(most) {
			n++
		}
	}
	return n
}

// book counts the rows of an opening, on the disk when it returns. The same opening again, in a later session, counts
// once, and must be of the same rows.
func (b *scoredRows) book(o opening, ids []string, most int) error {
	if len(ids) == 0 {
		return nil
	}
	rows := b.keysOf(ids)
	b.mu.Lock()
	defer b.mu.Unlock()
	if digest, ok := b.openings[o]; ok {
		if digest != rowsDigest(rows) {
			return faultf(codeContradicted, "opening %d is counted for other rows than it is to be of now: the job's table "+
				"or %s was changed; propose the job anew", o.number, askedRowsFile)
		}
		return nil
	}
	if n := b.spentOf(o, rows, most); n > 0 {
		return scoredFault(n, most)
	}
	if err := b.vault.Append(scoredRowsFile, append(o.encode(), rows...)); err != nil {
		return err
	}
	if err := b.vault.Sync(scoredRowsFile); err != nil {
		return err
	}
	b.count(o, rows)
	return nil
}

// scoredFault refuses rows that were scored as often as a job lets them be.
func scoredFault(n, most int) error {
	return &faultError{code: codeScored, numbers: []int64{int64(n), int64(most)}, err: fmt.Errorf(
		"%d of the rows asked for were scored before with this model, as often as the job lets a row be scored (%d): "+
			"whoever received their scores has them in its file, where hanse predict finds them; or propose a job with "+
			"scores_per_row = %d, to which all parties must agree", n, most, most+1)}
}

// knownScore is the score of a row that opened to this party.
type knownScore struct {
	score float64 // the latest
	times int     // how often it opened
}

// knownScores are the scores that opened to this party with a model, by row id, over all jobs.
type knownScores struct {
	vault *vault.Vault

	mu       sync.Mutex
	rows     map[string]knownScore
	openings map[opening]bool
}

// openKnownScores reads what is kept of a model.
func openKnownScores(v *vault.Vault) (*knownScores, error) {
	k := &knownScores{vault: v, rows: make(map[string]knownScore), openings: make(map[opening]bool)}
	_, err := v.Records(knownScoresFile, -1, func(record []byte) error {
		o, ids, scores, err := decodeScores(record)
		if err != nil {
			return &vault.DamagedError{Path: v.Path(knownScoresFile), Why: err.Error()}
		}
		k.take(o, ids, scores)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// decodeScores reads a record: after the opening, of each row the length of its id in two bytes, the id, and the score
// as IEEE 754 has it, in eight.
func decodeScores(record []byte) (o opening, ids []string, scores []float64, err error) {
	o, rest, err := decodeOpening(record)
	if err != nil {
		return o, nil, nil, err
	}
	for len(rest) > 0 {
		size := 0
		if len(rest) >= 2 {
			size = int(binary.BigEndian.Uint16(rest))
		}
		if len(rest) < 2+size+8 {
			return o, nil, nil, fmt.Errorf("a record of %d bytes ends inside a score", len(record))
		}
		ids = append(ids, string(rest[2:2+size]))
		scores = append(scores, math.Float64frombits(binary.BigEndian.Uint64(rest[2+size:])))
		rest = rest[2+size+8:]
	}
	return o, ids, scores, nil
}

// take keeps the scores of an opening in memory.
func (k *knownScores) take(o opening, ids []string, scores []float64) {
	if k.openings[o] {
		return
	}
	k.openings[o] = true
	for i, id := range ids {
		k.rows[id] = knownScore{scores[i], k.rows[id].times + 1}
	}
}

// add keeps the scores of an opening, on the disk when it returns. The same opening again adds nothing.
func (k *knownScores) add(o opening, ids []string, scores []float64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.openings[o] || len(ids) == 0 {
		return nil
	}
	record := o.encode()
	for i, id := range ids {
		if len(id) > math.MaxUint16 {
			return fmt.Errorf("a row id has %d bytes, want at most %d", len(id), math.MaxUint16)
		}
		record = binary.BigEndian.AppendUint16(record, uint16(len(id)))
		record = append(record, id...)
		record = binary.BigEndian.AppendUint64(record, math.Float64bits(scores[i]))
	}
	if err := k.vault.Append(knownScoresFile, record); err != nil {
		return err
	}
	if err := k.vault.Sync(knownScoresFile); err != nil {
		return err
	}
	k.take(o, ids, scores)
	return nil
}

// of returns a row's latest score, if it opened so many times.
func (k *knownScores) of(id string, times int) (float64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.rows[id]
	return s.score, s.times >= times
}

// KnownScores returns the scores of all rows of a table as a scores file has them, where each has opened to this node
// before, so many times, with the model of a sealed training; nil where one has not. Nobody is asked.
func (n *Node) KnownScores(contract, table string, times int) ([]byte, error) {
	m, err := n.modelOf(contract)
	if err != nil || m.Privacy != fdskl.Sealed {
		return nil, err
	}
	s, _ := n.job(m.Contract)
	known, err := s.knownScores()
	if err != nil {
		return nil, err
	}
	rows, err := n.tables.loadFor(table, m)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, rows.Rows())
	for i, id := range rows.IDs {
		f, ok := known.of(id, max(1, times))
		if !ok {
			return nil, nil
		}
		scores[i] = f
	}
	var b bytes.Buffer
	err = renderScores(&b, rows.IDs, scores, m)
	return b.Bytes(), err
}
