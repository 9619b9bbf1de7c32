package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
)

// demoClientsCommand runs several members' nodes in one process, each with its own folder, key and port,
// as they lie in a demo's folder.
func demoClientsCommand() *cli.Command {
	return &cli.Command{
		Name:        "demo-clients",
		Hidden:      true,
		Usage:       "run the nodes of several clients of a demo in one process",
		ArgsUsage:   "MEMBER...",
		Description: "What hanse demo starts for its clients:\n\n   hanse demo-clients --league demo --server server park-01 park-02",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "league", Required: true, Usage: "the demo's `FOLDER`"},
			&cli.StringFlag{Name: "server", Required: true, Usage: "the `MEMBER` that they keep links with"},
			silenceFlag(),
			&cli.IntFlag{Name: "workers", Value: 1, Usage: "`N` goroutines of each node"},
		},
		Action: func(c *cli.Context) error {
			log, err := newLog(c.App.ErrWriter, "info")
			if err != nil {
				return err
			}
			charter, err := readCompleteCharter((&trial.League{Dir: c.String("league")}).CharterFile())
			if err != nil {
				return err
			}
			var nodes []*daemon
			for _, name := range c.Args().Slice() {
				d, err := demoClient(c, charter, name, log)
				if err != nil {
					return err
				}
				nodes = append(nodes, d)
			}
			return runAll(c.Context, nodes)
		},
	}
}

// demoClient assembles the node of one client.
func demoClient(c *cli.Context, charter *keys.SignedCharter, name string, log *slog.Logger) (*daemon, error) {
	l := &trial.League{Dir: c.String("league")}
	key, err := loadKey(c, l.Path(name, name+".key"))
	if err != nil {
		return nil, err
	}
	policy, err := consent.Read(l.Path(name, "policy.toml"), &charter.Charter)
	if err != nil {
		return nil, err
	}
	server, err := membersNamed(charter, []string{c.String("server")})
	if err != nil {
		return nil, err
	}
	return newDaemon(nodeConfig{
		key: key.Key, keyFile: l.Path(name, name+".key"), charter: charter, charterFile: l.CharterFile(), dir: l.Path(name, "node"), neighbours: server, policy: policy,
		tables: map[string]node.TableSpec{"train": {Path: l.Path(name, "train.csv")}}, workers: c.Int("workers"), recordLimit: node.DefaultRecordLimit,
		silence: c.Duration("silence"),
	}, log.With("at", name))
}

// runAll runs nodes until the owner ends it or one of them fails.
func runAll(owner context.Context, nodes []*daemon) error {
	ctx, cancel := context.WithCancelCause(owner)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, d := range nodes {
		running.Go(func() {
			if err := d.run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if owner.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}
