package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/daemon"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/manifest"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/parts"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// workerCommand works on one shard of a job for this organisation's node.
func workerCommand() *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "work on one shard of a job for this organisation's node, on any machine that reaches it",
		ArgsUsage: "JOB",
		Description: `A job with shards = S cuts each party's rows into S runs, and every party runs S workers,
each for one run. A worker connects to its own node alone, reads the part of the rows
that the node has written into the folder of --parts, and ends with status 0 when its
shard is done at all parties. Ended before, it is to be started again with the same
command: nothing is lost and nothing counted twice. Status 64 says that the command line
is wrong, such as another --of than the job has; then starting it again helps nobody.

   hanse worker key --job credit --shards 0-15 --for 48h --dir bank-node --out credit.key
   hanse worker --node bank.example:4711 --key credit.key --shard 3 --of 16 \
       --parts /srv/parts 4b699057

The key lets a process work for the node on the shards of that job, while the job runs and
until its time ends, and do nothing else; worker.key, from which it follows, and the
organisation's own key never leave the node. In a Kubernetes
Indexed Job and a Slurm array --shard is found by itself. hanse shard manifest writes
the files for these, and for systemd; docs/shards.md has all of it.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "node", Usage: "this organisation's node, `HOST:PORT` or a multiaddr"},
			&cli.StringFlag{Name: "key", Usage: "the `FILE` with keys of the job's workers"},
			&cli.IntFlag{Name: "shard", EnvVars: []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"},
				Usage: "the `NUMBER` of the shard, from 0"},
			&cli.IntFlag{Name: "of", Usage: "how many shards the job has, `S`",
				Action: atLeast("of", 1, contract.MaxShards)},
			&cli.StringFlag{Name: "parts", Usage: "the `FOLDER` into which the node writes parts of rows"},
			&cli.StringFlag{Name: "dir", Usage: "a `FOLDER` for the transcript until the node has it",
				DefaultText: "a new one, removed at the end"},
			&cli.IntFlag{Name: "cores", Usage: "`N` goroutines for arithmetic", DefaultText: "all cores",
				Action: atLeast("cores", 0, 0)},
			&cli.StringFlag{Name: "log", Value: "info", Usage: "`LEVEL` of the log on standard error: debug, info, warn"},
			&cli.StringFlag{Name: "log-format", Value: "text", Usage: "the log as `FORMAT`: text or json"},
			proxyFlag(),
		},
		Action:      anyOrder(runWorker),
		Subcommands: []*cli.Command{workerKeyCommand(), workerRevokeCommand()},
	}
}

// shardsFlag names a run of a job's shards.
func shardsFlag() cli.Flag {
	return &cli.StringFlag{Name: "shards", Usage: "of these `SHARDS`, as 0-15 or 3", DefaultText: "all"}
}

// workerKeyCommand has the node make keys for workers.
func workerKeyCommand() *cli.Command {
	return &cli.Command{
		Name:  "key",
		Usage: "make keys for the workers of one job in shards",
		Description: `The file has a key for each shard. The node lets a worker in by it for that shard of
that job alone, while the job has not ended and until the time ends. Its first use is in the
node's log, with the address. Keys that were made before stay good: hanse worker revoke
takes them back.

   hanse worker key --job credit --shards 0-15 --for 48h --dir bank-node

The node must run. It keeps worker.key, from which the keys follow, in its folder: that file
lets nobody in, and is for no other machine.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "job", Usage: "the `JOB`, by its name or the first digits of its contract"},
			shardsFlag(),
			&cli.DurationFlag{Name: "for", Value: 48 * time.Hour, Usage: "for so long, a `TIME` as 48h, 744h at most"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write into this new `FILE`",
				DefaultText: "hanse-CONTRACT.key"},
			dirFlag(),
		},
		Action: makeWorkerKeys,
	}
}

// jobFlag returns the job that --job names.
func jobFlag(c *cli.Context) (string, error) {
	if c.String("job") == "" {
		return "", usage.Errorf("name the job with --job JOB; hanse jobs lists them")
	}
	return c.String("job"), nil
}

// makeWorkerKeys writes a file of keys.
func makeWorkerKeys(c *cli.Context) error {
	job, err := jobFlag(c)
	if err != nil {
		return err
	}
	path := c.String("out")
	if _, err := os.Lstat(path); path != "" && err == nil { // before keys are made that nobody would have
		return fmt.Errorf("%s exists, and keys are never overwritten: choose another name or move it away", path)
	}
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return err
	}
	made, err := client.WorkerKeys(c.Context, job, c.String("shards"), c.Duration("for"))
	if err != nil {
		return err
	}
	if path == "" {
		path = manifest.KeyFile(made.Contract.String())
	}
	if err := keys.CreateShardKeys(path, made); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s has the keys of %s of job %s, good until %s while the job runs\n", path,
		wording.Count(len(made.Keys), "worker"), made.Contract.Short(), wording.Time(made.Expires))
	return err
}

// workerRevokeCommand takes keys of workers back.
func workerRevokeCommand() *cli.Command {
	return &cli.Command{
		Name:  "revoke",
		Usage: "take back the keys of workers of one job in shards",
		Description: `All keys that were made for these shards of the job are good no more. A worker that is
connected by one loses its connection within seconds, and what it was about is thrown away:
the shard begins anew once a worker with a new key is there.

   hanse worker revoke --job credit --shards 3 --dir bank-node`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "job", Usage: "the `JOB`, by its name or the first digits of its contract"},
			shardsFlag(), dirFlag(),
		},
		Action: func(c *cli.Context) error {
			job, err := jobFlag(c)
			if err != nil {
				return err
			}
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			count, err := client.RevokeWorkerKeys(c.Context, job, c.String("shards"))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.App.Writer, "%s revoked\n", wording.Count(count, "key"))
			return err
		},
	}
}

// workersKey reads the key of the worker of a shard.
func workersKey(path, job string, shard int) (*keys.PrivateKey, error) {
	const make = "make it at the node with hanse worker key"
	all, err := keys.LoadShardKeys(path)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(all.Contract.String(), job) {
		return nil, usage.Errorf("%s has keys of job %s, not of job %s: %s", path, all.Contract.Short(), job, make)
	}
	key := all.Keys[shard]
	if key == nil {
		return nil, usage.Errorf("%s has no key of shard %d: %s", path, shard, make)
	}
	return key, nil
}

// runWorker works until the shard is done.
func runWorker(c *cli.Context) (err error) {
	var missing []string
	for _, name := range []string{"node", "key", "shard", "of", "parts"} {
		if !c.IsSet(name) {
			missing = append(missing, "--"+name)
		}
	}
	if c.Args().Len() != 1 {
		missing = append(missing, "one JOB")
	}
	if len(missing) > 0 {
		return usage.Errorf("the command lacks %s: hanse worker --node HOST:PORT --key FILE --shard I --of S --parts FOLDER "+
			"JOB; hanse worker key makes the key", wording.List(missing, "and"))
	}
	job := c.Args().First()
	log, err := terminal.NewLog(c.App.ErrWriter, c.String("log"), c.String("log-format"))
	if err != nil {
		return err
	}
	shard, of := c.Int("shard"), c.Int("of")
	if shard < 0 || shard >= of {
		return usage.Errorf("--shard %d: want 0 to %d, the last of --of %d", shard, of-1, of)
	}
	key, err := workersKey(c.String("key"), job, shard)
	if err != nil {
		return err
	}
	proxy, err := proxyOf(c)
	if err != nil {
		return err
	}
	dir := c.String("dir")
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hanse-worker-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	log = log.With("shard", shard)
	folder := c.String("parts")
	err = worker.Run(c.Context, worker.Config{
		Dial: func(ctx context.Context) (worker.Conn, error) {
			return daemon.DialNode(ctx, key, c.String("node"), proxy)
		},
		Job: job, Shard: shard, Of: of, Dir: dir, Cores: c.Int("cores"), Do: columns.WorkShard,
		Rows: func(job keys.Hash, shard int, digest keys.Hash) (*kernel.Matrix, error) {
			path := parts.Path(folder, job, shard)
			m, got, err := parts.Read(path, parts.StandardLimits())
			if err == nil && got != digest {
				err = fmt.Errorf("%s has other rows than the node has written for shard %d: its digest is %s, want %s; give "+
					"with --parts the folder that hanse node --parts has", path, shard, got.Short(), digest.Short())
			}
			return m, err
		},
		Told: func(text string) { log.Info(text) },
	})
	var refused *worker.RefusedError
	switch {
	case err == nil:
		log.Info("the shard is done at all parties", "of", of)
	case errors.As(err, &refused) && refused.Usage:
		return usage.Errorf("%v", err)
	}
	return err
}
