package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/build"
	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/daemon"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/protocol/transcript"
)

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

What is said of all tables, as --id here, holds for those that say nothing themselves.
A table says its own behind a question mark, or in a file beside it, train.csv.toml, with
the same keys: id, categorical, missing, na, columns, ignore, levels, dates, refresh.

   hanse node --key bank.key --charter charter.toml --id customer \
       --data 'train=bank/train.csv?categorical=region,product&ignore=name' \
       --data 'test=bank/test.csv?id=applicant'

docs/tables.md has every rule; hanse table check shows what a table comes to.

A table may lie in Parquet files or a database, or be what a command writes. Passwords
stay in PGPASSWORD, in the file of PGPASSFILE or in a service of PGSERVICE:

   --data train=warehouse/customers.parquet
   --data 'train=postgres://hanse@db.example/bank?query=SELECT * FROM people'
   --data 'train=sqlite:bank.db?query=SELECT id, age, income FROM customers'
   --data 'train=exec:duckdb -csv -c "SELECT * FROM t" bank.duckdb'

Such a table is read when the node starts, when you propose a job, when a contract is
signed and when its session starts; what others ask before is answered from what was read
last. --refresh 24h reads it so often besides, --refresh manual not even at the start:
hanse table refresh NAME does. docs/sources.md says what each source does, and what
becomes of dates and missing values.

A member that other members' sealed jobs name as their helper needs no table:

   hanse node --key telco.key --charter charter.toml --policy policy.toml --dir telco-node

A client of a job over clients keeps a link with its server alone, and may read its
stream from a program:

   sensor-reader | hanse node --key ship.key --charter charter.toml --data train=- --neighbour office

A member that the charter has as a client alone (roles = ["client"]) keeps links with
those who may be servers, and needs no --neighbour. Where sums go over trees or rings
clients need each other too: links come up as jobs need them, and --neighbour names
those to keep from the start, in place of the servers.

Behind a firewall that lets only a proxy out, the node dials through it; --proxy names
it, or HTTPS_PROXY, and NO_PROXY what is dialled without. Two members that nobody can
dial meet through one that relays, which its card says (hanse keys card --relay):

   hanse node --key bank.key --charter charter.toml --data bank.csv \
       --proxy http://proxy.bank.example:3128

docs/network.md says who dials whom, and what a relay learns.

Without a policy every job waits for hanse approve. docs/policy.md has all keys;
hanse policy check says what a policy does.

Programs watch it: --metrics serves Prometheus' /metrics, /healthz and /readyz, and
--log-format json writes a log for them. docs/operations.md has both.

   hanse node --key bank.key --charter charter.toml --data bank.csv --dir bank-node \
       --metrics 127.0.0.1:9464 --log-format json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Required: true, Usage: "this member's key `FILE`"},
			&cli.StringFlag{Name: "passphrase-file", Usage: "`FILE` that holds the key's passphrase"},
			&cli.StringFlag{Name: "charter", Required: true, Usage: "the signed charter `FILE`"},
			&cli.GenericFlag{Name: "data", Value: new(words), Usage: "a table: `[NAME=]SOURCE[?KEY=VALUE&...]`, a file (CSV " +
				"or LIBSVM, also gzipped; Parquet), a folder of Parquet files, postgres://, sqlite: or exec:; the name is " +
				"\"train\" when left out; - is standard input, for a client's stream"},
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of tables that say none", DefaultText: "the one called id"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` that holds codes though it looks like numbers, in " +
				"tables that list none and have it"},
			missingFlag("what becomes of missing cells"),
			&cli.StringFlag{Name: "refresh", Usage: "read tables of databases and commands anew after this `DURATION`, " +
				"such as 24h; manual: at hanse table refresh alone, and for your own jobs", DefaultText: "when the node starts"},
			&cli.StringFlag{Name: "policy", Usage: "`FILE` of rules for consent without asking"},
			&cli.StringSliceFlag{Name: "listen", Usage: "listen on this `ADDRESS` (default: the charter's ports on all " +
				"interfaces)"},
			&cli.StringSliceFlag{Name: "neighbour", Usage: "keep links with this `MEMBER` and others so named, not with all; " +
				"who calls is answered all the same", DefaultText: "all members; the servers, for a client alone"},
			&cli.StringSliceFlag{Name: "discovery", Usage: "find members by these `WAYS`: addresses, mdns, dht (default: the " +
				"charter's)"},
			silenceFlag(), proxyFlag(),
			&cli.BoolFlag{Name: "quic", Usage: "speak QUIC besides TCP"},
			&cli.IntFlag{Name: "workers", Usage: "`N` goroutines for arithmetic", DefaultText: "all cores",
				Action: atLeast("workers", 0, 0)},
			&cli.StringFlag{Name: "parts", Usage: "write parts of rows, for workers of shards, into this `FOLDER`",
				DefaultText: "parts in --dir"},
			&cli.Int64Flag{Name: "record-limit", Value: transcript.DefaultRecordLimit >> 20,
				Usage: "keep at most `MIB` of payloads of a job that records them"},
			&cli.StringFlag{Name: "quota", Usage: "the node's folder may come to this `SIZE`, such as 50GB (default: the " +
				"policy's disk_quota, or a tenth of the disk)"},
			&cli.StringFlag{Name: "metrics", Usage: "serve /metrics (Prometheus), /healthz and /readyz at this " +
				"`ADDRESS`, such as 127.0.0.1:9464", DefaultText: "none"},
			&cli.StringFlag{Name: "page", Usage: "have the page listen on this loopback `ADDRESS` or socket from the start, " +
				"such as 127.0.0.1:8085", DefaultText: "nowhere until hanse page asks"},
			&cli.StringFlag{Name: "log", Value: "info", Usage: "`LEVEL` of the log on standard error: debug, info, warn"},
			&cli.StringFlag{Name: "log-format", Value: "text", Usage: "the log as `FORMAT`: text, or json for programs that " +
				"gather logs"},
			dirFlag(),
		},
		Action: func(c *cli.Context) error {
			log, err := terminal.NewLog(c.App.ErrWriter, c.String("log"), c.String("log-format"))
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
			charter, err := charterfile.ReadInForce(c.String("charter"))
			if err != nil {
				return err
			}
			config := daemon.Config{
				Key: key.Key, KeyFile: c.String("key"), Charter: charter, CharterFile: c.String("charter"), Dir: c.String("dir"),
				Tables: tables, Listen: c.StringSlice("listen"), QUIC: c.Bool("quic"), Discovery: c.StringSlice("discovery"),
				Neighbours: c.StringSlice("neighbour"), Silence: c.Duration("silence"), Workers: c.Int("workers"),
				RecordLimit: c.Int64("record-limit") << 20, Log: log, Version: build.Version(),
				Metrics: c.String("metrics"), Parts: c.String("parts"),
			}
			if size := c.String("quota"); size != "" {
				if config.Quota, err = consent.ParseSize(size); err != nil {
					return usage.Errorf("--quota: %v", err)
				}
			}
			if config.Proxy, err = proxyOf(c); err != nil {
				return err
			}
			config.Page = c.String("page")
			if path := c.String("policy"); path != "" {
				if config.Policy, err = consent.Read(path, &charter.Charter); err != nil {
					return err
				}
			}
			d, err := daemon.New(config)
			if err != nil {
				return err
			}
			return d.Run(c.Context)
		},
	}
}

// silenceFlag is how long a member may be silent.
func silenceFlag() cli.Flag {
	return &cli.DurationFlag{Name: "silence", Value: 4 * time.Second, Usage: "a member that is silent for `DURATION` " +
		"is gone; heartbeats come four times as often. Longer where hundreds of nodes share a machine"}
}

// missingFlag says how missing cells are treated.
func missingFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "missing", DefaultText: "level", Usage: usage + ", `HOW`: level (numbers get the " +
		"median and a column that says so, texts a level), mean or median (numbers), both with levels of texts as " +
		"mean,level, or refuse"}
}

// tableSpecs reads the --data flags. What flags say of all tables holds for those that say nothing themselves.
func tableSpecs(c *cli.Context) (map[string]jobs.TableSpec, error) {
	specs := make(map[string]jobs.TableSpec)
	found := make(map[string]bool) // of the categorical columns, those that a table has
	for _, v := range *c.Generic("data").(*words) {
		name, location, ok := strings.Cut(v, "=")
		if !ok || strings.ContainsAny(name, ":/?") { // the = is one of the location
			name, location = "train", v
		}
		if _, ok := specs[name]; ok {
			return nil, usage.Errorf("--data gives table %q twice", name)
		}
		place, o, err := dataset.Locate(location, dataset.Options{ID: c.String("id"), Missing: c.String("missing"),
			Refresh: c.String("refresh")})
		if err != nil {
			return nil, fmt.Errorf("--data %s: %w", name, err)
		}
		if place != stream.Stdin {
			at, err := source.Parse(place)
			if err != nil {
				return nil, fmt.Errorf("--data %s: %w", name, err)
			}
			if err := at.Check(); err != nil {
				return nil, fmt.Errorf("--data %s=%v: %w", name, at, err)
			}
		}
		if all := c.StringSlice("categorical"); len(all) > 0 && o.Categorical == nil && place != stream.Stdin {
			names, err := dataset.Header(place, o)
			if err != nil {
				return nil, fmt.Errorf("--data %s: %w", name, err)
			}
			for _, column := range all {
				if slices.Contains(names, column) {
					o.Categorical, found[column] = append(o.Categorical, column), true
				}
			}
		}
		specs[name] = jobs.TableSpec{Path: place, Options: o}
	}
	for _, column := range c.StringSlice("categorical") {
		if !found[column] {
			return nil, usage.Errorf("--categorical %s: no table that is given with --data and lists no categorical columns "+
				"has that column", column)
		}
	}
	return specs, nil
}

// demoClientsCommand runs several members' nodes in one process, each with its own folder, key and port,
// as they lie in a demo's folder.
func demoClientsCommand() *cli.Command {
	return &cli.Command{
		Name:      "demo-clients",
		Hidden:    true,
		Usage:     "run the nodes of several clients of a demo in one process",
		ArgsUsage: "MEMBER...",
		Description: "What hanse demo starts for its clients:\n\n   hanse demo-clients --network demo --server server " +
			"park-01 park-02",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "network", Required: true, Usage: "the demo's `FOLDER`"},
			&cli.StringFlag{Name: "server", Required: true, Usage: "the `MEMBER` that they keep links with"},
			silenceFlag(),
			&cli.IntFlag{Name: "workers", Value: 1, Usage: "`N` goroutines of each node"},
		},
		Action: func(c *cli.Context) error {
			log, err := terminal.NewLog(c.App.ErrWriter, "info", "text")
			if err != nil {
				return err
			}
			l := &localnet.Federation{Dir: c.String("network")}
			charter, err := charterfile.ReadInForce(l.CharterFile())
			if err != nil {
				return err
			}
			var nodes []*daemon.Daemon
			for _, name := range c.Args().Slice() {
				key, err := loadKey(c, l.Path(name, name+".key"))
				if err != nil {
					return err
				}
				policy, err := consent.Read(l.Path(name, "policy.toml"), &charter.Charter)
				if err != nil {
					return err
				}
				d, err := daemon.New(daemon.Config{
					Key: key.Key, KeyFile: l.Path(name, name+".key"), Charter: charter, CharterFile: l.CharterFile(),
					Dir: l.Path(name, "node"), Neighbours: []string{c.String("server")}, Policy: policy,
					Tables:  map[string]jobs.TableSpec{"train": {Path: l.Path(name, "train.csv")}},
					Workers: c.Int("workers"), RecordLimit: transcript.DefaultRecordLimit, Silence: c.Duration("silence"),
					Log: log.With("at", name),
				})
				if err != nil {
					return err
				}
				nodes = append(nodes, d)
			}
			return daemon.RunAll(c.Context, nodes)
		},
	}
}
