package columns

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The requests of a serving prediction are numbered from 1 over all its sessions. Every party keeps the last one that
// it took part in, on its disk before anything of it leaves: no number stands for two rows, and there are never more
// than the contract has.
const (
	requestsFile = "requests" // the last request
	answersFile  = "answers"  // at the receiver: a record for each score that came
)

// rowRequest asks for the score of one row; an answer's record has 8 bytes more for each score of its row.
type rowRequest struct{ number, row uint32 }

// encode returns a request's bytes.
func (r rowRequest) encode() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, r.number), r.row)
}

// decodeRequest reads what encode wrote.
func decodeRequest(b []byte) rowRequest {
	return rowRequest{number: binary.BigEndian.Uint32(b), row: binary.BigEndian.Uint32(b[4:])}
}

// requestLog is what a party keeps of the requests of a job.
type requestLog struct {
	vault    *vault.Vault
	receiver string // who asks
	most     uint32 // how many the contract has
	last     rowRequest
	scores   int                  // of a row
	answers  map[uint32][]float64 // scores by row, at the receiver
	answered uint32               // the last request whose score came
}

// openRequests reads what this party keeps of the requests of its job.
func (p *prediction) openRequests(v *vault.Vault) (*requestLog, error) {
	b := &requestLog{vault: v, receiver: p.job.OpenTo, most: uint32(p.job.Requests),
		scores: p.model.Goal.Scores(), answers: make(map[uint32][]float64)}
	data, err := v.Load(requestsFile)
	if err != nil {
		return nil, err
	}
	if data != nil && len(data) != trace.RequestSize {
		return nil, fmt.Errorf("%s has %d bytes, want %d", v.Path(requestsFile), len(data), trace.RequestSize)
	}
	if data != nil {
		b.last = decodeRequest(data)
	}
	_, err = v.Records(answersFile, -1, func(record []byte) error {
		if want := trace.RequestSize + 8*b.scores; len(record) != want {
			return fmt.Errorf("%s has a record of %d bytes, want %d", v.Path(answersFile), len(record), want)
		}
		r := decodeRequest(record)
		b.answered = max(b.answered, r.number)
		scores := make([]float64, b.scores)
		for k := range scores {
			scores[k] = math.Float64frombits(binary.BigEndian.Uint64(record[trace.RequestSize+8*k:]))
		}
		b.answers[r.row] = scores
		return nil
	})
	return b, err
}

// cutOff returns the last request if its score has not come.
func (b *requestLog) cutOff() (rowRequest, bool) { return b.last, b.last.number > b.answered }

// take books a request before anything of it leaves. It is the next one, or the last one again.
func (b *requestLog) take(r rowRequest) error {
	deviates := func(format string, args ...any) error {
		return &rss.DeviationError{Parties: []string{b.receiver}, Kind: trace.KindRequest,
			Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case r == b.last && r.number > 0:
		return nil
	case r.number == b.last.number && r.number > 0:
		return deviates("number %d asks for row %d, and asked for row %d before: a number is one row's", r.number, r.row,
			b.last.row)
	case r.number > b.most:
		return deviates("it is number %d, the contract has %d, over all sessions", r.number, b.most)
	case r.number != b.last.number+1:
		return deviates("it is number %d after number %d", r.number, b.last.number)
	}
	if err := b.vault.Save(requestsFile, r.encode()); err != nil {
		return err
	}
	b.last = r
	return nil
}

// answer keeps the scores of the last request's row at the receiver.
func (b *requestLog) answer(scores []float64) error {
	record := b.last.encode()
	for _, f := range scores {
		record = binary.BigEndian.AppendUint64(record, math.Float64bits(f))
	}
	if err := b.vault.Append(answersFile, record); err != nil {
		return err
	}
	b.answered, b.answers[b.last.row] = b.last.number, scores
	return b.vault.Sync(answersFile)
}
