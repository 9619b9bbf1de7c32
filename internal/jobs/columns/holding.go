package columns

import (
	"encoding/binary"
	"math"
	"slices"

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
	rows := make([][2]uint64, t.Rows())
	for i, id := range t.IDs {
		rows[i][0] = ledger.RowOf(key, id)
		switch {
		case column.Kind != dataset.Categorical:
			rows[i][1] = math.Float64bits(column.Values[i])
		case column.Codes[i] >= 0:
			h := keys.HashOf("hanse label v1", []byte(column.Levels[column.Codes[i]]))
			rows[i][1] = binary.BigEndian.Uint64(h[:])
		}
	}
	slices.SortFunc(rows, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	var b []byte
	for _, row := range rows {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, row[0]), row[1])
	}
	return keys.HashOf("hanse labels v1", key[:], []byte(label), b).String(), nil
}
