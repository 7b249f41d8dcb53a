#!/bin/bash
# SPDX-License-Identifier: MIT
# POSIX aio: the operations recorded are those that the program counted.
. "$(dirname "$0")/../../lib/tap.sh"

probe=$O/tests/shim/async/aio_ops
"$probe" file >bare; echo "status $?" >>bare
"$IOREEL" record -q -o t.reel -- "$probe" file >traced; echo "status $?" >>traced
is 'output and status' "$(cat traced)" "$(cat bare)"

RUN=t.reel
is 'operations, bytes and failures as the program counted' "$(q "
	SELECT call, count(*), sum(coalesce(bytes, 0)), sum(errno <> 0)
	FROM v_event WHERE call LIKE 'async%' AND path LIKE '%/file'
	GROUP BY call ORDER BY call")" "$(grep async bare)"
is 'a read whose completion was not seen: EINPROGRESS' "$(q "
	SELECT errno, result FROM v_event
	WHERE call = 'async_read' AND path LIKE 'pipe:%'")" "115	-1"
is 'no POSIX read or write besides' "$(q "
	SELECT count(*) FROM v_event
	WHERE layer = 'POSIX' AND call_group IN ('read', 'write')
	AND path LIKE '%/file'")" 0
is 'offsets as requested' "$(q "
	SELECT min(offset), max(offset), sum(offset) FROM v_event
	WHERE call = 'async_write'")" "0	126976	2031616"
is 'POSIX aio is the interface' "$(q "
	SELECT max(arg) FROM v_event WHERE call = 'async_write'")" 1
is 'an operation begins with its submission' "$(q "
	SELECT count(*) FROM v_event o WHERE o.call = 'async_write' AND
	NOT EXISTS (SELECT 1 FROM v_event s WHERE s.call = 'aio_write'
		AND s.start_ns = o.start_ns)")" 0
finish
