package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// linkWorkerName is the command of a worker process.
const linkWorkerName = "link-worker"

// linkWorkerCommand is one party of a link measurement; link starts it.
func linkWorkerCommand() *cli.Command {
	return &cli.Command{
		Name:   linkWorkerName,
		Usage:  "one process of hanselab link",
		Hidden: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Required: true},
			&cli.StringFlag{Name: "name", Required: true},
			&cli.StringFlag{Name: "topology", Required: true},
			&cli.IntFlag{Name: "bytes", Required: true},
		},
		Action: runLinkWorker,
	}
}

// worker is a party of a link measurement: one end of a masked session and of bare streams.
type worker struct {
	self     int
	topology protocol.Topology
	vector   []uint16
	masked   *maskedEnd
	bare     *bareEnd
}

// runLinkWorker connects to the others and does what it is told until its input ends.
func runLinkWorker(c *cli.Context) (err error) {
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	topology, err := protocol.ParseTopology(c.String("topology"))
	if err != nil {
		return err
	}
	member, err := openMember(c.String("dir"), c.String("name"))
	if err != nil {
		return err
	}
	w := &worker{self: member.self, topology: topology, vector: make([]uint16, c.Int("bytes")/2)}
	if w.bare, err = listenBare(len(member.charter.Members)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.bare.close()) }()
	if w.masked, err = openMasked(ctx, member, topology); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.masked.close()) }()
	return w.serve(ctx, bufio.NewReader(c.App.Reader), c.App.Writer)
}

// serve obeys the master.
func (w *worker) serve(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	fmt.Fprintln(out, sayHere, w.bare.address())
	line, err := in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("no word of the others: %w", err)
	}
	addresses := strings.Fields(line)
	plan := protocol.PlanFor(w.topology, len(addresses), 0)
	if err := w.bare.connect(ctx, plan, w.self, addresses); err != nil {
		return err
	}
	for {
		w.fill()
		fmt.Fprintln(out, sayReady)
		task, err := in.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.do(ctx, strings.TrimSpace(task)); err != nil {
			return err
		}
		fmt.Fprintln(out, sayDone)
		if err := w.check(strings.TrimSpace(task), len(addresses)); err != nil {
			return err
		}
	}
}

// do runs one task.
func (w *worker) do(ctx context.Context, task string) error {
	switch task {
	case taskMasked:
		return w.masked.sums.SumTurns(ctx, "turns", 0, w.vector)
	case taskBare:
		return w.bare.stream(2 * len(w.vector))
	}
	return fmt.Errorf("there is no task %q", task)
}

// fill writes this party's addend: the index times the party's number.
func (w *worker) fill() {
	for i := range w.vector {
		w.vector[i] = uint16(i * (w.self + 1))
	}
}

// check looks at the total: a fast sum that is wrong is worth nothing.
func (w *worker) check(task string, parties int) error {
	if task != taskMasked || w.self != 0 {
		return nil
	}
	for i, v := range w.vector {
		if want := uint16(i * parties * (parties + 1) / 2); v != want {
			return fmt.Errorf("word %d of the sum is %d, want %d", i, v, want)
		}
	}
	return nil
}

// member is who a worker is.
type member struct {
	self    int
	key     *keys.PrivateKey
	charter *keys.SignedCharter
	parties []protocol.Party // in the order in which all workers count
}

// place returns a member's place in the order of the names.
func place(parties []protocol.Party, name string) int {
	return slices.IndexFunc(parties, func(p protocol.Party) bool { return p.Name == name })
}
