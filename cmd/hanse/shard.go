package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/manifest"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/protocol/contract"
)

// shardCommand is about the workers of jobs in shards.
func shardCommand() *cli.Command {
	return &cli.Command{
		Name:  "shard",
		Usage: "have an engine of this organisation start the workers of a job in shards",
		Subcommands: []*cli.Command{{
			Name:      "manifest",
			Usage:     "write the file that has Kubernetes, Slurm, systemd or a shell start a job's workers",
			ArgsUsage: "JOB",
			Description: `The file is for this organisation's workers alone; every party starts its own, by what it
has. Memory is what the job's contract asks for.

   hanse shard manifest credit --dir bank-node --node bank.example:4711 --image hanse:1.2 > workers.yaml
   hanse shard manifest credit --dir bank-node --node bank.example:4711 --slurm > workers.sh
   hanse shard manifest credit --dir bank-node --node bank.example:4711 --systemd > workers.service
   hanse shard manifest credit --dir bank-node --node 127.0.0.1:4711 --loop --parallel 2 | sh

docs/shards.md says how each is used.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "node", Required: true, Usage: "where workers reach this organisation's node, `HOST:PORT`"},
				&cli.BoolFlag{Name: "slurm", Usage: "a script for sbatch"},
				&cli.BoolFlag{Name: "systemd", Usage: "a template unit for systemd"},
				&cli.BoolFlag{Name: "loop", Usage: "a script for sh"},
				&cli.IntFlag{Name: "parallel", Usage: "at most `N` workers at the same time", DefaultText: "all",
					Action: atLeast("parallel", 1, contract.MaxShards)},
				&cli.Float64Flag{Name: "cpu", Value: 1, Usage: "`N` processors for each worker"},
				&cli.StringFlag{Name: "image", Value: "hanse", Usage: "the program's `IMAGE`, of Kubernetes"},
				&cli.StringFlag{Name: "init-image", Value: manifest.InitImage,
					Usage: "an `IMAGE` with a shell, by which the key is copied"},
				&cli.StringFlag{Name: "secret", Usage: "the `NAME` of the Secret with the keys of the job's workers",
					DefaultText: "that of the Job"},
				&cli.StringFlag{Name: "claim", Value: "hanse-parts", Usage: "the `NAME` of the claim with the parts"},
				&cli.StringFlag{Name: "namespace", Usage: "the `NAMESPACE`", DefaultText: "that of kubectl"},
				dirFlag(),
			},
			Action: anyOrder(writeManifest),
		}},
	}
}

// writeManifest prints the file for an engine.
func writeManifest(c *cli.Context) error {
	name, err := oneArgument(c, "job", "JOB")
	if err != nil {
		return err
	}
	job, party, err := shardedJob(c.String("dir"), name)
	if err != nil {
		return err
	}
	memory, scratch, err := columns.WorkerNeeds(job, party)
	if err != nil {
		return err
	}
	s := &manifest.Shards{
		Job: job.Job.Name, Contract: job.Hash().String(), Party: job.Parties[party].Name, Of: job.Job.Shards,
		Parallel: c.Int("parallel"), Node: c.String("node"), Memory: memory, CPU: c.Float64("cpu"), Scratch: scratch,
		Image: c.String("image"), InitImage: c.String("init-image"), Secret: c.String("secret"), Claim: c.String("claim"),
		Namespace: c.String("namespace"),
	}
	if s.Parallel == 0 {
		s.Parallel = s.Of
	}
	write, chosen := s.Kubernetes, 0
	for flag, one := range map[string]func() (string, error){"slurm": s.Slurm, "systemd": s.Systemd, "loop": s.Loop} {
		if c.Bool(flag) {
			write, chosen = one, chosen+1
		}
	}
	if chosen > 1 {
		return usage.Errorf("one of --slurm, --systemd and --loop at most")
	}
	text, err := write()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.App.Writer, text)
	return err
}

// shardedJob finds a job with shards in a node's folder, and this member's place in it.
func shardedJob(dir, name string) (j *contract.Contract, party int, err error) {
	folders, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
	if err != nil {
		return nil, 0, err
	}
	whose, err := node.ReadIdentity(dir)
	if err != nil {
		return nil, 0, fmt.Errorf("%s is no node's folder: give it with --dir: %w", dir, err)
	}
	var without []string
	for _, folder := range folders {
		c, err := auditing.ReadContract(filepath.Join(folder, job.ContractCopy))
		if err != nil || c.Job.Name != name && !strings.HasPrefix(filepath.Base(folder), name) {
			continue
		}
		for i, p := range c.Parties {
			if p.ID.String() != whose.ID {
				continue
			}
			if c.Job.Shards == 0 {
				without = append(without, filepath.Base(folder)[:8])
				continue
			}
			if j != nil {
				return nil, 0, fmt.Errorf("%s has several jobs with shards called %s: give the first digits of the contract's "+
					"hash, as hanse jobs shows them", dir, name)
			}
			j, party = c, i
		}
	}
	switch {
	case j != nil:
		return j, party, nil
	case len(without) > 0:
		return nil, 0, fmt.Errorf("job %s has no shards: its text does not say shards = S", name)
	}
	return nil, 0, fmt.Errorf("the node's folder %s has no job called %s", dir, name)
}
