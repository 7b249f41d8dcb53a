#!/bin/sh
# SPDX-License-Identifier: MIT
# Each figure of the report, computed again from the events: report_recount.py.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

cat >job.py <<'PY'
"""Threads, a forked child, two descriptors of one file, mappings, streams,
failures, and steps of which some wait."""
import ioreel, mmap, os, random, threading, time

for i in range(4):
    with open("f%d" % i, "wb") as f:
        for size in (1, 100, 3000, 70000, 1 << 20):
            f.write(os.urandom(size))


def work(seed):
    r = random.Random(seed)
    for i in range(12):
        fd = os.open("f%d" % r.randrange(4), os.O_RDONLY)
        for _ in range(r.randrange(1, 12)):
            way = r.randrange(4)
            if way == 0:
                os.pread(fd, r.choice((10, 4096, 200000)), r.randrange(1 << 20))
            elif way == 1:
                os.read(fd, r.choice((1, 4096, 8192)))
            elif way == 2:
                os.lseek(fd, r.randrange(1 << 20), 0)
            else:
                os.readv(fd, [bytearray(100), bytearray(1000)])
        other = os.dup(fd)
        os.read(other, 777)
        os.close(fd)
        os.close(other)
        try:
            os.open("none", os.O_RDONLY)
        except OSError:
            pass
    log = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, b"x" * 700)
    os.fsync(log)
    os.close(log)


threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
child = os.fork()
if not child:
    work(9)
    os._exit(0)
for t in threads:
    t.join()
os.waitpid(child, 0)
with open("f0", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
    sum(m[::4096])
with ioreel.span("epoch", 0):
    for step in range(4):
        with ioreel.span("step", step):
            with ioreel.span("fetch"):
                work(step)
                time.sleep(0.002)
            behind = threading.Thread(target=work, args=(50 + step,))
            behind.start()
            work(100 + step)
            behind.join()
            if step == 2:
                with ioreel.span("checkpoint"):
                    work(200)
time.sleep(1)
work(300)
PY
ioreel record -q -o job.reel -- python3 job.py
ioreel load -q job.reel -o job.db
ioreel report --json job.db >job.json
check 'there are steps, and I/O hidden behind them' \
	'ioreel sql job.db "SELECT steps, hidden_ns > 0, own_io_ns > 0 FROM v_overlap" |
	tail -n 1 | grep -q "^4.1.1$"'
check 'every figure agrees with its definition' \
	'python3 "$TOP/tests/cli/report_recount.py" job.db job.json'
check 'record and report count the same calls' '
	ioreel record -o none.reel --events none -- \
		python3 job.py 2>err &&
	calls=$(sed -nE "s/.* ([0-9,]+) calls in [0-9,]+ events.*/\1/p" err) &&
	[ "$calls" ] && ioreel report none.reel | grep -q "^complete: $calls calls in "'
finish
