#!/bin/sh
# SPDX-License-Identifier: MIT
# Keras on JAX: the batches that its loops request are fetches in their steps.
. "$(dirname "$0")/../lib/tap.sh"
IOREEL_HOOKS=$TOP/preload/python
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$T/lib
export IOREEL_HOOKS PYTHONDONTWRITEBYTECODE PYTHONPATH
unset LD_PRELOAD
job=$TOP/tests/jobs/keras_jax.py
python3 "$job" make "$T/lib" || skip_all 'no python3'
hidden='import sys; sys.exit(sys.version_info < (3, 11))'

for case in fit unknown fails; do
	python3 "$job" $case >bare 2>bare.err
	echo "status $?" >>bare
	"$IOREEL" record -q -o $case.reel -- python3 "$job" $case >rec 2>rec.err
	echo "status $?" >>rec
	is "$case: output and status" "$(cat rec)" "$(cat bare)"
	if [ $case != fails ] || python3 -c "$hidden"; then
		is "$case: errors" "$(cat rec.err)" "$(cat bare.err)"
	else
		skip "$case: errors" 'frames of wrappers show before Python 3.11'
	fi
	is "$case: the installed hooks" "$(sql $case.reel "SELECT key, value
		FROM note WHERE key LIKE 'hook:%' ORDER BY key")" \
"hook:keras.batches	on
hook:keras.model	on
hook:keras.steps	on"
done

for case in fit unknown; do
	is "$case: every step has the read of its batch in a fetch" \
		"$(sql $case.reel "
		SELECT s.name, s.detail, count(e.bytes) FROM v_span f
		JOIN v_span s ON s.span_id = f.parent_id
		LEFT JOIN v_event e ON e.call = 'read' AND e.bytes > 0 AND
			e.start_ns BETWEEN f.start_ns AND f.start_ns + f.dur_ns
		WHERE f.name = 'fetch' AND s.name = 'step'
		GROUP BY f.span_id ORDER BY f.start_ns")" \
"step	0	1
step	1	1
step	2	1
step	3	1"
	is "$case: the fetches of the evaluations" "$(sql $case.reel "
		SELECT count(*) FROM v_span f JOIN v_span s
		ON s.span_id = f.parent_id
		WHERE f.name = 'fetch' AND s.name = 'eval'")" 4
done
# The note of what prepares the batches; with two kinds the report names none.
loaders() {
	rm -rf loaders.reel
	"$IOREEL" record -q -o loaders.reel -- python3 "$job" loaders "$@" >rec 2>&1
	python3 "$job" loaders "$@" 2>&1 | diff rec - &&
		sql loaders.reel "SELECT coalesce(loader, '-') FROM v_framework"
}
is 'a PyDataset' "$(loaders none none)" PyDataset
is 'a PyDataset with threads' "$(loaders threads)" 'PyDataset of threads'
is 'a PyDataset with processes' "$(loaders processes)" 'PyDataset of processes'
is 'its worker and the batch that it makes' "$(sql loaders.reel "SELECT count(*) FROM v_span s
	JOIN process p USING (process_id) WHERE s.name = 'preprocess' AND p.role = 'worker'")" 1
is 'a generator' "$(loaders generator)" generator
is 'several loaders' "$(loaders threads generator)" -
is 'a fetch that fails counts as a fetch' "$(sql fails.reel "SELECT count(*),
	sum(closed) FROM v_span WHERE name = 'fetch'")" '2	2'
finish
