package ofmsft

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/nn"
)

// serverSlot is where a server keeps its state in its vault.
const serverSlot = "server"

// ServerPart is a server's part of a job.
type ServerPart struct {
	Params   Params
	Networks []*nn.Network // as they are at first, one for each of Params.Models
	Names    []string      // the clients', in their order
	Least    int           // contributors of a sum of steps that is opened
	Network  ServerNetwork
	Vault    federated.Vault
	// Report is called after every communication round; it may be nil.
	Report func(federated.Progress)

	seed *[32]byte // of the draws of groups; nil: from the operating system
}

// serverRun is a server's part under way.
type serverRun struct {
	*ServerPart
	server   *Server
	packings []*Packings // by client
	round    int         // communication rounds held
	clients  int         // in the latest total of steps
	files    []file      // of the networks
}

// Serve runs the server's part: in every communication round it hands out the networks that clients ask for,
// draws a group, and moves each network by the sum of the steps of those in the group that store it, where at
// least Least do. The state is saved after each round, and the model kept after the last.
func Serve(ctx context.Context, p *ServerPart) error {
	s, err := p.resume()
	if err != nil {
		return fmt.Errorf("server %q: %w", p.Params.Server, err)
	}
	for s.round < p.Params.Uploads() {
		round := s.round + 1
		if err := s.runRound(ctx); err != nil {
			return fmt.Errorf("server %q, round %d: %w", p.Params.Server, round, err)
		}
	}
	if err := s.keepModel(); err != nil {
		return fmt.Errorf("server %q: %w", p.Params.Server, err)
	}
	return nil
}

// runRound holds one communication round.
func (s *serverRun) runRound(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	choices, err := s.ask(ctx)
	if err != nil {
		return fmt.Errorf("ask for choices: %w", err)
	}
	alpha, group, err := s.group(choices)
	if err != nil {
		return err
	}
	for _, c := range chosenBy(choices) {
		if err := s.handOut(ctx, c, choices[c], turnOf(c, alpha, group)); err != nil {
			return err
		}
	}
	s.clients = len(choices)
	if s.Params.Tunes(s.round) {
		for k := range s.Params.Models {
			var with []int
			for _, c := range group {
				if choices[c].stored[k] {
					with = append(with, c)
				}
			}
			if len(with) < max(s.Least, 1) {
				continue
			}
			if err := s.move(ctx, k, with); err != nil {
				return fmt.Errorf("steps of model %q: %w", s.Params.Models[k].Name, err)
			}
		}
	}
	s.round++
	if err := s.save(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if s.Report != nil {
		s.Report(federated.Progress{
			Round: s.round, Rounds: s.Params.Uploads(), Loss: math.NaN(), Accuracy: math.NaN(),
			Regret: math.NaN(), Clients: s.clients,
		})
	}
	return nil
}

// ask asks the clients that are there for their choices. A client that chooses nothing has no more rows.
func (s *serverRun) ask(ctx context.Context) (map[int]*choice, error) {
	var manifest []byte
	for k := range s.Params.Models {
		h := s.server.Hash(k)
		manifest = append(manifest, h[:]...)
	}
	models := len(s.Params.Models)
	answers, err := s.Network.Ask(ctx, s.round, s.Network.Present(), federated.Question{
		Kind: KindRound, Payload: manifest, Answer: KindChoice, Limit: choiceSize(models), Check: s.checkChoice,
	})
	if err != nil {
		return nil, err
	}
	choices := make(map[int]*choice)
	for client, answer := range answers {
		c, err := decodeChoice(answer, models)
		if err != nil {
			return nil, err // it was checked
		}
		if len(c.models()) > 0 {
			choices[client] = c
		}
	}
	return choices, nil
}

// checkChoice refuses a choice of more than a client's budget or the server's bandwidth, and in a broadcast one of
// less than all.
func (s *serverRun) checkChoice(client int, answer []byte) error {
	c, err := decodeChoice(answer, len(s.Params.Models))
	if err != nil {
		return err
	}
	stored := c.models()
	if s.Params.Broadcast {
		if n := len(stored); n != 0 && n != len(c.stored) {
			return fmt.Errorf("it stores %d of %d models, want all: choices stay with the clients", n, len(c.stored))
		}
		return nil
	}
	cost, budget := 0.0, s.Params.BudgetOf(s.Names[client])
	for _, k := range stored {
		cost += s.Params.Models[k].Cost
	}
	if cost > budget*(1+tolerance) { // sums of the same costs in another order
		return fmt.Errorf("it stores models of cost %.6g, its budget is %.6g", cost, budget)
	}
	if need := s.packings[client].Need(stored); need > s.Params.groupCapacity() {
		return fmt.Errorf("it stores models that need a bandwidth of %.6g, the server has %.6g", need, s.Params.Bandwidth)
	}
	return nil
}

// group draws who fine-tunes.
func (s *serverRun) group(choices map[int]*choice) (alpha int, group []int, err error) {
	clients := chosenBy(choices)
	if len(clients) == 0 || !s.Params.Tunes(s.round) {
		return 0, nil, nil
	}
	var needs []float64
	for _, c := range clients {
		needs = append(needs, s.packings[c].Need(choices[c].models()))
	}
	alpha, picked, err := s.server.Group(needs)
	if err != nil {
		return 0, nil, err
	}
	for _, i := range picked {
		group = append(group, clients[i])
	}
	return alpha, group, nil
}

// chosenBy lists the clients that have chosen, ascending.
func chosenBy(choices map[int]*choice) []int {
	most := -1
	for c := range choices {
		most = max(most, c)
	}
	var list []int
	for c := range most + 1 {
		if choices[c] != nil {
			list = append(list, c)
		}
	}
	return list
}

// turnOf returns alpha for a client in the group and 0 for others.
func turnOf(client, alpha int, group []int) int {
	for _, c := range group {
		if c == client {
			return alpha
		}
	}
	return 0
}

// handOut sends a client what it wants, and its turn.
func (s *serverRun) handOut(ctx context.Context, client int, c *choice, alpha int) error {
	for _, k := range chosen(c.wanted) {
		if err := s.Network.Send(ctx, client, KindModel, s.round, indexed(k, s.fileOf(k))); err != nil {
			return fmt.Errorf("send client %q model %q: %w", s.Names[client], s.Params.Models[k].Name, err)
		}
	}
	turn := binary.BigEndian.AppendUint32(nil, uint32(alpha))
	if err := s.Network.Send(ctx, client, KindTurn, s.round, turn); err != nil {
		return fmt.Errorf("give client %q its turn: %w", s.Names[client], err)
	}
	return nil
}

// move moves one network by the sum of some clients' steps.
func (s *serverRun) move(ctx context.Context, k int, clients []int) error {
	for _, c := range clients {
		if err := s.Network.Send(ctx, c, KindStep, s.round, indexed(k, nil)); err != nil {
			return err
		}
	}
	total, err := s.Network.Sum(ctx, StepSum(s.Params, k, s.Network.Clients()), clients)
	if err != nil || total == nil {
		return err
	}
	return s.server.Apply(k, total.Values, s.Network.Clients())
}

// file is a network as it is sent.
type file struct {
	version int
	bytes   []byte // nil: not made yet
}

// fileOf returns a network's file.
func (s *serverRun) fileOf(k int) []byte {
	if f := &s.files[k]; f.bytes == nil || f.version != s.server.Version(k) {
		*f = file{s.server.Version(k), s.server.Network(k).Bytes()}
	}
	return s.files[k].bytes
}
