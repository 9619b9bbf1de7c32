package node

import (
	"context"
	"encoding/binary"
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

// serve answers single rows until the receiver ends it or the agreed number is reached. Between
// requests the other parties wait in a broadcast; heartbeats tell them that the receiver lives.
func (p *prediction) serve(ctx context.Context, r *run, table *dataset.Table, scorer scorer) (*Report, error) {
	served := 0
	for ; served < p.job.Requests; served++ {
		request, err := p.next(ctx, table)
		if err != nil {
			return nil, err
		}
		row, err := p.announce(ctx, r, table, request)
		if err != nil {
			return nil, err
		}
		if row == endOfRequests {
			break
		}
		f, err := p.scoreOne(ctx, scorer, table, int(row))
		if err != nil {
			return nil, err
		}
		if request != nil {
			request.answer <- scoreAnswer{row: scoreRow(table.IDs[row], f[0], p.model)}
		}
	}
	return r.report(served), nil
}

// next returns the owner's next request at the receiver, nil at the other parties. A row that is
// not in the table is answered here and never reaches the session.
func (p *prediction) next(ctx context.Context, table *dataset.Table) (*scoreRequest, error) {
	if p.job.OpenTo != p.node.name() {
		return nil, nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case request := <-p.node.requestsOf(p.contract):
			if request.id != "" && !slices.Contains(table.IDs, request.id) {
				request.answer <- scoreAnswer{err: fmt.Errorf("%s: there is no row with id %q", table.Path, request.id)}
				continue
			}
			return &request, nil
		}
	}
}

// announce tells all parties which row is next, and returns its number.
func (p *prediction) announce(ctx context.Context, r *run, table *dataset.Table, request *scoreRequest) (uint32, error) {
	var data []byte
	if request != nil {
		row := endOfRequests
		if request.id != "" {
			row = uint32(slices.Index(table.IDs, request.id))
		} else {
			request.answer <- scoreAnswer{}
		}
		data = binary.BigEndian.AppendUint32(nil, row)
	}
	receiver := p.job.Index(p.job.OpenTo)
	data, err := r.session.Broadcast(ctx, kindRequest, protocol.ClassOpening, receiver, data, 4)
	if err != nil {
		return 0, err
	}
	if len(data) != 4 {
		return 0, fmt.Errorf("%s sent a request of %d bytes", p.job.OpenTo, len(data))
	}
	row := binary.BigEndian.Uint32(data)
	if n := rows(r.state.contract); row != endOfRequests && int(row) >= n {
		return 0, fmt.Errorf("%s asks for row %d of %d", p.job.OpenTo, row, n)
	}
	return row, nil
}

// scoreOne scores one row.
func (p *prediction) scoreOne(ctx context.Context, scorer scorer, table *dataset.Table, row int) ([]float64, error) {
	if table == nil {
		return scorer.score(ctx, 1, nil)
	}
	return scorer.score(ctx, 1, table.Select([]int{row}))
}

// requestsOf returns the channel on which a job's requests come.
func (n *Node) requestsOf(h keys.Hash) chan scoreRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, ok := n.requests[h]
	if !ok {
		c = make(chan scoreRequest)
		n.requests[h] = c
	}
	return c
}

// ScoreRow asks a serving prediction for one row's score and waits for it; it returns the row as a
// scores file has it. An empty id ends the prediction.
func (n *Node) ScoreRow(ctx context.Context, h keys.Hash, id string) ([]string, error) {
	answer := make(chan scoreAnswer, 1)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.ctx.Done():
		return nil, fmt.Errorf("the node stops")
	case n.requestsOf(h) <- scoreRequest{id: id, answer: answer}:
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.ctx.Done():
		return nil, fmt.Errorf("the node stops")
	case a := <-answer:
		return a.row, a.err
	}
}
