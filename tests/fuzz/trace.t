#!/bin/sh
# SPDX-License-Identifier: MIT
# Damaged traces, the short run of "make fuzz": reader and load end with 0 or 1.
. "$(dirname "$0")/../lib/tap.sh"

[ -x "$O/tests/fuzz/fuzz_trace" ] || skip_all 'fuzz_trace is not built'
gen=$O/tests/data/gen_trace
fuzz=$O/tests/fuzz/fuzz_trace

"$gen" -p 3 -t 2 -n 120 -w 2 -b 1024 mixed
"$gen" -p 2 -t 1 -n 100 -b 600 -m -c merged

check 'a trace cut at 100 places' "'$fuzz' cut 100 1 mixed"
check 'a file of two logs cut at 50 places' "'$fuzz' cut 50 1 merged"
check '800 bytes changed' "'$fuzz' flip 800 1 mixed"
check '200 bytes changed in a file of two logs' "'$fuzz' flip 200 1 merged"
check 'no file is left' '[ "$(ls)" = "merged
mixed" ]'
finish
