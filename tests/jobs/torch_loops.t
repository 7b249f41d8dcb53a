#!/bin/sh
# SPDX-License-Identifier: MIT
# Common loops of PyTorch: the spans are those of the loop.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/jobs/torch.sh"

# maybe CASE NEEDS SPANS: run the job if @NEEDS works.
maybe() {
	if "$python" -W ignore -c "$2" >/dev/null 2>&1; then
		job "$1"
		spans "$1" "$3"
	else
		skip "$1" "not here: $2"
	fi
}

job by_hand
spans by_hand 'backward 7, epoch 3, fetch 10, optimizer 7, preprocess 7, step 7'
job constructed
spans constructed 'backward 6, checkpoint 2, epoch 2, fetch 8, optimizer 6, preprocess 6, step 6, stop 2'
is 'constructed: the workers start in a fetch' "$("$IOREEL" sql --format tsv constructed.reel "
	SELECT count(*) FROM process p WHERE role = 'worker' AND EXISTS (
		SELECT 1 FROM v_span s WHERE s.name = 'fetch'
		AND p.fork_ns BETWEEN s.start_ns AND s.start_ns + s.dur_ns)" | tail -1)" 4
job validated
spans validated 'backward 6, epoch 2, eval 4, fetch 20, optimizer 6, preprocess 14, step 6'
job endless
is 'endless: a pass is an epoch, or an evaluation' "$("$IOREEL" sql --format tsv endless.reel "
	SELECT group_concat(name || ' ' || n, ', ') FROM (
	SELECT name, count(*) AS n FROM v_span WHERE closed AND name <> 'preprocess'
		AND detail IS NOT -2
	GROUP BY name ORDER BY name)" | tail -1)" \
	'backward 6, epoch 2, eval 2, fetch 18, optimizer 6, step 6'
is 'endless: no step holds an evaluation, or the start of the workers' "$("$IOREEL" sql --format tsv endless.reel "
	SELECT (SELECT count(*) FROM v_span s JOIN v_span e ON e.start_ns > s.start_ns
			AND e.start_ns + e.dur_ns < s.start_ns + s.dur_ns
			WHERE s.name = 'step' AND e.name = 'eval'),
		(SELECT count(*) FROM process WHERE role = 'worker'
			AND fork_ns < (SELECT min(start_ns) FROM v_span WHERE name = 'step'))" |
	tail -1 | tr '\t' ' ')" '0 3'
is 'endless: a worker of the evaluation is none of the training' "$("$IOREEL" sql --format tsv endless.reel "
	SELECT max_workers FROM v_loader_workers" | tail -1)" 2
is 'endless: a fit has readers that begin once, without those of the evaluation' "$("$IOREEL" fit -q endless.reel -o e.json &&
	"$python" -c 'import json
p = json.load(open("e.json"))["pipeline"]
print(p["start_once"], p["readers"], p["prefetch"], p["batch"])')" 'True 2 2 4'
job accumulated
spans accumulated 'backward 6, epoch 1, fetch 7, optimizer 2, preprocess 6, step 6'
job averaged
spans averaged 'backward 6, checkpoint 2, epoch 2, eval 1, fetch 12, optimizer 6, preprocess 9, step 6, stop 3'
is 'averaged: the batches of a pass before the training are of an evaluation' \
	"$("$IOREEL" sql --format tsv averaged.reel "
	SELECT count(*), count(s.detail) FROM v_span s JOIN v_span p
	ON p.span_id = s.parent_id WHERE s.name = 'fetch' AND p.name = 'eval'
		AND s.detail IS NOT -2" |
	tail -1 | tr '\t' ' ')" '4 0'
is 'averaged: no step holds them' "$("$IOREEL" report --json averaged.reel |
	"$python" -c 'import json, sys
r = json.load(sys.stdin)["ranks"][0]
print(r["steps"], r["evaluations"])')" '6 1'
job cached
spans cached 'backward 6, checkpoint 2, eval 1, fetch 4, optimizer 6, preprocess 3, step 6'
check 'cached: the wait of steps without a fetch is not that of the pass' '
	"$IOREEL" report cached.reel | tr "\n" " " |
		grep -q "How long the job waits for its input is not known: at most .* of its loop" &&
	! "$IOREEL" report cached.reel | grep -q "INPUT-BOUND\|I/O hidden"'
maybe handed_over 'import numpy' 'backward 17, fetch 16, optimizer 17, step 17'
check 'handed_over: the report names who makes the batches' '
	"$IOREEL" report handed_over.reel | tr -s " \n" "  " |
		grep -q "threads or processes of the program make the batches"'
job loads
spans loads 'checkpoint 1, epoch 1, fetch 3, preprocess 2, restore 2, step 2'
maybe compiled 'import torch
torch.compile(torch.ones, backend="eager")(2)' \
	'backward 3, epoch 1, fetch 4, optimizer 3, preprocess 3, step 3'
maybe distributed 'import torch.distributed.checkpoint as d; d.async_save' \
	'checkpoint 3, restore 1'
maybe lightning 'import lightning' \
	'backward 6, checkpoint 1, epoch 2, eval 3, fetch 17, optimizer 6, preprocess 12, step 6'
maybe prefetch_generator 'import prefetch_generator' \
	'backward 6, epoch 2, eval 2, fetch 16, optimizer 6, preprocess 24, step 6'
maybe monai_thread 'import monai' \
	'backward 6, epoch 2, eval 2, fetch 12, optimizer 6, preprocess 24, step 6'
if "$python" -c 'import batchgenerators' >/dev/null 2>&1; then
	job augmented
	is 'augmented: a look at a batch, steps, evaluations, two workers' \
		"$("$IOREEL" sql --format tsv augmented.reel "
		SELECT sum(name = 'epoch'), sum(name = 'eval'), sum(name = 'fetch'),
			sum(name = 'step'), count(DISTINCT process_id)
			FILTER (WHERE name = 'preprocess') FROM v_span" |
		tail -1 | tr '\t' ' ')" '1 2 13 7 2'
else
	skip augmented 'not here: batchgenerators'
fi
maybe webdataset 'import webdataset' \
	'backward 4, epoch 2, fetch 6, preprocess 4, step 4, stop 2'
finish
