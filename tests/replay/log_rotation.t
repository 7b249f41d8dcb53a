#!/bin/bash
# SPDX-License-Identifier: MIT
# Data written through a descriptor is read back by the current name of the
# file, for an initial file and for files that the job made.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

JOB=$O/tests/replay/job_log_rotation
mkdir job && cd job
head -c 1000 /dev/zero >log
check 'the job reads the data back' '"$IOREEL" record -q -o ../job.reel -- "$JOB" 1000'
cd ..
for mode in think afap; do
	replays job.reel $mode
done
finish
