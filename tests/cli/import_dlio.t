#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import of the results of DLIO: files made as its statscounter.py writes them.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }
text() { python3 "$TOP/tests/cli/import_text.py" "$@"; }
refused() { ! import "$@" 2>err && [ "$(wc -l <err)" = 1 ] && [ ! -e s.db ]; }
rows() { sql s.db "$1" | tr '\t\n' ' ;'; }
steps="SELECT rank, epoch, number, start_ns / 1000000, dur_ns / 1000000, fetch_ns / 1000000,
	compute_ns / 1000000 FROM v_step ORDER BY rank, start_ns"
spans() {
	rows "SELECT p.rank, s.name, s.start_ns / 1000000, s.dur_ns / 1000000 FROM v_span s
		JOIN process p USING (process_id) WHERE s.name IN ('epoch', 'eval', 'checkpoint') ORDER BY p.rank, s.start_ns, s.dur_ns DESC"
}

# Two epochs of two blocks, with an evaluation and a checkpoint between the blocks.
cat >make.py <<'PY'
import json, os
def day(seconds): return "2023-04-04T16:33:%06.3f" % (42 + seconds)
def save(name, what):
    with open("job/" + name, "w") as f:
        json.dump(what, f, indent=4)
os.mkdir("job")
for rank in 0, 1:
    wait = 0.1 + 0.1 * rank
    out, stats = {"host_memory_GB": 4.0}, {}
    for epoch in 1, 2:
        at = 4 * (epoch - 1)
        out[epoch] = {"load": {"block1": [2 * wait, wait], "block2": [wait], "eval": [0.25]},
                      "proc": {"block1": [0.75, 0.5], "block2": [0.5], "eval": [0.375]},
                      "throughput": {"block1": 2.5}, "au": {"block1": 60.0},
                      "compute": {"block1": [0.25, 0.25], "block2": [0.25], "eval": [0.125]}}
        stats[epoch] = {"start": day(at), "block1": {"start": day(at), "end": day(at + 1.25), "duration": "1.25"},
                        "save_ckpt1": {"start": day(at + 1.25), "end": day(at + 2), "duration": 0.75, "throughput": 1.0},
                        "block2": {"start": day(at + 2), "end": day(at + 2.5), "duration": "0.50"},
                        "eval": {"start": day(at + 3), "end": day(at + 3.5), "duration": "0.50"},
                        "end": day(at + 3.5), "duration": "3.50"}
    out["hostname"] = "node%d" % rank
    save("%d_output.json" % rank, out)
    save("%d_per_epoch_stats.json" % rank, stats)
save("summary.json", {"num_accelerators": 2, "metric": {"train_au_percentage": [60.0]}})
PY
python3 make.py
check 'the folder of a run' 'import job'
is 'each step begins with the wait for its batch, and ends with its computation' "$(rows "$steps")" \
	'0 1 1 0 750 200 250;0 1 2 750 500 100 250;0 1 3 2000 500 100 250;'\
'0 2 1 4000 750 200 250;0 2 2 4750 500 100 250;0 2 3 6000 500 100 250;'\
'1 1 1 0 750 400 250;1 1 2 750 500 200 250;1 1 3 2000 500 200 250;'\
'1 2 1 4000 750 400 250;1 2 2 4750 500 200 250;1 2 3 6000 500 200 250;'
is 'epochs, evaluations and checkpoints have their times' "$(spans)" \
	'0 epoch 0 3500;0 checkpoint 1250 750;0 eval 3000 500;0 epoch 4000 3500;0 checkpoint 5250 750;0 eval 7000 500;'\
'1 epoch 0 3500;1 checkpoint 1250 750;1 eval 3000 500;1 epoch 4000 3500;1 checkpoint 5250 750;1 eval 7000 500;'
is 'hosts, ranks; the time of day has no zone' \
	"$(rows 'SELECT rank, h.name, (SELECT ranks FROM run), (SELECT start_real_ns IS NULL FROM run) FROM process JOIN host h USING (host_id)')" \
	'0 node0 2 1;1 node1 2 1;'
is 'nothing is lost' "$(rows 'SELECT * FROM loss')" ''
"$IOREEL" report s.db | tr -s ' \n' ' ' >out
check 'the report judges the waits, and knows no I/O' 'grep -q "on rank 1" out && grep -q "I/O was not measured" out'

# One file: its steps come one behind the other. Older versions have no computation.
python3 - <<'PY'
import json
out = json.load(open("job/0_output.json"))
for epoch in "1", "2":
    del out[epoch]["compute"]
out["1"]["load"]["block1"][1] = "soon"
json.dump(out, open("0_output.json", "w"), indent=4)
PY
import 0_output.json
is 'one output, without computation' "$(rows "$steps")" \
	'0 1 1 0 750 200 550;0 1 2 750 500  ;0 1 3 1250 500 100 400;'\
'0 2 1 2125 750 200 550;0 2 2 2875 500 100 400;0 2 3 3375 500 100 400;'
is 'a value that is no time is a loss, and no wait of 0' "$(rows 'SELECT reason, unit, count FROM loss')" 'not_understood values 1;'

# Sums of seconds that no clock has are none of a run.
echo '{"1": {"load": {"block1": []}, "proc": {"block1": ['"$(yes 900000000, | head -99 | tr -d '\n')"' 1]}}}' >ages.json
import --as dlio ages.json
is 'times of more than a clock holds are losses' "$(rows "SELECT count, (SELECT count(*) FROM span WHERE name = 'step') FROM loss")" '97 3;'

# --- damage ---------------------------------------------------------------------
check 'times alone have no steps' 'refused job/0_per_epoch_stats.json && grep -q "no step of DLIO" err'
check 'another JSON' 'echo "[1]" >list.json && refused --as dlio list.json && grep -q "byte" err'
check 'an empty file' ': >empty && refused --as dlio empty'
check 'cut, and with flipped bytes' 'text damage 97 job/1_output.json --as dlio'
finish
