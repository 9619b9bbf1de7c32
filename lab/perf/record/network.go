package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/peer"
)

// recordNetwork are parties of one job that live in this process and talk over the network.
type recordNetwork struct {
	*recordJob
	dir    string
	keys   []*keys.PrivateKey
	ids    []keys.ID
	hosts  []*runningHost
	rows   int
	rounds uint32 // so far; each one is a session with a number of its own
}

// recordSilence is when a party counts as gone. All parties share this process, so that nobody goes
// alone, and on a busy machine a heartbeat may be late.
const recordSilence = time.Minute

// runningHost is a host and what tells how it ended.
type runningHost struct {
	*peer.Host
	stopped chan error
}

// openRecordNetwork reads the set and starts a host for each party.
func openRecordNetwork(ctx context.Context, s *sets.Benchmark, dir string) (*recordNetwork, error) {
	data, err := trial.Files(s.Files, s.Options(), sets.Parties, 1)
	if err != nil {
		return nil, err
	}
	founded, err := localnet.Found(dir, data.Names, "masked")
	if err != nil {
		return nil, err
	}
	l := &recordNetwork{dir: dir, keys: founded.Keys, rows: data.Train[0].Rows()}
	for _, k := range l.keys {
		l.ids = append(l.ids, k.ID())
	}
	if l.recordJob, err = newRecordJob(s, data, l.ids); err != nil {
		return nil, err
	}
	for i, name := range l.names {
		if err := l.startHost(ctx, i, founded.Charter); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), l.close())
		}
	}
	return l, nil
}

// startHost starts the host of party i.
func (l *recordNetwork) startHost(ctx context.Context, i int, charter *keys.SignedCharter) error {
	host, err := peer.New(peer.Config{Key: l.keys[i], Charter: charter, Silence: recordSilence})
	if err != nil {
		return err
	}
	h := &runningHost{host, make(chan error, 1)}
	go func() { h.stopped <- host.Run(ctx) }()
	l.hosts = append(l.hosts, h)
	return nil
}

// others lists everybody but party i.
func (l *recordNetwork) others(i int) []keys.ID {
	var others []keys.ID
	for j, id := range l.ids {
		if j != i {
			others = append(others, id)
		}
	}
	return others
}

// together lets every party do its part at the same time. The first one that fails stops the others
// and is named.
func (l *recordNetwork) together(ctx context.Context, part func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parties sync.WaitGroup
	for i, name := range l.names {
		parties.Go(func() {
			if err := part(ctx, i); err != nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	parties.Wait()
	return context.Cause(ctx)
}

// close ends all hosts.
func (l *recordNetwork) close() error {
	var err error
	for i, h := range l.hosts {
		if e := errors.Join(h.Close(), <-h.stopped); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", l.names[i], e))
		}
	}
	return err
}
