#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of other tools' logs: visits of files, and batches from them, where no
# worker marks its batches.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

# key FILE PATH: the value of a key; why FILE KEY: its reason.
key() { python3 -c "import json; print(json.load(open('$1'))$2)"; }
why() { python3 -c "import json; print([r['reason'] for r in json.load(open('$1'))['fit'] if r['key'] == '$2'][0])"; }

# Three files, each opened eight times in an epoch, for a sample of two reads; two
# epochs of six steps, which are spans of a second log.
cat >make.py <<'PY'
import json
day, calls, spans, at = 1_795_000_000, [], [], 0
def line(text, us):
    global at
    calls.append(f"7 {day}.{at:06} {text} <{us / 1e6:.6f}>")
    at += 2 * us
for epoch in range(2):
    begin = at
    for step in range(6):
        start = at
        for i in range(4):
            sample = 4 * step + i
            path = f"/data/{sample % 3}.bin"
            size = 4096 * (1 + sample // 3)
            line(f'openat(AT_FDCWD, "{path}", O_RDONLY) = 3<{path}>', 10)
            line(f'read(3<{path}>, ""..., {size}) = {size}', 20)
            line(f'read(3<{path}>, ""..., 100) = 100', 5)
            line(f'close(3<{path}>) = 0', 5)
        spans.append(("fetch", start, at - start))
        at += 3000
        spans.append(("step", start, at - start))
    spans.append(("epoch", begin, at - begin))
open("job.strace", "w").write("\n".join(calls) + "\n")
json.dump({"traceEvents": [{"ph": "X", "name": n, "pid": 7, "tid": 7, "ts": day * 1e6 + s, "dur": d}
                           for n, s, d in spans]}, open("job.json", "w"))
PY
python3 make.py
check 'fit' '"$IOREEL" import -q job.strace job.json -o s.db && "$IOREEL" fit s.db -o w.json 2>err && "$IOREEL" workload check w.json'
is 'a visit is a sample' "$(key w.json '["dataset"]["files"]') $(key w.json '["dataset"]["samples_per_file"]')" '3 8'
is 'of the bytes from the open to the close' "$(key w.json '["dataset"]["sample_bytes"]["quantiles"]' | tr -d '[],' | tr ' ' '\n' | sed -n '1p;$p' | xargs)" '4196 32868'
is 'the batch' "$(key w.json '["epochs"]') $(key w.json '["pipeline"]["batch"]')" '2 4'

# Two forked workers of a log of DFTracer: batches of four files in turn, 1 ms of
# reading and 3 ms of work a file; a fetch ends 0.5 ms after its batch.
mkdir log
cat >forked.py <<'PY'
import json
day, logs = 1795752116000000, {}
def line(pid, name, cat, ts, dur, **args):
    log = logs.setdefault(pid, [])
    log.append({"id": len(log), "name": name, "cat": cat, "type": 3, "pid": pid, "tid": pid,
                "ts": day + ts, "dur": dur, "ph": 1, "args": {"hhash": "h", **args}})
def text(pid, kind, name, value):
    logs.setdefault(pid, []).append({"name": kind, "cat": "dftracer", "type": 1, "pid": pid, "tid": pid,
                                     "ph": 4, "args": {"hhash": "h", "name": name, "value": value}})
for pid, parent in (10, 1), (11, 10), (12, 10):
    text(pid, "SH", "python;train.py", "c")
    line(pid, "start", "dftracer", pid, 0, ppid=parent, cmd_hash="c")
for sample in range(40):
    text(10, "FH", f"/d/{sample}.jpg", f"f{sample}")
for batch in range(10):
    worker, begin = 11 + batch % 2, 20000 * (batch // 2) + 8000 * (batch % 2) + 1000
    for i in range(4):
        at, file = begin + 4000 * i, f"f{4 * batch + i}"
        line(worker, "open64", "POSIX", at, 10, fhash=file, ret=3, flags=0)
        line(worker, "read", "POSIX", at + 20, 1000, ret=5000, count=5000, fhash=file)
    ready = begin + 16500
    line(10, "fetch.iter", "dataloader", ready - 3000, 3000, count=batch + 1)
    line(10, "compute", "compute", ready, 4000)
for pid, log in logs.items():
    with open(f"log/t-{pid}.pfw", "w") as f:
        f.writelines(json.dumps(e, separators=(",", ":")) + "\n" for e in log)
PY
python3 forked.py
check 'fit a log of forked workers' '"$IOREEL" fit log -o f.json 2>err && "$IOREEL" workload check f.json'
is 'readers, batch' "$(key f.json '["pipeline"]["unit"]') $(key f.json '["pipeline"]["readers"]') $(key f.json '["pipeline"]["batch"]')" 'process 2 4'
is 'the work of a sample: pauses inside batches' "$(key f.json '["preprocess"]["sample_ns"]')" 3000000
check 'what is not seen' 'why f.json pipeline.prefetch | grep -q "no worker marks its batches"'

if [ -e "${IOREEL_DATA:-/none}/dftracer/dlio-unet3d-test-trace.pfw.gz" ]; then
	# The log has 139 opens of npz files, 20 of them cut off by the end of an epoch of
	# one step; four workers a time, whose pids are all 0.
	check 'a log of DFTracer' '"$IOREEL" fit "$IOREEL_DATA/dftracer/dlio-unet3d-test-trace.pfw.gz" -o d.json 2>err'
	check 'an open is a visit' 'why d.json access.read_end | grep -q "139 reads of nothing in 139 visits"'
	is 'the batch is that of the visits of an epoch, not all files' "$(key d.json '["pipeline"]["batch"]') $(key d.json '["steps_per_epoch"]')" '28 1'
	is 'readers by the visits at a time' "$(key d.json '["pipeline"]["readers"]')" 3
else
	skip 'a log of DFTracer' 'no IOREEL_DATA'
fi
finish
