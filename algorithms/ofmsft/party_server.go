package ofmsft

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/nn"
)

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

	service  federated.Service
	draw     func(choices map[int]*choice) (alpha int, group []int, err error) // group; a trace has its own
	server   *Server
	packings []*Packings // by client
	files    []file      // of the networks
}

// Serve runs the server's part: see federated.Serve. In every communication round it hands out the networks that
// clients ask for, draws a group, and moves each network by the sum of the steps of those in the group that store it,
// where at least Least do. The state is saved after each round.
func Serve(ctx context.Context, p *ServerPart) error {
	p.service = federated.Service{
		Name: p.Params.Server, Vault: p.Vault, Rounds: p.Params.Uploads(), Every: 1, Report: p.Report,
	}
	p.draw = p.group
	return federated.Serve(ctx, &p.service, p)
}

// Round implements federated.ServerPart: it holds one communication round.
func (s *ServerPart) Round(ctx context.Context) (clients int, err error) {
	choices, err := s.ask(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for choices: %w", err)
	}
	alpha, group := 0, []int(nil)
	if len(choices) > 0 && s.Params.Tunes(s.service.Held) {
		if alpha, group, err = s.draw(choices); err != nil {
			return 0, err
		}
	}
	for _, c := range chosenBy(choices) {
		if err := s.handOut(ctx, c, choices[c], turnOf(c, alpha, group)); err != nil {
			return 0, err
		}
	}
	if !s.Params.Tunes(s.service.Held) {
		return len(choices), nil
	}
	for k := range s.Params.Models {
		with := slices.DeleteFunc(slices.Clone(group), func(c int) bool { return !choices[c].stored[k] })
		if len(with) < max(s.Least, 1) {
			continue
		}
		if err := s.move(ctx, k, with); err != nil {
			return 0, fmt.Errorf("steps of model %q: %w", s.Params.Models[k].Name, err)
		}
	}
	return len(choices), nil
}

// ask asks the clients that are there for their choices. A client that chooses nothing has no more rows.
func (s *ServerPart) ask(ctx context.Context) (map[int]*choice, error) {
	var manifest []byte
	for k := range s.Params.Models {
		h := s.server.Hash(k)
		manifest = append(manifest, h[:]...)
	}
	models := len(s.Params.Models)
	answers, err := s.Network.Ask(ctx, s.service.Held, s.Network.Present(), federated.Question{
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
func (s *ServerPart) checkChoice(client int, answer []byte) error {
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
func (s *ServerPart) group(choices map[int]*choice) (alpha int, group []int, err error) {
	clients := chosenBy(choices)
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

// turnOf returns alpha for a client in the group, which ascends, and 0 for others.
func turnOf(client, alpha int, group []int) int {
	if _, in := slices.BinarySearch(group, client); !in {
		return 0
	}
	return alpha
}

// handOut sends a client what it wants, and its turn.
func (s *ServerPart) handOut(ctx context.Context, client int, c *choice, alpha int) error {
	for _, k := range chosen(c.wanted) {
		if err := s.Network.Send(ctx, client, KindModel, s.service.Held, s.fileOf(k)); err != nil {
			return fmt.Errorf("send client %q model %q: %w", s.Names[client], s.Params.Models[k].Name, err)
		}
	}
	turn := binary.BigEndian.AppendUint32(nil, uint32(alpha))
	if err := s.Network.Send(ctx, client, KindTurn, s.service.Held, turn); err != nil {
		return fmt.Errorf("give client %q its turn: %w", s.Names[client], err)
	}
	return nil
}

// move moves one network by the sum of some clients' steps.
func (s *ServerPart) move(ctx context.Context, k int, clients []int) error {
	for _, c := range clients {
		if err := s.Network.Send(ctx, c, KindStep, s.service.Held, indexed(k, nil)); err != nil {
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
	bytes   []byte // its number and it; nil: not made yet
}

// fileOf returns a network's file behind its number.
func (s *ServerPart) fileOf(k int) []byte {
	if f := &s.files[k]; f.bytes == nil || f.version != s.server.Version(k) {
		*f = file{s.server.Version(k), indexed(k, s.server.Network(k).Bytes())}
	}
	return s.files[k].bytes
}
