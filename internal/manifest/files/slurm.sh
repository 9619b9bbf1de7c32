#!/bin/bash
# The workers of party {{.Party}} for job {{.Job}}: {{.Of}} shards, up to {{.Parallel}} at a time.
#
#   hanse worker key --job {{slice .Contract 0 12}} --for 48h --dir NODE-FOLDER
#   sbatch --time=DAYS-0 FILE
#
# The keys are for this job alone, and good for so long; hanse worker revoke takes them back.
# The program, the keys and the folder of parts are where all machines of the cluster see them:
#   sbatch --export=ALL,HANSE=/opt/hanse,KEY=$HOME/{{.KeyFile}},PARTS=/shared/parts FILE
#
# A task of the array is a shard. A worker that ends before its shard is done is started again here; a task whose
# machine is lost is queued again by Slurm. A cluster whose MaxArraySize is smaller than {{.Of}} takes no such array.
#SBATCH --job-name={{.Name}}
#SBATCH --array=0-{{.Last}}%{{.Parallel}}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%a.log
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{.Cores}}
#SBATCH --mem={{.LimitMiB}}M
#SBATCH --tmp={{.DiskMiB}}M
set -u
umask 077
scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT
until "${HANSE:-hanse}" worker --node {{shell .Node}} --key "${KEY:-{{.KeyFile}}}" \
	--shard "$SLURM_ARRAY_TASK_ID" --of {{.Of}} --parts "${PARTS:-parts}" --dir "$scratch" \
	{{shell .Contract}}; do
	sleep "${PAUSE:-5}"
done
