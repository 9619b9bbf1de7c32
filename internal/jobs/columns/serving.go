package columns

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// scoreRequest is one row to be scored, on its way to the session.
type scoreRequest struct {
	id     string // empty: no more rows
	answer chan<- scoreAnswer
}

// scoreAnswer is a scores file's row, or why there is none.
type scoreAnswer struct {
	row []string
	err error
}

// serve answers single rows until the receiver ends it or the agreed number is reached, over all sessions. Between
// requests the other parties wait in a broadcast; heartbeats tell them that the receiver lives. A request that an
// earlier session left without an answer comes first.
func (p *prediction) serve(
	ctx context.Context, r *session, table *dataset.Table, scorer joint.Scorer,
) (*jobs.Report, error) {
	requests, err := p.openRequests(r.Vault)
	if err != nil {
		return nil, err
	}
	if p.reading.decision, err = p.member.Decision(p.model.Contract); err != nil {
		return nil, err
	}
	p.reading.model = p.model
	var served []int
	queue := p.member.queues.get(p.contract)
	queue.ended = queue.ended || r.Stored > 0
	for {
		asked, request, err := p.next(ctx, table, requests, queue)
		if err != nil {
			return nil, err
		}
		var f []float64
		if request, err = p.announce(ctx, r, requests, request); err == nil && request.row != trace.EndOfRequests {
			var row *dataset.Table // nil at a helper without data
			if table != nil {
				served = append(served, int(request.row))
				row = table.Select([]int{int(request.row)})
			}
			if f, err = p.score(ctx, scorer, int(request.number), 1, row); err == nil && p.receives() {
				err = requests.answer(f)
			}
		}
		switch {
		case err != nil && asked != nil && faults.Permanent(err):
			asked.answer <- scoreAnswer{err: err}
			return nil, err
		case err != nil:
			if asked != nil {
				queue.cut = asked
			}
			return nil, err
		case asked != nil && f != nil:
			asked.answer <- scoreAnswer{row: scoreRow(asked.id, f, p.reading)}
		}
		if request.row == trace.EndOfRequests || request.number == requests.most {
			report := r.Report(int(requests.last.number))
			if table != nil {
				report.Unseen = p.unseen(r, table.Select(served))
			}
			return report, nil
		}
	}
}

// receives reports whether the scores open to this node.
func (p *prediction) receives() bool { return p.job.OpenTo == p.member.Name() }

// next returns at the receiver what it asks for next: the request that was cut off, or the owner's next one, with
// where its answer goes. A row that is not in the table, or whose score is there, is answered here and never reaches
// the session.
func (p *prediction) next(
	ctx context.Context, table *dataset.Table, requests *requestLog, queue *requestQueue,
) (*scoreRequest, rowRequest, error) {
	if !p.receives() {
		return nil, rowRequest{}, nil
	}
	end := rowRequest{number: requests.last.number, row: trace.EndOfRequests}
	if request, ok := requests.cutOff(); ok {
		if int64(request.row) >= int64(len(table.IDs)) {
			return nil, end, fmt.Errorf("%s asks for row %d, the table has %d: it is damaged; propose the job anew",
				requestsFile, request.row, len(table.IDs))
		}
		asked := queue.cut
		if asked == nil || asked.id != table.IDs[request.row] {
			return nil, request, nil
		}
		queue.cut = nil
		return asked, request, nil
	}
	if requests.last.number == requests.most || queue.ended {
		return nil, end, nil
	}
	for {
		asked := queue.cut
		queue.cut = nil
		if asked == nil {
			select {
			case <-ctx.Done():
				return nil, end, ctx.Err()
			case come := <-queue.come:
				asked = &come
			}
		}
		if asked.id == "" {
			asked.answer <- scoreAnswer{}
			queue.ended = true
			return nil, end, nil
		}
		row := slices.Index(table.IDs, asked.id)
		if row < 0 {
			asked.answer <- scoreAnswer{row: unmatchedRow(asked.id, len(scoreHeader(p.reading)))}
			continue
		}
		f, ok := requests.answers[uint32(row)]
		if !ok && p.asked != nil { // a row of a sealed prediction may have its score from another job
			f, ok = p.asked.known.of(asked.id, p.asked.times)
		}
		if ok {
			asked.answer <- scoreAnswer{row: scoreRow(asked.id, f, p.reading)}
			continue
		}
		return asked, rowRequest{number: requests.last.number + 1, row: uint32(row)}, nil
	}
}

// announce tells all parties which row is next, and returns it: every party has booked it then.
func (p *prediction) announce(ctx context.Context, r *session, requests *requestLog,
	request rowRequest) (rowRequest, error) {
	if p.receives() && request.row != trace.EndOfRequests {
		if err := requests.take(request); err != nil {
			return request, err
		}
	}
	receiver := p.job.Index(p.job.OpenTo)
	data, err := r.wire.Broadcast(ctx, trace.KindRequest, contract.ClassOpening, receiver, request.encode(),
		trace.RequestSize)
	if err != nil {
		return request, err
	}
	if err := r.wire.Confirm(ctx); err != nil { // no share of a row leaves that another party was not asked for
		return request, err
	}
	if len(data) != trace.RequestSize {
		return request, fmt.Errorf("%s sent a request of %d bytes, want %d", p.job.OpenTo, len(data), trace.RequestSize)
	}
	request = decodeRequest(data)
	if request.row == trace.EndOfRequests {
		return request, nil
	}
	if n := r.Contract().Rows(); int64(request.row) >= int64(n) {
		return request, fmt.Errorf("%s asks for row %d of %d", p.job.OpenTo, request.row, n)
	}
	return request, requests.take(request)
}

// requestQueue is where a job's requests come.
type requestQueue struct {
	come chan scoreRequest
	// Only the session under way looks at these two.
	cut   *scoreRequest // was cut off by the end of a session
	ended bool          // the owner has ended it: a session that follows asks for nothing more
}

// queues are those of predictions that answer single rows.
type queues struct {
	mu sync.Mutex
	of map[keys.Hash]*requestQueue
}

// get returns the queue of a job's requests.
func (s *queues) get(h keys.Hash) *requestQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.of[h]
	if !ok {
		q = &requestQueue{come: make(chan scoreRequest)}
		s.of[h] = q
	}
	return q
}

// ScoreRow asks a serving prediction for one row's score and waits for it; it returns the row as a scores file has it.
// An empty id ends the prediction. Where final is closed before, the job has ended: then ended is true.
func (j *Jobs) ScoreRow(ctx context.Context, h keys.Hash, id string,
	final <-chan struct{}) (row []string, ended bool, err error) {
	answer := make(chan scoreAnswer, 1)
	select {
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	case <-final:
		return nil, true, nil
	case j.queues.get(h).come <- scoreRequest{id: id, answer: answer}:
	}
	select {
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	case a := <-answer:
		return a.row, false, a.err
	case <-final:
	}
	select {
	case a := <-answer: // it came first
		return a.row, false, a.err
	default:
		return nil, true, nil
	}
}
