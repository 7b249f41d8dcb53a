#!/bin/sh
# SPDX-License-Identifier: MIT
# Interleaved and nested loops over loaders give spans that nest.
. "$(dirname "$0")/../lib/tap.sh"

loop() {
	is "$1" "$(timeout 60 python3 "$TOP/tests/jobs/nested_loaders.py" "$TOP/preload/python" \
		"$2" 2>&1)" "$3"
}

loop 'two epochs of two batches' plain 'E0(S0(F F0) S1(F1)) E1(S2(F F2) S3(F3))'
loop 'break ends the epoch' broken 'E0(S0(F F0)) E1(S1(F F1))'
loop 'a new iterator ends the epoch of the one before' again \
	'E0(S0(F F0)) E1(S1(F F1))'
loop 'an iterator that starts again has a new epoch' persistent \
	'E0(S0(F F0)) E1(S1(F F1))'
loop 'an evaluation in a step has fetches only' validated \
	'E0(S0(F F0 V0(F F)) S1(F1 V1(F F)))'
loop 'a loop that trains nothing, after one that does, is an evaluation' evaluated \
	'E0(S0(F F0) S1(F1)) V0(F F) E1(S2(F F2) S3(F3)) V1(F F)'
loop 'within the training too' evaluated_within \
	'E0(S0(F F0 V0(F F)) S1(F1 V1(F F)))'
loop 'a second loader that trains' second_stage \
	'E0(S0(F F0) S1(F1)) E1(S2(F F) S3(F3)) E2(S4(F F4) S5(F5))'
loop 'one that zips two' second_zip \
	'E0(S0(F F0) S1(F1)) E1(S2(F F F F) S3(F3 F)) E2(S4(F F F4 F) S5(F5 F))'
loop 'one with an iterator that is seldom used' second_rare \
	'E0(S0(F F0) S1(F1)) E1(F E0(S0(F F F) S1(F1) S2(F2 F)))'
loop 'a new loader for each epoch' same_data 'E0(S0(F F0)) E1(S1(F F1))'
loop 'a new loader and data set for each epoch' new_data \
	'E0(S0(F F0) S1(F1)) E1(S2(F F) S3(F3)) E2(S4(F F) S5(F5))'
loop 'one whose first batch trains nothing' new_data_late \
	'E0(S0(F F0) S1(F1)) E1(F F S2(F)) E2(F F S3(F))'
loop 'in a loop over another loader' new_data_nested \
	'E0(S0(F F0 E0(S0(F F0) S1(F1))) S1(F1 E1(S2(F F) S3(F3))))'
loop 'a look at a batch is no epoch' looked \
	'F F0 E0(S0(F F0) S1(F1)) F F2 E1(S2(F F2) S3(F3))'
loop 'nor is one whose iterator is kept' looked_kept \
	'F F0 E0(S0(F F0) S1(F1)) E1(S2(F F2) S3(F3))'
loop 'but one that is trained with is' looked_often \
	'E0(S0(F F0)) E1(S1(F F1)) E2(S2(F F2))'
loop 'its step goes on after the call that trains' looked_and_trained \
	'E0(S0(F F0 O)) E1(S1(F F1 O))'
loop 'an iterator of which no batch is asked for' never_asked \
	'F E0(S0(F F0) S1(F1))'
loop 'a loop in a loop' nested \
	'E0(S0(F F0 E0(S0(F F0) S1(F1))) S1(F1 E1(S2(F F2) S3(F3))))'
loop 'a loop in a loop that breaks' nested_break \
	'E0(S0(F F0 E0(S0(F F0))) S1(F1 E1(S1(F F1))))'
loop 'zip: the first leads' zipped \
	'E0(S0(F F F0 F) S1(F1 F)) E1(S2(F F F2 F) S3(F3 F))'
loop 'loaders in turn: one leads, through its epochs' in_turn \
	'E0(S0(F F F0 F) S1(F1 F)) E1(S2(F F2 F) S3(F3 F F)) E2(S4(F F4 F))'
loop 'an iterator that is seldom used does not lead' rare \
	'E0(F E0(S0(F F0 F) S1(F1 F) S2(F2 F)) E1(S3(F F3) S4(F4) S5(F5)))'
loop 'a loader read by another thread' threads "$(printf '%s\n' \
	'F E0(S0(F F0))' 'F')"
loop 'a thread that prefetches for this one has no steps' fed \
	'F F0 P P P P'
loop 'nor has one with an iterator that was made here' fed_by_hand \
	"$(printf '%s\n' F 'P P P')"
loop 'a training in a thread, then an evaluation' trains_in_thread \
	"$(printf '%s\n' 'E0(S0(F F0) S1(F1))' 'V0(F F)')"
loop 'a training without a loop, then with one' trains_between \
	'E0(S0(F F0)) E1(S1(F F) S2(F2))'
loop 'a forked child starts with nothing open' forked "$(printf '%s\n' \
	'child: E0(S0(F F0))' 'E0(S0(F F0) S1(F1))')"
loop 'loops that keep their iterators, and ask for no batch too many' held_loops \
	'V0(F F F) E0(S0(F F0) S1(F1)) V1(F F F F) E1(S2(F F2) S3(F3)) V2(F F F F)'
loop 'with evaluations in between' held_within \
	'E0(S0(F F0 V0(F F)) S1(F1 V1(F F F)) S2(F2))'
loop 'without lengths' held_unsized \
	'E0(S0(F F0) S1(F1 V0(F F F))) E1(S2(F F2) S3(F3 V1(F F F)))'
loop 'a loader whose thread advances the iterator of another one' background \
	"$(printf '%s\n' 'E0(S0(F F0) S1(F1)) V0(F F)' 'P P' P)"
loop 'one that advances it in its fetches' generated \
	'E0(S0(F0) S1(F1)) E1(S2(F2) S3(F3))'
loop 'iterators without an end: gradients off are evaluations' without_end \
	'E0(S0(F0 F0) S1(F1) S2(F2 V0(F F)) S3(F3) S4(F4 V1(F F)))'
loop 'one that ends, and goes on' with_end \
	'E0(S0(F0) S1(F1)) E1(S2(F2) S3(F3))'
loop 'a training that takes its batches from a queue' own_queue "$(printf '%s\n' 'child:' 'F F F')"
loop 'one that has a loader, too' own_queue_beside 'E0(S0(F F0))'
loop 'the end of the interpreter' left_open 'E0(S0(F F0))'
finish
