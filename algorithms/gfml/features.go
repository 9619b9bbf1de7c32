package gfml

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// maxInput bounds an input: beyond it an angle is noise.
const maxInput = 1 << 30

// Features maps rows to random Fourier features of the Gaussian kernel. It never changes.
type Features struct {
	names  []string
	omega  [][]float64 // [column][feature], in radians per unit
	phases []float64   // in radians
}

// Features draws the job's frequencies and phases, the same for all parties.
func (p *Plan) Features() *Features {
	d := p.params.Features
	f := &Features{names: p.params.Columns, phases: phases(p.seed, d)}
	k := kernel.Kernel{Kind: kernel.Gaussian, Sigma: p.params.Sigma}
	for _, name := range f.names {
		w := make([]float64, d)
		k.Draw(p.seed, keys.ID{}, name, 0, d, w)
		floats.Scale(2*math.Pi, w)
		f.omega = append(f.omega, w)
	}
	return f
}

// Angles returns what the angle of every feature is made of, [features][columns], and its phase, in turns. All parties
// know them.
func (f *Features) Angles() (frequencies [][]float64, phase []float64) {
	for i, b := range f.phases {
		var list []float64
		for c := range f.omega {
			list = append(list, f.omega[c][i]/(2*math.Pi))
		}
		frequencies, phase = append(frequencies, list), append(phase, b/(2*math.Pi))
	}
	return frequencies, phase
}

// Map writes z(x) = sqrt(2/D) cos(Omega x + b) to z, of D numbers. An x of the wrong length, or with
// an input that is not finite or absurdly large, is an error, and z is then undefined.
func (f *Features) Map(z, x []float64) error {
	if len(x) != len(f.omega) || len(z) != len(f.phases) {
		return fmt.Errorf("row of %d inputs to %d features, want %d and %d", len(x), len(z), len(f.omega), len(f.phases))
	}
	copy(z, f.phases)
	for c, v := range x {
		if !(math.Abs(v) <= maxInput) {
			return fmt.Errorf("input %q is %v, want a finite number of magnitude at most %d", f.names[c], v, maxInput)
		}
		floats.AddScaled(z, v, f.omega[c])
	}
	scale := math.Sqrt(2 / float64(len(z)))
	for i, angle := range z {
		z[i] = scale * math.Cos(angle)
	}
	return nil
}

// phases returns n public phases, uniform in [0, 2 pi).
func phases(seed kernel.Seed, n int) []float64 {
	b := make([]float64, n)
	s := newStream("hanse gfml phase v1", seed[:])
	for i := range b {
		b[i] = 2 * math.Pi * (float64(s.word()>>11) / (1 << 53))
	}
	return b
}

// stream is a stream of public random words: AES-256-CTR under a digest of what it is for.
type stream struct {
	cipher cipher.Stream
	buffer [64]byte
	left   int // bytes of buffer not yet used
}

// newStream starts the stream of a domain and its parts.
func newStream(domain string, parts ...[]byte) *stream {
	key := keys.HashOf(domain, parts...)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("aes refuses a 32-byte key: " + err.Error())
	}
	return &stream{cipher: cipher.NewCTR(block, make([]byte, aes.BlockSize))}
}

// word returns the next 64 bits.
func (s *stream) word() uint64 {
	if s.left == 0 {
		clear(s.buffer[:])
		s.cipher.XORKeyStream(s.buffer[:], s.buffer[:])
		s.left = len(s.buffer)
	}
	at := len(s.buffer) - s.left
	s.left -= 8
	return binary.LittleEndian.Uint64(s.buffer[at:])
}

// below returns a uniform number in [0, n), n positive: words above the last multiple of n do not
// count.
func (s *stream) below(n int) int {
	m := uint64(n)
	top := math.MaxUint64 - math.MaxUint64%m
	for {
		if w := s.word(); w < top {
			return int(w % m)
		}
	}
}
