#!/bin/sh
# SPDX-License-Identifier: MIT
# Checkpoints: the rules for the class of a file, and a checkpoint that a thread
# writes in the background, for which the training does not wait.
. "$(dirname "$0")/../lib/tap.sh"
IOREEL_HOOKS=$TOP/preload/python
export IOREEL_HOOKS
mkdir out
"$IOREEL" record -q -o b.reel -- python3 "$TOP/tests/jobs/background_save.py" out 2>err ||
	skip_all 'no python3'
RUN=b.reel

is 'three checkpoints are written' \
	"$(q "SELECT count(*) FROM v_span WHERE name = 'checkpoint'")" 3
is 'the steps have no phases except fetch and computation' \
	"$(q 'SELECT sum(other_ns) FROM v_step')" 0
is 'saved files are checkpoints, whatever their names' \
	"$(q "SELECT replace(path, '$T/out/', '') FROM v_file
		WHERE class = 'checkpoint' ORDER BY path" | xargs)" \
	'behind tmp1234 waited0 waited1'
"$IOREEL" report b.reel >report
check 'the advice is about the two for which the loop waited' \
	'cat report; grep -q "CHECKPOINT .* 2 checkpoints take" report'
finish
