#!/bin/bash
# SPDX-License-Identifier: MIT
# Steps, waits, ends of files and fetches from storage with counters: the same
# as with events.
. "$(dirname "$0")/../../lib/tap.sh"
unset LD_PRELOAD
command -v python3 >/dev/null || skip_all 'no python3'
both() { # NAME PROGRAM ARGS: recorded as NAME.all and NAME.none
	for how in all none; do
		"$IOREEL" record -q --events $how -o $1.$how -- "${@:2}" \
			>$1.$how.out || return
	done
}
same() { # 'what' NAME SQL
	is "$1" "$(sql $2.none "$3")" "$(sql $2.all "$3")"
}

# 400 small files, each read to its end.
cat >ends.py <<'END'
import os
os.mkdir("ends") if not os.path.exists("ends") else None
for i in range(400):
    with open("ends/f%03d.bin" % i, "wb", 0) as f:
        f.write(b"x" * 5000)
for i in range(400):
    fd = os.open("ends/f%03d.bin" % i, os.O_RDONLY)
    while os.read(fd, 65536):
        pass
    os.close(fd)
END
python3 ends.py
both ends python3 ends.py
is 'reads at the end of a file' "$(sql ends.none "select sum(calls)
	from v_event where call = 'read' and bytes = 0 and
	path like '%/ends/%'")" 400
for how in all none; do
	"$IOREEL" report --json ends.$how | python3 -c 'import json, sys
print([g["eof_reads"] for g in json.load(sys.stdin)["groups"]
       if g["call_group"] == "read"][0])' >$how.ends
done
check 'and in the report' '[ "$(cat none.ends)" -ge 400 ] && diff all.ends none.ends'
same 'and short reads in their bin' ends \
	"select op, low_bytes, calls, bytes from v_transfer_size"
is 'a mark of a counter is not taken for fetched bytes' \
	"$(sql ends.none "select count(*) from storage where
	fetched_bytes < 512 * reads")" 0
is 'the estimated number of opened files' "$(sql ends.none "select count between
	385 and 440 from loss where reason = 'counted_files'")" 1

# 64 reads of a cold file, and 128 more of the then cached one.
cat >cold.py <<'END'
import os
with open("cold.bin", "wb") as f:
    f.write(os.urandom(8 << 20))
    f.flush()
    os.fsync(f.fileno())
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
for i in range(3):
    fd = os.open("cold.bin", os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    while os.read(fd, 1 << 17):
        pass
    os.close(fd)
END
both cold python3 cold.py
if [ "$(sql cold.all "select coalesce(sum(reads), 0) from storage")" -ge 32 ]; then
	sql cold.none "select * from storage" | sed 's/^/# /'
	check 'calls that fetched from storage have counters of their own' \
		'[ "$(sql cold.none "select sum(reads) between 32 and 180 and
		sum(read_bytes) = sum(reads) << 17 and
		sum(fetched_bytes) <= 4 * sum(read_bytes) from storage")" = 1 ]'
else
	skip 'calls that fetched from storage have counters of their own' \
		'the file system of the test keeps the file cached'
fi

# Steps of some ms in 3 epochs; each saves, and waits longer for its first
# batch.
cat >steps.py <<'END'
import ioreel, os, time
os.makedirs("set", exist_ok=True)
for i in range(20):
    with open("set/f%d.bin" % i, "wb") as f:
        f.write(b"x" * 5000)
wait = work = 0
def batches():
    for i in range(50):
        global wait
        start = time.perf_counter()
        time.sleep(.3 if not i else .012)
        with open("set/f%d.bin" % (i % 20), "rb", 0) as f:
            yield_this = f.read()
        wait += time.perf_counter() - start
        yield yield_this
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        for b in ioreel.steps(batches(), 50 * epoch):
            time.sleep(.006)
            with open("out.log", "ab", 0) as f:
                f.write(b[:1000])
    with ioreel.span("checkpoint"):
        with open("model.pt", "wb", 0) as f:
            f.write(b"x" * 100000)
print(wait)
END
python3 steps.py >/dev/null 2>&1
both steps python3 steps.py
same 'steps and epochs' steps \
	"select epoch, steps, read_bytes, write_bytes from v_epoch"
same 'of the rank, all and steady' steps "select steps, steady_steps,
	unknown_steps, compute_source from rank_time"
check 'steps of a second are one row' \
	'[ "$(sql steps.none "select count(*) from step")" -le 75 ]'
same 'the first step of an epoch is a row of its own' steps \
	"select number, steps from v_step where number % 50 = 0"
same 'checkpoints, their calls and bytes' steps "select count(*) from v_span
	where name = 'checkpoint' union all select sum(bytes) from v_event
	where path like '%.pt'"
is 'two classes of files in one folder' "$(sql steps.none "select class,
	sum(write_bytes) from v_file where path like '%/out.log' or
	path like '%/model.pt' group by class")" \
	"$(printf 'checkpoint\t300000\nlog\t150000')"
check 'the waits are within 20 % of those of the program' \
	'[ "$(sql steps.none "select abs(fetch_ns / 1e9 - $(cat steps.none.out))
	< 0.2 * $(cat steps.none.out) from rank_time")" = 1 ]'
check 'own I/O does not count as computation, and is no longer than its calls' \
	'[ "$(sql steps.none "select own_io_ns > 0 and own_io_ns <= (select
	sum(dur_ns) from v_event where path like '"'%/out.log'"') from
	rank_time")" = 1 ]'
for how in all none; do
	"$IOREEL" report --json steps.$how | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(sorted(a["code"] for a in d["advice"]))' >$how.codes
done
check 'the same codes' 'diff all.codes none.codes && grep -q INPUT none.codes'
check 'the report says that steps are summed' \
	'"$IOREEL" report steps.none >r && tr "\n" " " <r | tr -s " " |
	grep -q "steps faster than one a second are summed" &&
	! grep -q "No steps" r'

check 'and how many in each row' \
	'"$IOREEL" report --steps steps.none | grep -q "^ *rank *epoch *step *steps" &&
	! "$IOREEL" report --steps steps.all | grep -q "step *steps"'

# A killed process has written all steps but the last.
cat >killed.py <<'END'
import ioreel, os, signal
for i in ioreel.steps(range(1000)):
    fd = os.open("out.log", os.O_RDONLY)
    os.pread(fd, 10, 0)
    os.close(fd)
    if i == 700:
        os.kill(os.getpid(), signal.SIGKILL)
END
"$IOREEL" record -q --events none -o killed -- python3 killed.py
is 'SIGKILL: steps before it' "$(sql killed "select steps from rank_time")" 700
is 'and calls' "$(sql killed "select sum(calls) from v_event
	where call = 'pread'")" 701

# The time in calls, measured by the program too: locks that another process
# holds for 300 ms.
cat >timed.py <<'END'
import fcntl, os, time
spent = 0
fd = os.open("timed.bin", os.O_RDWR | os.O_CREAT)
for i in range(6):
    r, w = os.pipe()
    if not os.fork():
        own = os.open("timed.bin", os.O_RDWR)
        fcntl.flock(own, fcntl.LOCK_EX)
        os.write(w, b"x")
        time.sleep(.3)
        os._exit(0)
    os.read(r, 1)
    start = time.perf_counter()
    fcntl.flock(fd, fcntl.LOCK_EX)
    spent += time.perf_counter() - start
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.wait()
print(spent)
END
"$IOREEL" record -q --events none -o timed -- python3 timed.py >timed.out
check 'the time in calls is within 5 % of that of the program' \
	'[ "$(sql timed "select abs(sum(dur_ns) / 1e9 - $(cat timed.out)) <
	0.05 * $(cat timed.out) from v_event where call = '"'flock'"'")" = 1 ]'

# A job whose counters have written more than their limit: longer intervals.
cat >paced.py <<'END'
import ioreel, os, struct, time
with open(os.environ["IOREEL_DIR"] + "/job.counts", "r+b") as f:
    f.seek(248)  # counted_bytes of struct reel_counts
    f.write(struct.pack("<Q", 1 << 40))
end = time.monotonic() + 8
n = 0
for i in ioreel.steps(range(1000000)):
    os.close(os.open("out.log", os.O_RDONLY))
    time.sleep(.002)
    n += 1
    if time.monotonic() > end:
        break
print(n)
END
"$IOREEL" record -q --events none -o paced -- python3 paced.py >n
is 'no step is missing' "$(sql paced "select steps from rank_time")" "$(cat n)"
check 'and intervals are longer' \
	'[ "$(sql paced "select max(dur_ns) > 3e9 from step")" = 1 ]'

# A step each second or more: no sums.
cat >slow.py <<'END'
import ioreel, time
for i in ioreel.steps(range(4)):
    time.sleep(1.1)
END
"$IOREEL" record -q --events none -o slow -- python3 slow.py
is 'a step of more than a second has a row' \
	"$(sql slow "select number, steps from v_step" | tr '\t\n' ' ;')" \
	'0 1;1 1;2 1;3 1;'
finish
