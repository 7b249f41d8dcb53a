#!/bin/sh
# SPDX-License-Identifier: MIT
# PyTorch jobs run the same recorded and bare, and their spans are exact.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/torch.sh"

two='backward 6, checkpoint 2, epoch 2, fetch 8, optimizer 6, preprocess 6, step 6'
job alone
spans alone "$two"
is 'alone: the processor time of the loop is noted' "$("$IOREEL" sql --format tsv alone.reel "
	SELECT count(*), min(CAST(value AS INTEGER)) > 0 FROM note WHERE key = 'loop.cpu_ns'" |
	tail -1 | tr '\t' ' ')" '1 1'
reads alone 24
job workers
spans workers "$two, stop 2"
reads workers 24
is 'workers: roles' "$("$IOREEL" sql --format tsv workers.reel \
	'SELECT role, count(*) FROM process GROUP BY role ORDER BY role' |
	tail -n +2)" "$(printf 'main\t1\nworker\t4')"
is 'workers: step numbers' "$("$IOREEL" sql --format tsv workers.reel "
	SELECT group_concat(detail, ' ') FROM (SELECT detail FROM v_span
	WHERE name = 'step' ORDER BY start_ns)" | tail -n +2)" '0 1 2 3 4 5'
is 'workers: each step contains its fetch, backward and optimizer' \
	"$("$IOREEL" sql --format tsv workers.reel "
	SELECT count(*) FROM v_span s WHERE s.name = 'step' AND
	(SELECT group_concat(name) FROM (SELECT name FROM v_span c
	WHERE c.parent_id = s.span_id ORDER BY start_ns))
	= 'fetch,backward,optimizer'" | tail -n +2)" 6
is 'workers: framework' "$("$IOREEL" sql --format tsv workers.reel \
	"SELECT framework FROM run" | tail -n +2 | cut -d' ' -f1)" PyTorch
job persistent
spans persistent "$two, stop 1"
job spawned
spans spawned "$two, stop 2"
reads spawned 24
job forkserver
spans forkserver "$two, stop 1"
# the number of preprocess spans of workers, and of worker processes
for how in spawned forkserver; do
	is "$how: workers and their spans are detected" \
		"$("$IOREEL" sql --format tsv $how.reel "
		SELECT count(*), count(DISTINCT p.process_id)
		FROM process p JOIN v_span s USING (pid)
		WHERE p.role = 'worker' AND s.name = 'preprocess'" | tail -n +2)" \
		"$(printf '6\t%d' $([ $how = spawned ] && echo 4 || echo 1))"
done
# Each epoch has its own loader, data set and workers: their start is in
# the fetch of its first step.
job loader_per_epoch
spans loader_per_epoch 'backward 9, epoch 3, fetch 12, optimizer 9, preprocess 9, step 9, stop 3'
is 'loader_per_epoch: each epoch begins with the start of its workers' \
	"$("$IOREEL" sql --format tsv loader_per_epoch.reel "
	SELECT epoch, steps, first_fetch_ns >= 1e9 FROM v_epoch
	ORDER BY start_ns" | tail -n +2)" "$(printf '%d\t3\t1\n' 0 1 2)"
is 'loader_per_epoch: step numbers continue' \
	"$("$IOREEL" sql --format tsv loader_per_epoch.reel "
	SELECT group_concat(number, ' ') FROM (SELECT number FROM step
	ORDER BY start_ns)" | tail -n +2)" '0 1 2 3 4 5 6 7 8'
check 'loader_per_epoch: the report has a line on the start of epochs' \
	'"$IOREEL" report loader_per_epoch.reel | grep EPOCH-START'
job looked_at
is 'looked_at: reading one batch is not an epoch and has no step' \
	"$("$IOREEL" sql --format tsv looked_at.reel "
	SELECT epoch, steps, first_fetch_ns >= 1e9 FROM v_epoch
	ORDER BY start_ns" | tail -n +2)" "$(printf '%d\t3\t1\n' 0 1)"
job prefetched
is 'prefetched: the loop waits for what the thread hands over, not for its fetches' \
	"$("$IOREEL" sql --format tsv prefetched.reel "
	WITH s AS (SELECT *, thread_id = (SELECT thread_id FROM v_span
		WHERE name = 'backward' LIMIT 1) AS trains FROM v_span)
	SELECT count(*) FILTER (WHERE name IN ('step', 'epoch')),
	count(*) FILTER (WHERE name = 'fetch' AND NOT trains) <= 4,
	count(*) FILTER (WHERE name = 'fetch' AND trains),
	count(*) FILTER (WHERE name = 'backward') FROM s" |
	tail -n +2)" "$(printf '0\t1\t11\t12')"
job iterable
spans iterable 'backward 12, checkpoint 2, epoch 2, fetch 14, optimizer 12, preprocess 12, step 12, stop 2'
job evaluated
spans evaluated 'backward 3, checkpoint 1, epoch 1, eval 1, fetch 8, optimizer 3, preprocess 6, step 3'
job broken_off
spans broken_off 'backward 4, checkpoint 2, epoch 2, fetch 8, optimizer 4, preprocess 6, step 6, stop 2'
is 'broken_off: a loop that is left waits for its workers to stop' "$("$IOREEL" sql --format tsv \
	broken_off.reel "SELECT count(*) FROM v_span s JOIN v_step t
	ON s.start_ns BETWEEN t.start_ns AND t.start_ns + t.dur_ns
	WHERE s.detail = -2 AND t.fetch_ns >= s.dur_ns AND s.dur_ns > 0" | tail -1)" 2
job subclass
spans subclass "$two"
job short_stream
job warns_in_main
job looks
job fails_in_loop
# the progress of workers varies; a loop that ends with its first batch,
# without training, is not an epoch
is 'fails_in_loop: spans' "$("$IOREEL" sql --format tsv fails_in_loop.reel "
	SELECT group_concat(name || ' ' || detail, ' ') FROM (SELECT name, coalesce(detail,
		'none') AS detail FROM v_span
	WHERE closed AND name != 'preprocess' ORDER BY name, start_ns)" | tail -n +2)" \
	'fetch none fetch 0 fetch -2'
job fails_in_backward
spans fails_in_backward 'backward 1, epoch 1, fetch 2, preprocess 1, step 1'
job fails_in_step
spans fails_in_step 'backward 7, checkpoint 2, epoch 3, fetch 10, optimizer 7, preprocess 7, step 7'
for how in fails_in_worker fails_in_main; do
	job $how
	is "$how: a fetch that fails is a wait, and begins no step" "$("$IOREEL" sql --format tsv $how.reel \
		"SELECT (SELECT count(*) FROM v_span WHERE name = 'step'),
		(SELECT count(*) FROM v_span WHERE name = 'fetch' AND detail >= 0)" |
		tail -1 | tr '\t' ' ')" '1 2'
done
dies worker_leaves
reads worker_leaves 7
dies worker_killed
reads worker_killed 7
finish
