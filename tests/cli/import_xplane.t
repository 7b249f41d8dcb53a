#!/bin/sh
# SPDX-License-Identifier: MIT
# Profiles of TensorFlow and JAX: files made byte by byte, damaged ones, and a real
# one beside the counts of TensorFlow's own reader.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
HERE=$TOP/tests/cli

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
rows() { sql s.db "$1" | tr '\t\n' ' ;'; }
python3 "$HERE/xplane_make.py" .

check 'a profile with numbered steps' 'import numbered.xplane.pb'
is 'steps, fetches, roots, kernels: names, numbers, times from the first' \
	"$(rows "SELECT name, CASE WHEN name IN ('kernel', 'memcpy') THEN '-' ELSE coalesce(detail, '-') END,
		start_ns, dur_ns, tid FROM v_span ORDER BY start_ns, dur_ns DESC")" \
	'a root - 0 5000 -5;step 7 90000 100000 -5;fetch - 100000 40000 6;kernel - 141000 20000 -20000000013;memcpy - 156000 10000 -20000000013;step 8 190000 100000 -5;'
is 'a kernel has its own name in the record of its detail' \
	"$(rows "SELECT record, module FROM v_span JOIN counter_record ON record_id = detail WHERE v_span.name = 'kernel'")" \
	'gemm /device:GPU:1;'
is 'counts and times by name, sums of events too' \
	"$(rows "SELECT name, value FROM v_counter WHERE record = 'MatMul:MatMul' ORDER BY 1")" \
	'COUNT 5;TIME_PS 12000000;'
is 'the computation of the steps' "$(rows 'SELECT number, fetch_ns, compute_ns FROM v_step')" \
	'7 40000 25000;8  ;'
is 'absolute time, host' "$(rows 'SELECT start_real_ns, h.name FROM run, host h')" '1719853884000011000 node7;'

mkdir -p logs/train/plugins/profile/2026_01_02_03_04_05 logs/train/plugins/profile/2025_12_31_00_00_00
cp numbered.xplane.pb logs/train/plugins/profile/2026_01_02_03_04_05/node7.xplane.pb
cp derived.xplane.pb logs/train/plugins/profile/2025_12_31_00_00_00/node7.xplane.pb
echo >logs/events.out.tfevents
check 'the newest profile of a log folder' 'import logs && [ "$(rows "SELECT number FROM v_step")" = "7;8;" ]'
check 'which is a RUN too' '"$IOREEL" report logs | grep -q "profile/2026_01_02_03_04_05/node7.xplane.pb (xplane)"'
for dir in logs/train/plugins logs/train/plugins/profile; do
	check "the same of $dir" 'import $dir && [ "$(rows "SELECT number FROM v_step")" = "7;8;" ]'
done
# JAX writes a profile in three forms.
for name in node7.trace perfetto_trace; do
	printf '{"traceEvents": [{"ph": "X", "name": "step", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}' |
		gzip >logs/train/plugins/profile/2026_01_02_03_04_05/$name.json.gz
done
check 'the JSON beside xplane.pb is no run more' 'import logs && [ "$(rows "SELECT number FROM v_step")" = "7;8;" ] &&
	[ "$(rows "SELECT count(*), (SELECT count(*) FROM loss) FROM source")" = "1 0;" ]'
check 'the JSON of another host stays, and is counted' '(
	cd logs/train/plugins/profile/2026_01_02_03_04_05 && cp node7.trace.json.gz node8.trace.json.gz) &&
	import logs && [ "$(rows "SELECT reason, count FROM loss")" = "other_format 1;" ] &&
	rm logs/train/plugins/profile/*/node8.trace.json.gz'
check 'the JSON alone is' 'rm logs/train/plugins/profile/*/node7.xplane.pb && import logs &&
	[ "$(rows "SELECT count(*) FROM source")" = "2;" ]'

import derived.xplane.pb
is 'without numbers a step lasts from fetch to fetch; the end of the data is neither' \
	"$(rows 'SELECT name, detail, start_ns, dur_ns FROM v_span ORDER BY start_ns, dur_ns DESC')" \
	'step 0 0 190000;fetch  0 40000;step 1 190000 200000;fetch  190000 10000;fetch  590000 20000;'
is 'the time of the day is not known' "$(rows 'SELECT start_real_ns IS NULL, wall_ns IS NULL FROM run')" '1 1;'

spans='SELECT name, start_ns, dur_ns FROM v_span ORDER BY start_ns, dur_ns DESC'
for n in loop reduce; do
	import $n.xplane.pb
	is "a $n of a data set inside a graph" "$(rows "$spans")" \
		'step 0 100000;fetch 0 40000;step 100000 100000;fetch 100000 30000;fetch 200000 1000;'
done
import reduce_too.xplane.pb
is 'a reduction beside other fetches is none' "$(rows "$spans")" \
	'step 0 200000;fetch 0 40000;fetch 200000 10000;'

import annotated.xplane.pb
is 'annotations of the program: a fetch in a step' "$(rows "$spans")" 'step 0 90000;fetch 0 40000;'
import named.xplane.pb
is 'a step without number' "$(rows "$spans")" 'step 0 90000;fetch 0 40000;'
import function.xplane.pb
is 'a function that is called between fetches is no step' "$(rows "$spans")" \
	'step 0 70000;fetch 0 40000;step 70000 70000;fetch 70000 40000;'

import evaluation.xplane.pb
is 'batches that no gradient follows are an evaluation' \
	"$(rows "SELECT name, detail, start_ns, dur_ns FROM v_span WHERE name <> 'fetch' ORDER BY start_ns")" \
	'step 0 0 100000;step 1 100000 100000;eval 0 200000 200000;step 2 400000 100000;'
import compiled.xplane.pb
is 'a constant of a gradient says nothing' \
	"$(rows "SELECT name, count(*) FROM v_span WHERE name <> 'fetch' GROUP BY 1")" 'step 3;'
import ended.xplane.pb
is 'a numbered step that finds no batch is none' \
	"$(rows "SELECT name, detail, start_ns, dur_ns FROM v_span WHERE name = 'step' ORDER BY start_ns")" \
	'step 1 0 50000;step 2 100000 50000;'

import replicas.xplane.pb
is 'replicas that fetch at the same time begin one step' \
	"$(rows "SELECT name, start_ns, dur_ns FROM v_span WHERE name = 'step'")$(rows "SELECT count(*) FROM v_span")" \
	'step 0 100000;step 100000 50000;7;'
for n in python loader; do
	import $n.xplane.pb
	is "a wait of Python, $n" "$(rows "$spans")" 'step 0 70000;fetch 0 40000;fetch 70000 2000;'
done
import operator.xplane.pb
is 'a wait of Python for an operator is one fetch' "$(rows "$spans")" 'fetch 1000 38000;'

import tpu.xplane.pb
is 'the steps and operations of a TPU' \
	"$(rows "SELECT name, start_ns, dur_ns, CASE name WHEN 'step' THEN detail END FROM v_span ORDER BY start_ns, dur_ns DESC")" \
	'step 0 50000 41;kernel 0 20000 ;step 50000 60000 42;'
is 'gzip is undone, the same file gives the same bytes' \
	"$(mkdir -p d && gzip -c tpu.xplane.pb >d/tpu.xplane.pb && (cd d && import tpu.xplane.pb) && cmp s.db d/s.db && echo same)" same
check 'a file of each host' 'mkdir hosts && cp numbered.xplane.pb tpu.xplane.pb hosts && import hosts'
is 'is a process of its own' "$(rows 'SELECT count(*), count(DISTINCT process_id) FROM v_span')" '9 2;'
import plain.xplane.pb
is 'the job lasts from the first event to the last one, also without spans' \
	"$(rows 'SELECT span_ns, start_ns, end_ns FROM run, process')$(rows 'SELECT count(*) FROM v_span')" \
	'220000 0 220000;0;'
frameworks() { for i; do import $i.xplane.pb && rows 'SELECT framework FROM run'; done; }
is 'the frameworks: of a job of JAX with a pipeline of tf.data, both' \
	"$(frameworks plain jax jax_old jax_tf_data python loader)" \
	'TensorFlow;JAX;JAX;TensorFlow, JAX;TensorFlow, JAX;JAX;'
import time.xplane.pb
is 'impossible times are counted' "$(rows 'SELECT reason, unit, count FROM loss')$(rows 'SELECT count(*) FROM v_span')" \
	'not_understood events 2;1;'

# --- damage -------------------------------------------------------------------
# refused TITLE FILE PATTERN: one line, exit status 1, no store, not even a half one.
refused() {
	local rc
	"$IOREEL" import -q --as xplane "$2" -o no.db 2>err
	rc=$?
	check "refused: $1" "[ $rc = 1 ] && [ \$(wc -l <err) = 1 ] && grep -q -- '$2.*$3' err && ! ls no.db* 2>/dev/null"
}
refused 'a truncated file' cut.xplane.pb offset
refused 'a length past the end' length.xplane.pb 'offset 2[0-9]'
gzip -c numbered.xplane.pb | head -c 100 >cut.pb.gz
refused 'a truncated gzip' cut.pb.gz offset
check 'of which no part can be taken: no word of --partial' '! grep -q partial err &&
	! "$IOREEL" import -q --partial cut.pb.gz -o no.db 2>err && grep -q "compressed data is cut off$" err'
refused 'no events' none.xplane.pb 'no events'
printf '\377\377\377\377\377\377\377\377\377\377\377\377' >endless.pb
refused 'a number without end' endless.pb offset
: >empty.pb
refused 'an empty file' empty.pb ''
echo '{"traceEvents": []}' >foreign.json
refused 'another format' foreign.json offset
if [ -x "$O/tests/fuzz/fuzz_import" ]; then
	check '300 damaged files' '"$O/tests/fuzz/fuzz_import" 300 1 numbered.xplane.pb'
fi

# --- a real file --------------------------------------------------------------
if [ -d "$IOREEL_DATA/tf" ]; then
	import "$IOREEL_DATA/tf/keras_fit.xplane.pb.gz"
	sed 1d "$IOREEL_DATA/tf/keras_fit_truth.csv" | tr -d '\r' | sort >want
	sql s.db "SELECT module || ',' || record || ',' ||
		max(value) FILTER (WHERE name = 'COUNT') || ',' ||
		max(value) FILTER (WHERE name = 'TIME_PS') FROM v_counter GROUP BY module, record" | sort >got
	check "keras_fit: counts and picoseconds of $(wc -l <want) names as TensorFlow reads them" 'cmp want got'
	is 'keras_fit: 34 fetches of 43.53 ms, two of them at the end of the data' \
		"$(rows "SELECT max(value) FILTER (WHERE name = 'COUNT'), max(value) FILTER (WHERE name = 'TIME_PS') / 1000000
			FROM v_counter WHERE record = 'IteratorGetNextOp::DoCompute'")$(rows 'SELECT count(*), sum(fetch_ns) / 1000 FROM v_step')" \
		'34 43530;32 43434;'
	check 'keras_fit: the advice is for tf.data' \
		'"$IOREEL" report s.db | grep -q "Try: prefetch(tf.data.AUTOTUNE)"'
else
	skip 'a real profile' 'IOREEL_DATA has none'
fi
finish
