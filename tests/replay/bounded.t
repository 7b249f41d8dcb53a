#!/bin/bash
# SPDX-License-Identifier: MIT
# The memory of a replay is bounded, whatever the size of its plan.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"
[ -x "$O/ioreel-mpi" ] || skip_all 'no Open MPI'
python3 -c '' 2>err || skip_all 'no python3'

# Prints the largest resident set of a process of the replay, in kB.
cat >peak.py <<'E2'
import resource, subprocess, sys
out = subprocess.run([sys.argv[1], "replay", sys.argv[2], "box", "afap"], stdout=2)
if out.returncode:
    sys.exit("exit status %d" % out.returncode)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
E2
for n in 1000 1000000; do
	"$IOREEL" record -q -o job.$n.reel \
		dd if=/dev/zero of=out bs=1 count=$n 2>err
	"$IOREEL" replay job.$n.reel --plan $n.plan 2>err
	python3 peak.py "$O/ioreel-mpi" $n.plan >peak.$n 2>said
	check "a plan of $n writes: every call gives the recorded result" \
		'cat said; all_same said'
done
small=$(cat peak.1000) large=$(cat peak.1000000)
bytes=$(stat -c %s 1000000.plan)
check 'the plan is large' '[ "$bytes" -gt 32000000 ]'
check 'its replay takes as much memory as that of the small one' 'echo "$small kB, $large kB"
	[ "$large" -lt $((small + 12000)) ]'
finish
