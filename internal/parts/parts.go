// Package parts keeps the prepared rows of a job's shards in Parquet files, one for each shard, which a node writes and
// its workers read.
//
// A part has the rows of a kernel.Matrix in flat columns, none of them packed, in order:
//
//	d000, d001, …   DOUBLE, one for each dense column, if there are up to 256
//	dense           fixed bytes instead, if there are more: the row's dense values, 8 bytes each
//	set             bytes: the row's places in the list of binary columns, 2 bytes each
//	strays          bytes: the row's stray cells, a place in 2 bytes and a value in 8
//
// Numbers are little-endian. The names of the columns and the number of the first row stand as JSON in the file's
// metadata under the key hanse.part.
package parts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/keys"
)

const (
	headKey    = "hanse.part" // of the metadata that a head stands under
	headBytes  = 8 << 20      // of a head, at most
	version    = 1
	separate   = 256       // dense columns that are columns of the file, at most
	strayBytes = 10        // of a stray cell
	mostParts  = 100_000   // of a contract: their names have five digits
	groupBytes = 4 << 20   // of a row group, about
	pageBytes  = 128 << 10 // of a page, about
	mostGroups = 128       // of a file: longer files have larger ones
)

// Limits bound what Read takes.
type Limits struct {
	Rows  int   // of a part
	Bytes int64 // of its file, which are about as many in memory
}

// StandardLimits fit what one machine can train on.
func StandardLimits() Limits { return Limits{Rows: 1 << 24, Bytes: 16 << 30} }

// head is what a file says of its rows.
type head struct {
	Version int      `json:"version"`
	First   int      `json:"first"` // the number of the first row among the party's
	Dense   []string `json:"dense"`
	Binary  []string `json:"binary"`
}

// text is the head as it stands in a file.
func (h head) text() (string, error) {
	for _, names := range [][]string{h.Dense, h.Binary} {
		for _, name := range names {
			if !utf8.ValidString(name) {
				return "", fmt.Errorf("column %.40q: the name is no text", name)
			}
		}
	}
	text, err := json.Marshal(h)
	if err == nil && len(text) > headBytes {
		err = fmt.Errorf("the names of the columns take %d bytes; the limit is %d", len(text), headBytes)
	}
	return string(text), err
}

// parse reads the head that stands in a file.
func parse(text string) (h head, err error) {
	if len(text) > headBytes {
		return h, fmt.Errorf("its head has %d bytes; the limit is %d", len(text), headBytes)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	switch err = d.Decode(&h); {
	case err != nil:
		return h, fmt.Errorf("its head is damaged: %w", err)
	case h.Version != version:
		return h, fmt.Errorf("it is of version %d; this program reads version %d", h.Version, version)
	case h.First < 0 || h.First > kernel.MaxRows:
		return h, fmt.Errorf("its first row is number %d; want 0 to %d", h.First, kernel.MaxRows)
	case len(h.Dense) > kernel.MaxColumns || len(h.Binary) > kernel.MaxColumns:
		return h, fmt.Errorf("it has %d dense and %d binary columns; at most %d of each fit", len(h.Dense), len(h.Binary),
			kernel.MaxColumns)
	}
	return h, nil
}

// schemaOf returns the columns of a file: those of dense values, the places, the stray cells. They are in the order of
// their names.
func schemaOf(dense int) *parquet.Schema {
	plain := func(t parquet.Type) parquet.Node { return parquet.Encoded(parquet.Leaf(t), &parquet.Plain) }
	g := parquet.Group{"set": plain(parquet.ByteArrayType), "strays": plain(parquet.ByteArrayType)}
	if dense > separate {
		g["dense"] = plain(parquet.FixedLenByteArrayType(8 * dense))
	} else {
		for c := range dense {
			g[fmt.Sprintf("d%03d", c)] = plain(parquet.DoubleType)
		}
	}
	return parquet.NewSchema("hanse", g)
}

// Path is where a part of a contract stands in the folder of a party's parts.
func Path(folder string, contract keys.Hash, index int) string {
	return filepath.Join(folder, contract.String(), fmt.Sprintf("part-%05d.parquet", index))
}

// Remove removes the parts of a contract, if there are any.
func Remove(folder string, contract keys.Hash) error {
	dir := filepath.Join(folder, contract.String())
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(os.RemoveAll(dir), durable.SyncDir(folder))
}

// Cut writes the parts of a contract, part i with the rows [shards[i][0], shards[i][1]) of a valid matrix, and returns
// their digests. It leaves a part alone that is there with these rows. So many workers write at the same time. No other
// process may write the contract's parts at that time.
func Cut(folder string, contract keys.Hash, m *kernel.Matrix, shards [][2]int, workers int) ([]keys.Hash, error) {
	if len(shards) > mostParts {
		return nil, fmt.Errorf("%d parts are too many; the limit is %d", len(shards), mostParts)
	}
	dir := filepath.Join(folder, contract.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := durable.Sweep(dir); err != nil {
		return nil, err
	}
	digests := make([]keys.Hash, len(shards))
	err := parallel.Each(workers, len(shards), func(_, i int) error {
		path, lo, hi := Path(folder, contract, i), shards[i][0], shards[i][1]
		rows, err := rowsOf(m, lo, hi)
		if err != nil {
			return err
		}
		digests[i] = digestOf(rows)
		// A file that cannot be read is one to write anew.
		if first, there, err := check(path); err == nil && first == lo && there == digests[i] {
			return nil
		}
		return save(path, rows, lo)
	})
	return digests, err
}

// rowsOf returns the rows [lo, hi) of a matrix as one of their own, which shares memory with it.
func rowsOf(m *kernel.Matrix, lo, hi int) (*kernel.Matrix, error) {
	d := len(m.Dense)
	if lo < 0 || lo > hi || hi > m.Rows || len(m.Starts) != m.Rows+1 || len(m.Values) != m.Rows*d ||
		m.Starts[lo] > m.Starts[hi] || int64(m.Starts[hi]) > int64(len(m.Set)) {
		return nil, fmt.Errorf("the matrix, of %d rows, has no rows %d to %d", m.Rows, lo, hi)
	}
	rows := &kernel.Matrix{Rows: hi - lo, Dense: m.Dense, Binary: m.Binary, Values: m.Values[lo*d : hi*d],
		Starts: make([]uint32, 0, hi-lo+1), Set: m.Set[m.Starts[lo]:m.Starts[hi]]}
	for _, at := range m.Starts[lo : hi+1] {
		rows.Starts = append(rows.Starts, at-m.Starts[lo])
	}
	for _, s := range m.Strays {
		if int(s.Row) >= lo && int(s.Row) < hi {
			s.Row -= uint32(lo)
			rows.Strays = append(rows.Strays, s)
		}
	}
	return rows, rows.Validate()
}

// errDamaged says that a file is no part, or no longer.
var errDamaged = errors.New("it is damaged")
