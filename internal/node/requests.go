package node

import (
	"encoding/binary"
	"fmt"
	"math"

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

// rowRequest asks for the score of one row.
type rowRequest struct{ number, row uint32 }

// The lengths of a request and of an answer's record, in bytes.
const (
	requestSize = 8
	answerSize  = requestSize + 8
)

// encode returns a request's bytes.
func (r rowRequest) encode() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, r.number), r.row)
}

// decodeRequest reads what encode wrote.
func decodeRequest(b []byte) rowRequest {
	return rowRequest{number: binary.BigEndian.Uint32(b), row: binary.BigEndian.Uint32(b[4:])}
}

// requestBook is what a party keeps of the requests of a job.
type requestBook struct {
	vault    *vault.Vault
	receiver string // who asks
	most     uint32 // how many the contract has
	last     rowRequest
	answers  map[uint32]float64 // by row, at the receiver
	answered uint32             // the last request whose score came
}

// openRequests reads what this party keeps of the requests of its job.
func (p *prediction) openRequests(v *vault.Vault) (*requestBook, error) {
	b := &requestBook{vault: v, receiver: p.job.OpenTo, most: uint32(p.job.Requests), answers: make(map[uint32]float64)}
	data, err := v.Load(requestsFile)
	if err != nil {
		return nil, err
	}
	if data != nil && len(data) != requestSize {
		return nil, fmt.Errorf("%s has %d bytes, want %d", v.Path(requestsFile), len(data), requestSize)
	}
	if data != nil {
		b.last = decodeRequest(data)
	}
	_, err = v.Records(answersFile, -1, func(record []byte) error {
		if len(record) != answerSize {
			return fmt.Errorf("%s has a record of %d bytes, want %d", v.Path(answersFile), len(record), answerSize)
		}
		r := decodeRequest(record)
		b.answered = max(b.answered, r.number)
		b.answers[r.row] = math.Float64frombits(binary.BigEndian.Uint64(record[requestSize:]))
		return nil
	})
	return b, err
}

// cutOff returns the last request if its score has not come.
func (b *requestBook) cutOff() (rowRequest, bool) { return b.last, b.last.number > b.answered }

// take books a request before anything of it leaves. It is the next one, or the last one again.
func (b *requestBook) take(r rowRequest) error {
	deviates := func(format string, args ...any) error {
		return &rss.DeviationError{Party: b.receiver, Kind: kindRequest, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case r == b.last && r.number > 0:
		return nil
	case r.number == b.last.number && r.number > 0:
		return deviates("number %d asks for row %d, and asked for row %d before: a number is one row's", r.number, r.row, b.last.row)
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

// answer keeps the score of the last request at the receiver.
func (b *requestBook) answer(score float64) error {
	record := binary.BigEndian.AppendUint64(b.last.encode(), math.Float64bits(score))
	if err := b.vault.Append(answersFile, record); err != nil {
		return err
	}
	b.answered, b.answers[b.last.row] = b.last.number, score
	return b.vault.Sync(answersFile)
}
