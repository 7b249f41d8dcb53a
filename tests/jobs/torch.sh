# SPDX-License-Identifier: MIT
# Functions for the tests of PyTorch jobs, sourced after tap.sh: run a case of
# torch_jobs.py bare and recorded, and check its spans and reads.
python=$("$TOP/scripts/torch-python" 2>&1) || skip_all "$python"
IOREEL_HOOKS=$TOP/preload/python
OMP_NUM_THREADS=1
export IOREEL_HOOKS OMP_NUM_THREADS
unset PYTHONPATH
"$python" "$TOP/examples/make_images.py" data --images 12 --size 16
cp "$TOP/tests/jobs/torch_jobs.py" job.py

# Pids, addresses and times differ between runs, and so does the number of
# pieces into which torch.compile splits a function.
plain() {
	sed -E -e 's/^W[0-9]+ [0-9:.]+ [0-9]+ (.*) \[[0-9]+\/[0-9]+\]/\1/' -e 's/0x[0-9a-f]+/0xADDR/g' -e 's/pid\(?s?\)? [0-9]+/pid N/g'
}

# job CASE: run it bare and recorded; output and files must be the same.
job() {
	mkdir bare rec
	(cd bare && "$python" "$T/job.py" "$T/data" "$1" >out 2>err
		echo "status $?" >>out)
	(cd rec && "$IOREEL" record -o "$T/$1.reel" -- \
		"$python" "$T/job.py" "$T/data" "$1" >out 2>err.all
		echo "status $?" >>out
		grep -v '^ioreel: ' err.all | plain >err
		rm err.all)
	plain <bare/err >bare/err.plain && mv bare/err.plain bare/err
	check "$1: the same output, status and files" 'diff -r bare rec'
	rm -r bare rec
}

# dies CASE: the loader detects the dead worker at a varying point, so only the
# exit is compared.
dies() {
	mkdir bare rec
	(cd bare && "$python" "$T/job.py" "$T/data" "$1" >out 2>/dev/null
		echo "status $?" >>out)
	(cd rec && "$IOREEL" record -o "$T/$1.reel" -- \
		"$python" "$T/job.py" "$T/data" "$1" >out 2>/dev/null
		echo "status $?" >>out)
	check "$1: the same output, status and files" 'diff -r bare rec'
	rm -r bare rec
}

# spans CASE WANT: the number of closed spans of each name.
# A fetch without a batch, which stops workers, is a "stop".
spans() {
	is "$1: spans" "$("$IOREEL" sql --format tsv "$1.reel" "
		SELECT group_concat(what || ' ' || n, ', ') FROM (
		SELECT iif(detail = -2, 'stop', name) AS what, count(*) AS n
		FROM v_span WHERE closed GROUP BY what ORDER BY what)" | tail -n +2)" "$2"
}

# reads CASE WANT: opens of images, in any process.
reads() {
	is "$1: images opened" "$("$IOREEL" sql --format tsv "$1.reel" "
		SELECT count(*) FROM v_event
		WHERE path LIKE '%.ppm' AND call_group = 'open'" | tail -n +2)" "$2"
}
