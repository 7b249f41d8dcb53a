#!/bin/sh
# SPDX-License-Identifier: MIT
# The initial files are inferred from the results of calls; and readers that
# reach the end of a file while it grows, on a busy machine.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

mkdir work
(cd work && "$O/tests/replay/job_renames" make) || exit 1
is 'every call gives the recorded result' "$(differences "$O/tests/replay/job_renames")" ''
is 'the job succeeds' "$(cat rc said)" 0

for i in 1 2; do
	timeout 20 nice -n 5 sh -c 'while :; do :; done' &
	burners="$burners $!"
done
differences "$O/tests/replay/job_append_readers" >differ
kill $burners
is 'the job with growing files succeeds' "$(cat rc said)" 0
sed "s,^,# ," differ
# A few differ when a writer was preempted in its first calls.
check 'reads return as many bytes as recorded' \
	'sed -n "s/^replayed in .*; \([0-9,]*\) of \([0-9,]*\) calls.*/\1 \2/p" out |
	tr -d , | { read same all && [ $((all - same)) -le 6 ]; }'
finish
