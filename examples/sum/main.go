// Command sum is the smallest use of the packages as a library: three parties add their figures under masks, over TLS.
// The first learns the totals; nobody learns another's figures.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	names := []string{"bank", "insurer", "telco"}
	figures := [][]float64{{1200.50, 17}, {830.25, 4}, {99, 21.5}}

	// Each party has a key. The charter says who takes part and where, and is in force when all have signed it.
	draft := keys.Charter{Name: "example", Version: 1, Created: time.Now()}
	draft.Rules.Discovery = []string{peer.DiscoverAddresses}
	var owners []*keys.PrivateKey
	for _, name := range names {
		key := must(keys.GenerateKey())
		address := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", freePort())
		draft.Admit(keys.Card{Name: name, ID: key.ID(), Addresses: []string{address}})
		owners = append(owners, key)
	}
	charter := must(keys.NewCharter(draft))
	for _, key := range owners {
		check(charter.Sign(key))
	}

	// Parties are programs on machines of their own. Here each is a goroutine, with a TLS host of its own.
	var running errgroup.Group
	for i := range names {
		running.Go(func() error { return add(ctx, owners[i], charter, figures[i]) })
	}
	check(running.Wait())
	fmt.Printf("%s has the totals %.2f and nobody else's figures\n", names[0], figures[0])
}

// add is what one party does: figures are its own, and at the first party become the totals.
func add(ctx context.Context, key *keys.PrivateKey, charter *keys.SignedCharter, figures []float64) (err error) {
	host, err := peer.New(peer.Config{Key: key, Charter: charter})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }()
	defer func() { err = errors.Join(err, host.Close(), <-ended) }()

	// All parties compute the same digest of what they agree on. It names the session, and every frame carries it.
	agreed := keys.HashOf("example of a sum", charter.Text())
	var parties []contract.Party
	var everybody, others []keys.ID
	for _, m := range charter.Members {
		parties, everybody = append(parties, contract.Party{Name: m.Name, ID: m.ID}), append(everybody, m.ID)
		if m.ID != key.ID() {
			others = append(others, m.ID)
		}
	}
	links, err := host.Open(ctx, [32]byte(agreed), others)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, links.Close()) }()
	config := protocol.SessionConfig{Contract: agreed, Number: 1, Parties: parties, Key: key,
		Unbounded: true, Unrecorded: true} // there is no contract that says what may be sent, and nobody will audit it
	session, err := protocol.NewSession(ctx, links, config)
	if err != nil {
		return err
	}
	sums, err := secagg.NewMasked(session, everybody, contract.Tree)
	if err != nil {
		return err
	}
	return sums.SumFixed(ctx, "figures", 0, secagg.Fixed{Bits: 20, Bound: 1e6}, figures)
}

// freePort finds a port of this machine that nobody listens on.
func freePort() int {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// must returns a value that came without an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// check ends the program on an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
