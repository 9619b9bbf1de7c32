package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"
)

// sumCrew are the processes of one case: those of the clients, and the server last, so that the
// clients have heard of a task before the server begins it.
type sumCrew struct {
	crew
	sumCase
	log sumLog
	sum uint64 // the latest one's number
}

// measureSum measures one case in fresh processes.
func measureSum(ctx context.Context, s sumCase, progress io.Writer) (r *sumRun, err error) {
	dir, remove, err := workDir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	log := sumLog{progress, s.String()}
	start := time.Now()
	if err := foundSumLeague(dir, s); err != nil {
		return nil, err
	}
	r = newSumRun(s)
	r.LeagueSeconds = time.Since(start).Seconds()
	log.say("keys and charter in %.1f s", r.LeagueSeconds)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := startSumCrew(ctx, dir, s, log)
	if err != nil {
		return nil, err
	}
	if err := c.measure(r); err != nil {
		cancel() // others may wait for the one that failed
		return nil, errors.Join(err, c.stop())
	}
	r.finish()
	return r, c.stop()
}

// startSumCrew starts all processes.
func startSumCrew(ctx context.Context, dir string, s sumCase, log sumLog) (*sumCrew, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &sumCrew{sumCase: s, log: log}
	start := func(name string, first, count int) error {
		m, err := startWorker(ctx, program, name, sumWorkerName, "--dir", dir, "--first", fmt.Sprint(first), "--count", fmt.Sprint(count))
		if err == nil {
			c.workers = append(c.workers, m)
		}
		return err
	}
	for p := range s.Processes {
		first, next := 1+p*s.Clients/s.Processes, 1+(p+1)*s.Clients/s.Processes
		if err := start(fmt.Sprintf("clients %d to %d", first, next-1), first, next-first); err != nil {
			return nil, errors.Join(err, c.stop())
		}
	}
	if err := start("server", sumServerIndex, 1); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// measure runs all sessions: each but the last has one timed sum, each but the first streams what was
// sent in the timed sum before it.
func (c *sumCrew) measure(r *sumRun) error {
	start := time.Now()
	if err := c.await(sayReady); err != nil {
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
		if err := c.session(r, number); err != nil {
			return err
		}
	}
	return nil
}

// session runs the sums of one session.
func (c *sumCrew) session(r *sumRun, number int) error {
	for i := range c.Warm {
		one, err := c.one(nil)
		if err != nil {
			return err
		}
		if i == 0 {
			r.FirstAll = append(r.FirstAll, one.Seconds)
		}
		if one.Survivors != c.Clients || one.Unplanned > 0 {
			return fmt.Errorf("sum %d, which should lose nobody, has the vectors of %d of %d clients; %s", c.sum, one.Survivors, c.Clients, one.Why)
		}
	}
	one, err := c.one(c.leaving(number))
	if err != nil {
		return err
	}
	r.Each = append(r.Each, *one)
	c.log.say("timed sum %d of %d in %.2f s, processors busy for %.2f s in the server and %.2f s in the clients, %d of %d clients stayed",
		number, c.Sums, one.Seconds, one.ServerCPU, one.ClientCPU, one.Survivors, c.Clients)
	return nil
}

// leaving draws who drops out of a timed sum and at which step.
func (c *sumCrew) leaving(number int) map[int]string {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	steps := leavingSteps(c.Backend)
	leaving := make(map[int]string)
	for _, i := range rng.Perm(c.Clients)[:c.sumCase.leaving()] {
		leaving[i+1] = steps[rng.IntN(len(steps))]
	}
	return leaving
}

// stream has all send the frames of the latest sum, and waits until the last has come.
func (c *sumCrew) stream(r *sumRun) error {
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
func (c *sumCrew) one(leaving map[int]string) (*sumResult, error) {
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
func (c *sumCrew) all(t sumTask) ([]sumAnswer, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if err := c.tell(string(text)); err != nil {
		return nil, err
	}
	answers := make([]sumAnswer, len(c.workers))
	for i, m := range c.workers {
		said, err := m.hear(sayDone)
		if err == nil {
			err = json.Unmarshal([]byte(said), &answers[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Do, err)
		}
	}
	return answers, nil
}
