#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/demo runs all steps, twice, and its output is correct.
. "$(dirname "$0")/../lib/tap.sh"
python=$("$TOP/scripts/torch-python" 2>&1) || skip_all "$python"
command -v apt-get >/dev/null || skip_all 'scripts/setup needs apt-get'
unset MAKEFLAGS MFLAGS MAKELEVEL PYTHONPATH

mkdir "$O/demo" 2>/dev/null
echo stale >"$O/demo/replay.db"
check 'scripts/demo' '"$TOP/scripts/demo" >out 2>&1 </dev/null ||
	{ tail -25 out; false; }'
check 'and again' '"$TOP/scripts/demo" >out 2>&1 </dev/null ||
	{ tail -25 out; false; }'
check 'the output of the job is in it' 'grep "^epoch 1: loss" out'
check 'the report names the framework' 'grep "PyTorch [12]" out'
check 'the likeness is measured' 'grep "^ *likeness" out'
check 'the likeness is that of the median of three replays' 'grep "^3 runs: .* whose likeness is" out'
check 'the data is unchanged' 'grep "2500 images are unchanged" out'
check 'the script does not mention ioreel' \
	'! grep -i ioreel "$TOP/examples/train_images.py"'

cd "$O/demo" || exit 1
query() {
	"$IOREEL" sql --format tsv demo.reel "$1" | tail -n +2
}
# 2,500 images in batches of 16, the last of each epoch dropped; two fetches of an epoch
# start and stop the workers
is 'spans of the main process' "$(query "
	SELECT group_concat(name || ' ' || n, ', ') FROM (
	SELECT s.name, count(*) AS n FROM v_span s
	JOIN process p USING (process_id) WHERE p.role = 'main'
	GROUP BY s.name ORDER BY s.name)")" \
	'backward 312, checkpoint 2, epoch 2, fetch 316, optimizer 312, step 312'
is 'workers prepared every batch' "$(query "
	SELECT count(*) FROM v_span s JOIN process p USING (process_id)
	WHERE p.role = 'worker' AND s.name = 'preprocess'")" 312
is 'images opened, all by workers' "$(query "
	SELECT count(*) || ' ' || min(p.role) FROM v_event e
	JOIN process p USING (process_id)
	WHERE e.path LIKE '%.ppm' AND e.call_group = 'open'")" '4992 worker'
is 'their bytes' "$(query "SELECT sum(bytes) FROM v_event
	WHERE path LIKE '%.ppm'")" $((4992 * (256 * 256 * 3 + 15)))
is 'checkpoints written' "$(query "SELECT count(DISTINCT path) FROM v_event
	WHERE path LIKE '%/epoch_.pt' AND bytes > 0 AND call_group = 'write'")" 2
check 'the replay made the same calls' '
	"$IOREEL" compare --json demo.reel replay.db >likeness.json &&
	python3 -c "import json; assert json.load(open(\"likeness.json\"))[
	\"same_sequence_share\"] == 1" || { cat likeness.json; false; }'
finish
