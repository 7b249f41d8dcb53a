#!/bin/bash
# SPDX-License-Identifier: MIT
# One thread opens descriptors and replaces them by dup2(); another one uses
# them, and forks children that use them: each finds the recorded open file.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

mkdir job && cd job
check 'the job finds its own files' \
	'"$IOREEL" record -q -o ../job.reel -- "$O/tests/replay/job_forks"'
cd ..
for mode in think afap; do
	replays job.reel $mode
done
finish
