package ofmsft

import (
	"fmt"
	"runtime"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/parallel"
)

// Federation runs a server and its clients in one process, in the open: for measuring, and as the mark
// that runs between machines must hit. It is for one goroutine; inside, it uses as many as there are
// processors, and its results do not depend on them.
type Federation struct {
	Clients []*Client
	Server  *Server
	Traffic Traffic
	Clipped int // elements of steps that were cut to Params.Clip
	Groups  int // the most groups that the clients were packed into so far, alpha of the paper

	params  Params
	runners [][]*Runner  // [workers][K]
	stored  [][]*Runner  // [workers], room for those of one client
	buffers []tuneBuffer // [workers]
	regret  *regrets     // nil: not asked for
	rounds  int
	alpha   int   // of the communication round
	group   []int // of the communication round; empty when nobody fine-tunes
	needs   []float64
}

// NewFederation starts so many clients and a server with clones of the networks. The clients' names
// are their numbers, from 1, for Params.Budgets and Rates. All draws come from seed. p has its defaults filled
// in.
func NewFederation(p Params, networks []*nn.Network, clients int, seed [32]byte) (*Federation, error) {
	return newFederation(p, networks, clients, seed, runtime.GOMAXPROCS(0))
}

// newFederation is NewFederation for so many goroutines.
func newFederation(p Params, networks []*nn.Network, clients int, seed [32]byte, workers int) (*Federation, error) {
	if clients < 1 || clients > maxClients {
		return nil, fmt.Errorf("the federation has %d clients, want 1 to %d", clients, maxClients)
	}
	server, err := NewServer(p, networks, derivedSeed(seed, 0))
	if err != nil {
		return nil, err
	}
	f := &Federation{Server: server, params: p, needs: make([]float64, clients)}

	// Starts the clients; those with equal budgets share their packings.
	known := map[float64]*Packings{}
	for i := range clients {
		name := strconv.Itoa(i + 1)
		budget := f.params.BudgetOf(name)
		if known[budget] == nil {
			packings, err := NewPackings(f.params.Models, budget)
			if err != nil {
				return nil, fmt.Errorf("client %d: %w", i+1, err)
			}
			known[budget] = packings
		}
		f.Clients = append(f.Clients, NewClient(f.params, name, known[budget], derivedSeed(seed, i+1)))
	}
	f.stored, f.buffers = make([][]*Runner, workers), make([]tuneBuffer, workers)
	for range workers {
		f.runners = append(f.runners, NewRunners(server.networks))
	}
	return f, nil
}

// Round has every client predict its row and learn its label, [N] each, and the group's clients
// fine-tune when a communication round is over. It writes the predictions, [N]. After an error the
// federation is of no further use.
func (f *Federation) Round(rows [][]float64, labels, predictions []float64) error {
	n := len(f.Clients)
	if len(rows) != n || len(labels) != n || len(predictions) != n {
		return fmt.Errorf("%d rows, %d labels and room for %d predictions, want %d, the number of clients", len(rows),
			len(labels), len(predictions), n)
	}
	if f.rounds == f.params.Rounds {
		return fmt.Errorf("all %d rounds are over", f.rounds)
	}
	if f.rounds%f.params.RoundsPerUpload == 0 {
		if err := f.draw(); err != nil {
			return err
		}
	}
	if err := parallel.Each(len(f.runners), len(rows), func(worker, i int) error {
		c := f.Clients[i]
		f.stored[worker] = f.stored[worker][:0]
		for _, k := range c.selection.Stored {
			f.stored[worker] = append(f.stored[worker], f.runners[worker][k])
		}
		var err error
		if predictions[i], err = c.Predict(f.stored[worker], rows[i]); err != nil {
			return fmt.Errorf("client %d: %w", i+1, err)
		}
		if err := c.Learn(labels[i]); err != nil {
			return fmt.Errorf("client %d: %w", i+1, err)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := f.countRegret(); err != nil {
		return err
	}
	f.rounds++
	if f.rounds%f.params.RoundsPerUpload == 0 || f.rounds == f.params.Rounds {
		return f.tune()
	}
	return nil
}

// draw begins a communication round.
func (f *Federation) draw() error {
	for i, c := range f.Clients {
		s := c.Draw()
		f.needs[i] = s.Need
		if f.regret != nil {
			copy(f.regret.shares[i], c.Shares())
		}
		p := f.params
		f.Traffic.Downloaded += s.Need
		f.Traffic.DownloadedBytes += bytesOf(p, s)
	}
	f.alpha, f.group = 0, nil
	if !f.params.Tunes(f.rounds / f.params.RoundsPerUpload) {
		return nil
	}
	var err error
	f.alpha, f.group, err = f.Server.Group(f.needs)
	f.Groups = max(f.Groups, f.alpha)
	return err
}

// Rounds returns how many rounds were run.
func (f *Federation) Rounds() int { return f.rounds }
