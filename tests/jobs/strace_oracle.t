#!/bin/bash
# SPDX-License-Identifier: MIT
# Compare ioreel with strace on the same job: per process, the
# number of opens, reads, writes and their bytes, exactly. For streams, whose
# reads libc makes internally, the bytes.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/strace_oracle.sh"

jobs=$TOP/tests/jobs/strace_jobs.py
probe=$O/tests/jobs/strace_probe

nothing() { :; }
make_files() { "$PY" "$jobs" make DATA; }

oracle posix $posix nothing "$probe" DATA
oracle stdio opens,read_bytes,write_bytes nothing "$probe" DATA stdio
oracle raw $posix nothing "$PY" "$jobs" raw DATA
oracle workers $posix make_files "$PY" "$jobs" workers DATA
oracle cat opens,failed_opens,reads,read_bytes,closes make_files \
	sh -c 'cat DATA/f00* | wc -c'
finish
