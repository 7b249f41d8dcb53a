#!/bin/sh
# SPDX-License-Identifier: MIT
# Record a job and run it as a benchmark on another file system:
#
#     examples/benchmark.sh FOLDER COMMAND...
#
# FOLDER is on the file system to measure; the data set stays in FOLDER/data. The
# recording and the workload are left in the current directory.
set -eu
[ $# -ge 2 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
other=$1
shift

mkdir -p "$other"
ioreel record -o job.reel -- "$@"
ioreel fit job.reel -o job.json
ioreel workload set job.json cache=cold >cold.json
ioreel gen cold.json "$other/data"
ioreel run cold.json --data "$other/data"
