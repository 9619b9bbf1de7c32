// Package daemon is a member's node as a program runs it: the host with its links, the node with its jobs, and
// enrolment, which lets newcomers in and carries new charters round.
package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/doctor"
	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/metrics"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/internal/systemd"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/workerkeys"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
)

// Config is what a member's node is started with.
type Config struct {
	Key         *keys.PrivateKey
	KeyFile     string
	Charter     *keys.SignedCharter
	CharterFile string
	Dir         string // the node's own folder
	Tables      map[string]jobs.TableSpec
	Policy      *consent.Policy // nil asks about everything
	Listen      []string        // nil: the charter's ports on all interfaces
	QUIC        bool
	Proxy       *peer.Proxy // that dials for this node; nil: none
	Discovery   []string    // ways to find members; nil: the charter's
	// names of the members to keep links with; nil: all, or for a client alone those who may serve
	Neighbours  []string
	Silence     time.Duration // after which a member is gone
	Workers     int           // goroutines for arithmetic
	Parts       string        // the folder of parts of rows for workers of shards; empty: in Dir
	RecordLimit int64         // bytes of payloads that a job keeps
	Version     string        // of the program, which the other members are told
	// Metrics is the address, host and port, at which programs may watch the node over HTTP; empty: none.
	Metrics string
	Page    string // where the page listens from the start; empty: nowhere until hanse page asks
	Quota   int64  // bytes that Dir may come to; 0: the policy's, or a default
	Log     *slog.Logger
}

// Daemon is a node with its network.
type Daemon struct {
	log     *slog.Logger
	dir     string
	self    keys.ID
	servers []keys.ID // the neighbours that the charter gave at the start, nil for others
	host    *peer.Host
	node    *node.Node
	enrol   *enrol.Enrolment
	patient *doctor.Patient
	answers *doctor.Answerer
	pages   *pages
	journal *journal
	page    string // see Config.Page

	lines *forecast.Lines

	examining sync.Mutex
	metrics   net.Listener // nil: nobody watches
}

// near returns the members to keep links with, nil for all, and those among them that the charter gave because none is
// named, nil otherwise.
func (c Config) near() (near, given []keys.ID, err error) {
	for _, name := range c.Neighbours {
		m, ok := c.Charter.MemberNamed(name)
		if !ok {
			return nil, nil, usage.Errorf("--neighbour %s: charter %q has no such member", name, c.Charter.Name)
		}
		near = append(near, m.ID)
	}
	if near == nil {
		given = serversFor(c.Key.ID(), c.Charter)
		near = given
	}
	return near, given, nil
}

// serversFor lists the members that a member's node keeps links with when nothing else is said: the
// servers, for one that may be a client alone. nil stands for all members.
func serversFor(self keys.ID, charter *keys.SignedCharter) []keys.ID {
	if charter.Allows(self, keys.RoleServer) {
		return nil
	}
	var ids []keys.ID
	for _, m := range charter.MayServe() {
		ids = append(ids, m.ID)
	}
	return ids
}

// New opens the network and builds the node on it.
func New(c Config) (*Daemon, error) {
	near, servers, err := c.near()
	if err != nil {
		return nil, err
	}
	if err := checkPage(c.Page); err != nil {
		return nil, err
	}
	if err := jobs.LookAt(c.Tables, c.Charter.Identifiers, c.Log); err != nil {
		return nil, err
	}
	if err := owner.Folder(c.Dir); err != nil {
		return nil, err
	}
	references := reference.Open(c.Dir)
	d := &Daemon{log: c.Log, dir: c.Dir, self: c.Key.ID(), servers: servers, journal: newJournal(c.Log),
		pages: &pages{log: c.Log}, page: c.Page, lines: forecast.ReadLines(c.Dir)}
	register, atDoor := workerkeys.Open(c.Dir, time.Now, c.Log), new(door)
	d.host, err = peer.New(peer.Config{
		Key: c.Key, Charter: c.Charter, Listen: c.Listen, QUIC: c.QUIC, Discovery: c.Discovery, Neighbours: near,
		Proxy:     c.Proxy,
		Heartbeat: c.Silence / 4, Silence: c.Silence,
		StateDir: c.Dir, Program: c.Version, Log: c.Log,
		Worker: atDoor.isWorker, Spent: atDoor.spent, WorkerCame: register.Came, Workers: MaxWorkers,
		Working: atDoor.working,
		Invited: func(id keys.ID) bool { return d.enrol != nil && d.enrol.Invited(id) },
	})
	if err != nil {
		return nil, err
	}
	d.answers, d.patient = doctor.NewAnswerer(d.host), c.patient()
	d.enrol, err = enrol.New(enrol.Config{
		Key: c.Key, Charter: c.Charter, CharterFile: c.CharterFile, Dir: c.Dir, Call: d.host.Call, Near: near,
		Changed: d.changed, Log: c.Log, References: references,
	})
	if err != nil {
		return nil, err
	}
	inForce, err := c.Charter.InForce()
	if err != nil {
		return nil, err
	}
	d.node, err = node.New(node.Config{
		Key: c.Key, KeyFile: c.KeyFile, Charter: inForce, Transport: d.host, Tables: c.Tables, Policy: c.Policy,
		Dir: c.Dir, Workers: c.Workers, Parts: c.Parts, WorkerKeys: register,
		RecordLimit: c.RecordLimit, Quota: c.Quota, Log: c.Log, Told: d.told, References: references,
		Extra: d.extra, Network: d.network, Version: c.Version, Doctor: d.doctor, Pages: d.pages,
		Lines:  d.lines,
		Speeds: sync.OnceValues(func() (*forecast.Speeds, error) { return forecast.ReadSpeeds(c.Dir) }),
	})
	if err != nil {
		return nil, err
	}
	atDoor.node.Store(d.node)
	d.host.HandleWorkers(d.serveWorker)
	if err := d.pages.set(d.node); err != nil {
		return nil, err
	}
	if c.Metrics != "" {
		if d.metrics, err = metrics.Listen(c.Metrics); err != nil {
			return nil, err
		}
		c.Log.Info("metrics are served", "at", d.metrics.Addr().String())
	}
	m, _ := c.Charter.Member(c.Key.ID())
	c.Log.Info("node is up", "member", m.Name, "charter", c.Charter.Name, "version", c.Charter.Version, "listening",
		strings.Join(d.host.Addresses(), " "))
	return d, nil
}

// Run runs all parts until the owner ends it, which is no error, or one of them fails.
func (d *Daemon) Run(owner context.Context) error {
	ctx, cancel := context.WithCancelCause(owner)
	defer cancel(nil)
	var parts sync.WaitGroup
	all := []func(context.Context) error{d.host.Run, d.node.Run, d.node.ServeSocket, d.enrol.Run,
		func(ctx context.Context) error { return d.pages.run(ctx, d.page) }}
	if d.metrics != nil {
		all = append(all, d.serveMetrics)
	}
	if every := systemd.Watchdog(); every > 0 {
		all = append(all, func(ctx context.Context) error { return d.watched(ctx, every/6) })
	}
	for _, part := range all {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	if err := systemd.Notify(systemd.Ready); err != nil {
		d.log.Warn(err.Error())
	}
	<-ctx.Done()
	if err := systemd.Notify(systemd.Stopping); err != nil {
		d.log.Warn(err.Error())
	}
	parts.Wait()
	d.log.Info("node is down")
	if owner.Err() != nil {
		return nil
	}
	return cmp.Or(d.node.Moved(), context.Cause(ctx)) // a folder that is gone is why whatever failed first did
}

// watched tells the service manager, so often, that this node answers its owner's commands, as long as it does.
func (d *Daemon) watched(ctx context.Context, every time.Duration) error {
	client, err := node.NewClient(d.dir)
	if err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := client.Alive(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("the service manager is not told that this node lives: " + err.Error())
		} else if err := systemd.Notify(systemd.Alive); err != nil {
			d.log.Warn(err.Error())
		}
	}
}

// changed takes a new charter into use.
func (d *Daemon) changed(charter *keys.SignedCharter) {
	if err := d.host.SetCharter(charter); err != nil {
		d.log.Error("the new charter is not in use", "error", err)
		return
	}
	inForce, err := charter.InForce()
	if err != nil {
		d.log.Error("the new charter is not in use", "error", err)
		return
	}
	d.node.SetCharter(inForce)
	d.log.Info("charter changed", "version", charter.Version)
	if d.servers != nil && !slices.Equal(d.servers, serversFor(d.self, charter)) {
		d.log.Warn("the charter's servers are others now: start this node again to keep links with them alone")
	}
}

// told logs a job's events, and has the page show them.
func (d *Daemon) told(e jobs.Event) {
	d.pages.told()
	d.journal.note(e)
}

// RunAll runs nodes until the owner ends it or one of them fails.
func RunAll(owner context.Context, nodes []*Daemon) error {
	ctx, cancel := context.WithCancelCause(owner)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, d := range nodes {
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
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
