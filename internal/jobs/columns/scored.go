package columns

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// A sealed prediction scores a row once, over all jobs and receivers. Two logs see to it, in the folder of the
// training, so that they are the model's under whatever name, and live as long as its part.
const (
	ScoredRowsFile  = "scored-rows"  // at a party with rows: which of them opened, by which opening of which job
	KnownScoresFile = "known-scores" // at a party that scores open to: these scores
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
	vault *vault.Vault // of the training
	mu    sync.Mutex
	rows  *scoredRows
	known *knownScores
}

// scoredModels are the models with which predictions were made.
type scoredModels struct {
	member *jobs.Member

	mu sync.Mutex
	of map[keys.Hash]*scored // by training
}

// get returns what is kept of the model that a training made.
func (m *scoredModels) get(training keys.Hash) (*scored, error) {
	v, ok := m.member.Folder(training)
	if !ok {
		return nil, faults.Errorf(fault.CodeUnknown, "the training of the model is gone")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of[training]
	if s == nil {
		s = &scored{vault: v}
		m.of[training] = s
	}
	return s, nil
}

// scoredRows returns which rows of this party were scored with the model.
func (s *scored) scoredRows(m *joint.Model) (*scoredRows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.rows == nil {
		s.rows, err = openScoredRows(s.vault, m)
	}
	return s.rows, err
}

// knownScores returns the scores that opened to this party of the model.
func (s *scored) knownScores(m *joint.Model) (*knownScores, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.known == nil {
		s.known, err = openKnownScores(s.vault, m.Goal.Scores())
	}
	return s.known, err
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
func openScoredRows(v *vault.Vault, m *joint.Model) (*scoredRows, error) {
	b := &scoredRows{
		vault: v, key: keys.HashOf("hanse scored rows key v1", m.Contract[:], m.Secret),
		times: make(map[rowKey]uint32), openings: make(map[opening]keys.Hash),
	}
	_, err := v.Records(ScoredRowsFile, -1, func(record []byte) error {
		o, rest, err := decodeOpening(record)
		if err != nil || len(rest)%rowKeySize != 0 {
			return &vault.DamagedError{Path: v.Path(ScoredRowsFile), Why: fmt.Sprintf(
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

// record counts the rows of an opening, on the disk when it returns. The same opening again, in a later session, counts
// once, and must be of the same rows.
func (b *scoredRows) record(o opening, ids []string, most int) error {
	if len(ids) == 0 {
		return nil
	}
	rows := b.keysOf(ids)
	b.mu.Lock()
	defer b.mu.Unlock()
	if digest, ok := b.openings[o]; ok {
		if digest != rowsDigest(rows) {
			return faults.Errorf(fault.CodeContradicted, "opening %d is counted for other rows than it is to be of now: the "+
				"job's table "+
				"or %s was changed; propose the job anew", o.number, askedRowsFile)
		}
		return nil
	}
	if n := b.spentOf(o, rows, most); n > 0 {
		return scoredFault(n, most)
	}
	if err := b.vault.Append(ScoredRowsFile, append(o.encode(), rows...)); err != nil {
		return err
	}
	if err := b.vault.Sync(ScoredRowsFile); err != nil {
		return err
	}
	b.count(o, rows)
	return nil
}

// scoredFault refuses rows that were scored as often as a job lets them be.
func scoredFault(n, most int) error {
	return &faults.Error{Code: fault.CodeScored, Numbers: []int64{int64(n), int64(most)}, Err: fmt.Errorf(
		"%d of the rows asked for were scored before with this model, as often as the job lets a row be scored (%d): "+
			"whoever received their scores has them in its file, where hanse predict finds them; or propose a job with "+
			"scores_per_row = %d, to which all parties must agree", n, most, most+1)}
}

// knownScore is what opened to this party of a row's scores.
type knownScore struct {
	at    uint32 // where the latest are among all
	times uint32 // how often they opened
}

// knownScores are the scores that opened to this party with a model, by row id, over all jobs.
type knownScores struct {
	vault *vault.Vault
	each  int // scores of a row

	mu       sync.Mutex
	rows     map[string]knownScore
	scores   []float64 // [all that opened][each]; none is written twice
	openings map[opening]bool
}

// openKnownScores reads what is kept of a model that has so many scores for each row.
func openKnownScores(v *vault.Vault, each int) (*knownScores, error) {
	k := &knownScores{vault: v, each: each, rows: make(map[string]knownScore), openings: make(map[opening]bool)}
	_, err := v.Records(KnownScoresFile, -1, func(record []byte) error {
		o, ids, scores, err := decodeScores(record, each)
		if err != nil {
			return &vault.DamagedError{Path: v.Path(KnownScoresFile), Why: err.Error()}
		}
		k.take(o, ids, scores)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// decodeScores reads a record: after the opening, of each row the length of its id in two bytes, the id, and each score
// as IEEE 754 has it, in eight. scores is row-major.
func decodeScores(record []byte, each int) (o opening, ids []string, scores []float64, err error) {
	o, rest, err := decodeOpening(record)
	if err != nil {
		return o, nil, nil, err
	}
	for len(rest) > 0 {
		size := 0
		if len(rest) >= 2 {
			size = int(binary.BigEndian.Uint16(rest))
		}
		if len(rest) < 2+size+8*each {
			return o, nil, nil, fmt.Errorf("a record of %d bytes ends inside a score", len(record))
		}
		ids = append(ids, string(rest[2:2+size]))
		rest = rest[2+size:]
		for range each {
			scores = append(scores, math.Float64frombits(binary.BigEndian.Uint64(rest)))
			rest = rest[8:]
		}
	}
	return o, ids, scores, nil
}

// take keeps the scores of an opening in memory.
func (k *knownScores) take(o opening, ids []string, scores []float64) {
	if k.openings[o] {
		return
	}
	k.openings[o] = true
	at := len(k.scores) / k.each
	k.scores = append(k.scores, scores...)
	for i, id := range ids {
		k.rows[id] = knownScore{uint32(at + i), k.rows[id].times + 1}
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
		for _, f := range scores[i*k.each : (i+1)*k.each] {
			record = binary.BigEndian.AppendUint64(record, math.Float64bits(f))
		}
	}
	if err := k.vault.Append(KnownScoresFile, record); err != nil {
		return err
	}
	if err := k.vault.Sync(KnownScoresFile); err != nil {
		return err
	}
	k.take(o, ids, scores)
	return nil
}

// of returns a row's latest scores, if they opened so many times.
func (k *knownScores) of(id string, times int) ([]float64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.rows[id]
	if !ok {
		return nil, false
	}
	at := int(s.at) * k.each
	return k.scores[at : at+k.each : at+k.each], int(s.times) >= times
}

// KnownScores returns the scores of all rows that a prediction is of as a scores file has them, where each has opened
// to this node before, as often as the prediction wants, with the model of a sealed training; nil where one has not.
// Nobody is asked. rows is how many have a score: those that an alignment lacks have none.
func (j *Jobs) KnownScores(asked *contract.Job) (file []byte, rows int, err error) {
	job := *asked
	part, err := j.Model(job.Model)
	if err != nil {
		return nil, 0, err
	}
	m := part.Model()
	if m.Privacy != keys.PrivacySealed {
		return nil, 0, nil
	}
	s, err := j.scored.get(m.Contract)
	if err != nil {
		return nil, 0, err
	}
	known, err := s.knownScores(m)
	if err != nil {
		return nil, 0, err
	}
	job.Parties = m.Names
	p := prediction{member: j, job: &job, model: m}
	if err := j.completeRows(&job); err != nil {
		return nil, 0, err
	}
	table, err := p.load()
	if err != nil {
		return nil, 0, err
	}
	var scores []float64
	for _, id := range table.IDs {
		f, ok := known.of(id, job.TimesPerRow())
		if !ok {
			return nil, 0, nil
		}
		scores = append(scores, f...)
	}
	rest, err := j.unmatched(&job)
	if err != nil {
		return nil, 0, err
	}
	var b bytes.Buffer
	decision, err := j.Decision(m.Contract)
	if err != nil {
		return nil, 0, err
	}
	err = renderScores(&b, table.IDs, scores, rest, reading{m, decision})
	return b.Bytes(), table.Rows(), err
}
