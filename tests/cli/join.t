#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import of several formats: one clock, one row for each process, nothing
# counted twice; and the replay of imports without descriptors.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

make_job() { python3 "$TOP/tests/cli/join_make.py" "$@" .; }
import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
rows() {
	for query; do
		sql s.db "$query" | tr '\t\n' ' ;'
	done
}
# near TRUTH: is the shift within its bound and a millisecond of the truth?
near() {
	sql s.db "SELECT abs(shift_ns - $1) < 1000000 AND abs(shift_ns - $1) <= shift_error_ns
		FROM source WHERE source_id = 2"
}

# --- methods ----------------------------------------------------------------
bad_reads= bad_anchors= bad_workers= bad_wide=
for seed in 1 2 3 4 5 6 7 8 9 10; do
	set -- $(make_job jitter $seed)
	import job.strace profile.json
	[ "$(near $1)" = 1 ] || bad_reads="$bad_reads $seed"
	import job.chrome.json profile.json
	# The spans of Chrome begin with the first fetch, 40 to 60 us before its reads.
	[ "$(near $(($1 + 50000)))" = 1 ] || bad_anchors="$bad_anchors $seed"
	set -- $(make_job workers $seed)
	import job.strace profile.json
	[ "$(near $1)" = 1 ] || bad_workers="$bad_workers $seed"
	set -- $(make_job wide $seed)
	import job.chrome.json profile.json
	[ "$(near $(($1 + 50000)))" = 1 ] || bad_wide="$bad_wide $seed"
done
is 'ten jobs: reads beside fetches, within their bound and 1 ms' "$bad_reads" ''
is 'ten jobs: anchors, the same' "$bad_anchors" ''
is 'ten jobs with loader workers: reads, the same' "$bad_workers" ''
is 'ten jobs whose tools begin and end their spans apart: anchors, the same' "$bad_wide" ''

set -- $(make_job workers 1)
import job.strace profile.json
is 'children that the loader of the profile forked are its workers' \
	"$(rows 'SELECT pid, role FROM process ORDER BY pid')" '4242 main;4243 worker;4244 worker;4245 child;'
check 'the report counts them' '"$IOREEL" report s.db | grep -q "1 rank, 2 loader workers"'
is 'their share of I/O: reads, opens and closes of all batches but 10 bytes' \
	"$(rows 'SELECT round(worker_call_share * (SELECT sum(end_ns - start_ns) FROM process WHERE role = '"'worker'"')) FROM v_rank')" \
	"$((240 * 62000)).0;"
# A store whose framework has reported them, whatever the order of the sources.
import job.strace job.chrome.json
cp s.db reported.db && python3 -c 'import sqlite3
db = sqlite3.connect("reported.db")
db.execute("UPDATE process SET role = ?, ended = ? WHERE pid IN (4243, 4244)", ("worker", "_exit"))
db.commit()'
for sources in 'job.strace reported.db' 'reported.db job.strace'; do
	import $sources
	is "workers and exits that one source reports: $sources" \
		"$(rows 'SELECT pid, role, ended FROM process ORDER BY pid')" \
		'4242 main unknown;4243 worker _exit;4244 worker _exit;4245 child unknown;'
done
import job.strace job.chrome.json
is 'without a profile nothing says that they are' "$(rows "SELECT count(*) FROM process WHERE role = 'worker'")" '0;'

set -- $(make_job jitter 1)
truth=$1 bytes=$2
import job.strace profile.json
is 'the method is in the store' "$(rows 'SELECT format, aligned_by, shift_error_ns < 1000000 FROM source')" \
	'strace first 1;kineto reads 1;'
import dated.json job.strace
is 'clocks come first; the shift of the second source has the other sign' \
	"$(rows "SELECT aligned_by, shift_ns = -$truth, shift_error_ns < 1000000 FROM source WHERE source_id = 2")" 'clocks 1 1;'
is 'time 0 is that of the earlier source' \
	"$(rows "SELECT min(start_ns) FROM event" 'SELECT start_real_ns / 1000000000 FROM run')" '0;1795000000;'
import --align reads job.strace dated.json
is 'another method on demand' "$(rows 'SELECT aligned_by FROM source WHERE source_id = 2')" 'reads;'
import --shift 1.5 job.strace profile.json
is '--shift: seconds added to the times of the second source' \
	"$(rows 'SELECT shift_ns, shift_error_ns IS NULL, aligned_by FROM source WHERE source_id = 2' \
		'SELECT min(start_ns) FROM span')" '1500000000 1 --shift;1500000000;'
import --shift=-1.5 job.strace profile.json
is 'a negative one' "$(rows 'SELECT min(start_ns) FROM span' 'SELECT min(start_ns) FROM event')" '0;1500000000;'

fails() {
	rm -f s.db
	"$IOREEL" import -q "$@" -o s.db 2>err >out
	echo "$? $(wc -l <err) $(ls | grep -c s.db)"
}
is 'a shift too many is wrong usage' "$(fails --shift 1 --shift 2 job.strace profile.json | cut -c1)" 2
is 'and a shift that is no number' "$(fails --shift soon job.strace profile.json | cut -c1)" 2
sed 's/17950000/17950900/' job.strace >later.strace
is 'clocks that do not overlap: refused' "$(fails later.strace dated.json)" '1 1 0'
check 'the reason is named' 'grep -q "by their clocks.*give --shift" err'
check 'and the method that finds a shift, as one of the clocks is wrong' '
	grep -q "or --align reads, which finds one$" err && import --align reads later.strace dated.json'
# A log of counters has no events, and with DXT Darshan may have left the later ones out:
# its job goes on to its end.
for dxt in no yes; do
	python3 "$TOP/tests/cli/darshan_log.py" 3.41 little zlib start=1794999997 dxt=$dxt >job.darshan
	check "a profile within the run of a Darshan log, DXT: $dxt" 'import job.darshan dated.json && import dated.json job.darshan'
done
# DXT ran out of memory: more of its I/O may be hidden, or exposed.
python3 - <<'PY'
import json
def event(cat, name, pid, ts, dur):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 1, "ts": ts, "dur": dur}
events = []
for i in range(6):
    events += [event("user_annotation", "ProfilerStep#%d" % i, 4242, i * 500000, 500000),
               event("kernel", "gemm", 0, i * 500000 + 150000, 300000)]
json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G"}], "traceEvents": events,
           "baseTimeNanoseconds": 1794999997500000000, "distributedInfo": {"rank": 0}}, open("gpu.json", "w"))
PY
for partial in 0 $((1 << 10)); do
	python3 "$TOP/tests/cli/darshan_log.py" 3.41 little zlib start=1794999997 partial=$partial >job.darshan
	import --align clocks job.darshan gpu.json
	echo "$("$IOREEL" report s.db | grep -o 'I/O hidden.*[0-9] ms\.') $(rows 'SELECT count(hidden_share), exposed_ns
		FROM v_overlap' 'SELECT count(hidden_share) FROM v_step' 'SELECT count(hidden_share) FROM v_epoch')"
done >shares
is 'exposed I/O of a DXT that lacks records is a lower bound, its share is not known' "$(cat shares)" \
	'I/O hidden behind computation: 46 %; exposed: 475 ms of 875 ms. 1 475000000;3;1;
I/O hidden behind computation: -; exposed: at least 475 ms of at least 875 ms. 0 475000000;0;0;'
python3 "$TOP/tests/cli/darshan_log.py" 3.41 little zlib start=1794999990 dxt=no >job.darshan
is 'a profile after its end is refused' "$(fails job.darshan dated.json)" '1 1 0'
make_job regular 1 >out
sed 's/17950000/17950900/' job.strace >later.strace
is 'clocks that do not overlap, and no distinct place: refused' "$(fails later.strace dated.json)" '1 1 0'
check 'no method is named' 'grep -q "give --shift$" err'
is 'steps of one length: no distinct place, refused' "$(fails job.strace profile.json)" '1 1 0'
check 'the message asks for --shift' 'grep -q "cannot align .profile.json. with .job.strace.*give --shift" err'
is 'anchors of steps of one length: the same' "$(fails --align anchors job.chrome.json profile.json)" '1 1 0'
is 'reads of steps of one length, with clocks: the same' "$(fails --align reads job.strace dated.json)" '1 1 0'
check 'the message names the clocks' 'grep -q "no distinct match; give --shift, or --align clocks, which finds one$" err'
make_spans() { python3 "$TOP/tests/cli/join_spans.py" "$@" >truth; }
make_spans 3 4 150 151
is 'one step beside another one: the ranges of a step are one observation, refused' "$(fails first.json kineto)" '1 1 0'
make_spans 0 2 10 12 4 2000
is 'two steps beside two others of four ranks: the same' "$(fails first.json kineto)" '1 1 0'
make_spans 0 40 30 36 4 2000
import first.json kineto
is 'six steps that both have: found' "$(near $(cat truth))" 1
make_spans 0 9500 8400 9400 1 20000
import first.json kineto
is 'a thousand steps late in a long run: found' "$(near $(cat truth))" 1
# The clock of the profile is 700 ms or 50 us ahead.
for late in 700000000 50000; do
	make_spans 0 40 0 40 1 20000
	python3 - $late <<'P'
import json, sys
base = 1795000000
with open("clock.pfw", "w") as f:
    f.write("[\n")
    for i, e in enumerate(json.load(open("first.json"))["traceEvents"]):
        at = round(e["ts"]) + base * 1000000
        f.write(json.dumps({**e, "id": i, "cat": "APP", "ts": at, "dur": round(e["dur"])}) + "\n")
doc = json.load(open("kineto/0.json"))
doc["baseTimeNanoseconds"] = base * 1000000000 + int(sys.argv[1])
json.dump(doc, open("kineto/0.json", "w"))
P
	import clock.pfw kineto
	rows 'SELECT aligned_by, abs(shift_ns) < 1000000, abs(shift_ns) <= shift_error_ns FROM source WHERE source_id = 2'
	import --align clocks clock.pfw kineto
	rows 'SELECT aligned_by, shift_error_ns > 690000000 FROM source WHERE source_id = 2'
done >got
is 'anchors prove a clock wrong, but not one that is right; clocks on demand' "$(cat got)" \
	'anchors 1 1;clocks 1;clocks 1 1;clocks 0;'
# farthest: is the step whose times differ most within the bound, and by how many ms do they?
farthest() {
	sql s.db "WITH s AS (SELECT name, start_ns, row_number() OVER (PARTITION BY name ORDER BY start_ns) AS n
			FROM v_span WHERE name IN ('step', 'kineto: step'))
		SELECT max(abs(a.start_ns - b.start_ns)) <= (SELECT shift_error_ns FROM source WHERE source_id = 2),
			max(abs(a.start_ns - b.start_ns)) / 1000000
		FROM s AS a JOIN s AS b USING (n) WHERE a.name <> b.name" | tr '\t\n' ' ;'
}
make_spans 0 1000 0 1000 1 20000 100
import first.json kineto
is 'a clock that is fast by 100 ppm: the bound holds for the first step and the last' "$(farthest)" '1 5;'
# Workers' reads behind the fetches: 50 ms later and long; or, as their batch is handed out
# when the fetch is done, 1.65 ms after it began, and in 0.75 ms.
python3 - <<'P'
import json, random
def job(name, fetches, period, length, late, reads):
    """Fetches of @length us, each @period us behind the one before; @late us behind its begin
    the first of its @reads: number, us from one to the next, seconds. Pairs: least, range."""
    rng, lengths, at = random.Random(1), random.Random(2), 0
    number, apart, took = reads
    with open(name + ".strace", "w") as f:
        spans = []
        for i in range(fetches):
            at += period[0] + rng.randrange(period[1])
            spans.append({"ph": "X", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                          "cat": "user_annotation", "pid": 7, "tid": 7, "ts": at,
                          "dur": length[0] + lengths.randrange(length[1])})
            for k in range(number):
                given = at + late[0] + rng.randrange(late[1]) + k * apart
                f.write(f'8 1795000{given / 1e6:010.6f} read(3</data/x.bin>, ""..., 4096) = 4096 <{took}>\n')
    with open(name + ".json", "w") as f:
        json.dump({"schemaVersion": 1, "traceEvents": spans}, f)
job("late", 100, (90000, 40000), (10000, 1), (60000, 2000), (3, 7000, "0.006000"))
job("soon", 200, (9000, 6000), (1000, 600), (1650, 20), (1, 0, "0.000750"))
P
import late.strace late.json
is 'reads of a worker that begins 50 ms after its fetch: within the bound' \
	"$(rows "SELECT abs((SELECT min(start_ns) FROM event) - min(start_ns + dur_ns) - 50000000) < (SELECT shift_error_ns
		FROM source WHERE source_id = 2) FROM span WHERE name = 'fetch'" \
		"SELECT abs((SELECT min(start_ns) FROM event) - min(start_ns + dur_ns)) < 10000000 FROM span WHERE name = 'fetch'")" '1;1;'
import soon.strace soon.json
is 'short reads of a worker behind the fetch that hands out their batch: within the bound' \
	"$(rows "SELECT abs((SELECT min(start_ns) FROM event) - min(start_ns) - 1660000) < (SELECT shift_error_ns
		FROM source WHERE source_id = 2), abs((SELECT min(start_ns) FROM event) - min(start_ns) - 1660000) < 1000000
		FROM span WHERE name = 'fetch'")" '1 1;'
python3 - <<'P'
import json
with open("few.strace", "w") as f:
    for i in range(20):
        f.write(f'7 1795000000.{i * 500:06} read(3</data/x.bin>, ""..., 4096) = 4096 <0.000050>\n')
fetch = {"ph": "X", "name": "enumerate(DataLoader)#_Single.__next__", "cat": "user_annotation",
         "pid": 7, "tid": 7, "ts": 5, "dur": 9000}
with open("few.json", "w") as f:
    json.dump({"schemaVersion": 1, "traceEvents": [fetch]}, f)
P
is 'many reads beside one fetch are no pattern: refused' "$(fails few.strace few.json)" '1 1 0'
is 'a file of no format beside a known one' "$(echo no >no.txt && fails job.strace no.txt)" '1 1 0'

# --- one job ----------------------------------------------------------------
make_job jitter 1 >out
import job.strace profile.json
is 'one row for the process of both' "$(rows 'SELECT pid, events FROM process')" '4242 720;'
is 'its bytes, its steps, its fetches' "$(rows "SELECT read_bytes FROM v_summary" "SELECT count(*), count(fetch_ns) FROM v_step")" \
	"$bytes;20 20;"
check 'I/O is inside of the fetches of its steps' \
	'[ "$(rows "SELECT count(*) FROM v_step WHERE own_io_ns + fetch_ns > dur_ns OR read_bytes < 400000")" = "0;" ]'
"$IOREEL" report s.db >out
check 'the report names method and bound' \
	'grep -q "^source: job.strace (strace)" out && tr "\n" " " <out | grep -q "times +260 ms by reads, error .* 1 of 1 processes joined"'
"$IOREEL" report --json s.db >out.json
is 'so does the document' \
	"$(python3 -c 'import json
for s in json.load(open("out.json"))["sources"]:
    print(s["format"], s["ranks"], s["events"], s["aligned_by"], len(s["missing"]) > 1)' | tr '\n' ';')" \
	'strace None 720 first True;kineto 1 0 reads True;'
if python3 -c 'import jsonschema' 2>err; then
	check 'and fits the schema' "python3 -c 'import json, jsonschema
jsonschema.validate(json.load(open(\"out.json\")), json.load(open(\"$TOP/schemas/report.schema.json\")))'"
fi
mv s.db both.db
import --align reads both.db profile.json
is 'a store is a source; spans that both have count once' \
	"$(rows "SELECT count(*) FROM v_step" "SELECT count(*) FROM span WHERE name = 'kineto: fetch'" "SELECT count(*) FROM source")" \
	'20;20;3;'
import both.db job.strace
is 'so do calls of one process in two sources' \
	"$(rows "SELECT events FROM run" "SELECT count FROM loss WHERE reason = 'in_two_sources'" "SELECT count(*) FROM process")" \
	'720;720;1;'
sed 's/4242/17/g' profile.json >other.json
import --align reads job.strace other.json
is 'processes without a pid in common are beside each other' \
	"$(rows 'SELECT pid FROM process' 'SELECT substr(joined, 1, 23) FROM source WHERE source_id = 2')" \
	'4242;17;0 of 1 processes joined;'

# One tool begins each fetch up to 0.2 ms late, both end it within 10 us.
python3 - <<'EOF'
import json, random
rng, at, late, exact = random.Random(4), 0, [], []
for i in range(40):
    dur = rng.randint(4000, 16000)
    skew = rng.randint(0, 200)
    exact.append((at, dur))
    late.append((at + skew, dur - skew + rng.randint(0, 10)))
    at += dur + rng.randint(20000, 180000)
for name, spans, kind in ("late", late, "fetch"), ("exact", exact, "enumerate(DataLoader)#x"):
    ev = [{"ph": "X", "name": kind, "pid": 7, "tid": 7, "ts": t + 500, "dur": d,
           **({"cat": "user_annotation"} if name == "exact" else {})} for t, d in spans]
    json.dump({"traceEvents": ev, **({"schemaVersion": 1} if name == "exact" else {})}, open(name + ".json", "w"))
EOF
check 'spans that only end together are anchors' 'import --align anchors late.json exact.json'
is 'within their bound, which is small' "$(rows "SELECT abs(shift_ns) <= shift_error_ns + 200000, shift_error_ns < 1000000,
	aligned_by FROM source WHERE source_id = 2")" '1 1 anchors;'

# Containers: each node has a pid 100 of its own, and profiles do not name hosts.
cat >nodes.py <<'EOF'
import json, os
for d in "calls", "profiles", "one", "ranks":
    os.mkdir(d)
for node in range(3):
    def call(name, ts, dur, **args):
        return json.dumps({"id": ts, "name": name, "cat": "POSIX", "pid": 100, "tid": 100, "ph": "X",
                           "ts": 1780000000000000 + ts, "dur": dur, "args": dict(args, hostname="node%d" % node)})
    with open("calls/%d.pfw" % node, "w") as f:
        f.write("[\n" + "".join(call("read", 100000 * i, 500, ret=1000 * (node + 1), count=5000, fname="/data/f", fd=5) + "\n"
                                for i in range(20)))
    for where, pid, rank in ("profiles/%d" % (2 - node), 100, None), ("ranks/%d" % (2 - node), 100, node):
        ev = [{"ph": "X", "cat": "user_annotation", "name": n, "pid": pid, "tid": pid,
               "ts": 1780000000000000 + 100000 * i, "dur": d}
              for i in range(20) for n, d in (("ProfilerStep#%d" % i, 100000), ("enumerate(DataLoader)#x", 1000))]
        doc = {"schemaVersion": 1, "traceEvents": ev}
        if rank is not None:
            doc["distributedInfo"] = {"rank": rank, "world_size": 3}
        json.dump(doc, open(where + ".json", "w"))
EOF
python3 nodes.py && cp profiles/0.json one
import calls profiles
is 'a pid that three processes have at a time joins none' \
	"$(rows 'SELECT count(*) FROM process' "SELECT DISTINCT substr(joined, 1, 23) FROM source WHERE format = 'kineto'")" \
	'6;0 of 3 processes joined;'
check 'the report has a line for the files of each source' \
	'[ "$("$IOREEL" report s.db | grep -c "^source: .* and 2 others (\(dftracer\|kineto\))")" = 2 ] &&
	"$IOREEL" report s.db | grep -q "by clocks, error"'
import profiles calls
is 'in any order' "$(rows 'SELECT count(*) FROM process')" '6;'
import calls one
is 'nor the pid of a profile that three hosts have' "$(rows 'SELECT count(*) FROM process')" '4;'
import calls/1.pfw one
is 'with one host it does' "$(rows 'SELECT count(*) FROM process')" '1;'
for node in 0 1 2; do
	for i in $(seq 0 19); do
		echo "17800000$((i / 10))$((i % 10)),0.1,read,/d/f,$((1000 * (node + 1))),$node,100,node$node"
	done
done | sed '1i t,d,call,path,size,rank,pid,host' >ranks.csv
import --map 'start=t,duration=d,call=call,path=path,size=size,rank=rank,pid=pid,host=host' ranks.csv
mv s.db by_rank.db && import --shift 0 by_rank.db ranks
is 'where both have ranks, they join by rank' "$(rows 'SELECT p.rank, max(e.bytes), (SELECT count(*) FROM process) FROM v_event e
	JOIN process p USING (process_id) GROUP BY 1')" '0 1000 3;1 2000 3;2 3000 3;'

# Ranks that torchrun forked, which has none; a log that has pids of a container, or none.
"$IOREEL" record -q -o torchrun.reel -- sh -c 'for r in 0 1; do TORCHELASTIC_RUN_ID=1 RANK=$r WORLD_SIZE=2 \
	dd if="$0" of="copy$r" bs="$((r + 1))000" status=none & done; wait' "$TOP/tests/cli/join.t"
begin=$("$IOREEL" sql torchrun.reel 'SELECT start_real_ns FROM run' | sed 1d)
for at in $begin $((begin + 1000000000)); do
	printf '%s\n' "$at,write,/d/a,11,0,7" "$at,write,/d/a,22,1,8"
done >inside
for pid in ,pid=pid ''; do
	{ echo start,op,path,bytes,rank,pid && cat inside; } >inside.csv
	"$IOREEL" import -q --map "start:ns=start,call=op,path=path,size=bytes,rank=rank$pid" inside.csv -o inside.db
	import --shift 0 torchrun.reel inside.db
	is "ranks that torchrun forked join by rank${pid:+, in spite of other pids}" \
		"$(rows 'SELECT p.rank, max(e.asked) FROM v_event e JOIN process p USING (process_id) WHERE p.rank >= 0 GROUP BY 1' \
		'SELECT count(*), count(rank) FROM process' 'SELECT joined FROM source WHERE source_id = 2')" \
		'0 1000;1 2000;5 2;2 of 2 processes joined to those of the sources before by rank;'
done

# A profile without pids, beside the same job as strace saw it.
sed 's/"pid": 4242, //g' profile.json >nopid.json
import --shift 0 job.strace nopid.json
is 'the only process of each is one' "$(rows 'SELECT pid FROM process' 'SELECT joined FROM source WHERE source_id = 2')" \
	'4242;its only process joined to the only one before;'

# --- one process in two sources ----------------------------------------------
# strace knows no host, a recording does.
"$IOREEL" record -q -o one.reel -- dd if="$TOP/tests/cli/join.t" of=copy bs=1M status=none
set -- $("$IOREEL" sql one.reel --format tsv "SELECT pid, start_real_ns + (SELECT
	max(start_ns) FROM v_event WHERE call = 'read'), (SELECT size_bytes
	FROM v_file WHERE path LIKE '%join.t') FROM process, run ORDER BY process_id DESC LIMIT 1" | tail -1)
cat >one.strace <<END
$1 ${2%?????????}.${2#??????????} openat(AT_FDCWD, "$TOP/tests/cli/join.t", O_RDONLY) = 3 <0.000010>
$1 ${2%?????????}.${2#??????????} read(3, "x"..., 131072) = $3 <0.000010>
$1 ${2%?????????}.${2#??????????} close(3) = 0 <0.000010>
END
import one.reel one.strace
is 'a process of a source without hosts has the pid of one with them' \
	"$(rows 'SELECT count(DISTINCT pid) FROM process')" '1;'
is 'its bytes count once' "$(rows "SELECT read_bytes FROM v_summary")" "$3;"
check 'the report names its host alone' '! "$IOREEL" report s.db | head -1 | grep -q ", "'

# Programs that wrote no log are counted for the job alone; strace followed them, too.
"$IOREEL" load -q -o counted.db one.reel
python3 -c 'import sqlite3; d = sqlite3.connect("counted.db"); d.execute("UPDATE code_io SET opens = opens + 19"); d.commit()'
import one.strace counted.db
is 'calls counted for the job count once' "$(rows 'SELECT opens FROM code_io')" '0;'
import counted.db one.strace
is 'in any order' "$(rows 'SELECT opens FROM code_io')" "$(sql counted.db 'SELECT opens FROM code_io');"

# A shell that became dd: two rows of a recording, one of a tool that ignores execve.
"$IOREEL" record -q -o images.reel -- sh -c 'read -r line <"$1"; exec dd if="$1" of=copy bs=1M status=none' \
	sh "$TOP/tests/cli/join.t"
set -- $(sql images.reel "SELECT pid, count(DISTINCT process_id), count(*), sum(bytes) FROM v_event
	WHERE call = 'read' AND path LIKE '%join.t'")
sql images.reel "SELECT start_ns + start_real_ns, dur_ns, call, path, bytes, pid FROM v_event, run
	WHERE call = 'read' AND path LIKE '%join.t'" | tr '\t' , | sed '1i start,dur,call,path,bytes,pid' >images.csv
import --map 'start:unix-ns=start,duration:ns=dur,call=call,path=path,size=bytes,pid=pid' images.csv
mv s.db images.db && import images.db images.reel
is 'two images of a pid are the process that had it: its reads count once' \
	"$(rows "SELECT pid, count(DISTINCT process_id), count(*), sum(bytes) FROM v_event
	WHERE call = 'read' AND path LIKE '%join.t'")" "$1 1 $3 $4;"
is 'and its calls that are counted only, not beside them' "$(rows "SELECT count(*), sum(code_opens) FROM process
	WHERE pid = $1" 'SELECT opens FROM code_io')" "1 0;$(sql images.reel "SELECT opens - (SELECT sum(code_opens)
	FROM process WHERE pid = $1) FROM code_io");"
is 'the recording has two' "$2" 2

# The counters of a log cover less than the calls of a recording beside it.
"$IOREEL" record -q -o beside.reel -- dd if="$TOP/tests/cli/join.t" of=copied bs=1000 status=none
python3 "$TOP/tests/cli/darshan_log.py" 3.41 little zlib dxt=yes >beside.darshan
import --shift 0 beside.reel beside.darshan
check 'the report gives the I/O time of the recording' '"$IOREEL" report s.db >out && grep -q "^I/O takes " out &&
	grep -q "^Darshan.s counters by module" out && ! grep -q "are not known" out'
import beside.darshan
check 'of the log alone that of the counters' '"$IOREEL" report s.db | tr -s " \n" " " | grep -q "(Darshan.s counters.*are not known"'

# A child that ended before is no reason to doubt the only process of a profile.
cat >two.csv <<'END'
ts,dur,op,file,size,pid
2023-11-14T22:13:20.000Z,0.001,read,/d/a,10,7
2023-11-14T22:13:20.500Z,0.001,read,/d/uname,10,8
2023-11-14T22:13:20.600Z,0.001,read,/d/uname,10,8
2023-11-14T22:13:29.000Z,0.001,read,/d/a,20,7
END
cat >profile.csv <<'END'
ts,dur,op,file,size
2023-11-14T22:13:25.000Z,0.001,write,/d/b,10
2023-11-14T22:13:26.000Z,0.001,write,/d/b,10
END
for order in 'two.csv profile.csv' 'profile.csv two.csv'; do
	rm -f one.db two.db s.db
	"$IOREEL" import -q --map 'start:iso=ts,call=op,path=file,size=size,duration=dur,pid=pid' two.csv -o two.db
	"$IOREEL" import -q --map 'start:iso=ts,call=op,path=file,size=size,duration=dur' profile.csv -o profile.db
	set -- $order
	"$IOREEL" import -q "${1%.csv}.db" "${2%.csv}.db" -o s.db
	is "the process that lives meanwhile is that of the profile: $order" \
		"$(rows 'SELECT pid FROM process ORDER BY pid')" '7;8;'
	is "and is said to be: $order" "$(rows "SELECT joined FROM source WHERE source_id = 2")" \
		"1 of $("$IOREEL" sql "${2%.csv}.db" 'SELECT count(*) FROM process' | sed 1d) processes joined to those of the sources before by time;"
done
# --- replay -----------------------------------------------------------------
"$IOREEL" replay --afap job.strace >out 2>err
check 'strace: every call gives the recorded result' 'grep -q "720 of 720 calls gave the recorded result" out'
if [ -z "$IOREEL_DATA" ]; then
	echo "ok $((tap_n += 1)) - replays of real logs # SKIP IOREEL_DATA is not set"
	finish
fi
# replays FILE CALLS: all calls as recorded; and bytes and files as in the log.
replays() {
	"$IOREEL" replay --afap "$IOREEL_DATA/$1" -o again.db >out 2>err
	check "$1: every call gives the recorded result" "grep -q '$2 of $2 calls gave the recorded result' out"
	figures='SELECT read_bytes, write_bytes, read_calls, write_calls, files FROM v_summary'
	is "$1: calls, bytes, files" "$(sql again.db "$figures")" "$(sql "$IOREEL_DATA/$1" "$figures")"
	rm -f again.db
}
replays darshan/nonmpi_dxt.darshan 17,802
check 'the files that the replay opens are counted' 'grep -q "no opens for 75 files" err'
replays dftracer/test.pfw.gz 1,012
check 'offsets that the log lacks are counted' 'grep -q "no offsets for 1,001 reads and writes" err'
"$IOREEL" replay "$IOREEL_DATA/kineto/rank_non_gpu.json.gz" 2>err
check 'a profile has no calls to replay' 'grep -q "has no calls" err'

# --- heat maps ---------------------------------------------------------------
log=$IOREEL_DATA/darshan/dlio_2110488.darshan
is "a heat map is the timeline of a log without events: bytes as Darshan's counters" \
	"$(sql "$log" 'SELECT sum(read_bytes), sum(write_bytes), max(width_ns), min(heatmap) FROM v_report_bins')" \
	"$(sql "$log" "SELECT sum(read_bytes), sum(write_bytes), 800000000, 1 FROM v_report_counters WHERE module <> 'MPI-IO'")"
check 'the report says so' '"$IOREEL" report --time "$log" | grep -q "heat map, in bins of 800 ms"'
finish
