package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/doctor"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol/fault"
)

// patient is what a doctor looks at of a node that is started so.
func (c Config) patient() *doctor.Patient {
	return &doctor.Patient{Key: c.Key, KeyFile: c.KeyFile, Charter: c.Charter, CharterFile: c.CharterFile, Dir: c.Dir,
		Tables: c.Tables, Listen: c.Listen, Identify: alignment.Columns(c.Charter.Identifiers)}
}

// extra answers what other members ask beside jobs.
func (d *Daemon) extra(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
	if strings.HasPrefix(method, doctor.Prefix) {
		return d.answers.Handle(ctx, from, method, request)
	}
	return d.enrol.Handle(ctx, from, method, request)
}

// doctor looks at this node while it runs.
func (d *Daemon) doctor(ctx context.Context, members []string) (any, error) {
	d.examining.Lock() // two that measure at once would measure each other
	defer d.examining.Unlock()
	p := *d.patient
	p.Charter = d.node.Charter()
	checks, err := p.Examine(ctx, d.host, nil, members)
	if err != nil {
		return nil, err
	}
	measured := make(map[string]float64) // forecasts of jobs go by it
	for _, c := range checks {
		if c.Name == doctor.CheckThroughput && c.Verdict == doctor.Fine {
			measured[c.About] = min(c.Figures["sent_bytes_per_second"], c.Figures["received_bytes_per_second"])
		}
	}
	if err := d.lines.Note(measured); err != nil {
		d.log.Warn("what the lines carry was not kept", "error", err)
	}
	return &doctor.Report{Member: nameOf(p), Running: true, Checks: checks}, nil
}

func nameOf(p doctor.Patient) string {
	m, _ := p.Charter.Member(p.Key.ID())
	return m.Name
}

// Examine looks at a node that does not run, in its place: with its key, on its ports. Other members see it come and
// go; it takes part in nothing.
func Examine(ctx context.Context, c Config, members []string) (*doctor.Report, error) {
	p := c.patient()
	near, _, err := c.near()
	if err != nil {
		return nil, err
	}
	host, unheard := peer.New(peer.Config{
		Key: c.Key, Charter: c.Charter, Listen: c.Listen, QUIC: c.QUIC, Discovery: c.Discovery, Neighbours: near,
		Heartbeat: c.Silence / 4, Silence: c.Silence, Program: c.Version, Log: slog.New(slog.DiscardHandler),
	})
	var running sync.WaitGroup
	if unheard == nil {
		answers := doctor.NewAnswerer(host)
		host.Handle(func(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
			if strings.HasPrefix(method, doctor.Prefix) {
				return answers.Handle(ctx, from, method, request)
			}
			return nil, &fault.Fault{Code: fault.CodeBusy}
		})
		ctx, cancel := context.WithCancel(ctx)
		defer running.Wait()
		defer cancel()
		running.Go(func() { host.Run(ctx) }) // the error is that it runs twice
	} else {
		host = nil
	}
	checks, err := p.Examine(ctx, host, unheard, members)
	if err != nil {
		return nil, fmt.Errorf("the doctor was interrupted: %w", err)
	}
	return &doctor.Report{Member: nameOf(*p), Checks: checks}, nil
}
