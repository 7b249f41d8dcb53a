#!/bin/bash
# SPDX-License-Identifier: MIT
# A descriptor received by SCM_RIGHTS has the name from the kernel, and unlinked
# memory of a library is counted as code, the first one and later ones.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

[ -w /dev/shm ] || skip_all 'no /dev/shm'
mkdir bare traced
(cd bare && "$O/tests/shim/core/inherited_fds" >out)
(cd traced && "$IOREEL" record -q -o ../t.reel -- "$O/tests/shim/core/inherited_fds" >out)
RUN=t.reel
plain() { sed 's/\[[0-9]*\]/[N]/; s/\.[0-9]\{2,\}/.N/; s:/.*/\(bare\|traced\)/::' "$1"; }
check 'it received all descriptors' '[ "$(wc -l <bare/out)" = 9 ]'
is 'the program has the same results' "$(plain traced/out)" "$(plain bare/out)"
q "SELECT result, path FROM v_event WHERE call = 'read' AND path NOT LIKE 'pipe:%'
	ORDER BY start_ns" | tr '\t' ' ' >seen
grep -v '/torch_' traced/out >want
is 'each read has the name from the kernel' "$(sed 's/ (deleted)$//' seen)" \
	"$(sed 's/ (deleted)$//' want)"
is 'memory of a library: counted as code' "$(q "SELECT code_calls > 2, code_read_bytes FROM process
	WHERE code_read_bytes > 0" | xargs)" '1 3'
is 'a parent whose log begins after its fork is the parent' \
	"$(q "SELECT role, fork_ns = start_ns FROM process ORDER BY process_id" | xargs)" \
	'main child 1'
finish
