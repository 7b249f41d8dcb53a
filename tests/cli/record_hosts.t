#!/bin/bash
# SPDX-License-Identifier: MIT
# Two ranks with different clocks take turns: no later event may appear before an
# earlier one. A time namespace shifts CLOCK_MONOTONIC of one rank by a day; a
# boot_id of its own makes it another host.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
echo 11111111-2222-3333-4444-555555555555 >boot
cat >apart.sh <<'SH'
[ $1 = same ] || mount --bind boot /proc/sys/kernel/random/boot_id || exit 1
[ $1 = same ] || hostname other || exit 1
shift
exec "$@"
SH
apart="unshare --uts --mount --time --fork --monotonic 86400 --boottime 86400
	sh apart.sh"
$apart other true 2>/dev/null ||
	skip_all 'no time, uts and mount namespaces here'
# turns MINE FIRST: write twenty files, each after the other rank's.
cat >turns.sh <<'SH'
i=$1
while [ $i -lt 40 ]; do
	until [ $i = 0 ] || [ -e turn.$((i - 1)) ]; do sleep 0.001; done
	head -c 100 /dev/zero >made.$i
	mv made.$i turn.$i
	i=$((i + 2))
done
SH
# A turn ends with a rename. The other rank may see the new name before the call
# returns, as the process may be preempted there.
order="with w as (select substr(path, instr(path, '/made.') + 6) + 0 i,
	min(start_ns) s, max(start_ns) e from v_event
	where path like '%/made.%' group by 1)
	select count(*), sum(b.s < a.e) from w a join w b on b.i = a.i + 1"
for clock in tsc monotonic; do
	for boot in same other; do
		rm -rf turn.* made.* job
		export PMI_SIZE=2 IOREEL_CLOCK=$clock
		PMI_RANK=1 timeout 60 $apart $boot "$IOREEL" record -q -o job -- \
			sh turns.sh 1 2>err &
		PMI_RANK=0 timeout 60 "$IOREEL" record -q -o job -- \
			sh turns.sh 0 2>>err
		wait
		unset PMI_SIZE IOREEL_CLOCK
		is "$clock, $boot boot: in order" "$(sql job "$order")" \
			"$(printf '39\t0')"
		is "$clock, $boot boot: the job took seconds" \
			"$(sql job 'select max(start_ns) < 60e9 from v_event')" 1
		is "$clock, $boot boot: hosts" \
			"$(sql job 'select count(*) from host')" \
			$([ $boot = same ] && echo 1 || echo 2)
		[ $boot = same ] && continue
		check "$clock: the report names both" \
			'"$IOREEL" report job | head -1 | grep -q "on .*, other\|on other, "'
	done
done
finish
