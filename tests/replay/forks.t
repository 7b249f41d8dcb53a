#!/bin/bash
# SPDX-License-Identifier: MIT
# A thread opens descriptors and puts others over them; another uses them, and
# forks children that do: each has what it had in the job.
. "$(dirname "$0")/../lib/tap.sh"

unset LD_PRELOAD
mkdir job && cd job
check 'the job has what it should' \
	'"$IOREEL" record -q -o ../job.reel -- "$O/tests/replay/job_forks"'
cd ..
for mode in think afap; do
	"$IOREEL" replay job.reel --$mode >out 2>err
	check "--$mode: every call gave its result" \
		"grep -Eq '; ([0-9,]+) of \1 calls gave' out"
done
finish
