package columns

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/keys"
)

// Holding implements jobs.Holder.
func (t *task) Holding() (ledger.Holding, error) {
	if h, ok := t.part.(interface {
		Holding() (ledger.Holding, error)
	}); ok {
		return h.Holding()
	}
	return ledger.Holding{}, nil
}

// Holding returns the rows of the training at this node, nothing where it brings none. A label is a column that scores
// tell of, too.
func (t *training) Holding() (ledger.Holding, error) {
	if t.idle() {
		return ledger.Holding{}, nil
	}
	table, err := t.load()
	if err != nil {
		return ledger.Holding{}, err
	}
	return t.member.holdingOf(table, table.Names()), nil
}

// Holding returns the rows of the prediction at this node, nothing where it brings none.
func (p *prediction) Holding() (ledger.Holding, error) {
	if p.idle() {
		return ledger.Holding{}, nil
	}
	table, err := p.load()
	if err != nil {
		return ledger.Holding{}, err
	}
	return p.member.holdingOf(table, p.model.Columns), nil
}

// holdingOf is what a table's rows hold in the named columns.
func (j *Jobs) holdingOf(t *dataset.Table, names []string) ledger.Holding {
	return ledger.Holding{Rows: ledger.RowsOf(j.RowKey(), t.IDs), Entropy: t.Entropy(names)}
}

// rowSetOf commits this node to a set of rows.
func (j *Jobs) rowSetOf(ids []string) string {
	key, set := j.RowKey(), ledger.RowsOf(j.RowKey(), ids).Digest()
	return keys.HashOf("hanse row set v1", key[:], set[:]).String()
}

// labelsOf commits this node to the labels of a table's rows, in whatever order the rows are.
func (j *Jobs) labelsOf(t *dataset.Table, label string) (string, error) {
	column, err := t.Column(label)
	if err != nil {
		return "", err
	}
	key := j.RowKey()
	rows := make([]string, t.Rows()) // 16 bytes each
	for i, id := range t.IDs {
		var row [16]byte
		binary.BigEndian.PutUint64(row[:8], ledger.RowOf(key, id))
		switch {
		case column.Kind != dataset.Categorical:
			binary.BigEndian.PutUint64(row[8:], math.Float64bits(column.Values[i]))
		case column.Codes[i] >= 0:
			h := keys.HashOf("hanse label v1", []byte(column.Levels[column.Codes[i]]))
			copy(row[8:], h[:8])
		}
		rows[i] = string(row[:])
	}
	slices.Sort(rows)
	return keys.HashOf("hanse labels v1", key[:], []byte(label), []byte(strings.Join(rows, ""))).String(), nil
}
