package joining

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
)

// Founder is who proposes the first version of a charter.
type Founder struct {
	Key     *keys.PrivateKey
	Charter *keys.SignedCharter // version 1, which the founder has signed
	Keep    func(*keys.SignedCharter) error
	Listen  []string // multiaddrs; nil: all interfaces at the ports that the charter gives the founder
	Person  terminal.Person
	Log     *slog.Logger
}

// lookEvery is how often the person is told whom the charter waits for, where that has changed.
const lookEvery = 200 * time.Millisecond

// Found answers the members that a first version names until each of them has it with all signatures, or ctx ends:
// then what was signed is kept, and the same call goes on.
func Found(ctx context.Context, who Founder) error {
	f, err := enrol.NewFounding(who.Key, who.Charter, who.Keep, who.Log)
	if err != nil {
		return err
	}
	alone, err := f.Alone()
	if err != nil {
		return err
	}
	host, err := peer.New(peer.Config{Key: who.Key, Charter: alone, Listen: who.Listen, Invited: f.Invited, Log: who.Log,
		Discovery: []string{peer.DiscoverAddresses}})
	if err != nil {
		return err
	}
	host.Handle(f.Handle)
	running, stop := context.WithCancel(ctx)
	var part sync.WaitGroup
	failed := make(chan error, 1)
	part.Go(func() { failed <- host.Run(running) })
	defer part.Wait()
	defer stop()

	n := &newcomer{Newcomer: Newcomer{Person: who.Person}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for said := ""; ; {
		text := "all have signed; waiting until it has been fetched by " + strings.Join(f.Without(), ", ")
		if missing := f.Missing(); len(missing) > 0 {
			text = "waiting for the signatures of " + strings.Join(missing, ", ")
		}
		select {
		case <-f.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return errors.Join(errors.New("the network ended"), err)
		case <-tick.C:
		}
		if text != said {
			n.say("%s", text)
			said = text
		}
	}
}
