#!/bin/sh
# SPDX-License-Identifier: MIT
# Libraries that write checkpoints themselves: their writes and reads are in
# spans, one per save with all nested calls. Loaders other than PyTorch's.
. "$(dirname "$0")/../lib/tap.sh"
IOREEL_HOOKS=$TOP/preload/python
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$T/lib
export IOREEL_HOOKS PYTHONDONTWRITEBYTECODE PYTHONPATH
unset LD_PRELOAD
job=$TOP/tests/jobs/checkpoint_libs.py
python3 "$job" make "$T/lib" || skip_all 'no python3'

mkdir bare rec
for case in run loop datasets stages nodes workers; do
	(cd bare && python3 "$job" $case >out.$case 2>err.$case
		echo "status $?" >>out.$case)
	(cd rec && "$IOREEL" record -q -o ../$case.reel -- \
		python3 "$job" $case >out.$case 2>err.$case
		echo "status $?" >>out.$case)
done
check 'the same output, status and files' 'diff -r bare rec'

is 'the saved and loaded files' "$(sql run.reel "
	SELECT name, closed, (SELECT group_concat(substr(path,
		length('$T/rec/') + 1) || ' ' || bytes, ', ') FROM v_event e
		WHERE call IN ('read', 'write') AND bytes > 0 AND
		path LIKE '$T/rec/%' AND e.start_ns
		BETWEEN s.start_ns AND s.start_ns + s.dur_ns)
	FROM v_span s ORDER BY start_ns")" "checkpoint	1	alone 3
restore	1	alone 3
checkpoint	1	model1 100, model2 100
restore	1	model1 100, model2 100
checkpoint	1	state 5, trained1 100, trained2 100
checkpoint	1	final1 100, final2 100
checkpoint	1	last.ckpt 7
restore	1	last.ckpt 7
checkpoint	1	"
is 'the notes on each library' "$(sql run.reel "SELECT key, value FROM note
	WHERE key LIKE 'hook:%' ORDER BY key")" \
"hook:accelerate.accelerator	unsupported 7.0
hook:lightning.fabric.plugins.io.torch_io	on
hook:safetensors.numpy	on
hook:transformers.modeling_utils	on
hook:transformers.trainer	on, without _load_from_checkpoint"

# loops RUN: epochs and steps, and the reads in each.
loops() {
	sql "$1" "SELECT name, detail, (SELECT count(*) FROM v_event e
		WHERE call = 'read' AND bytes > 0 AND e.start_ns
		BETWEEN s.start_ns AND s.start_ns + s.dur_ns)
	FROM v_span s WHERE closed AND name <> 'fetch' ORDER BY start_ns"
}
is 'epochs and steps of Grain, each with its read' "$(loops loop.reel)" \
"epoch	0	3
step	0	1
step	1	1
step	2	1
epoch	1	3
step	3	1
step	4	1
step	5	1"
is 'epochs and steps of nested iterators of Grain, by the outermost one' \
	"$(loops datasets.reel)" \
"epoch	0	4
step	0	2
step	1	2
epoch	1	4
step	2	2
step	3	2"
is 'steps of a WebLoader: the batches that its stages make of the loader'"'"'s' \
	"$(loops stages.reel)" \
"epoch	0	3
step	0	3
epoch	1	3
step	1	1
step	2	1
step	3	1"
is 'epochs and steps of the nodes of torchdata' "$(loops nodes.reel)" \
"epoch	0	2
step	0	1
step	1	1
epoch	1	2
step	2	1
step	3	1"
is 'and what makes their batches' "$(sql nodes.reel "SELECT loader FROM v_framework")" torchdata.nodes
# The program itself is the parent of both.
is 'workers of Grain and torchdata, and the batches that the first made' \
	"$(sql workers.reel "SELECT role, (SELECT count(*) FROM v_span s
		WHERE s.process_id = p.process_id AND name = 'preprocess')
		FROM process p WHERE role = 'worker' ORDER BY process_id")" \
	"worker	3
worker	0"
finish
