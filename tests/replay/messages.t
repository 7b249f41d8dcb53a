#!/bin/sh
# SPDX-License-Identifier: MIT
# Processes that communicate by pipes: messages keep their order, a read follows
# its write, and no process waits for one that was killed.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

PY=/usr/bin/python3
[ -x $PY ] || PY=python3
$PY -c 'import multiprocessing' 2>/dev/null || skip_all 'no python3'

cat >job.py <<'E'
import multiprocessing as mp, os, signal, subprocess, sys, time

def work(n):
    with open('data/%d' % (n % 10), 'rb') as f:
        return len(f.read())

def produce(queue, n):
    for i in range(n):
        with open('data/%d' % (i % 10), 'rb') as f:
            queue.put(f.read(1000 * i + 1))
    queue.put(None)

def die(pipe):
    pipe.send(b'x' * 200000)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == '__main__':
    os.makedirs('data')
    for i in range(10):
        with open('data/%d' % i, 'wb') as f:
            f.write(b'%d' % i * (i * 5000 + 1))
    with mp.Pool(2) as pool:
        total = sum(pool.map(work, range(40), chunksize=3))
    queue = mp.Queue(3)
    child = mp.Process(target=produce, args=(queue, 30))
    child.start()
    while True:
        got = queue.get()
        if got is None:
            break
        total += len(got)
    child.join()
    ours, theirs = mp.Pipe(duplex=False)
    child = mp.Process(target=die, args=(theirs,))
    child.start()
    theirs.close()
    total += len(ours.recv())
    child.join()
    try:
        ours.recv()
    except EOFError:
        total += 1
    out = subprocess.run(['cat', 'data/9'], stdout=subprocess.PIPE).stdout
    both = mp.Pipe()
    both[0].send(b'y' * 70000)
    total += len(both[1].recv()) + len(out)
    with open('result', 'w') as f:
        f.write(str(total))
E

check 'the job runs under record' '"$IOREEL" record -q -o job.reel $PY job.py'
check 'it loads' '"$IOREEL" load job.reel -o job.db'
for mode in think afap; do
	replays job.reel $mode -o $mode.db
	check "--$mode: every thread makes the same calls" 'same_sequences out'
done

# The k-th byte is read after the k-th byte was written, on every pipe.
sum_sql="SELECT sum(bytes) FROM v_event WHERE kind IN ('pipe', 'socket')"
is 'pipes and sockets carry as many bytes' "$(sql afap.db "$sum_sql")" \
	"$(sql job.db "$sum_sql")"
for db in think afap; do
	is "--$db: no byte is read before it is written" "$(sql $db.db "
		WITH m AS (SELECT path, call_group g, start_ns s,
			start_ns + dur_ns e, sum(bytes) OVER (PARTITION BY path,
			call_group ORDER BY start_ns + dur_ns) upto
			FROM v_event WHERE kind = 'pipe' AND bytes > 0
			AND call_group IN ('read', 'write')),
		both AS (SELECT path FROM m GROUP BY 1
			HAVING max(CASE g WHEN 'read' THEN upto END) <=
			max(CASE g WHEN 'write' THEN upto END))
		SELECT count(*) FROM m r WHERE g = 'read' AND path IN
			(SELECT path FROM both) AND e < (SELECT min(s) FROM m w
			WHERE w.path = r.path AND w.g = 'write' AND
			w.upto >= r.upto)")" 0
done
is 'as many children are forked by their parents' "$(sql think.db '
	SELECT count(*) FROM process WHERE parent_id IS NOT NULL AND fork_ns
	IS NOT NULL')" "$(sql job.db '
	SELECT count(*) FROM process WHERE parent_id IS NOT NULL AND fork_ns
	IS NOT NULL')"
finish
