package sum

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/perf"
	"github.com/hanse-project/hanse/peer"
)

// measurement is one case with its processes: those of the clients, and the server last, so that the
// clients have heard of a task before the server begins it.
type measurement struct {
	workers perf.Processes
	sumCase
	log sumLog
	sum uint64 // the latest one's number
}

// measureSum measures one case in fresh processes.
func measureSum(ctx context.Context, dir string, s sumCase, progress io.Writer) (r *Result, err error) {
	log := sumLog{progress, s.String()}
	start := time.Now()
	// Makes key files for all parties and a charter that all have signed. The server has an address, and so has a
	// client to whom others send.
	plan, err := s.planned()
	if err != nil {
		return nil, err
	}
	draft := keys.Charter{Name: "many-clients", Version: 1, Created: time.Now()}
	draft.Rules.Discovery = []string{peer.DiscoverAddresses}
	ports, err := localnet.FreePorts(s.Clients + 1)
	if err != nil {
		return nil, err
	}
	defer ports.Close()
	all := make([]*keys.PrivateKey, s.Clients+1)
	for i := range all {
		if all[i], err = keys.GenerateKey(); err != nil {
			return nil, err
		}
		if err := keys.CreateKeyFile(sumKeyFile(dir, i), sumName(i), all[i], nil); err != nil {
			return nil, err
		}
		card := keys.Card{Name: sumName(i), ID: all[i].ID()}
		if len(plan.Children[i]) > 0 {
			card.Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", ports.Numbers[i])}
		}
		draft.Admit(card)
	}
	if err := s.write(dir, draft, all); err != nil {
		return nil, err
	}
	r = newSumRun(s)
	r.NetworkSeconds = time.Since(start).Seconds()
	log.say("keys and charter in %.1f s", r.NetworkSeconds)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &measurement{sumCase: s, log: log}
	if err := c.start(ctx, dir); err != nil {
		return nil, errors.Join(err, c.workers.Stop())
	}
	if err := c.measure(r); err != nil {
		cancel() // others may wait for the one that failed
		return nil, errors.Join(err, c.workers.Stop())
	}
	// Takes the medians.
	middle := func(figure func(s sumResult) float64) float64 { return lab.Median(lab.Each(r.Each, figure)) }
	r.SecondsAll = lab.Each(r.Each, func(s sumResult) float64 { return s.Seconds })
	r.Seconds, r.FirstSeconds, r.BareSeconds = lab.Median(r.SecondsAll), lab.Median(r.FirstAll), lab.Median(r.BareAll)
	r.BareRatio = r.Seconds / r.BareSeconds
	r.Sent = middle(func(s sumResult) float64 { return s.Sent })
	r.Received = middle(func(s sumResult) float64 { return s.Received })
	r.SentStaying = middle(func(s sumResult) float64 { return s.SentStaying })
	r.Bytes = middle(func(s sumResult) float64 { return s.Sent + s.Received })
	r.ServerCPU = middle(func(s sumResult) float64 { return s.ServerCPU })
	r.ClientCPU = middle(func(s sumResult) float64 { return s.ClientCPU })
	r.Busy = middle(func(s sumResult) float64 {
		return (s.ServerCPU + s.ClientCPU) / s.Seconds / float64(runtime.NumCPU())
	})
	r.BareCPU = lab.Median(r.bareCPU)
	r.CPURatio = (r.ServerCPU + r.ClientCPU) / r.BareCPU
	if r.Bits < 64 {
		r.Expansion16 = r.SentStaying / (float64(r.Words) * 16 / 8)
	}
	first := r.Each[0]
	r.Survivors, r.Dropped, r.LostSteps = first.Survivors, first.Dropped, first.LostSteps
	r.Exact = !slices.ContainsFunc(r.Each, func(s sumResult) bool { return !s.Exact })
	for _, s := range r.Each {
		r.Unplanned += s.Unplanned
	}
	return r, c.workers.Stop()
}

// start starts all processes.
func (c *measurement) start(ctx context.Context, dir string) error {
	of := func(name string, first, count int) error {
		return c.workers.Start(ctx, name, WorkerName, "--dir", dir, "--first", fmt.Sprint(first), "--count",
			fmt.Sprint(count))
	}
	for p := range c.Processes {
		first, next := 1+p*c.Clients/c.Processes, 1+(p+1)*c.Clients/c.Processes
		if err := of(fmt.Sprintf("clients %d to %d", first, next-1), first, next-first); err != nil {
			return err
		}
	}
	return of("server", sumServerIndex, 1)
}

// measure runs all sessions: each but the last has one timed sum, each but the first streams what was
// sent in the timed sum before it.
func (c *measurement) measure(r *Result) error {
	start := time.Now()
	if _, err := c.workers.Await(perf.SayReady); err != nil {
		return err
	}
	for number := 1; number <= c.Sums+1; number++ {
		if _, err := c.all(sumTask{Do: taskOpen, Number: uint32(number)}); err != nil {
			return err
		}
		if number > 1 {
			if err := c.stream(r); err != nil {
				return err
			}
		}
		if number > c.Sums {
			return nil
		}
		if _, err := c.all(sumTask{Do: taskKeys}); err != nil {
			return err
		}
		if number == 1 {
			r.SetupSeconds = time.Since(start).Seconds()
			c.log.say("processes, connections and session keys in %.1f s", r.SetupSeconds)
		}
		// Runs the sums of one session.
		for i := range c.Warm {
			one, err := c.one(nil)
			if err != nil {
				return err
			}
			if i == 0 {
				r.FirstAll = append(r.FirstAll, one.Seconds)
			}
			if one.Survivors != c.Clients || one.Unplanned > 0 {
				return fmt.Errorf("sum %d, which should lose nobody, has the vectors of %d of %d clients; %s", c.sum,
					one.Survivors, c.Clients, one.Why)
			}
		}
		one, err := c.one(c.leaving(number))
		if err != nil {
			return err
		}
		r.Each = append(r.Each, *one)
		c.log.say("timed sum %d of %d in %.2f s, processors busy for %.2f s in the server and %.2f s in the "+
			"clients, %d of %d clients stayed",
			number, c.Sums, one.Seconds, one.ServerCPU, one.ClientCPU, one.Survivors, c.Clients)
	}
	return nil
}

// leaving draws who drops out of a timed sum and at which step.
func (c *measurement) leaving(number int) map[int]string {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	steps := leavingSteps(c.Backend)
	leaving := make(map[int]string)
	for _, i := range rng.Perm(c.Clients)[:c.sumCase.leaving()] {
		leaving[i+1] = steps[rng.IntN(len(steps))]
	}
	return leaving
}

// stream has all send the frames of the latest sum, and waits until the last has come.
func (c *measurement) stream(r *Result) error {
	start := time.Now()
	answers, err := c.all(sumTask{Do: taskStream})
	if err != nil {
		return err
	}
	r.BareAll = append(r.BareAll, time.Since(start).Seconds())
	cpu := 0.0
	for _, a := range answers {
		cpu += a.CPU
	}
	r.bareCPU = append(r.bareCPU, cpu)
	return nil
}

// one runs one sum, of which some drop out.
func (c *measurement) one(leaving map[int]string) (*sumResult, error) {
	c.sum++
	if _, err := c.all(sumTask{Do: taskPrepare, Sum: c.sum, Leaving: leaving}); err != nil {
		return nil, err
	}
	answers, err := c.all(sumTask{Do: taskSum})
	if err != nil {
		return nil, err
	}
	last := len(answers) - 1
	return newSumResult(answers[:last], answers[last], c.Clients), nil
}

// all gives a task to all workers and returns their answers, in the workers' order.
func (c *measurement) all(t sumTask) ([]sumAnswer, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if err := c.workers.Send(string(text)); err != nil {
		return nil, err
	}
	said, err := c.workers.Await(perf.SayDone)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Do, err)
	}
	answers := make([]sumAnswer, len(said))
	for i, text := range said {
		if err := json.Unmarshal([]byte(text), &answers[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Do, err)
		}
	}
	return answers, nil
}
