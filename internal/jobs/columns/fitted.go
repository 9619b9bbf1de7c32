package columns

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// Beside a model part lies, at every party with data, which rows it was fitted to, and beside a decision which rows
// that was. Figures of these very rows flatter, and say so, whatever the table is called and whenever they are made.
const (
	TrainedRowsFile  = "trained-rows"
	DecisionRowsFile = "decision-rows"
)

// fittedRows is a set of rows: sorted, of each the first eight bytes of a hash of its id. Of two different rows one in
// 2^64 is taken for the other.
type fittedRows []uint64

// fittedRow is a row as fittedRows has it.
func fittedRow(id string) uint64 {
	h := keys.HashOf("hanse fitted row v1", []byte(id))
	return binary.LittleEndian.Uint64(h[:])
}

// saveFitted keeps which rows something was fitted to.
func saveFitted(v *vault.Vault, file string, ids []string) error {
	rows := make(fittedRows, len(ids))
	for i, id := range ids {
		rows[i] = fittedRow(id)
	}
	slices.Sort(rows)
	data := make([]byte, 0, 8*len(rows))
	for _, row := range rows {
		data = binary.LittleEndian.AppendUint64(data, row)
	}
	return v.Save(file, data)
}

// loadFitted reads what saveFitted kept, nil where there is none.
func loadFitted(v *vault.Vault, file string) (fittedRows, error) {
	data, err := v.Load(file)
	if err != nil || data == nil {
		return nil, err
	}
	if len(data)%8 != 0 {
		return nil, fmt.Errorf("%s has %d bytes, want 8 for each row", v.Path(file), len(data))
	}
	rows := make(fittedRows, 0, len(data)/8)
	for ; len(data) > 0; data = data[8:] {
		rows = append(rows, binary.LittleEndian.Uint64(data))
	}
	return rows, nil
}

// among returns how many of some rows are in the set.
func (f fittedRows) among(ids []string) int {
	n := 0
	for _, id := range ids {
		if _, ok := slices.BinarySearch(f, fittedRow(id)); ok {
			n++
		}
	}
	return n
}

// theseRows says how many of all rows are meant.
func theseRows(n, all int) string {
	if n == all {
		return "these very rows"
	}
	return fmt.Sprintf("%d of these %d rows", n, all)
}
