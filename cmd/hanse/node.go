package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/node"
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

A policy that trusts one partner with masked trainings of up to 100,000 rows:

   format = "hanse-policy-v1"
   [[accept]]
   proposers = ["insurer"]
   tasks = ["train"]
   privacy = ["masked"]
   aggregation = ["masked", "he"]   # how the sums may be protected
   max_rows = 100000

Without a policy every job waits for hanse approve.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Required: true, Usage: "this member's key `FILE`"},
			&cli.StringFlag{Name: "passphrase-file", Usage: "`FILE` that holds the key's passphrase"},
			&cli.StringFlag{Name: "charter", Required: true, Usage: "the signed charter `FILE`"},
			&cli.StringSliceFlag{Name: "data", Usage: "a table: `[NAME=]FILE`, CSV or LIBSVM, also gzipped; the name is \"train\" when left out"},
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of CSV files", DefaultText: "the one called id"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` that holds codes though it looks like numbers"},
			&cli.StringFlag{Name: "missing", Usage: "what an empty cell becomes, `HOW`: refuse, mean, median, level", Value: "refuse"},
			&cli.StringFlag{Name: "policy", Usage: "`FILE` of rules for consent without asking"},
			&cli.StringSliceFlag{Name: "listen", Usage: "listen on this `ADDRESS` (default: the charter's ports on all interfaces)"},
			&cli.StringSliceFlag{Name: "discovery", Usage: "find members by these `WAYS`: addresses, mdns, dht (default: the charter's)"},
			&cli.BoolFlag{Name: "quic", Usage: "speak QUIC besides TCP"},
			&cli.IntFlag{Name: "workers", Usage: "`N` goroutines for arithmetic", DefaultText: "all cores"},
			&cli.Int64Flag{Name: "record-limit", Value: node.DefaultRecordLimit >> 20, Usage: "keep at most `MIB` of payloads of a job that records them"},
			&cli.StringFlag{Name: "log", Value: "info", Usage: "`LEVEL` of the log on standard error: debug, info, warn"},
			dirFlag(),
		},
		Action: runNode,
	}
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
	var policy *node.Policy
	if path := c.String("policy"); path != "" {
		if policy, err = node.LoadPolicy(path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.String("dir"), 0o700); err != nil {
		return err
	}
	d := &daemon{log: log, dir: c.String("dir")}
	if err := d.assemble(c, key.Key, charter, tables, policy); err != nil {
		return err
	}
	return d.run(c.Context)
}

// daemon is a node with its network.
type daemon struct {
	log   *slog.Logger
	dir   string
	host  *peer.Host
	node  *node.Node
	enrol *enrol.Enrolment
}

// assemble opens the network and builds the node on it.
func (d *daemon) assemble(c *cli.Context, key *keys.PrivateKey, charter *keys.SignedCharter, tables map[string]node.TableSpec, policy *node.Policy) (err error) {
	d.host, err = peer.New(peer.Config{
		Key: key, Charter: charter, Listen: c.StringSlice("listen"), QUIC: c.Bool("quic"), Discovery: c.StringSlice("discovery"),
		StateDir: d.dir, Invited: func(id keys.ID) bool { return d.enrol != nil && d.enrol.Invited(id) }, Log: d.log,
	})
	if err != nil {
		return err
	}
	d.enrol, err = enrol.New(enrol.Config{
		Key: key, Charter: charter, CharterFile: c.String("charter"), Dir: d.dir, Call: d.host.Call, Changed: d.changed, Log: d.log,
	})
	if err != nil {
		return err
	}
	d.node, err = node.New(node.Config{
		Key: key, Charter: charter, Transport: d.host, Tables: tables, Policy: policy, Dir: d.dir, Workers: c.Int("workers"),
		RecordLimit: c.Int64("record-limit") << 20, Log: d.log, Told: d.told, Extra: d.enrol.Handle,
	})
	if err != nil {
		return err
	}
	m, _ := charter.Member(key.ID())
	d.log.Info("node is up", "member", m.Name, "charter", charter.Name, "version", charter.Version, "listening", strings.Join(d.host.Addresses(), " "))
	return nil
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
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("--data %s: %w", v, err)
		}
		specs[name] = node.TableSpec{Path: path, Options: dataset.Options{
			ID: c.String("id"), Categorical: c.StringSlice("categorical"), Missing: c.String("missing"),
		}}
	}
	return specs, nil
}

// newLog writes one short line for each record.
func newLog(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log is %q, want debug, info or warn", level)
	}
	return slog.New(&lineHandler{w: w, level: l, mu: new(sync.Mutex)}), nil
}

// lineHandler is a slog.Handler for people: time, message, values.
type lineHandler struct {
	w     io.Writer
	level slog.Level
	mu    *sync.Mutex
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format(time.TimeOnly))
	if r.Level >= slog.LevelWarn {
		b.WriteString(" " + strings.ToLower(r.Level.String()))
	}
	b.WriteString(" " + r.Message)
	add := func(a slog.Attr) bool {
		if a.Value.String() != "" {
			fmt.Fprintf(&b, "  %s=%s", a.Key, a.Value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String()+"\n")
	return err
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return &c
}

// WithGroup implements slog.Handler; groups are not shown.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }
