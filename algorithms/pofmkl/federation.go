package pofmkl

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Federation runs a server and its clients in one process, in the open: for measuring, and as the
// mark that runs between machines must hit. It is for one goroutine.
type Federation struct {
	Clients []*Client
	Server  *Server
	sum     []float64
	rounds  int
}

// NewFederation starts k clients whose bins come from seed and their number. Their names are their numbers,
// from 1, for Params.WeightSteps and Explores. With one round to an
// upload they share the room that a row's features take, so that it stays in the cache.
func NewFederation(d *Dictionary, k int, seed [32]byte) (*Federation, error) {
	if k < 1 {
		return nil, fmt.Errorf("the federation has %d clients, want at least 1", k)
	}
	words := d.params.Words()
	f := &Federation{Server: NewServer(d), sum: make([]float64, d.params.UploadWords())}
	features, update := d.NewFeatures(), make([]float64, words)
	for i := range k {
		if d.params.RoundsPerUpload > 1 {
			update = make([]float64, words)
		}
		f.Clients = append(f.Clients, newClient(d, strconv.Itoa(i+1), clientSeed(seed, i), features, update))
	}
	return f, nil
}

// clientSeed derives the seed of a client of a simulation.
func clientSeed(seed [32]byte, i int) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64(seed[:], uint64(i)))
}

// Round has every client predict its row and learn its label, [K] each, and the server apply the
// uploads when they are due. It writes the predictions, [K].
func (f *Federation) Round(rows [][]float64, labels, predictions []float64) error {
	if len(rows) != len(f.Clients) || len(labels) != len(f.Clients) || len(predictions) != len(f.Clients) {
		return fmt.Errorf("%d rows, %d labels and room for %d predictions, want %d, the number of clients", len(rows),
			len(labels), len(predictions), len(f.Clients))
	}
	p := &f.Server.dictionary.params
	upload, due := f.rounds/p.RoundsPerUpload, false
	sum := f.sum[:p.uploadWords(len(p.Moved(upload)))]
	clear(sum)
	for k, c := range f.Clients {
		if err := c.Begin(upload); err != nil {
			return fmt.Errorf("client %d: %w", k+1, err)
		}
		var err error
		if predictions[k], err = c.Round(f.Server.theta, rows[k], labels[k]); err != nil {
			return fmt.Errorf("client %d: %w", k+1, err)
		}
		if c.Due() {
			due = true
			if err := c.Upload(sum); err != nil {
				return fmt.Errorf("client %d: %w", k+1, err)
			}
		}
	}
	f.rounds++
	if !due {
		return nil
	}
	return f.Server.Apply(upload, sum, len(f.Clients))
}

// Regret returns a client's regret so far.
func (f *Federation) Regret(k int) float64 { return f.Clients[k].Regret() }
