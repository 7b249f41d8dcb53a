#!/bin/sh
# SPDX-License-Identifier: MIT
# Steps, hidden and own I/O of jobs of PyTorch, DDP and Keras: each figure is
# computed a second time from the events and spans, by overlap.py.
. "$(dirname "$0")/../lib/tap.sh"
job=$TOP/tests/jobs/overlap_jobs.py
IOREEL_HOOKS=$TOP/preload/python
OMP_NUM_THREADS=1
PYTHONDONTWRITEBYTECODE=1
export IOREEL_HOOKS OMP_NUM_THREADS PYTHONDONTWRITEBYTECODE
unset PYTHONPATH

# with MODULE...: select a python with these modules; fails without one.
with() {
	for python in python3 /usr/bin/python3 ''; do
		"$python" -W ignore -c 'import sys
from importlib.util import find_spec
sys.exit(not all(map(find_spec, sys.argv[1:])))' "$@" 2>/dev/null && return
	done
	return 1
}

# recounted CASE SQL: check the job's figures, and that SQL is 1 for its ranks.
recounted() {
	rm -rf here && cp -r data here
	(cd here && timeout 240 "$IOREEL" record -q -o "$T/$1.reel" -- \
		"$python" "$job" "$1" >"$T/$1.out" 2>&1)
	check "$1: it runs" 'ioreel load -q '"$1"'.reel -o '"$1"'.db'
	check "$1: every figure agrees with its definition" \
		'python3 "$TOP/tests/cli/overlap.py" '"$1"'.db'
	is "$1: and has the expected value" "$(ioreel sql "$1.db" \
		"SELECT min($2) FROM v_overlap" | tail -n 1)" 1
}

with numpy || skip_all 'no python3 with numpy'
mkdir data && (cd data && "$python" "$job" make)
if with torch numpy; then
	recounted torch_log 'own_io_ns > 0 AND hidden_share < 0.9'
	recounted torch_savez 'own_io_ns > 0 AND hidden_ns > 0'
	recounted torch_save 'own_io_ns > 0'
	rm -rf here && cp -r data here
	if (cd here && timeout 120 "$python" "$job" ddp) >bare 2>&1; then
		recounted ddp 'own_io_ns > 0'
		is 'ddp: two ranks' "$(ioreel sql ddp.db \
			'SELECT count(*) FROM v_overlap' | tail -n 1)" 2
	else
		skip 'ddp' "it does not run bare: $(tail -n 1 bare | tr '#' ' ')"
	fi
else
	skip 'PyTorch jobs' 'no python3 with torch'
fi
if with tensorflow keras numpy; then
	recounted keras_fit \
		'unknown_steps = 0 OR computing_share IS NULL AND wait_share IS NULL'
	recounted keras_loop 'unknown_steps = 0 AND own_io_ns > 0'
else
	skip 'Keras jobs' 'no python3 with TensorFlow'
fi
finish
