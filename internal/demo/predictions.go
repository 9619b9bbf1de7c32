package demo

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
)

// PredictionsFile is where a client's node keeps the predictions of a job.
const PredictionsFile = "predictions.csv"

// ReadPredictions reads a client's predictions of its rows from the first on, every row once. With an
// error come those before it.
func ReadPredictions(path string) ([]float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, text, _ = bytes.Cut(text, []byte("\n")) // the header
	var all []float64
	for line := range bytes.Lines(text) {
		number, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(","))
		if string(number) != strconv.Itoa(len(all)+1) {
			return all, fmt.Errorf("%s: line %d is of row %.20q, want row %d: every row once, in order", path, len(all)+2,
				number, len(all)+1)
		}
		v, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return all, fmt.Errorf("%s: row %s: %.40q is no number", path, number, value)
		}
		all = append(all, v)
	}
	return all, nil
}

// The live line's mean error: over how many clients, and how often.
const (
	followedClients = 12
	followEvery     = 400 * time.Millisecond
)

// follower knows how well the clients do while they learn: their predictions are in files on this machine.
// A server does not know.
type follower struct {
	demo   *clients
	latest time.Time
	error  *float64
}

// with adds to a server's progress how well some clients do.
func (f *follower) with(e jobs.Event) jobs.Event {
	if e.Kind != jobs.EventProgress {
		return e
	}
	if now := time.Now(); now.Sub(f.latest) >= followEvery {
		f.latest, f.error = now, f.measure()
	}
	e.Metric = f.error
	return e
}

// measure returns the mean error so far, nil before the first prediction.
func (f *follower) measure() *float64 {
	sum, n := 0.0, 0
	clients := f.demo.federation.AllClients()
	for _, name := range clients[:min(len(clients), followedClients)] {
		predictions, _ := ReadPredictions(f.demo.jobFile(name, PredictionsFile)) // as far as they are there
		labels := f.demo.federation.Streams[name].Labels
		for i, p := range predictions[:min(len(predictions), len(labels))] {
			sum += f.demo.federation.ErrorOf(p, labels[i])
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}
