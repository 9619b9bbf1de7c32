package pofmkl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/keys"
)

// Limits on the inputs, checked before anything is allocated.
const (
	maxColumns     = 1 << 12
	maxFrequencies = 1 << 26 // padded; 512 MiB
)

// lane is what columns are padded to: gonum's matrix-vector kernel works on four at a time.
const lane = 4

// Dictionary is the kernels of a job with their random features. All parties make the same one,
// bit for bit, from public numbers. It never changes and may be shared.
//
// Kernel i's features are sin and cos of D frequencies rho ~ N(0, I/sigma_i), over sqrt(D).
type Dictionary struct {
	params      Params
	columns     []string
	width       int       // columns, padded
	frequencies []float64 // [ND][width], in units of 1/arcs of a turn
	circle      *circle
	fingerprint keys.Hash
}

// NewDictionary draws the frequencies for the named input columns, in the order that rows have. p
// has its defaults filled in.
func NewDictionary(p Params, columns []string) (*Dictionary, error) {
	if err := p.ValidateNumbers(); err != nil {
		return nil, err
	}
	if err := checkColumns(columns); err != nil {
		return nil, err
	}
	count, width := p.Kernels()*p.Features, (len(columns)+lane-1)&^(lane-1)
	if count*width > maxFrequencies {
		return nil, fmt.Errorf("%d columns with %d random features are too many: at most %d frequencies fit", len(columns),
			count, maxFrequencies)
	}
	p.Bandwidths = slices.Clone(p.Bandwidths)
	d := &Dictionary{params: p, columns: slices.Clone(columns), width: width,
		circle: newCircle(1 / math.Sqrt(float64(p.Features)))}
	d.frequencies = make([]float64, count*width)
	// Fills in the frequencies. Feature j of kernel i is number iD + j of the job's stream, so that kernels are
	// independent of one another.
	owner, seed, n := keys.ID(keys.HashOf("hanse pofmkl features v1")), d.params.PublicSeed(), d.params.Features
	turns := make([]float64, n)
	for i, b := range d.params.Bandwidths {
		for c, name := range d.columns {
			gaussian(b).Draw(seed, owner, name, i*n, n, turns)
			for j, v := range turns {
				d.frequencies[(i*n+j)*d.width+c] = v * arcs
			}
		}
	}
	var err error
	d.fingerprint, err = fingerprint(p, columns)
	return d, err
}

// checkColumns refuses names that do not tell columns apart.
func checkColumns(columns []string) error {
	if len(columns) < 1 || len(columns) > maxColumns {
		return fmt.Errorf("there are %d input columns, want 1 to %d", len(columns), maxColumns)
	}
	seen := make(map[string]bool, len(columns))
	for i, c := range columns {
		if c == "" {
			return fmt.Errorf("input column %d has no name", i+1)
		}
		if seen[c] {
			return fmt.Errorf("input column %q occurs twice", c)
		}
		seen[c] = true
	}
	return nil
}

// fingerprint digests what a saved state must agree with: parameters and columns.
func fingerprint(p Params, columns []string) (keys.Hash, error) {
	var text bytes.Buffer
	p.WeightsFrom = ""
	if err := toml.NewEncoder(&text).Encode(p); err != nil {
		return keys.Hash{}, err
	}
	parts := [][]byte{text.Bytes(), binary.BigEndian.AppendUint32(nil, uint32(len(columns)))}
	for _, c := range columns {
		parts = append(parts, []byte(c))
	}
	return keys.HashOf("hanse pofmkl dictionary v1", parts...), nil
}

// Params returns the parameters that the dictionary was made of.
func (d *Dictionary) Params() Params { return d.params }

// Columns returns the names of the input columns, in the order that rows have.
func (d *Dictionary) Columns() []string { return slices.Clone(d.columns) }

// Frequencies returns the frequencies of kernel i, [features][columns], in turns a unit of an input that is divided by
// InputNorm. All parties know them.
func (d *Dictionary) Frequencies(i int) [][]float64 {
	var list [][]float64
	for j := range d.params.Features {
		var f []float64
		for c := range d.columns {
			f = append(f, d.frequencies[(i*d.params.Features+j)*d.width+c]/arcs)
		}
		list = append(list, f)
	}
	return list
}
