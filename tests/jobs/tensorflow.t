#!/bin/bash
# SPDX-License-Identifier: MIT
# TensorFlow and Keras jobs run the same recorded and bare, their spans are
# those of the loop, and their I/O is that of strace.
. "$(dirname "$0")/../lib/tap.sh"
for python in python3 /usr/bin/python3 ''; do
	"$python" -c 'import sys
from importlib.util import find_spec
sys.exit(not (find_spec("tensorflow") and find_spec("keras")))' \
		2>/dev/null && break
done
[ -n "$python" ] || skip_all 'no python3 with TensorFlow'
export IOREEL_HOOKS=$TOP/preload/python PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH
job=$TOP/tests/jobs/tensorflow_jobs.py
columns=opens,reads,read_bytes,write_bytes
strace -qq -e trace=none true 2>/dev/null && strace=yes
mkdir data && (cd data && "$python" "$job" make 2>/dev/null)

# Times, pids and addresses differ; Keras 2 warns of slow callbacks, with their times.
plain() { sed -E -e 's/^[IWE0-9.: ]+//' -e 's/0x[0-9a-f]+/0xADDR/g' -e 's/time: [0-9.]+s/time: Ns/g' "$1"; }

# in_data RUN COMMAND...: run it in a fresh folder of a fixed name.
in_data() {
	local run=$1
	shift
	rm -rf here && cp -r data here
	(cd here && "$@" >"../$run.out" 2>"../$run.err"; echo "status $?" >>"../$run.out")
}

# job CASE SPANS
job() {
	in_data bare "$python" "$job" "$1"
	in_data rec "$IOREEL" record -q -o "$T/$1.reel" -- "$python" "$job" "$1"
	check "$1: the same output and status" 'diff bare.out rec.out &&
		diff <(plain bare.err) <(plain rec.err)'
	is "$1: spans" "$("$IOREEL" sql --format tsv "$1.reel" "
		SELECT group_concat(name || ' ' || n, ', ') FROM (
		SELECT name, count(*) AS n FROM v_span
		WHERE closed AND name != 'fetch'
		GROUP BY name ORDER BY name)" | tail -n +2)" "$2"
	is "$1: every step has a fetch" "$("$IOREEL" sql --format tsv "$1.reel" "
		SELECT count(*) FROM v_span s WHERE name = 'step' AND NOT EXISTS
		(SELECT 1 FROM v_span f WHERE f.name = 'fetch'
		AND f.process_id = s.process_id
		AND f.start_ns BETWEEN s.start_ns AND s.start_ns + s.dur_ns)
		" | tail -n +2)" 0
	# fails, an aborted loop: the progress of its reader varies
	[ -n "$strace" ] || return
	case $1 in fit | evaluates | loop) ;; *) return ;; esac
	in_data strace strace -ff -y -s 0 -o "$T/s.$1" \
		-e trace=%file,%desc,%process "$python" "$job" "$1"
	"$IOREEL" sql "$1.reel" --format tsv \
		'SELECT pid, call, path, result, errno FROM v_event
		WHERE path LIKE "%.tfrecord"' >events
	"$python" "$TOP/tests/lib/strace_count.py" events here $columns \
		<events >got
	for f in "s.$1".*; do
		grep -E 'tfrecord|^clone' "$f" >only && mv only "$f"
	done
	"$python" "$TOP/tests/lib/strace_count.py" strace here $columns \
		"s.$1".* >want
	is "$1: the calls on the records" "$(cat got)" "$(cat want)"
}

job fit 'checkpoint 2, epoch 2, eval 3, step 32'
is 'fit: step numbers' "$("$IOREEL" sql --format tsv fit.reel "
	SELECT count(DISTINCT detail), max(detail) FROM v_span
	WHERE name = 'step'" | tail -n +2)" "$(printf '32\t31')"
is 'fit: every step and evaluation except the last is in its epoch' \
	"$("$IOREEL" sql --format tsv fit.reel "
	SELECT count(*) FROM v_span s JOIN v_span e ON e.span_id = s.parent_id
	WHERE e.name = 'epoch' AND s.name IN ('step', 'eval')" | tail -n +2)" 34
job fails 'epoch 2, step 19'
job evaluates 'epoch 1, eval 1, step 16'
job loop 'epoch 4, step 64'
is 'loop: the numbers of epochs and steps continue' \
	"$("$IOREEL" sql --format tsv loop.reel "
	SELECT name, min(detail), max(detail), count(DISTINCT detail)
	FROM v_span WHERE name IN ('epoch', 'step') GROUP BY name" |
	tail -n +2)" "$(printf 'epoch\t0\t3\t4\nstep\t0\t63\t64')"
# Reading one batch is not an epoch, and hides no wait: each batch of the 8 of
# the training takes 40 ms, and the first one of a pass 80 ms.
for look in none take next adapt; do
	epochs='epoch 2, step 8'
	case $look in take | adapt) epochs='epoch 2, eval 1, step 8' ;; esac
	job sleeps_$look "$epochs"
	is "sleeps_$look: the training waits for its batches" \
		"$("$IOREEL" sql --format tsv sleeps_$look.reel "
		SELECT epoch, steps, fetch_ns >= 160e6, first_fetch_ns >= 80e6
		FROM v_epoch ORDER BY start_ns" | tail -n +2)" \
		"$(printf '0\t4\t1\t1\n1\t4\t1\t1')"
done
job again 'epoch 3, step 6'
is 'again: the epochs of all calls of fit() are counted' \
	"$("$IOREEL" sql --format tsv again.reel "SELECT group_concat(detail)
	FROM (SELECT detail FROM v_span WHERE name = 'epoch'
	ORDER BY start_ns)" | tail -n +2)" 0,1,2
job traced 'epoch 1, step 2'
job distributed 'epoch 3, step 40'
# a loop that takes no gradient evaluates, once another one has trained
job tapes 'epoch 3, eval 3, step 48'
job trains_on_batch 'epoch 2, eval 2, step 32'
job stages 'epoch 6, step 64'
is 'stages: what each pipeline has; a cache in a file is read in each epoch' "$("$IOREEL" sql --format tsv stages.reel "
	SELECT group_concat(value, '; ') FROM note WHERE key = 'tf.data'" |
	tail -n +2)" \
	'prefetch; -; prefetch cache parallel; cache generator; parallel; prefetch parallel'
is 'and all of them' "$("$IOREEL" sql --format tsv stages.reel "
	SELECT prefetch, parallel, cache, generator FROM v_framework" | tail -n +2)" \
	"$(printf '0\t0\t0\t1')"
job saves 'checkpoint 4, restore 3'
IOREEL_PROFILE_STEPS=5-7 in_data rec "$IOREEL" record -q -o "$T/p.reel" -- \
	"$python" "$job" fit
check 'a profile of some steps, in the trace directory' \
	'find p.reel | grep "/profile\.[0-9]*/.*\.xplane\.pb$"'
is 'and the note with their numbers' "$("$IOREEL" sql --format tsv p.reel "
	SELECT value FROM note WHERE key = 'profile.steps'" | tail -n +2)" 5-7
finish
