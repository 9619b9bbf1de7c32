package sum

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/perf"
)

// WorkerName is the command of a worker process.
const WorkerName = "sum-worker"

// The tasks of workers.
const (
	taskOpen    = "open"    // leave the session, put new hosts in place of those that dropped out, meet in the next one
	taskStream  = "stream"  // send frames as in the latest sum, without any protocol
	taskKeys    = "keys"    // enter the session: the server takes the clients' keys in
	taskPrepare = "prepare" // make the vectors of the next sum
	taskSum     = "sum"
)

// sumTask is what the master tells all workers, in a line of JSON.
type sumTask struct {
	Do      string
	Number  uint32         `json:",omitempty"` // of the session to open
	Sum     uint64         `json:",omitempty"` // of the sum to prepare: every sum has vectors of its own
	Leaving map[int]string `json:",omitempty"` // who drops out of it, and at which step
}

// sumAnswer is what a worker has to tell of a task when it is done. All fields but the first are those of
// a sum.
type sumAnswer struct {
	CPU float64 // processor seconds of the process

	Seconds   float64 // the server's: by the clock
	Survivors int     // how many vectors are in the total
	Wrong     int     // words of the total that are not the sum of those vectors
	Unplanned int     // clients that were lost and were to stay
	Why       string  // the first of them, as the server saw it; empty: it saw none

	Sent     int64 // the clients': bytes of frames that they sent
	Received int64
	Stayed   int64          // bytes sent by those who did not drop out
	Left     map[string]int // how many dropped out at which step
	LeftOut  int            // those that the server went on without, or whose links broke
}

// sumSide is what one process plays.
type sumSide interface {
	open(ctx context.Context, number uint32) error
	stream(ctx context.Context) error
	keys(ctx context.Context) error
	prepare(t sumTask) error
	sum(ctx context.Context) (sumAnswer, error)
	close() error
}

// WorkerOptions are the choices of Worker.
type WorkerOptions struct {
	Dir   string
	First int
	Count int
}

// Worker does what it is told until its input ends.
func Worker(ctx context.Context, run lab.Run, o WorkerOptions) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	side, err := newSumSide(o.Dir, o.First, o.Count)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, side.close()) }()
	fmt.Fprintln(run.Out, perf.SayReady)
	return obeySum(ctx, side, bufio.NewReader(run.In), run.Out)
}

// newSumSide makes the server or some of the clients, once the system allows as many connections.
func newSumSide(dir string, first, count int) (sumSide, error) {
	l, err := openSumNetwork(dir)
	if err != nil {
		return nil, err
	}
	need := count
	for i := first; i < first+count; i++ {
		need += len(l.peers(i))
	}
	if err := lab.AllowFiles(need + spareFiles); err != nil {
		return nil, err
	}
	if first == sumServerIndex {
		return newSumServer(l)
	}
	return newSumClients(l, first, count)
}

// spareFiles is how many open files a worker has beside its connections and listeners, at most, and
// how many connections that are about to end.
const spareFiles = 128

// obeySum does one task after the other.
func obeySum(ctx context.Context, side sumSide, in *bufio.Reader, out io.Writer) error {
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var task sumTask
		if err == nil {
			err = json.Unmarshal(line, &task)
		}
		if err != nil {
			return fmt.Errorf("task: %w", err)
		}
		answer, err := doSum(ctx, side, task)
		if err != nil {
			return fmt.Errorf("%s: %w", task.Do, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s\n", perf.SayDone, text)
	}
}

// doSum does one task and adds what the process took for it, unless the task has said so itself.
func doSum(ctx context.Context, side sumSide, t sumTask) (sumAnswer, error) {
	before := lab.CPU()
	a, err := playSum(ctx, side, t)
	if a.CPU == 0 {
		a.CPU = lab.CPU() - before
	}
	return a, err
}

// playSum does one task.
func playSum(ctx context.Context, side sumSide, t sumTask) (sumAnswer, error) {
	switch t.Do {
	case taskOpen:
		return sumAnswer{}, side.open(ctx, t.Number)
	case taskStream:
		return sumAnswer{}, side.stream(ctx)
	case taskKeys:
		return sumAnswer{}, side.keys(ctx)
	case taskPrepare:
		return sumAnswer{}, side.prepare(t)
	case taskSum:
		return side.sum(ctx)
	}
	return sumAnswer{}, fmt.Errorf("there is no task %q", t.Do)
}
