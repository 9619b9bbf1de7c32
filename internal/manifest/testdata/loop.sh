#!/bin/sh
# The workers of party bank for job credit-2026 on this machine: 16 shards, up to 4 at a time.
#
#   hanse worker key --job c0ffee01c0ff --for 48h --dir NODE-FOLDER
#   sh FILE
#   HANSE=/opt/hanse KEY=hanse-c0ffee01c0ff.key PARTS=parts SCRATCH=/tmp sh FILE
#
# The keys are for this job alone, and good for so long; hanse worker revoke takes them back.
# A worker that ends before its shard is done is started again.
set -u
umask 077
scratch=$(mktemp -d "${SCRATCH:-/tmp}/hanse.XXXXXX") || exit
trap 'rm -rf "$scratch"' EXIT
trap 'trap "" TERM; kill 0; exit 1' INT TERM

# serve FIRST serves one shard after another: FIRST, FIRST + 4, and so on.
serve() {
	shard=$1
	while [ "$shard" -lt 16 ]; do
		mkdir -p "$scratch/$1" || return
		until "${HANSE:-hanse}" worker --node 'bank.default.svc:4711' --key "${KEY:-hanse-c0ffee01c0ff.key}" \
			--shard "$shard" --of 16 --parts "${PARTS:-parts}" --dir "$scratch/$1" \
			'c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01c0ffee01'; do
			sleep "${PAUSE:-5}"
		done
		shard=$((shard + 4))
	done
}

first=0
started=
while [ "$first" -lt 4 ]; do
	serve "$first" &
	started="$started $!"
	first=$((first + 1))
done
status=0
for one in $started; do
	wait "$one" || status=$?
done
exit "$status"
