package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// kindRequest is the broadcast by which the receiver of a serving prediction names a row.
const kindRequest = "request"

// endOfRequests is the row number that ends a serving prediction.
const endOfRequests = ^uint32(0)

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
func (p *prediction) serve(ctx context.Context, r *run, table *dataset.Table, scorer scorer) (*Report, error) {
	book, err := p.openRequests(r.state.vault)
	if err != nil {
		return nil, err
	}
	queue := p.node.requestsOf(p.contract)
	queue.ended = queue.ended || r.state.snapshot().Stored > 0
	for {
		asked, request, err := p.next(ctx, table, book, queue)
		if err != nil {
			return nil, err
		}
		ended, err := p.serveOne(ctx, r, table, scorer, book, asked, request)
		if err != nil && asked != nil {
			queue.keep(asked, err)
		}
		if err != nil {
			return nil, err
		}
		if ended {
			return r.report(int(book.last.number)), nil
		}
	}
}

// serveOne scores the next row and reports whether it was the last. asked and request are the receiver's.
func (p *prediction) serveOne(
	ctx context.Context, r *run, table *dataset.Table, scorer scorer, book *requestBook, asked *scoreRequest, request rowRequest,
) (ended bool, err error) {
	if request, err = p.announce(ctx, r, book, request); err != nil || request.row == endOfRequests {
		return true, err
	}
	f, err := p.scoreOne(ctx, scorer, table, request)
	if err != nil {
		return true, err
	}
	if p.receives() {
		if err := book.answer(f[0]); err != nil {
			return true, err
		}
	}
	if asked != nil {
		asked.answer <- scoreAnswer{row: scoreRow(asked.id, f[0], p.model)}
	}
	return request.number == book.most, nil
}

// receives reports whether the scores open to this node.
func (p *prediction) receives() bool { return p.job.OpenTo == p.node.name() }

// next returns at the receiver what it asks for next: the request that was cut off, or the owner's next one, with
// where its answer goes. A row that is not in the table, or whose score is there, is answered here and never reaches
// the session.
func (p *prediction) next(
	ctx context.Context, table *dataset.Table, book *requestBook, queue *requestQueue,
) (*scoreRequest, rowRequest, error) {
	if !p.receives() {
		return nil, rowRequest{}, nil
	}
	end := rowRequest{number: book.last.number, row: endOfRequests}
	if request, ok := book.cutOff(); ok {
		if int64(request.row) >= int64(len(table.IDs)) {
			return nil, end, fmt.Errorf("%s asks for row %d, the table has %d: it is damaged; propose the job anew",
				requestsFile, request.row, len(table.IDs))
		}
		return queue.take(table.IDs[request.row]), request, nil
	}
	if book.last.number == book.most || queue.ended {
		return nil, end, nil
	}
	for {
		asked, err := queue.next(ctx)
		if err != nil {
			return nil, end, err
		}
		if asked.id == "" {
			asked.answer <- scoreAnswer{}
			queue.ended = true
			return nil, end, nil
		}
		row := slices.Index(table.IDs, asked.id)
		if row < 0 {
			asked.answer <- scoreAnswer{err: fmt.Errorf("%s: there is no row with id %q", table.Path, asked.id)}
			continue
		}
		f, ok := book.answers[uint32(row)]
		if !ok {
			f, ok = p.asked.answer(asked.id)
		}
		if ok {
			asked.answer <- scoreAnswer{row: scoreRow(asked.id, f, p.model)}
			continue
		}
		return asked, rowRequest{number: book.last.number + 1, row: uint32(row)}, nil
	}
}

// announce tells all parties which row is next, and returns it: every party has booked it then.
func (p *prediction) announce(ctx context.Context, r *run, book *requestBook, request rowRequest) (rowRequest, error) {
	if p.receives() && request.row != endOfRequests {
		if err := book.take(request); err != nil {
			return request, err
		}
	}
	receiver := p.job.Index(p.job.OpenTo)
	data, err := r.session.Broadcast(ctx, kindRequest, protocol.ClassOpening, receiver, request.encode(), requestSize)
	if err != nil {
		return request, err
	}
	if err := r.session.Confirm(ctx); err != nil { // no share of a row leaves that another party was not asked for
		return request, err
	}
	if len(data) != requestSize {
		return request, fmt.Errorf("%s sent a request of %d bytes, want %d", p.job.OpenTo, len(data), requestSize)
	}
	request = decodeRequest(data)
	if request.row == endOfRequests {
		return request, nil
	}
	if n := rows(r.state.contract); int64(request.row) >= int64(n) {
		return request, fmt.Errorf("%s asks for row %d of %d", p.job.OpenTo, request.row, n)
	}
	return request, book.take(request)
}

// scoreOne scores one row.
func (p *prediction) scoreOne(ctx context.Context, scorer scorer, table *dataset.Table, request rowRequest) ([]float64, error) {
	if table == nil {
		return scorer.score(ctx, int(request.number), 1, nil)
	}
	return scorer.score(ctx, int(request.number), 1, table.Select([]int{int(request.row)}))
}

// requestQueue is where a job's requests come.
type requestQueue struct {
	come chan scoreRequest
	// Only the session under way looks at these two.
	cut   *scoreRequest // was cut off by the end of a session
	ended bool          // the owner has ended it: a session that follows asks for nothing more
}

// next returns the owner's next request.
func (q *requestQueue) next(ctx context.Context) (*scoreRequest, error) {
	if asked := q.cut; asked != nil {
		q.cut = nil
		return asked, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case asked := <-q.come:
		return &asked, nil
	}
}

// take returns the request that was cut off if it is the one for an id.
func (q *requestQueue) take(id string) *scoreRequest {
	asked := q.cut
	if asked == nil || asked.id != id {
		return nil
	}
	q.cut = nil
	return asked
}

// keep keeps a request for the next session, if there will be one.
func (q *requestQueue) keep(asked *scoreRequest, err error) {
	if permanent(err) {
		asked.answer <- scoreAnswer{err: err}
		return
	}
	q.cut = asked
}

// requestsOf returns the queue of a job's requests.
func (n *Node) requestsOf(h keys.Hash) *requestQueue {
	n.mu.Lock()
	defer n.mu.Unlock()
	q, ok := n.requests[h]
	if !ok {
		q = &requestQueue{come: make(chan scoreRequest)}
		n.requests[h] = q
	}
	return q
}

// ScoreRow asks a serving prediction for one row's score and waits for it; it returns the row as a
// scores file has it. An empty id ends the prediction. When the job ends before, the error says how.
func (n *Node) ScoreRow(ctx context.Context, h keys.Hash, id string) ([]string, error) {
	answer, final := make(chan scoreAnswer, 1), make(<-chan struct{})
	s, ok := n.job(h)
	if ok { // else it has yet to be proposed here
		final = s.final
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.ctx.Done():
		return nil, fmt.Errorf("the node stops")
	case <-final:
		return nil, s.endedBefore(id)
	case n.requestsOf(h).come <- scoreRequest{id: id, answer: answer}:
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.ctx.Done():
		return nil, fmt.Errorf("the node stops")
	case a := <-answer:
		return a.row, a.err
	case <-final:
	}
	select {
	case a := <-answer: // it came first
		return a.row, a.err
	default:
		return nil, s.endedBefore(id)
	}
}

// endedBefore says that a job ended before a row was scored; that it ends is no error.
func (s *jobState) endedBefore(id string) error {
	if err := s.endedError(); err != nil || id == "" {
		return err
	}
	return fmt.Errorf("job %q was done before it came to row %q", s.contract.Job.Name, id)
}
