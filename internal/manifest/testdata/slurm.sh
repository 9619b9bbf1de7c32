#!/bin/bash
# The workers of party bank for job credit-2026: 16 shards, up to 4 at a time.
#
#   hanse worker key --job c0ffee01c0ff --for 48h --dir NODE-FOLDER
#   sbatch --time=DAYS-0 FILE
#
# The keys are for this job alone, and good for so long; hanse worker revoke takes them back.
# The program, the keys and the folder of parts are where all machines of the cluster see them:
#   sbatch --export=ALL,HANSE=/opt/hanse,KEY=$HOME/hanse-c0ffee01c0ff.key,PARTS=/shared/parts FILE
#
# A task of the array is a shard. A worker that ends before its shard is done is started again here; a task whose
# machine is lost is queued again by Slurm. A cluster whose MaxArraySize is smaller than 16 takes no such array.
#SBATCH --job-name=hanse-c0ffee01c0ff-bank
#SBATCH --array=0-15%4
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%a.log
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4608M
#SBATCH --tmp=19074M
set -u
umask 077
scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT
until "${HANSE:-hanse}" worker --node 'bank.default.svc:4711' --key "${KEY:-hanse-c0ffee01c0ff.key}" \
	--shard "$SLURM_ARRAY_TASK_ID" --of 16 --parts "${PARTS:-parts}" --dir "$scratch" \
	'c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01'; do
	sleep "${PAUSE:-5}"
done
