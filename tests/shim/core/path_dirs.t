#!/bin/bash
# SPDX-License-Identifier: MIT
# A path is code or data whatever path the thread used before: the shim may skip
# the prefix that two paths share.
. "$(dirname "$0")/../../lib/tap.sh"
unset LD_PRELOAD
probe=$O/tests/shim/core/path_dirs

# Every directory with every name: each path in a process of its own.
for dir in '' / /data/ /data/train/ /data/train/n01/ /data/train/n02/ \
	/data/lib/ /data/lib/python3/ /data/lib64/python3/ /data/lib/x/ \
	/data/share/ /data/share/ioreel/ /data/share/x/ /data/preload/ \
	/data/preload/python/ /data/site-packages/ /data/site-packages/x/ \
	/data/a/site-packages/ /data/ompi.host.1000/ /data/ompi.hostx/ \
	/data/a/prterun.h.1/ /usr/lib/ /usr/x/ /usr/ /lib/ /lib64/x/ /libx/x/ /proc/x/ \
	/procx/x/ /dev/shm/ /dev/shm/x/ /etc/ /etcetera/ /bin/ /binary/ \
	n01/ n02/ lib/ lib/python3/ site-packages/ x/share/ioreel/; do
	for name in a ab abc abcd img_1.JPEG x.py x.so x.so.1.2 s0 site-packages \
		python3.zip python pyvenv.cfg pyx ompi.host.1000 di si __x \
		__pycache__ x.npy lib x.dylib pid.7; do
		echo "$dir$name"
	done
done >paths
paths() { q "SELECT path FROM v_event WHERE call LIKE '%stat%'" | sort; }
"$IOREEL" record -q -o each.reel -- "$probe" each <paths
RUN=each.reel
paths >want
check 'some paths are code, others data' \
	'[ $(wc -l <want) -gt 300 ] && [ $(wc -l <want) -lt $(wc -l <paths) ]'
for seed in 1 2 3 4; do
	sort -R --random-source=<(yes $seed) paths paths >order
	"$IOREEL" record -q -o one$seed.reel -- "$probe" one <order
	RUN=one$seed.reel
	is "order $seed: the same paths are data" "$(paths)" "$(cat want want | sort)"
done
finish
