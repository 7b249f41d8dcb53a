#!/bin/bash
# SPDX-License-Identifier: MIT
# What is written through a descriptor is read by the name that its file has by
# then, in the file that the job found and in those that it made.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD
JOB=$O/tests/replay/job_log_rotation
mkdir job && cd job
head -c 1000 /dev/zero >log
check 'the job reads what was written' '"$IOREEL" record -q -o ../job.reel -- "$JOB" 1000'
cd ..
for mode in think afap; do
	"$IOREEL" replay job.reel --$mode >out 2>err
	check "--$mode: so does the replay" \
		"grep -Eq '; ([0-9,]+) of \1 calls gave' out"
done
finish
