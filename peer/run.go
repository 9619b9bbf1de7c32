package peer

import (
	"context"
	"errors"
	"sync"
)

// errClosed is what waits for something on a host that ends.
var errClosed = errors.New("the host is closed")

// Run keeps a link to every neighbour until ctx ends or Close is called: it dials, lets others in,
// finds addresses and listens for heartbeats. Everything it starts has ended when it returns,
// and the host cannot be used again. It returns an error only if it runs
// already.
func (h *Host) Run(ctx context.Context) error {
	h.mu.Lock()
	before := h.state
	h.state = max(before, stateRunning)
	h.mu.Unlock()
	switch before {
	case stateRunning:
		return errors.New("a host runs only once")
	case stateClosed:
		return nil
	}
	if h.cfg.discovers(DiscoverDHT) {
		h.startDHT() // before the first link, which is introduced to it
	}
	close(h.started)

	stop := context.AfterFunc(ctx, h.endLife)
	defer stop()
	var tasks sync.WaitGroup
	if h.cfg.discovers(DiscoverMDNS) {
		tasks.Go(h.runMDNS)
	}
	h.keepAll(&tasks)
	tasks.Wait()
	return h.shutDown()
}

// keepAll runs a keeper for every member that a link is kept with, and one for each that a new
// charter, a session or a call brings, until the host's life ends.
func (h *Host) keepAll(tasks *sync.WaitGroup) {
	for {
		h.mu.Lock()
		for _, m := range h.members {
			if m.kept && m.dismiss == nil {
				ctx, dismiss := context.WithCancel(h.life)
				m.dismiss = dismiss
				tasks.Go(func() { h.keep(ctx, m) })
			}
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-h.life.Done():
			return
		}
	}
}

// shutDown closes what is open and waits for all that still runs.
func (h *Host) shutDown() error {
	defer close(h.stopped)
	// Nobody can enter after this: the lock orders enter's look at life against the wait.
	h.mu.Lock()
	h.state = stateClosed
	h.mu.Unlock()
	h.serving.Wait()
	if f := h.finder.Load(); f != nil {
		f.close()
	}
	err := h.node.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.admissions {
		a.limit.Stop()
	}
	for _, m := range h.members {
		h.ring(m)
	}
	h.ringHost()
	return err
}
