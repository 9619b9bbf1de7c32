package forecast

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/psi"
	"github.com/hanse-project/hanse/secagg/psi/okvs"
	"github.com/hanse-project/hanse/secagg/psi/point"
	"github.com/hanse-project/hanse/secagg/ring"
	"github.com/hanse-project/hanse/secagg/rss"
)

// sample is a piece of work of one kind that is measured: calls of the packages that jobs call, on one core.
type sample struct {
	kind  Kind
	units float64
	begin func() (run func() error, err error) // prepares it, and returns what is timed
}

// Sizes of the samples: large enough that what is done once for a call does not count, and small enough that all of
// them take a fraction of a second.
const (
	sampleRows, sampleFeatures = 128, 256
	gramRows                   = 1024 // a few of the blocks in which rows are multiplied
	fewTerms, manyTerms        = 4, 28
	largeRows, largeFeatures   = 3072, 1024 // of products that wait for memory: as much as three parties' matrices
	sampleBytes                = 256 << 10
	drawnRows                  = 1 << 17 // more than a core's own memory has
	movedBytes, movedTimes     = 1 << 20, 12
	sampleIDs                  = 1 << 11
	samplePoints               = 64
)

// samples are all pieces but those of the network and the disk.
var samples = []sample{
	{DenseAngle, sampleRows * sampleFeatures, angles(fewTerms, 0)},
	{DenseTerm, sampleRows * sampleFeatures, angles(manyTerms, 0)},
	{BinaryAngle, sampleRows * sampleFeatures, angles(0, fewTerms)},
	{BinaryTerm, sampleRows * sampleFeatures, angles(0, manyTerms)},
	{Cosine, sampleRows * sampleFeatures, func() (func() error, error) {
		table, turns, alpha := kernel.Cosines(), turns(sampleRows*sampleFeatures), make([]float64, sampleFeatures)
		scores := make([]float64, sampleRows)
		return func() error { return table.Scores(scores, turns, alpha, 1) }, nil
	}},
	{Gram, gramRows * sampleFeatures * sampleFeatures, func() (func() error, error) {
		g, err := kernel.NewGram(kernel.Cosines(), sampleFeatures)
		turns, labels := turns(gramRows*sampleFeatures/2), make([]float64, gramRows) // two features of each angle
		return func() error { return g.Add(turns, labels, 1) }, err
	}},
	{Equation, largeFeatures * largeFeatures * largeFeatures, func() (func() error, error) {
		g, err := kernel.NewGram(kernel.Cosines(), largeFeatures)
		if err == nil {
			err = g.Add(turns(sampleRows*largeFeatures/2), make([]float64, sampleRows), 1)
		}
		return func() error { _, err := g.Solve(0.1, 1); return err }, err
	}},
	{Masked, sampleBytes, func() (func() error, error) {
		vector, key := make([]byte, sampleBytes), make([]byte, secagg.MaskKeySize)
		m := secagg.NewMasks(secagg.Turns16)
		return func() error { m.Apply(vector); return nil }, m.Include(key, false)
	}},
	{Padded, sampleBytes, func() (func() error, error) {
		derive := func(_ string, n int) ([]byte, error) { return make([]byte, n), nil }
		pads := rss.KeyedPads([rss.Roles]rss.Derive{derive, derive, derive}, func() keys.Hash { return keys.Hash{} })
		pad, err := pads.Pad(rss.LabelHolder, rss.Place{Number: 1}, rss.FirstFree)
		dst := make([]uint64, sampleBytes/8)
		return func() error { pad.Words(dst, 0); return nil }, err
	}},
	{Square, sampleRows * sampleFeatures * sampleFeatures, squares[uint64]},
	{SmallSquare, sampleRows * sampleFeatures * sampleFeatures, squares[uint32]},
	{Product, 3 * largeRows * largeFeatures, func() (func() error, error) {
		out, v := make([]uint64, 3*largeRows), make([]uint64, 3*largeFeatures)
		m := make([]uint64, largeRows*largeFeatures)
		for i := range m { // memory that nobody has written to is one page of zeros
			m[i] = uint64(i)
		}
		return func() error { ring.MulVecs(out, m, v, 3, 1); return nil }, nil
	}},
	{Drawn, drawnRows, func() (func() error, error) {
		counts := make([]int32, drawnRows)
		return func() error { figures.Draw(counts, 0); return nil }, nil
	}},
	{PointHash, samplePoints, func() (func() error, error) {
		dst, wide := make([]byte, samplePoints*point.Size), make([][sha512.Size]byte, samplePoints)
		for i := range wide {
			wide[i] = sha512.Sum512([]byte{byte(i)})
		}
		return func() error { return point.Hash(dst, wide, 1) }, nil
	}},
	{PointProduct, samplePoints, func() (func() error, error) {
		points, wide := make([]byte, samplePoints*point.Size), make([][sha512.Size]byte, samplePoints)
		for i := range wide {
			wide[i] = sha512.Sum512([]byte{byte(i)})
		}
		scalar := point.NewScalar([32]byte{1})
		return func() error { return scalar.Mul(points, points, 1) }, point.Hash(points, wide, 1)
	}},
	{StoreKey, sampleIDs, func() (func() error, error) {
		ids, values := sampleList(), make([][16]byte, sampleIDs)
		return func() error {
			_, err := okvs.Encode([32]byte{}, ids, values, rand.Reader)
			if errors.Is(err, okvs.ErrFull) { // about once in 2^50 times; what was done so far is about as much
				err = nil
			}
			return err
		}, nil
	}},
	{StoreValue, sampleIDs, func() (func() error, error) {
		ids := sampleList()
		table, err := okvs.Open([32]byte{}, make([]byte, 16*okvs.Length(sampleIDs)))
		return func() error {
			for i := range ids {
				table.Get(ids[i])
			}
			return nil
		}, err
	}},
	{Coded, sampleIDs, func() (func() error, error) {
		ids, zero := sampleList(), [16]byte{}
		return func() error {
			mac, list := hmac.New(sha256.New, zero[:]), make([]byte, 0, 16*sampleIDs)
			for i := range ids {
				tag := psi.Tag(mac, &ids[i], &zero)
				list = append(list, tag[:]...)
			}
			x, _ := point.NewIndex(list, 16)
			for at := 0; at < len(list); at += 16 {
				x.Find(list[at : at+16])
			}
			return nil
		}, nil
	}},
	{Moved, movedTimes * movedBytes, func() (func() error, error) {
		from := make([]byte, movedBytes)
		return func() error {
			for range movedTimes { // enough that the collector runs, as it does while jobs do
				if to := slices.Clone(from); len(to) != len(from) {
					return errors.New("a copy is shorter than what it is of")
				}
			}
			return nil
		}, nil
	}},
	{Hashed, sampleBytes, func() (func() error, error) {
		data := make([]byte, sampleBytes)
		return func() error { sha256.Sum256(data); return nil }, nil
	}},
}

// squares samples the sums of products of every two of the features, modulo the size of a word.
func squares[W ring.Word]() (func() error, error) {
	sums, rows := make([]W, sampleFeatures*(sampleFeatures+1)/2), make([]W, sampleRows*sampleFeatures)
	return func() error { ring.AddSquares(sums, rows, sampleFeatures, 1); return nil }, nil
}

// angles samples a party's part of angles, of so many columns of numbers, or binary columns that are 1 in half of the
// rows each.
func angles(dense, ones int) func() (func() error, error) {
	return func() (func() error, error) {
		x := &kernel.Matrix{Rows: sampleRows, Starts: make([]uint32, sampleRows+1),
			Values: make([]float64, sampleRows*dense)}
		for c := range dense {
			x.Dense = append(x.Dense, fmt.Sprint("n", c))
		}
		for c := range 2 * ones {
			x.Binary = append(x.Binary, fmt.Sprint("b", c))
		}
		for r := range sampleRows {
			for c := range ones {
				x.Set = append(x.Set, uint16(2*c+r%2))
			}
			x.Starts[r+1] = uint32(len(x.Set))
		}
		for i := range x.Values {
			x.Values[i] = float64(i%97) / 97
		}
		gaussian := kernel.Kernel{Kind: kernel.Gaussian, Sigma: 1}
		m, err := kernel.NewMap(gaussian, kernel.Seed{}, keys.ID{}, x.Dense, x.Binary, 0, sampleFeatures)
		out := make([]uint16, sampleRows*sampleFeatures)
		return func() error { return m.Turns(x, 0, sampleRows, nil, out, 1) }, err
	}
}

// turns are n angles.
func turns(n int) []uint16 {
	list := make([]uint16, n)
	for i := range list {
		list[i] = uint16(i * 40503)
	}
	return list
}

// sampleList are ids.
func sampleList() [][32]byte {
	list := make([][32]byte, sampleIDs)
	for i := range list {
		list[i] = sha256.Sum256(binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	return list
}

// carry measures TLS 1.3 over a socket of this machine: a long message one way, and short ones there and back. What
// both ends do is halved.
func carry(unit map[Kind]float64) (err error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	text := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, text, text, key.Public(), key)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	answered := make(chan error, 1)
	go func() {
		answered <- answer(listener, tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key})
	}()
	err = func() error {
		// There is nobody else at the other end, and nothing secret goes there.
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err
		}
		defer conn.Close()
		data, word := make([]byte, carried), make([]byte, short)
		long, trip := time.Hour, time.Hour
		for range carriedRuns {
			at := processTime()
			if _, err = conn.Write(data); err == nil {
				_, err = io.ReadFull(conn, word)
			}
			if err != nil {
				return err
			}
			long = min(long, processTime()-at)
		}
		for range shortRuns {
			at := processTime()
			if _, err = conn.Write(word); err == nil {
				_, err = io.ReadFull(conn, word)
			}
			if err != nil {
				return err
			}
			trip = min(trip, processTime()-at)
		}
		// A long message has two ends, and a word and its answer four.
		unit[Carried], unit[Message] = long.Seconds()/2/carried, trip.Seconds()/4
		return nil
	}()
	if err != nil {
		return errors.Join(err, listener.Close(), <-answered)
	}
	return <-answered
}

// Sizes of what is carried.
const (
	carried, carriedRuns = 1 << 20, 6
	short, shortRuns     = 128, 40
)

// answer is the other end of carry.
func answer(listener net.Listener, certificate tls.Certificate) error {
	conn, err := listener.Accept()
	if err != nil {
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		return err
	}
	tlsConn := tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}})
	defer tlsConn.Close()
	data := make([]byte, carried)
	for n := range carriedRuns + shortRuns {
		size := carried
		if n >= carriedRuns {
			size = short
		}
		if _, err = io.ReadFull(tlsConn, data[:size]); err == nil {
			_, err = tlsConn.Write(data[:short])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write measures a file: bytes that go to it, and how long it takes until a few are on the disk.
func write(unit map[Kind]float64, dir string) (err error) {
	f, err := os.CreateTemp(dir, "speeds.*.tmp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	data, long, sync := make([]byte, sampleBytes), time.Hour, time.Hour
	for range leastRuns {
		at := time.Now()
		if _, err := f.Write(data); err != nil {
			return err
		}
		long = min(long, time.Since(at))
		at = time.Now()
		if err := f.Sync(); err != nil {
			return err
		}
		sync = min(sync, time.Since(at))
	}
	unit[Written], unit[Synced] = long.Seconds()/sampleBytes, sync.Seconds()
	return nil
}
