#!/bin/sh
# SPDX-License-Identifier: MIT
# CPU contention while the job ran: in job.json, report and compare.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'

echo data >data
cat >burn.py <<'PY'
import sys, time
while time.process_time() < float(sys.argv[1]):
    pass
PY
cat >look.py <<'PY'
import json, sys
p = json.load(open(sys.argv[1] + '/job.json'))['processor']
assert set(p) == {'job_ns', 'others_ns', 'stolen_ns'}, p
assert all(isinstance(v, int) and v >= 0 for v in p.values()), p
assert eval(sys.argv[2], {}, p), p
PY
if grep -q '^cpu ' /proc/stat 2>/dev/null; then
	ioreel record -q -o own.reel -- python3 burn.py 0.5
	check "the job's own time is the job's" \
		'python3 look.py own.reel "5e8 <= job_ns < 5e9"'
	# Until the other program has used half a second of CPU time.
	mkfifo done
	python3 burn.py 0.5 >done & burner=$!
	ioreel record -q -o other.reel -- sh -c 'cat done; cat data'
	wait $burner
	check "another's is not" \
		'python3 look.py other.reel "job_ns < 4e8 and others_ns > 4e8"'
else
	skip "the job's own time is the job's" 'no /proc/stat'
	skip "another's is not" 'no /proc/stat'
fi

# A group of the kernel with a limit, where the machine lets us make one.
group=/sys/fs/cgroup/cpu/ioreel-test-$$
if mkdir $group 2>/dev/null && echo 20000 2>/dev/null >$group/cpu.cfs_quota_us; then
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' $group ioreel record -q -o limit.reel -- python3 burn.py 0.2
	check 'a job that is stopped by its limit' 'python3 -c "
import json
l = json.load(open(\"limit.reel/job.json\"))[\"cpu_limit\"]
assert l[\"millicpus\"] == 200 and l[\"throttled_ns\"] > 10 ** 8, l"'
else
	skip 'a job that is stopped by its limit' 'no group of cgroup v1 can be made'
fi
[ ! -d $group ] || rmdir $group

# One trace, with the "processor" of different machines in its job.json.
cat >put.py <<'PY'
import json, shutil, sys
shutil.copytree('job.reel', sys.argv[1])
with open(sys.argv[1] + '/job.json') as f:
    job = json.load(f)
job['wall_ns'] = 10 ** 10
job['host']['cpus'] = 4
for key in ('processor', 'cpu_limit'):
    job.pop(key, None)
for word in sys.argv[2:]:
    key, value = word.split('=')
    if key in ('ranks', 'cpu_limit'):
        job[key] = json.loads(value)
    else:
        job.setdefault('processor', {})[key] = json.loads(value)
with open(sys.argv[1] + '/job.json', 'w') as f:
    json.dump(job, f)
PY
ioreel record -q -o job.reel -- cat data >/dev/null
said() {
	rm -rf m.reel
	python3 put.py m.reel "$@"
	ioreel report m.reel 2>e | tr '\n' ' ' | sed 's/   */ /g' |
		grep -oE 'a (busy machine:|CPU limit) .*so times are longer'
}
is 'an idle machine has no line' \
	"$(said job_ns=9000000000 others_ns=900000000 stolen_ns=100000000)" ''
is 'nor has a machine without measurements' "$(said)" ''
is 'other programs' "$(said job_ns=1000000000 others_ns=25000000000 stolen_ns=0)" \
	'a busy machine: other programs used 2.5 of its 4 processors, so times are longer'
is 'steal time, as a share of the requested CPU time' \
	"$(said job_ns=5000000000 others_ns=3000000000 stolen_ns=2000000000)" \
	'a busy machine: its host withheld 20 % of the time that its processors wanted (steal), so times are longer'
is 'both' "$(said job_ns=1000000000 others_ns=8000000000 stolen_ns=1000000000)" \
	'a busy machine: other programs used 0.8 of its 4 processors; its host withheld 10 % of the time that its processors wanted (steal), so times are longer'
limit() {
	said job_ns=4000000000 stolen_ns=0 others_ns="$1" 'cpu_limit={"millicpus": '$2', "throttled_ns": '$3'}'
}
is 'a CPU limit, as a share of the CPU time that the job wanted' "$(limit 0 400 6000000000)" \
	'a CPU limit of 0.4 processors withheld 60 % of the time that the job wanted (throttled), so times are longer'
is 'beside other programs' "$(limit 8000000000 1000 4000000000)" \
	'a busy machine: other programs used 0.8 of its 4 processors; a CPU limit of 1 processor withheld 50 % of the time that the job wanted (throttled), so times are longer'
is 'a limit that the job does not reach' "$(limit 0 400 40000000)" ''
is 'an invalid one' "$(limit 0 -1 1e30)" ''
is 'a few ticks of a short job do not count' \
	"$(said job_ns=10000000 others_ns=0 stolen_ns=40000000)" ''
is 'several ranks: the one with the most steal, and no other programs' \
	"$(said 'ranks=[{"wall_ns": 10000000000, "host": {"cpus": 4}, "processor": {"job_ns": 1000000000, "others_ns": 30000000000, "stolen_ns": 0}}, {"processor": {"job_ns": 9000000000, "others_ns": 0, "stolen_ns": 1000000000}}]')" \
	'a busy machine: its host withheld 10 % of the time that its processors wanted (steal), so times are longer'
is 'invalid counts are ignored' \
	"$(said 'job_ns="x"' others_ns=-5 stolen_ns=1e300 'ranks=[1, null, {}]')" ''
check 'the largest counts do not crash' \
	'said job_ns=9223372036854775807 others_ns=9223372036854775807 \
		stolen_ns=9223372036854775807'

python3 put.py busy.reel job_ns=1000000000 others_ns=25000000000 stolen_ns=0
python3 put.py quiet.reel job_ns=1000000000 others_ns=0 stolen_ns=0
python3 put.py none.reel
check 'compare reports CPU contention' 'ioreel compare quiet.reel busy.reel >out &&
	grep -q "^busy.reel: a busy machine: other programs used 2.5 of" out &&
	! grep -q "^quiet.reel:" out'
check 'and has it in its JSON document' 'ioreel compare --json busy.reel none.reel |
	python3 -c "
import json, sys
d = json.load(sys.stdin)
a = d[\"cpu_contention_a\"]
assert a.pop(\"cpus_allowed\") > 0, d
assert a == {\"cpus\": 4, \"job_ns\": 10**9, \"others_ns\": 25 * 10**9,
             \"stolen_ns\": 0, \"limit_millicpus\": None, \"throttled_ns\": 0}, d
assert d[\"cpu_contention_b\"] is None, d"'
check 'and so does report' 'ioreel report --json busy.reel | python3 -c "
import json, sys
assert json.load(sys.stdin)[\"cpu_contention\"][\"others_ns\"] == 25 * 10**9"'
finish
