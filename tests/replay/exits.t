#!/bin/bash
# SPDX-License-Identifier: MIT
# Streams are flushed at the end of a process by exit(), not by _exit().
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
"$IOREEL" record -q -o job.reel -- "$O/tests/replay/job_exits"
is 'exit() wrote the buffer, _exit() and quick_exit() did not' \
	"$(stat -c '%n %s' flushed lost quick)" 'flushed 10
lost 0
quick 0'
"$IOREEL" replay job.reel --root box --keep -o again.db >out 2>err
is 'it succeeds' "$?" 0
is 'so it is in the replay' \
	"$(cd "box$PWD" && stat -c '%n %s' flushed lost quick)" 'flushed 10
lost 0
quick 0'
ends="SELECT group_concat(ended, ' ') FROM (SELECT ended FROM process
	ORDER BY start_ns)"
is 'a store says how each process ended' \
	"$("$IOREEL" sql job.reel "$ends" --format tsv | tail -1)" \
	'exit _exit _exit'
finish
