package kernel

import (
	"fmt"
	"slices"
	"sort"

	"github.com/hanse-project/hanse/internal/parallel"

	"github.com/hanse-project/hanse/keys"
)

// MaxFeatures bounds the features of a Map, and the number of the first one.
const MaxFeatures = 1 << 24

// maxWeights bounds the frequencies a Map keeps: 2 GiB if all columns are dense.
const maxWeights = 1 << 28

// mapRows is the number of rows one worker takes at a time.
const mapRows = 64

// Map sends a party's normalised rows to its part of the angles: for feature i,
// omega_i^T x / (2 pi) in turns, modulo one, as a 16-bit word.
//
// For a row with n set (or stray) binary cells the word is within (n/2 + 1) units of 2^-16 turn
// of the exact value: binary cells add frequencies that are rounded one by one, dense cells are
// summed in float64 and rounded once. (The float64 sums are exact to 2^-53 times the sum of
// |omega_c x_c|, which only absurd data bring near a unit.) A row's angles depend on nothing but
// the row: not on the block it is in, nor on the number of workers.
type Map struct {
	kernel Kernel
	seed   Seed
	party  keys.ID
	first  int
	count  int
	names  [2][]string // dense, binary
	dense  denseMap
	binary binaryMap
}

// NewMap draws the frequencies of count features from first on, for the design columns of a
// Matrix. It takes about 8 bytes of memory for each feature and dense column, and 3 for each
// feature and binary column.
func NewMap(k Kernel, seed Seed, party keys.ID, dense, binary []string, first, count int) (*Map, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	if first < 0 || first > MaxFeatures || count < 1 || count > MaxFeatures {
		return nil, fmt.Errorf("features %d to %d are out of range: want a count of at least 1 and numbers up to %d", first,
			first+count, MaxFeatures)
	}
	if len(dense) > MaxColumns || len(binary) > MaxColumns || (len(dense)+len(binary))*count > maxWeights {
		return nil, fmt.Errorf("%d dense and %d binary columns with %d features are too many: at most %d columns of each "+
			"kind fit, and %d frequencies", len(dense), len(binary), count, MaxColumns, maxWeights)
	}
	if err := validateNames(dense, binary); err != nil {
		return nil, err
	}
	m := &Map{kernel: k, seed: seed, party: party, first: first, count: count}
	m.names = [2][]string{slices.Clone(dense), slices.Clone(binary)}
	m.draw()
	return m, nil
}

// draw fills the tables of frequencies.
func (m *Map) draw() {
	stretch := m.kernel.stretches(m.seed, m.first, m.count)
	column := make([]float64, m.count)
	draw := func(name string) []float64 {
		m.kernel.draw(columnStream(m.seed, m.party, name), m.first, stretch, column)
		return column
	}
	m.dense = newDenseMap(m.count, len(m.names[0]))
	for c, name := range m.names[0] {
		turns := draw(name)
		for i, v := range turns {
			m.dense.w[i*m.dense.width+c] = v * circle
		}
	}
	count := m.count
	columns := len(m.names[1])
	tiles := (count + packAngles - 1) / packAngles
	m.binary = binaryMap{count, columns, make([]pack, tiles*columns), make([]pack, tiles)}
	for c, name := range m.names[1] {
		m.binary.setColumn(c, draw(name))
	}
}

// Features returns the number of features.
func (m *Map) Features() int { return m.count }

// Turns writes the angles of rows lo to hi-1 of x to out, row-major [hi-lo][Features], each
// plus the feature's phase. No phases (nil) means zero. x must have the map's columns; it is not
// validated again. At most workers goroutines run at once.
func (m *Map) Turns(x *Matrix, lo, hi int, phases, out []uint16, workers int) error {
	switch {
	case !slices.Equal(x.Dense, m.names[0]) || !slices.Equal(x.Binary, m.names[1]):
		return fmt.Errorf("the matrix has other columns than the feature map")
	case lo < 0 || lo > hi || hi > x.Rows:
		return fmt.Errorf("rows %d to %d are out of range: the matrix has %d", lo, hi, x.Rows)
	case phases != nil && len(phases) != m.count:
		return fmt.Errorf("there are %d phases for %d features", len(phases), m.count)
	case len(out) != (hi-lo)*m.count:
		return fmt.Errorf("the buffer holds %d angles: want %d rows of %d", len(out), hi-lo, m.count)
	}
	if phases == nil {
		phases = make([]uint16, m.count)
	}
	blocks := (hi - lo + mapRows - 1) / mapRows
	parallel.All(workers, blocks, func(b int) {
		from := lo + b*mapRows
		to := min(from+mapRows, hi)
		m.block(x, from, to, phases, out[(from-lo)*m.count:(to-lo)*m.count])
	})
	return nil
}

// block computes the rows lo to hi-1 on one goroutine.
func (m *Map) block(x *Matrix, lo, hi int, phases, out []uint16) {
	m.binary.write(x, lo, hi, phases, out)
	m.dense.add(x, lo, hi, out)
	m.addStrays(x, lo, hi, out)
}

// addStrays adds the stray cells of binary columns. Their frequencies are drawn again: there
// are few of them.
func (m *Map) addStrays(x *Matrix, lo, hi int, out []uint16) {
	from := sort.Search(len(x.Strays), func(i int) bool { return int(x.Strays[i].Row) >= lo })
	var w []float64
	for _, s := range x.Strays[from:] {
		if int(s.Row) >= hi {
			return
		}
		if w == nil {
			w = make([]float64, m.count)
		}
		m.kernel.Draw(m.seed, m.party, x.Binary[s.Binary], m.first, m.count, w)
		row := out[(int(s.Row)-lo)*m.count:][:m.count]
		for i, v := range w {
			row[i] += quantise(v * s.Value * circle)
		}
	}
}
