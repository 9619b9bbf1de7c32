package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/protocol"
)

// predictionsFile is where a client writes its predictions as they are made.
const predictionsFile = "predictions.csv"

// predictionsHead is the first line of that file.
const predictionsHead = "row,prediction\n"

// rowStream is a client's stream together with the file of its predictions. It implements federated.Rows.
type rowStream struct {
	node   *Node
	over   <-chan struct{} // closed when the job is done
	stream *stream.Stream
	row    *stream.Row
	file   *os.File
	ready  bool // the predictions end before the next row's
}

// openRows opens a job's stream at this client, and its predictions. Rows of standard input, which do not
// come again, are numbered on from the last prediction.
func (n *Node) openRows(s *jobState, job *protocol.Job, label string, columns []string) (*rowStream, error) {
	in, err := n.openStream(job, label, columns)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.vault.Path(predictionsFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Join(err, n.closeStream(in))
	}
	r := &rowStream{node: n, over: s.over, stream: in, file: f}
	last, err := r.cut(math.MaxInt)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	in.NumberFrom(last)
	return r, nil
}

// cut drops the predictions of later rows than the first n, which will be made again, and half a line at
// the end. It returns the last row that is left.
func (r *rowStream) cut(n int) (last int, err error) {
	if _, err := r.file.Seek(0, 0); err != nil {
		return 0, err
	}
	keep, lines := int64(0), bufio.NewReader(r.file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end, or half a line
			break
		}
		number, _, _ := bytes.Cut(line, []byte(","))
		row, err := strconv.Atoi(string(number))
		if keep > 0 && (err != nil || row > n) {
			break
		}
		last = max(last, row)
		keep += int64(len(line))
	}
	if err := r.file.Truncate(keep); err != nil {
		return 0, err
	}
	if _, err := r.file.Seek(keep, 0); err != nil || keep > 0 {
		return last, err
	}
	_, err = r.file.WriteString(predictionsHead)
	return 0, err
}

// Inputs implements federated.Rows. A live stream ends with its job.
func (r *rowStream) Inputs(ctx context.Context) (int, []float64, error) {
	var err error
	if r.row, err = r.stream.NextUntil(ctx, r.over); err != nil {
		return 0, nil, err
	}
	return r.row.Number, r.row.Inputs, nil
}

// Label implements federated.Rows.
func (r *rowStream) Label(context.Context) (float64, error) {
	if r.row == nil {
		return 0, errors.New("a label is asked for before its row")
	}
	return r.row.Label, nil
}

// Predicted implements federated.Rows.
func (r *rowStream) Predicted(row int, prediction float64) error {
	if !r.ready {
		if _, err := r.cut(row - 1); err != nil {
			return err
		}
		r.ready = true
	}
	_, err := fmt.Fprintf(r.file, "%d,%g\n", row, prediction)
	return err
}

// close ends both.
func (r *rowStream) close() error { return errors.Join(r.node.closeStream(r.stream), r.file.Close()) }
