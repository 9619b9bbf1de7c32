// Command train has a bank, an insurer and a telco train one model of all their columns, over TLS. Nothing leaves a
// party but what the contract lists that all have signed, and all that passes is on record for hanse audit.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol/contract"
)

func main() {
	ctx, dir := context.Background(), must(os.MkdirTemp("", "hanse-train-"))
	job := must(contract.ParseJob(must(os.ReadFile("job.toml"))))

	// Each party has a key. The charter says who takes part and where, and is in force when all have signed it.
	draft := keys.Charter{Name: "example", Version: 1, Created: time.Now()}
	var owners []*keys.PrivateKey
	for i, name := range job.Parties {
		port := must(net.Listen("tcp", "127.0.0.1:0")) // a free one, which is let go for the party's host
		must(0, port.Close())
		owners = append(owners, must(keys.GenerateKey()))
		draft.Admit(keys.Card{Name: name, ID: owners[i].ID(), Addresses: []string{
			fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port.Addr().(*net.TCPAddr).Port)}})
	}
	charter := must(keys.NewCharter(draft))
	job.Charter = charter.Digest().String()

	// Each party says how many rows and columns it has. The contract follows from that: what each may send, and learns.
	tables, facts := []*wired.Table{}, []contract.Facts{}
	for i, member := range must(job.Members(&charter.Charter)) {
		must(0, charter.Sign(owners[i]))
		tables = append(tables, must(wired.ReadTable(job, member, member.Name+".csv")))
		facts = append(facts, tables[i].Facts)
	}
	agreed := must(wired.Draft(job, facts))
	for _, key := range owners {
		agreed.Sign(key)
	}

	// Parties are programs on machines of their own. Here each is two goroutines, with a TLS host of its own.
	var running errgroup.Group
	for i, name := range job.Parties {
		host := must(peer.New(peer.Config{Key: owners[i], Charter: charter}))
		p := wired.Party{Key: owners[i], Transport: host, Contract: must(agreed.InForce()), Folder: filepath.Join(dir, name)}
		running.Go(func() error { return host.Run(ctx) })
		running.Go(func() error {
			defer host.Close()
			model := must(wired.Run(ctx, p, wired.Part{Table: tables[i]}.Train))
			return os.WriteFile(filepath.Join(p.Folder, "part"), must(model.Encode()), 0o600)
		})
	}
	must(0, running.Wait())
	must(0, os.WriteFile(filepath.Join(dir, "charter.toml"), charter.Text(), 0o600))
	fmt.Println(dir)
}

// must returns a value that came without an error, or ends the program.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
