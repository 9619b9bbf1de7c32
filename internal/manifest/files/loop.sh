#!/bin/sh
# The workers of party {{.Party}} for job {{.Job}} on this machine: {{.Of}} shards, up to {{.Parallel}} at a time.
#
#   hanse worker key --job {{slice .Contract 0 12}} --for 48h --dir NODE-FOLDER
#   sh FILE
#   HANSE=/opt/hanse KEY={{.KeyFile}} PARTS=parts SCRATCH=/tmp sh FILE
#
# The keys are for this job alone, and good for so long; hanse worker revoke takes them back.
# A worker that ends before its shard is done is started again.
set -u
umask 077
scratch=$(mktemp -d "${SCRATCH:-/tmp}/hanse.XXXXXX") || exit
trap 'rm -rf "$scratch"' EXIT
trap 'trap "" TERM; kill 0; exit 1' INT TERM

# serve FIRST serves one shard after another: FIRST, FIRST + {{.Parallel}}, and so on.
serve() {
	shard=$1
	while [ "$shard" -lt {{.Of}} ]; do
		mkdir -p "$scratch/$1" || return
		until "${HANSE:-hanse}" worker --node {{shell .Node}} --key "${KEY:-{{.KeyFile}}}" \
			--shard "$shard" --of {{.Of}} --parts "${PARTS:-parts}" --dir "$scratch/$1" \
			{{shell .Contract}}; do
			sleep "${PAUSE:-5}"
		done
		shard=$((shard + {{.Parallel}}))
	done
}

first=0
started=
while [ "$first" -lt {{.Parallel}} ]; do
	serve "$first" &
	started="$started $!"
	first=$((first + 1))
done
status=0
for one in $started; do
	wait "$one" || status=$?
done
exit "$status"
