#!/bin/sh
# SPDX-License-Identifier: MIT
# What a name was before the job, told by what calls found later; files whose
# readers and writer are at their end at one time, on a busy machine.
. "$(dirname "$0")/../lib/tap.sh"

# played JOB...: what differs, when it is played.
played() {
	rm -rf job.reel
	(cd work && "$IOREEL" record -q -o ../job.reel "$@" >../said 2>&1)
	echo "$?" >rc
	"$IOREEL" replay job.reel --afap >out 2>err || cat err
	grep -E "^  thread" out
}

mkdir work
(cd work && "$O/tests/replay/job_renames" make) || exit 1
is 'every call gave its result' "$(played "$O/tests/replay/job_renames")" ''
is 'and the job got what it should' "$(cat rc said)" 0

for i in 1 2; do
	timeout 20 nice -n 5 sh -c 'while :; do :; done' &
	burners="$burners $!"
done
played "$O/tests/replay/job_append_readers" >differ
kill $burners
is 'the job of tails ends' "$(cat rc said)" 0
sed "s,^,# ," differ
# A writer that lost its processor in its first calls may leave a few.
check 'reads find the ends that they found' \
	'sed -n "s/^replayed in .*; \([0-9,]*\) of \([0-9,]*\) calls.*/\1 \2/p" out |
	tr -d , | { read same all && [ $((all - same)) -le 6 ]; }'
finish
