#!/bin/bash
# SPDX-License-Identifier: MIT
# At the end of a process exit() flushes the streams of stdio, _exit() does not.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"
"$IOREEL" record -q -o job.reel -- "$O/tests/replay/job_exits"
is 'exit() writes the buffer, _exit() and quick_exit() do not' \
	"$(stat -c '%n %s' flushed lost quick)" 'flushed 10
lost 0
quick 0'
"$IOREEL" replay job.reel --root box --keep -o again.db >out 2>err
is 'the replay succeeds' "$?" 0
is 'the replay writes the same files' \
	"$(cd "box$PWD" && stat -c '%n %s' flushed lost quick)" 'flushed 10
lost 0
quick 0'
ends="SELECT group_concat(ended, ' ') FROM (SELECT ended FROM process
	ORDER BY start_ns)"
is 'the store tells how each process ended' \
	"$(sql job.reel "$ends")" \
	'exit _exit _exit'
finish
