#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel fit of a job on a busy machine: waits for a processor are no work, and the
# benchmark uses as much processor time as the job did.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'python3 is missing'
export IOREEL_HOOKS=$TOP/preload/python

mkdir d
for i in 0 1 2 3 4 5 6 7 8 9; do
	head -c 20000 /dev/urandom >d/s$i.bin
done
cat >job.py <<'PY'
import os, time, ioreel
for number, name in enumerate(sorted(os.listdir("d"))):
    with ioreel.span("step", number):
        with ioreel.span("fetch", number):
            open("d/" + name, "rb").read()
        end = time.thread_time() + 0.003
        while time.thread_time() < end:
            pass
PY
# fits NAME JOB OTHERS [LIMIT]: the workload of the job, had it and others used these
# shares of the time of a machine with two processors, and a limit stopped it else.
fits() {
	rm -rf m.reel
	python3 - "$2" "$3" $4 <<'PY'
import json, shutil, sys
shutil.copytree("job.reel", "m.reel")
with open("m.reel/job.json") as f:
    job = json.load(f)
job["host"]["cpus"] = 2
job["processor"] = {"job_ns": int(float(sys.argv[1]) * job["wall_ns"]),
                    "others_ns": int(float(sys.argv[2]) * job["wall_ns"]), "stolen_ns": 0}
job.pop("cpu_limit", None)
if len(sys.argv) > 3:
    job["cpu_limit"] = {"millicpus": int(1000 * float(sys.argv[3])),
                        "throttled_ns": int((1 - float(sys.argv[3])) * job["wall_ns"])}
with open("m.reel/job.json", "w") as f:
    json.dump(job, f)
PY
	"$IOREEL" fit m.reel -o "$1.json" 2>"$1.why"
}
on() { python3 -c "import json; print(json.load(open('$1.json'))['compute']['on'])"; }

PYTHONPATH=$IOREEL_HOOKS "$IOREEL" record -q -o job.reel -- python3 job.py
fits quiet 0.9 0.02
is 'a quiet machine: time that passes' "$(on quiet)" cpu
fits idle 0.1 0.02
is 'a job that sleeps on a quiet machine sleeps' "$(on idle)" sleep
fits busy 0.25 1.7
is 'a busy machine: processor time, though the job used little of its time' "$(on busy)" cpu-time
check 'of each step the share that is processor time' "python3 -c '
import json
a, b = (sum(json.load(open(n))[\"compute\"][\"series_ns\"]) for n in (\"quiet.json\", \"busy.json\"))
print(a, b)
assert 0.24 * a < b < 0.5 * a'"
check 'the reason says that the machine was busy' \
	"grep '^compute.step_ns ' busy.why | grep -q 'kept the machine busy' && ! grep -q busy quiet.why"
fits beside 0.6 1.0
is 'processors were idle: the job did not wait for one' "$(on beside)" cpu
check 'so its work is the recorded time' "python3 -c '
import json
a, b = (json.load(open(n))[\"compute\"][\"series_ns\"] for n in (\"quiet.json\", \"beside.json\"))
assert a == b, (a, b)'"
fits limited 0.3 0.02 0.3
is 'a CPU limit that stopped the job: processor time' "$(on limited)" cpu-time
check 'which the reason says' "grep '^compute.step_ns ' limited.why | grep -q 'its CPU limit stopped the job: the share'"
# The note of the hooks says how much the loop itself computes: its start may do more.
cp -r job.reel kept.reel
rm -rf job.reel
{
	sed 's/end = time.thread_time() + 0.003/time.sleep(0.03); end = 0/' job.py
	echo 'ioreel.note("loop.cpu_ns", 5000000)'
} >sleeps.py
PYTHONPATH=$IOREEL_HOOKS "$IOREEL" record -q -o job.reel -- python3 sleeps.py
fits sleeps 0.25 1.7
is 'steps that sleep are no processor time, though the machine was busy' "$(on sleeps)" sleep
rm -rf job.reel && mv kept.reel job.reel
fits slept 0.02 1.7
is 'a job that could have used more sleeps on a busy machine, too' "$(on slept)" sleep

# Two programs on one processor.
cat >beside.py <<'PY'
import os, resource, subprocess, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
try:
    subprocess.run(sys.argv[1:], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # the burner is not waited for
finally:
    burner.kill()
    burner.wait()
print(used.ru_utime + used.ru_stime)
assert used.ru_utime + used.ru_stime >= 0.2
PY
cat >spin.json <<'J'
{"schema": "ioreel-workload-1", "name": "spin", "dataset": {"format": "raw", "files": 20, "sample_bytes": 100},
 "pipeline": {"batch": 1}, "compute": {"step_ns": 10000000, "on": "cpu-time"}}
J
"$IOREEL" gen -q spin.json spin.d
check 'cpu-time: 20 steps use their time of a processor that another program keeps busy' \
	"python3 beside.py '$IOREEL' run -q spin.json --data spin.d"
finish
