#!/bin/sh
# SPDX-License-Identifier: MIT
# A framework without a function that the hooks need, or of an
# unsupported version: the job is unchanged, and the trace names the missing
# part.
. "$(dirname "$0")/../lib/tap.sh"
IOREEL_HOOKS=$TOP/preload/python
PYTHONDONTWRITEBYTECODE=1
export IOREEL_HOOKS PYTHONDONTWRITEBYTECODE
job=$TOP/tests/jobs/hook_mismatch.py
PY=/usr/bin/python3
[ -x "$PY" ] || PY=python3
n=0

# broken VERSION MISSING NOTE: check the note hook:torch.
broken() {
	n=$((n + 1))
	"$PY" "$job" make "fake$n" "$1" "$2"
	PYTHONPATH=$T/fake$n
	export PYTHONPATH
	"$PY" "$job" job >bare 2>&1
	"$IOREEL" record -q -o "$n.reel" -- "$PY" "$job" job >rec 2>&1
	unset PYTHONPATH
	check "torch $1 without $2: the job is unchanged" 'diff bare rec'
	is "torch $1 without $2: the note in the trace" "$("$IOREEL" sql "$n.reel" \
		--format tsv "SELECT value FROM note WHERE key = 'hook:torch'" |
		tail -n +2)" "$3"
}

broken 2.99 nothing 'on'
broken 2.99 _BaseDataLoaderIter 'on, without loader'
broken 2.99 _MultiProcessingDataLoaderIter 'on, without loader, stop'
broken 2.99 _shutdown_workers 'on, without stop'
broken 2.99 __next__ 'on, without loader'
broken 2.99 _reset 'on, without loader'
broken 2.99 _get_iterator 'on, without loader'
broken 2.99 is_grad_enabled 'on'
broken 2.99 _worker_loop 'on, without worker'
broken 2.99 _IterableDatasetFetcher 'on, without preprocess'
broken 2.99 backward 'on, without backward'
broken 2.99 _hook_for_profile 'on, without optimizer'
broken 2.99 Optimizer 'on, without optimizer'
broken 2.99 save 'on, without save'
broken 2.99 load 'on, without load'
broken 9.9 nothing 'unsupported 9.9'
broken 0.4.1 nothing 'unsupported 0.4.1'
broken odd nothing 'unsupported odd'
finish
