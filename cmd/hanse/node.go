package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
)

// dirFlag names the node's folder; all commands that talk to a node have it.
func dirFlag() cli.Flag {
	return &cli.StringFlag{Name: "dir", Value: "hanse-node", Usage: "the node's own `FOLDER`: jobs, checkpoints, model parts, socket"}
}

// nodeCommand runs a member's node.
func nodeCommand() *cli.Command {
	return &cli.Command{
		Name:  "node",
		Usage: "run this organisation's node",
		Description: `The node listens on the charter's port, finds the other members, answers their
proposals by your policy or waits for your word, and takes jobs up again after a
crash of anybody. Start it with the same command and it goes on where it was.

   hanse node --key bank.key --charter charter.toml --data bank.csv --dir bank-node
   hanse node --key bank.key --charter charter.toml \
       --data train=bank/train.csv --data test=bank/test.csv --policy policy.toml

A policy that trusts one partner with sealed trainings of up to 100,000 rows:

   format = "hanse-policy-v1"
   [[accept]]
   proposers = ["insurer"]
   tasks = ["train"]
   privacy = ["sealed"]               # those of which no angle opens
   # aggregation = ["masked", "he"]   # of masked ones: how the sums may be protected
   max_rows = 100000

A member that other members' sealed jobs name as their helper needs no table:

   hanse node --key telco.key --charter charter.toml --policy policy.toml --dir telco-node

A client of a job over clients keeps a link with its server alone, and may read its
stream from a program:

   sensor-reader | hanse node --key ship.key --charter charter.toml --data train=- --neighbour office

A member that the charter has as a client alone (roles = ["client"]) keeps links with
those who may be servers, and needs no --neighbour. Where sums go over trees or rings
clients need each other too: links come up as jobs need them, and --neighbour names
those to keep from the start, in place of the servers.

Without a policy every job waits for hanse approve. docs/policy.md has all keys;
hanse policy check says what a policy does.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Required: true, Usage: "this member's key `FILE`"},
			&cli.StringFlag{Name: "passphrase-file", Usage: "`FILE` that holds the key's passphrase"},
			&cli.StringFlag{Name: "charter", Required: true, Usage: "the signed charter `FILE`"},
			&cli.StringSliceFlag{Name: "data", Usage: "a table: `[NAME=]FILE`, CSV or LIBSVM, also gzipped; the name is \"train\" when left out; - is standard input, for a client's stream"},
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of CSV files", DefaultText: "the one called id"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` that holds codes though it looks like numbers"},
			&cli.StringFlag{Name: "missing", Usage: "what an empty cell becomes, `HOW`: refuse, mean or median (numbers), level (texts and codes), or both as mean,level", Value: "refuse"},
			&cli.StringFlag{Name: "policy", Usage: "`FILE` of rules for consent without asking"},
			&cli.StringSliceFlag{Name: "listen", Usage: "listen on this `ADDRESS` (default: the charter's ports on all interfaces)"},
			&cli.StringSliceFlag{Name: "neighbour", Usage: "keep links with this `MEMBER` and others so named, not with all; who calls is answered all the same", DefaultText: "all members; the servers, for a client alone"},
			&cli.StringSliceFlag{Name: "discovery", Usage: "find members by these `WAYS`: addresses, mdns, dht (default: the charter's)"},
			silenceFlag(),
			&cli.BoolFlag{Name: "quic", Usage: "speak QUIC besides TCP"},
			&cli.IntFlag{Name: "workers", Usage: "`N` goroutines for arithmetic", DefaultText: "all cores"},
			&cli.Int64Flag{Name: "record-limit", Value: node.DefaultRecordLimit >> 20, Usage: "keep at most `MIB` of payloads of a job that records them"},
			&cli.StringFlag{Name: "log", Value: "info", Usage: "`LEVEL` of the log on standard error: debug, info, warn"},
			dirFlag(),
		},
		Action: runNode,
	}
}

// silenceFlag is how long a member may be silent.
func silenceFlag() cli.Flag {
	return &cli.DurationFlag{Name: "silence", Value: 4 * time.Second, Usage: "a member that is silent for `DURATION` is gone; heartbeats come four times as often. Longer where hundreds of nodes share a machine"}
}

// runNode assembles and runs a node until it is interrupted.
func runNode(c *cli.Context) error {
	log, err := newLog(c.App.ErrWriter, c.String("log"))
	if err != nil {
		return err
	}
	tables, err := tableSpecs(c)
	if err != nil {
		return err
	}
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return err
	}
	charter, err := readCompleteCharter(c.String("charter"))
	if err != nil {
		return err
	}
	n := nodeConfig{
		key: key.Key, keyFile: c.String("key"), charter: charter, charterFile: c.String("charter"), dir: c.String("dir"), tables: tables,
		listen: c.StringSlice("listen"), quic: c.Bool("quic"), discovery: c.StringSlice("discovery"),
		workers: c.Int("workers"), recordLimit: c.Int64("record-limit") << 20, silence: c.Duration("silence"),
	}
	if err := n.chooseNeighbours(c.StringSlice("neighbour")); err != nil {
		return err
	}
	if path := c.String("policy"); path != "" {
		if n.policy, err = consent.Read(path, &charter.Charter); err != nil {
			return err
		}
	}
	d, err := newDaemon(n, log)
	if err != nil {
		return err
	}
	return d.run(c.Context)
}

// membersNamed finds members by their names; of no names nothing comes, which stands for all.
func membersNamed(charter *keys.SignedCharter, names []string) ([]keys.ID, error) {
	var ids []keys.ID
	for _, name := range names {
		m, ok := charter.MemberNamed(name)
		if !ok {
			return nil, usagef("--neighbour %s: charter %q has no such member", name, charter.Name)
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// nodeConfig is what a member's node is started with.
type nodeConfig struct {
	key         *keys.PrivateKey
	keyFile     string
	charter     *keys.SignedCharter
	charterFile string
	dir         string
	tables      map[string]node.TableSpec
	policy      *consent.Policy // nil asks about everything
	listen      []string
	quic        bool
	discovery   []string
	neighbours  []keys.ID // nil: all members
	silence     time.Duration
	servers     []keys.ID // the neighbours that the charter gives, nil for others
	workers     int
	recordLimit int64 // bytes
}

// chooseNeighbours sets the members that are named, or, when none is, those that the charter gives.
func (n *nodeConfig) chooseNeighbours(names []string) (err error) {
	if n.neighbours, err = membersNamed(n.charter, names); err != nil || n.neighbours != nil {
		return err
	}
	n.servers = serversFor(n.key.ID(), n.charter)
	n.neighbours = n.servers
	return nil
}

// daemon is a node with its network.
type daemon struct {
	log     *slog.Logger
	self    keys.ID
	dir     string
	servers []keys.ID // the neighbours that the charter gave at the start, nil for others
	host    *peer.Host
	node    *node.Node
	enrol   *enrol.Enrolment
}

// newDaemon opens the network and builds the node on it.
func newDaemon(c nodeConfig, log *slog.Logger) (*daemon, error) {
	if err := owner.Folder(c.dir); err != nil {
		return nil, err
	}
	references := reference.Open(c.dir)
	d := &daemon{log: log, self: c.key.ID(), dir: c.dir, servers: c.servers}
	var err error
	d.host, err = peer.New(peer.Config{
		Key: c.key, Charter: c.charter, Listen: c.listen, QUIC: c.quic, Discovery: c.discovery, Neighbours: c.neighbours,
		Heartbeat: c.silence / 4, Silence: c.silence,
		StateDir: c.dir, Invited: func(id keys.ID) bool { return d.enrol != nil && d.enrol.Invited(id) }, Log: log,
	})
	if err != nil {
		return nil, err
	}
	d.enrol, err = enrol.New(enrol.Config{
		Key: c.key, Charter: c.charter, CharterFile: c.charterFile, Dir: c.dir, Call: d.host.Call, Near: c.neighbours,
		Changed: d.changed, Log: log, References: references,
	})
	if err != nil {
		return nil, err
	}
	d.node, err = node.New(node.Config{
		Key: c.key, KeyFile: c.keyFile, Charter: c.charter, Transport: d.host, Tables: c.tables, Policy: c.policy, Dir: c.dir, Workers: c.workers,
		RecordLimit: c.recordLimit, Log: log, Told: d.told, Extra: d.enrol.Handle, References: references,
	})
	if err != nil {
		return nil, err
	}
	m, _ := c.charter.Member(c.key.ID())
	log.Info("node is up", "member", m.Name, "charter", c.charter.Name, "version", c.charter.Version, "listening", strings.Join(d.host.Addresses(), " "))
	return d, nil
}

// run runs all parts until the owner ends it, which is no error, or one of them fails.
func (d *daemon) run(owner context.Context) error {
	ctx, cancel := context.WithCancelCause(owner)
	defer cancel(nil)
	var parts sync.WaitGroup
	for _, part := range []func(context.Context) error{d.host.Run, d.node.Run, d.node.ServeSocket, d.enrol.Run} {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	parts.Wait()
	d.log.Info("node is down")
	if owner.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// changed takes a new charter into use.
func (d *daemon) changed(charter *keys.SignedCharter) {
	if err := d.host.SetCharter(charter); err != nil {
		d.log.Error("the new charter is not in use", "error", err)
		return
	}
	d.node.SetCharter(charter)
	d.log.Info("charter changed", "version", charter.Version)
	if d.servers != nil && !slices.Equal(d.servers, serversFor(d.self, charter)) {
		d.log.Warn("the charter's servers are others now: start this node again to keep links with them alone")
	}
}

// told logs a job's events; progress goes to the person who proposed alone.
func (d *daemon) told(e node.Event) {
	switch e.Kind {
	case node.EventProgress:
		d.log.Debug("progress", "job", e.Job[:8], "step", e.Step, "done", e.Done, "total", e.Total)
	case node.EventSummary:
		d.log.Info("a job is proposed; hanse jobs shows it, hanse approve consents", "job", e.Job[:8])
		for line := range strings.Lines(e.Text) {
			d.log.Info(strings.TrimRight(line, "\n"))
		}
	default:
		d.log.Info(e.Text, "job", e.Job[:8])
	}
}

// tableSpecs reads the --data flags.
func tableSpecs(c *cli.Context) (map[string]node.TableSpec, error) {
	specs := make(map[string]node.TableSpec)
	for _, v := range c.StringSlice("data") {
		name, path, ok := strings.Cut(v, "=")
		if !ok {
			name, path = "train", v
		}
		if _, ok := specs[name]; ok {
			return nil, usagef("--data gives table %q twice", name)
		}
		if _, err := os.Stat(path); err != nil && path != stream.Stdin {
			return nil, fmt.Errorf("--data %s: %w", v, err)
		}
		specs[name] = node.TableSpec{Path: path, Options: dataset.Options{
			ID: c.String("id"), Categorical: c.StringSlice("categorical"), Missing: c.String("missing"),
		}}
	}
	return specs, nil
}
