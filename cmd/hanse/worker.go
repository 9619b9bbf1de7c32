package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/daemon"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/parts"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
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
command: nothing is lost and nothing counted twice. Status 2 says that the command line
is wrong, such as another --of than the job has; then starting it again helps nobody.

   hanse worker --node bank.example:4711 --key worker.key --shard 3 --of 16 \
       --parts /srv/parts 4b699057

The key lies in the node's folder as worker.key. It lets a process work for the node and
do nothing else; the organisation's own key never leaves the node. In a Kubernetes
Indexed Job and a Slurm array --shard is found by itself. hanse shard manifest writes
the files for these, and for systemd; docs/shards.md has all of it.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "node", Required: true, Usage: "this organisation's node, `HOST:PORT` or a multiaddr"},
			&cli.StringFlag{Name: "key", Required: true, Usage: "the key `FILE` of the node's workers"},
			&cli.IntFlag{Name: "shard", Required: true, EnvVars: []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"},
				Usage: "the `NUMBER` of the shard, from 0"},
			&cli.IntFlag{Name: "of", Required: true, Usage: "how many shards the job has, `S`",
				Action: atLeast("of", 1, contract.MaxShards)},
			&cli.StringFlag{Name: "parts", Required: true, Usage: "the `FOLDER` into which the node writes parts of rows"},
			&cli.StringFlag{Name: "dir", Usage: "a `FOLDER` for the transcript until the node has it",
				DefaultText: "a new one, removed at the end"},
			&cli.IntFlag{Name: "cores", Usage: "`N` goroutines for arithmetic", DefaultText: "all cores",
				Action: atLeast("cores", 0, 0)},
			&cli.StringFlag{Name: "log", Value: "info", Usage: "`LEVEL` of the log on standard error: debug, info, warn"},
			&cli.StringFlag{Name: "log-format", Value: "text", Usage: "the log as `FORMAT`: text or json"},
			proxyFlag(),
		},
		Action: anyOrder(runWorker),
	}
}

// runWorker works until the shard is done.
func runWorker(c *cli.Context) (err error) {
	job, err := oneArgument(c, "job", "JOB")
	if err != nil {
		return err
	}
	log, err := terminal.NewLog(c.App.ErrWriter, c.String("log"), c.String("log-format"))
	if err != nil {
		return err
	}
	shard, of := c.Int("shard"), c.Int("of")
	if shard < 0 || shard >= of {
		return usage.Errorf("--shard %d: want 0 to %d, the last of --of %d", shard, of-1, of)
	}
	file, err := loadKey(c, c.String("key"))
	if err != nil {
		return err
	}
	key, err := daemon.WorkerKey(file.Key, shard)
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
