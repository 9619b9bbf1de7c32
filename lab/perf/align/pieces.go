package align

import (
	"crypto/sha512"
	"fmt"

	"golang.org/x/crypto/chacha20"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/psi/okvs"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// Piece is one step of an intersection by itself, on one worker.
type Piece struct {
	Name    string  `json:"piece"`
	IDs     int     `json:"ids"`
	CPU     float64 `json:"cpu_seconds"`
	PerCore float64 `json:"ids_per_second_core"`
}

// pieces measures steps on n ids, each on what the one before has made.
func pieces(n int) ([]Piece, error) {
	var list []psi.ID
	wide, points := make([][sha512.Size]byte, n), make([]byte, n*point.Size)
	seed := keys.HashOf("hanselab align seed")
	values, store := make([][16]byte, n), []byte(nil)
	fill, err := chacha20.NewUnauthenticatedCipher(seed[:], make([]byte, chacha20.NonceSize))
	if err != nil {
		return nil, err
	}
	var done []Piece
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"ids of cells", func() (err error) { list, err = people(0, n); return err }},
		{"psi.Commit", func() error { psi.Commit(seed, [][]psi.ID{list}, 1); return nil }},
		{"SHA-512 of elements", func() error {
			for i := range list {
				wide[i] = sha512.Sum512(list[i][:])
			}
			return nil
		}},
		{"point.Hash", func() error { return point.Hash(points, wide, 1) }},
		{"Scalar.Mul", func() error { return point.NewScalar(seed).Mul(points, points, 1) }},
		{"point.Check", func() error { return point.Check(points) }},
		{"okvs.Encode", func() (err error) { store, err = okvs.Encode(seed, list, values, stream{fill}); return err }},
		{"Table.Get", func() error {
			t, err := okvs.Open(seed, store)
			if err != nil {
				return err
			}
			for i := range list {
				if t.Get(list[i]) != values[i] {
					return fmt.Errorf("the store gives another value than was put in, of id %d", i)
				}
			}
			return nil
		}},
	} {
		clock := newStopwatch()
		if err := step.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		_, cpu := clock.read()
		done = append(done, Piece{step.name, n, cpu, float64(n) / cpu})
	}
	return done, nil
}

// stream reads a stream of random bytes.
type stream struct{ *chacha20.Cipher }

// Read implements io.Reader.
func (s stream) Read(p []byte) (int, error) {
	clear(p)
	s.XORKeyStream(p, p)
	return len(p), nil
}
