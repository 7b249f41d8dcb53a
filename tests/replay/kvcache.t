#!/bin/sh
# SPDX-License-Identifier: MIT
# A key-value cache: the calls of np.save() and np.load(), counted as strace counts
# them; bounds of what is in flight; objects leave when there is no room, and all of
# them in the end.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

cat >k.json <<'J'
{"schema": "ioreel-workload-1", "name": "k", "epochs": 0, "dataset": {"files": 0},
 "kvcache": {"users": 5, "in_flight": 2, "duration_ns": 300000000, "trials": 2, "bytes_per_token": 1000,
  "context_tokens": {"quantiles": [1, 60, 900]}, "generated_tokens": {"quantiles": [10, 100]},
  "decode_tokens": 32, "turns": 3, "continue_share": 0.8, "seed": 42}}
J
w() { "$IOREEL" workload "$@"; }
run() { "$IOREEL" run -q --json --data d "$@" >r.json 2>err; }
# is_true EXPRESSION: of the result d, its cache k and its trials t.
is_true() { python3 -c "
import json, sys
d = json.load(open('r.json')); k = d['kvcache']; t = k['trials']
sys.exit(not ($1))"; }
empty() { [ -d d ] && [ -z "$(find d -mindepth 1)" ]; }

check 'a run without gen' 'run k.json && is_true "d[\"complete\"] and len(t) == 2 and all(x[\"requests\"] > 0 for x in t)"'
check 'nothing is left' empty
check 'as text: a line each for reads and writes' '"$IOREEL" run -q --data d k.json >o && [ "$(grep -c "^  read .* objects, " o)" = 2 ] &&
	grep -q "^k: 5 users of 1 rank" o && grep -q "fsync    P50 .*P95 .*P99" o'
check 'gen says that there is nothing to make' '! "$IOREEL" gen k.json g 2>err && grep -q "has no data set: ioreel run makes" err && [ ! -e g ]'
check 'rates and sums follow from the counts' 'run k.json && is_true "all(abs(x[\"read_bytes_per_s\"] * x[\"wall_s\"] / x[\"read_bytes\"] - 1) < 1e-6 and
	abs(x[\"tokens_per_s\"] * x[\"wall_s\"] / x[\"tokens\"] - 1) < 1e-6 for x in t) and
	abs(k[\"read_bytes_per_s\"][\"mean\"] - sum(x[\"read_bytes_per_s\"] for x in t) / 2) < 1 and
	(lambda r: abs(k[\"write_bytes_per_s\"][\"spread\"] - (max(r) - min(r)) / (sum(r) / 2)) < 1e-9)([x[\"write_bytes_per_s\"] for x in t])"'
# An object has between 1 and 900 tokens; with its header each write has 128 bytes more.
check 'bytes are those of the objects' 'is_true "d[\"write_bytes\"] == sum(x[\"written_bytes\"] + 128 * x[\"writes\"] for x in t) and
	all(x[\"written_bytes\"] % 1000 == 0 and 1000 <= x[\"written_bytes\"] / x[\"writes\"] <= 900000 for x in t)"'
check 'percentiles ascend' 'is_true "all(x[n][\"p50_us\"] <= x[n][\"p95_us\"] <= x[n][\"p99_us\"] for x in t
	for n in (\"request_latency\", \"read_latency\", \"write_latency\", \"fsync_latency\")) and
	k[\"read_p95_us\"] >= max(x[\"read_latency\"][\"p95_us\"] for x in t) * 0.95"'

# --- the calls ----------------------------------------------------------------
cat >merged.py <<'P'
"""Lines of an strace with -f: (name, arguments, result), with interrupted ones whole."""
import re
def calls(path):
    begun = {}
    for line in open(path):
        pid, rest = line.rstrip("\n").split(None, 1)
        m = re.match(r"<\.\.\. \w+ resumed>", rest)
        if m:
            rest = begun.pop(pid) + rest[m.end():]
        elif rest.endswith("<unfinished ...>"):
            begun[pid] = rest[:-len("<unfinished ...>")].rstrip()
            continue
        m = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", rest)
        if m:
            yield m[1], m[2], int(m[3])
P
cat >calls.py <<'P'
"""Calls on objects: number and bytes by kind, as the result has them."""
import collections, json, sys
from merged import calls
n = collections.Counter()
for name, args, result in calls(sys.argv[1]):
    if "/rank_0/" not in args:
        continue
    kind = {"read": "read", "write": "write"}.get(name, "other")
    n[kind + "_calls"] += 1
    if kind != "other":
        n[kind + "_bytes"] += result
    n["fsyncs"] += name == "fsync"
    n["drops"] += name == "fadvise64" and "POSIX_FADV_DONTNEED" in args
    n["unlinks"] += name.startswith("unlink")
d = json.load(open("r.json"))
for key in ("read_calls", "read_bytes", "write_calls", "write_bytes", "other_calls"):
    assert n[key] == d[key], (key, n[key], d[key])
trials = d["kvcache"]["trials"]
assert n["fsyncs"] == n["unlinks"] == sum(t["writes"] for t in trials), n
assert n["drops"] == sum(t["reads"] for t in trials), n
P
can_trace() { strace -o /dev/null true 2>/dev/null; }
if can_trace; then
	check 'as many calls and bytes as strace counts' 'strace -f -y -o s "$IOREEL" run -q --json --data d --set kvcache.trials=1 k.json >r.json &&
		python3 calls.py s'
	check 'with objects that leave' 'strace -f -y -o s "$IOREEL" run -q --json --data d --set kvcache.trials=1 --set kvcache.capacity_bytes=1000000 --set kvcache.duration_ns=1500000000 k.json >r.json &&
		python3 calls.py s && is_true "t[0][\"evictions\"] > 0 and t[0][\"lost_reads\"] > 0"'
	check 'without fsync and without dropping' 'strace -f -o s -e trace=fsync,fadvise64 "$IOREEL" run -q --json --data d --set kvcache.fsync=false \
		--set kvcache.drop_cache=false k.json >r.json && ! grep -q "fsync(\|fadvise64(" s &&
		is_true "k[\"fsync_p95_us\"] is None and t[0][\"fsync_latency\"][\"p50_us\"] is None"'
else
	skip 'as many calls and bytes as strace counts' 'no strace'
fi

cat >numpy_calls.py <<'P'
"""NumPy saves and loads an array as large as that of the file, and both are equal."""
import os, sys
import numpy as np
a = np.load(sys.argv[1])
assert a.dtype == np.uint8 and a.ndim == 2 and a.shape[1] == int(sys.argv[2]), a.shape
os.mkdir("np/rank_0")
with open("np/rank_0/x.npy", "wb") as f:
    np.save(f, a, allow_pickle=False)
    f.flush()
    os.fsync(f.fileno())
fd = os.open("np/rank_0/x.npy", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.close(fd)
assert (np.load("np/rank_0/x.npy") == a).all()
P
# One user, one object of $1 tokens of 1000 bytes that is saved and loaded once; it is
# kept by a link. $2: the calls on it, without numbers of descriptors.
same_calls() {
	rm -rf d np copy.npy s.calls n.calls && mkdir np || return 1
	strace -f -y -o s "$IOREEL" run -q --json --data d --set kvcache.users=1 --set kvcache.context_tokens=$1 --set kvcache.decode_tokens=0 \
		--set kvcache.turns=1 --set kvcache.trials=1 --set kvcache.think_ns=700000000 --set kvcache.duration_ns=1300000000 k.json >r.json & tracer=$!
	while kill -0 $tracer 2>/dev/null && [ ! -e copy.npy ]; do
		sleep 0.05
		[ ! -s d/.kvcache/rank_0/user0_0.npy ] || ln d/.kvcache/rank_0/user0_0.npy copy.npy
	done
	wait $tracer && [ -e copy.npy ] || return 1
	strace -f -y -o n python3 numpy_calls.py copy.npy 1000 || return 1
	for f in s n; do
		python3 - $f >$f.calls <<'P'
import re, sys
sys.path.insert(0, ".")
from merged import calls
for name, args, result in calls(sys.argv[1]):
    if not re.search(r"/rank_0/(user0_0|x)\.npy", args) or name.startswith(("unlink", "link")):
        continue
    args = re.sub(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|\{[^}]*\}|0x[0-9a-f]+|\d+<[^>]*>', "_", args)
    args = re.sub(r"\s+", " ", re.sub(r",\s*", ", ", args))
    print(name, args, "" if name in ("openat", "fcntl") else result)
P
	done
	[ -s s.calls ] && cmp s.calls n.calls
}
if can_trace && python3 -c 'import sys, numpy; sys.exit(int(numpy.__version__.split(".")[0]) < 2)' 2>/dev/null; then
	for tokens in 1 4 700 17000; do
		check "an object of $tokens tokens: the calls of NumPy, which loads it" 'same_calls $tokens'
	done
else
	skip 'the calls of NumPy' 'no strace, or no NumPy 2'
fi

# --- bounds -------------------------------------------------------------------
cat >flight.py <<'P'
"""The most files that are being written at a time, from open() to fsync()."""
import re, sys
inside, most = set(), 0
for line in open(sys.argv[1]):
    pid, call = line.split(None, 1)
    if re.match(r'openat\(.*"[^"]*/rank_0/[^"]*", O_WRONLY', call):
        inside.add(pid)
        most = max(most, len(inside))
    if call.startswith("fsync("):
        inside.discard(pid)
print(most)
P
check 'requests in flight are bounded' 'run k.json && is_true "all(x[\"in_flight_most\"] == 2 for x in t)"'
if can_trace; then
	check 'writes alone are bounded' 'strace -f -e trace=openat,fsync -o s "$IOREEL" run -q --json --data d --set kvcache.users=12 \
		--set kvcache.limit=writes --set kvcache.in_flight=3 --set kvcache.trials=1 k.json >r.json 2>err &&
		[ "$(python3 flight.py s)" -le 3 ] && is_true "t[0][\"in_flight_most\"] == 3"'
fi
check 'no bound' 'run --set kvcache.in_flight=0 k.json && is_true "2 < max(x[\"in_flight_most\"] for x in t) <= 5"'
check 'objects leave when there is no room' 'run --set kvcache.capacity_bytes=1000000 k.json && is_true "all(x[\"evictions\"] > 0 for x in t)" && empty'
check 'the newest objects are in memory, older ones are written' 'run --set kvcache.memory_bytes=2000000 k.json &&
	is_true "all(x[\"memory_reads\"] > 0 and x[\"writes\"] > 0 and x[\"reads\"] > 0 for x in t)" && empty'
check 'a memory for all: no call' 'run --set kvcache.memory_bytes=1000000000000 k.json && is_true "d[\"read_calls\"] == d[\"write_calls\"] == 0 and t[0][\"memory_reads\"] > 0"'
check 'many tokens: written, not read' 'run --set kvcache.prefill_tokens=1 --set kvcache.turns=1 k.json && is_true "t[0][\"writes\"] > 0 and t[0][\"reads\"] == 0"'
check 'a turn reads those before it' 'run --set kvcache.prefill_tokens=1 k.json && is_true "t[0][\"reads\"] > 0"'
check 'as many reads as tokens ask for' 'run --set kvcache.turns=1 --set kvcache.generated_tokens=64 --set kvcache.context_tokens=10 k.json &&
	is_true "all(0 <= x[\"reads\"] - 3 * x[\"requests\"] <= 3 * 5 and x[\"tokens\"] == 64 * x[\"requests\"] for x in t)"'
check 'null storage: no calls' '"$IOREEL" run -q --null --json k.json >r.json && is_true "d[\"read_calls\"] == d[\"write_calls\"] == d[\"other_calls\"] == 0 and t[0][\"requests\"] > 0"'
# One request, after the first think time.
one() { run --set kvcache.users=1 --set kvcache.trials=1 --set kvcache.duration_ns=1900000000 --set kvcache.think_ns=1000000000 "$@" k.json &&
	python3 -c 'import json; print(*[json.load(open("r.json"))["kvcache"]["trials"][0][k] for k in ("writes", "written_bytes")])'; }
is 'a seed decides the sizes' "$(one)" "$(one)"
check 'another seed, other sizes' '[ "$(one)" != "$(one --set kvcache.seed=7)" ]'
check 'smaller: the same shape' 'run --scale 1/10 k.json && is_true "t[0][\"wall_s\"] >= 0.03 and all(x[\"written_bytes\"] % 100 == 0 for x in t)"'

# --- the end ------------------------------------------------------------------
for signal in INT TERM; do
	check "SIG$signal: the requests until then, and nothing is left" '"$IOREEL" run -q --json --data d --set kvcache.duration_ns=60000000000 k.json >r.json 2>err & pid=$!
		n=0; while [ ! -e d/.kvcache/rank_0/user0_0.npy ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done
		kill -$signal $pid; wait $pid; is_true "not d[\"complete\"] and len(t) == 1 and d[\"wall_s\"] < 20" && empty'
done
check 'SIGKILL: the next run says what to remove' '"$IOREEL" run -q --data d --set kvcache.duration_ns=60000000000 k.json >o 2>err & pid=$!
	n=0; while [ ! -e d/.kvcache/rank_0 ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done
	kill -KILL $pid; wait $pid; ! run k.json && [ "$(grep -c "/.kvcache/rank_0.*killed, or goes on: remove it" err)" = 1 ]'
rm -rf d
check 'a link instead of the folder' 'mkdir d other && ln -s ../other d/.kvcache && ! run k.json && [ "$(wc -l <err)" = 1 ] && grep -q "is no folder" err && [ -z "$(ls other)" ]'
rm -rf d other
check 'a folder that cannot be made' ': >file; ! "$IOREEL" run -q --data file/d k.json 2>err && [ "$(wc -l <err)" = 1 ] && grep -q "cannot make .file/d" err'
if [ "$(id -u)" = 0 ] && mkdir -p small && mount -t tmpfs -o size=3m none small 2>/dev/null; then
	check 'a full disk: one line, and nothing is left' '! "$IOREEL" run -q --data small/d --set kvcache.capacity_bytes=100000000 k.json >o 2>err && [ "$(wc -l <err)" = 1 ] &&
		grep -q "cannot write .*No space left on device" err && [ -z "$(find small/d -mindepth 1)" ]'
	check 'by default as much as is free' '"$IOREEL" run -q --json --data small/d --set kvcache.context_tokens=100 k.json >r.json && is_true "t[0][\"evictions\"] > 0"'
	check 'an object that is larger' '! "$IOREEL" run -q --data small/d --set kvcache.context_tokens=9000 k.json 2>err && grep -q "has room for .* bytes, the largest object has 9000000" err'
	umount small
else
	skip 'a full disk' 'no tmpfs can be mounted here'
fi

# --- faults -------------------------------------------------------------------
fault() { check "fault: $1" '! w check bad.json 2>err && grep -q "^'"$2"'" err'; }
bad() { python3 -c "
import json; w = json.load(open('k.json')); k = w['kvcache']; $1; json.dump(w, open('bad.json', 'w'))"; }
bad 'k["users"] = -1'; fault 'users' 'kvcache.users: -1 is less than 0'
bad 'k["users"] = 0'; fault 'no users' 'kvcache.users: 0, and other keys'
bad 'k["users"] = 10 ** 9'; fault 'too many users' 'kvcache.users: 1000000000 is more'
bad 'k["duration_ns"] = 0'; fault 'no time' 'kvcache.duration_ns: 0 is less than 1'
bad 'k["limit"] = "reads"'; fault 'a limit of what' 'kvcache.limit: not one of requests, writes'
bad 'k["context_tokens"] = 0'; fault 'no tokens' 'kvcache.context_tokens: less than 1'
bad 'del k["context_tokens"]'; fault 'tokens are missing' 'kvcache.context_tokens: missing'
bad 'k["context_tokens"] = 10 ** 9; k["bytes_per_token"] = 10 ** 9'; fault 'a huge object' 'kvcache.context_tokens: an object of 1e+18'
bad 'k["capacity_bytes"] = 899999'; fault 'no room for one' 'kvcache.capacity_bytes: less than the largest object, 900000'
bad 'k["continue_share"] = 1.5'; fault 'a share above 1' 'kvcache.continue_share: 1.5 is more than 1'
bad 'k["path"] = "../x"'; fault 'a key that is none' 'kvcache.path: no such key'
bad 'w["epochs"] = 1'; fault 'epochs too' 'epochs: with kvcache.users it is 0'
bad 'w["checkpoint"] = {"writes": 1, "files": [{"bytes": 1}]}'; fault 'checkpoints too' 'checkpoint.writes: with kvcache.users'
bad 'w["access"] = {"direct": True}'; fault 'direct reads' 'access: objects of kvcache'
bad 'w["cache"] = "cold"'; fault 'cache' 'cache: kvcache.drop_cache says it'
check 'exports name what they cannot hold' 'w export k.json --as dlio >o && grep -q "kvcache: DLIO has no users" o && ! w export k.json --as fio >o 2>err &&
	[ ! -s o ] && grep -q "a key-value cache cannot be exported for fio" err'

# --- result, store, ranks, rules ----------------------------------------------
rm -rf d
if python3 -c 'import jsonschema' 2>/dev/null; then
	check 'the result fits its schema' 'run k.json && python3 -c "
import json, jsonschema
jsonschema.Draft202012Validator(json.load(open(\"$TOP/schemas/result.schema.json\"))).validate(json.load(open(\"r.json\")))"'
fi
# The result counts the reads below fread(), the store has fread() itself, as a recording.
check 'a store of the calls: as many, and of every user' 'run -o s.db k.json && [ "$(sql s.db "SELECT call, count(*), sum(bytes) FROM v_event
	WHERE call IN ('"'fread', 'write'"') GROUP BY 1 ORDER BY 1" | tr "\t\n" "  ")" = \
	"$(python3 -c "import json; d = json.load(open(\"r.json\")); t = d[\"kvcache\"][\"trials\"]
print(\"fread\", sum(x[\"reads\"] for x in t), sum(x[\"read_bytes\"] for x in t), \"write\", d[\"write_calls\"], d[\"write_bytes\"], end=\" \")")" ] &&
	[ "$(sql s.db "SELECT count(DISTINCT tid) >= 5 FROM thread")" = 1 ]'
if [ -x "$O/ioreel-mpi" ]; then
	check 'two ranks: a folder each, sums, and nothing is left' 'mpirun --allow-run-as-root --oversubscribe -n 2 "$O/ioreel-mpi" run -q --json --data d k.json >o 2>err &&
		sed -n "/^{/,/^}/p" o >r.json && is_true "d[\"ranks\"] == 2 and d[\"write_bytes\"] == sum(x[\"written_bytes\"] + 128 * x[\"writes\"] for x in t)" && empty'
fi
for f in "$TOP"/workloads/mlperf3-kvcache-*.json; do
	check "${f##*/}: all rules but the scale, and one on this machine" '"$IOREEL" run -q --json --data d --rules mlperf-3.0 --scale 1/1000 "$f" >rules.json 2>err; [ $? = 3 ] && python3 -c "
import json
v = {r[\"rule\"]: r[\"pass\"] for r in json.load(open(\"rules.json\"))[\"rules_judged\"]}
assert len(v) == 8 and {k for k in v if not v[k]} <= {\"scale\", \"file-systems\"} and not v[\"scale\"], v" && empty'
done
judged() { "$IOREEL" run -q --json --data d --rules mlperf-3.0 --scale 1/1000 "$@" "$TOP/workloads/mlperf3-kvcache-70b.json" >rules.json 2>err
	python3 -c "
import json
print(*[r['rule'] for r in json.load(open('rules.json'))['rules_judged'] if not r['pass'] and r['rule'].startswith('cache-')])"; }
is 'another seed' "$(judged --set kvcache.seed=1)" cache-seed
is 'two trials' "$(judged --set kvcache.trials=2)" cache-trials
is 'a shorter trial' "$(judged --set kvcache.duration_ns=400000000)" cache-duration
is 'other users' "$(judged --set kvcache.users=71)" cache-option
is 'no fsync' "$(judged --set kvcache.fsync=false)" cache-calls
is 'all in memory' "$(judged --set kvcache.memory_bytes=1000000000000)" 'cache-option cache-reads'
check 'mlperf-2.0 has none' '! "$IOREEL" run -q --data d --rules mlperf-2.0 k.json 2>err && grep -q "mlperf-2.0 has no key-value cache" err'
finish
