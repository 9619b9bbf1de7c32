package perf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/protocol/contract"
)

// LinkWorkerName is the command of a worker process.
const LinkWorkerName = "link-worker"

// worker is a party of a link measurement: one end of a masked session and of bare streams.
type worker struct {
	self     int
	topology contract.Topology
	vector   []uint16
	masked   *maskedEnd
	bare     *bareEnd
}

// What link's workers say first, followed by their bare address, and when all are done, followed by the processor
// seconds that they took, and their tasks.
const (
	sayHere    = "here"
	sayCPU     = "cpu"
	taskMasked = "masked"
	taskBare   = "bare"
)

// LinkWorkerOptions are the choices of LinkWorker.
type LinkWorkerOptions struct {
	Dir      string
	Name     string
	Topology string
	Bytes    int
}

// runLinkWorker connects to the others and does what it is told until its input ends.
func LinkWorker(ctx context.Context, run lab.Run, o LinkWorkerOptions) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	topology, err := contract.ParseTopology(o.Topology)
	if err != nil {
		return err
	}
	member, err := openMember(o.Dir, o.Name)
	if err != nil {
		return err
	}
	w := &worker{self: member.self, topology: topology, vector: make([]uint16, o.Bytes/2)}
	if w.bare, err = listenBare(len(member.charter.Members)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.bare.swarm.Close()) }()
	if w.masked, err = openMasked(ctx, member, topology); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.masked.close()) }()
	return w.serve(ctx, bufio.NewReader(run.In), run.Out)
}

// serve obeys the master.
func (w *worker) serve(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	fmt.Fprintln(out, sayHere, w.bare.address())
	line, err := in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("no word of the others: %w", err)
	}
	addresses := strings.Fields(line)
	plan := contract.PlanFor(w.topology, len(addresses), 0)
	if err := w.bare.connect(ctx, plan, w.self, addresses); err != nil {
		return err
	}
	for {
		for i := range w.vector {
			w.vector[i] = uint16(i * (w.self + 1))
		}
		fmt.Fprintln(out, SayReady)
		task, err := in.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		before := lab.CPU()
		if err := w.do(ctx, strings.TrimSpace(task)); err != nil {
			return err
		}
		fmt.Fprintln(out, SayDone)
		if _, err := in.ReadString('\n'); err != nil { // all are done: nothing is on its way any more
			return fmt.Errorf("no word of the others: %w", err)
		}
		fmt.Fprintln(out, sayCPU, lab.CPU()-before)
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
	parties []contract.Party // in the order in which all workers count
}
