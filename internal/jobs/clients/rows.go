package clients

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Where a client keeps its predictions as they are made: a log with a checksum for each, and a copy for people, which
// is made anew when it says something else.
const (
	predictionsLog  = "predictions"
	predictionsFile = "predictions.csv"
)

// predictionsHead is the first line of that file, predictionsLine what each of the others says.
const (
	predictionsHead = "row,prediction\n"
	predictionsLine = "%d,%g\n"
)

// predictionSize is the length of a record of that log: a row's number and what was predicted for it.
const predictionSize = 8 + 8

// rowStream is a client's stream together with its predictions. It implements federated.Rows.
type rowStream struct {
	tables *jobs.Tables
	over   <-chan struct{} // closed when the job is done
	stream *stream.Stream
	row    *stream.Row
	vault  *vault.Vault
	file   *os.File
	ready  bool // the predictions end before the next row's
}

// openRows opens a job's stream at this client, and its predictions. Rows of standard input, which do not
// come again, are numbered on from the last prediction.
func (j *Jobs) openRows(s *session, label string, columns []string) (*rowStream, error) {
	in, err := j.Tables.OpenStream(s.Contract().Job.Table, label, columns)
	if err != nil {
		return nil, err
	}
	r := &rowStream{tables: j.Tables, over: s.Over, stream: in, vault: s.Vault}
	last, err := r.cut(math.MaxInt)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	in.NumberFrom(last)
	return r, nil
}

// cut drops the predictions of later rows than the first n, which will be made again, and makes the copy say the same.
// It returns the last row that is left.
func (r *rowStream) cut(n int) (last int, err error) {
	var text bytes.Buffer
	text.WriteString(predictionsHead)
	keep := 0
	if _, err := r.vault.Records(predictionsLog, -1, func(record []byte) error {
		if len(record) != predictionSize {
			return fmt.Errorf("a prediction's record has %d bytes, want %d", len(record), predictionSize)
		}
		if row := int(binary.BigEndian.Uint64(record)); row <= n {
			keep, last = keep+1, row
			fmt.Fprintf(&text, predictionsLine, row, math.Float64frombits(binary.BigEndian.Uint64(record[8:])))
		}
		return nil
	}); err != nil {
		return 0, err
	}
	if _, err := r.vault.Records(predictionsLog, keep, func([]byte) error { return nil }); err != nil {
		return 0, err
	}
	path := r.vault.Path(predictionsFile) // the copy is left open at its end
	if r.file != nil {
		err = r.file.Close()
	}
	if there, e := os.ReadFile(path); err == nil && (e != nil || !bytes.Equal(there, text.Bytes())) {
		err = durable.WriteFile(path, text.Bytes())
	}
	if err != nil {
		return 0, err
	}
	r.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	return last, err
}

// Inputs implements federated.Rows. A live stream ends with its job.
func (r *rowStream) Inputs(ctx context.Context) (int, []float64, error) {
	var err error
	if r.row, err = r.stream.NextUntil(ctx, r.over); err != nil {
		return 0, nil, faults.OrElse(fault.CodeTable, err)
	}
	return r.row.Number, r.row.Inputs, nil
}

// Columns implements federated.Stream.
func (r *rowStream) Columns() []string { return r.stream.Columns() }

// Ahead implements federated.Stream.
func (r *rowStream) Ahead(ctx context.Context, n int) ([][]float64, error) {
	rows, err := r.stream.Ahead(ctx, n)
	return rows, faults.OrElse(fault.CodeTable, err)
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
	record := binary.BigEndian.AppendUint64(make([]byte, 0, predictionSize), uint64(row))
	record = binary.BigEndian.AppendUint64(record, math.Float64bits(prediction))
	if err := r.vault.Append(predictionsLog, record); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.file, predictionsLine, row, prediction)
	return err
}

// close ends both.
func (r *rowStream) close() error {
	err := r.tables.CloseStream(r.stream)
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return err
}
