#!/bin/sh
# SPDX-License-Identifier: MIT
# Checkpoints of ioreel run: the calls of torch and of TensorFlow, shards of ZeRO by
# rank, rename and fsync, old ones removed, full disks and signals.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

field() { python3 -c "import json; d = json.load(open('$1')); print(($2))"; }
# workload FILE CHECKPOINT: a workload of nothing else.
workload() {
	printf '{"schema": "ioreel-workload-1", "name": "k", "epochs": 0, "dataset": {"files": 0}, "checkpoint": %s}' "$2" >"$1"
}
run() { "$IOREEL" run -q --data . "$@"; }
strace_ok=
command -v strace >/dev/null && strace -o s true 2>/dev/null && strace_ok=1
cat >calls.py <<'PY'
"""The sizes of the writes and of the reads of the files of a trace that match."""
import re, sys
def calls(trace, pattern):
    writes, reads = [], []
    for line in open(trace, errors="replace"):
        m = re.match(r"\d+ +(\w+)\(\d+<([^>]*)>.* = (\d+)$", line)
        if m and re.search(pattern, m[2]):
            (writes if "write" in m[1] else reads).append(int(m[3]))
    return writes, reads
if __name__ == "__main__":
    ours, theirs = calls("ours.st", sys.argv[1]), calls("theirs.st", sys.argv[2])
    for name, a, b in zip(("writes", "reads"), ours, theirs):
        if name not in (sys.argv[3:] or ("writes", "reads")):
            continue
        print(name, len(a), len(b), "equal" if a == b else "different")
        assert a and a == b, [(i, x, y) for i, (x, y) in enumerate(zip(a, b)) if x != y][:3]
PY
# traced TRACE COMMAND...: the command under strace.
traced() {
	trace=$1
	shift
	strace -f -y -o "$trace" -e trace=read,readv,pread64,preadv,write,writev,pwrite64 "$@"
}

# --- torch --------------------------------------------------------------------
torch_python=
for p in python3 /usr/bin/python3; do
	"$p" -c 'import torch' 2>/dev/null && torch_python=${torch_python:-$p}
done
# The release of torch, and of the libstdc++ that it loads, as a workload names them.
form=
[ -n "$torch_python" ] && form=$("$torch_python" -c '
import torch
release = tuple(map(int, torch.__version__.split(".")[:2]))
maps = [line.split()[-1] for line in open("/proc/self/maps") if "libstdc++.so" in line]
print("\"release\": \"%s\", \"stream\": \"libstdc++-%d\"" % (
    "2.7" if release >= (2, 7) else "2.1" if release >= (2, 1) else "1.6",
    13 if b"GLIBCXX_3.4.31" in open(maps[0], "rb").read() else 12))')
sizes='{"quantiles": [8, 900, 1100, 3000, 8000, 9000, 500000]}'
workload t.json "{\"writes\": 1, \"reads\": 1, \"files\": [{\"layout\": \"torch\", \"bytes\": 80000000, \"tensor_bytes\": $sizes}]}"
check 'torch: a zip file without a fault' 'run t.json --checkpoints ck && python3 -c "
import glob, zipfile
z = zipfile.ZipFile(glob.glob(\"ck/*.pt\")[0])
assert z.testzip() is None
assert sum(i.file_size for i in z.infolist() if \"/data/\" in i.filename) == 80000000"'
cat >torch_calls.py <<'PY'
"""Load a file of ours, save its tensors again under the same name, and load that."""
import os, sys, torch
tensors = torch.load(sys.argv[1])
assert sum(t.numel() for t in tensors.values()) == int(sys.argv[2]), "other sizes"
name = "theirs/" + os.path.basename(sys.argv[1])
torch.save({k: v.clone() for k, v in tensors.items()}, name)
torch.load(name)
print(torch.__version__, len(tensors))
PY
# same_calls TITLE FILE BYTES: as the torch here makes them; of its loads those of 2.13 are known.
torch_files="\"layout\": \"torch\", $form"
calls=writes
[ -n "$torch_python" ] && "$torch_python" -c 'import torch; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13)' 2>/dev/null && calls='writes reads'
same_calls() {
	if [ -z "$strace_ok" ]; then
		skip "$1" 'no strace'
	elif [ -z "$torch_python" ]; then
		skip "$1" 'no torch'
	else
		workload o.json "{\"writes\": 1, \"reads\": 1, \"files\": [{$torch_files, $2}]}"
		rm -rf ck theirs
		mkdir theirs
		check "$1" 'traced ours.st "$IOREEL" run -q o.json --data . --checkpoints ck &&
			traced theirs.st "$torch_python" torch_calls.py ck/*.pt '"$3"' && python3 calls.py "ck/.*[.]pt" "theirs/" $calls'
	fi
}
same_calls 'torch: the calls of torch.save and torch.load' "\"bytes\": 80000000, \"tensor_bytes\": $sizes" 80000000
# Before 2.1 no record tells them apart.
[ ! -d theirs ] || check 'torch: the bytes before the identifier' 'cmp ck/*.pt theirs/*.pt >differ ||
	[ "$(sed "s/.*byte \([0-9]*\),.*/\1/" differ)" -gt 80000000 ]'
same_calls 'torch: one tensor' '"bytes": 33333333' 33333333
same_calls 'torch: 1,000 tensors, which Python pickles in two lots' '"bytes": 700000, "tensor_bytes": 700' 700000
same_calls 'torch: tensors smaller than the buffer of the stream' '"bytes": 60000, "tensor_bytes": 7000' 60000

# --- TensorFlow ---------------------------------------------------------------
sizes='{"quantiles": [8, 3000, 9000, 3500000, 12000000]}'
workload f.json "{\"writes\": 3, \"reads\": 2, \"keep\": 2, \"files\": [{\"layout\": \"tensorflow\", \"bytes\": 40000000, \"tensor_bytes\": $sizes}]}"
check 'tensorflow: the names of its files' 'rm -rf ck; run f.json --checkpoints ck &&
	[ "$(ls ck | tr "\n" " ")" = "checkpoint ckpt-2.data-00000-of-00001 ckpt-2.index ckpt-3.data-00000-of-00001 ckpt-3.index " ] &&
	grep -q "model_checkpoint_path: \"ckpt-3\"" ck/checkpoint && [ "$(grep -c all_model_checkpoint_paths ck/checkpoint)" = 2 ]'
cat >tf_calls.py <<'PY'
"""Load a checkpoint of ours, save its variables as often, and restore the last two."""
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
variables = {n.split("/")[0]: tf.Variable(reader.get_tensor(n)) for n in reader.get_variable_to_shape_map() if n[0] == "t"}
assert sum(v.shape[0] for v in variables.values()) == int(sys.argv[2]), "other sizes"
checkpoint = tf.train.Checkpoint(**variables)
manager = tf.train.CheckpointManager(checkpoint, "theirs", max_to_keep=2)
for _ in range(3):
    manager.save()
for i in 2, 3:
    checkpoint.restore("theirs/ckpt-%d" % i).assert_consumed()
PY
if [ -z "$strace_ok" ]; then
	skip 'tensorflow: the calls of a CheckpointManager' 'no strace'
elif ! python3 -c 'import tensorflow' 2>/dev/null; then
	skip 'tensorflow: the calls of a CheckpointManager' 'no tensorflow'
else
	rm -rf theirs ck
	check 'tensorflow: the calls of a CheckpointManager' 'traced ours.st "$IOREEL" run -q f.json --data . --checkpoints ck &&
		traced theirs.st python3 tf_calls.py ck/ckpt-3 40000000 && python3 calls.py /ck/ckpt /theirs/ckpt'
	# Its size is that of the times in it.
	is 'tensorflow: the writes of the state' "$(grep -c 'write.*ck/checkpoint.tmp' ours.st)" "$(grep -c 'write.*theirs/checkpoint.tmp' theirs.st)"
	check 'tensorflow: the same index and data' 'cmp ck/ckpt-3.index theirs/ckpt-3.index && cmp ck/ckpt-3.data-00000-of-00001 theirs/ckpt-3.data-00000-of-00001'
fi

# --- ZeRO ---------------------------------------------------------------------
# 2 V H + H + layers (2 H + H (H + 2 kv) + H H + 3 F H) parameters.
parameters=$((2 * 3000 * 96 + 96 + 5 * (2 * 96 + 96 * (96 + 2 * 32) + 96 * 96 + 3 * 250 * 96)))
cat >payload.py <<'PY'
import glob, sys, zipfile
n = 0
for f in glob.glob(sys.argv[1] + "/global_step0/*.pt"):
    n += sum(i.file_size for i in zipfile.ZipFile(f).infolist() if "/data/" in i.filename)
print(n)
PY
shards() {
	rm -rf ck
	workload z.json "{\"writes\": 1, \"reads\": 1, \"transformer\": {\"layers\": 5, \"hidden\": 96, \"key_value\": 32, \"feed_forward\": 250, \"vocabulary\": 3000, \"zero\": $2, \"tensor\": $3, \"pipeline\": $4}}"
	if [ "$1" = 1 ]; then run z.json --checkpoints ck
	else mpirun --allow-run-as-root --oversubscribe -n $1 "$O/ioreel-mpi" run -q z.json --data . --checkpoints ck >/dev/null
	fi
}
if [ -x "$O/ioreel-mpi" ]; then ranks='1 2 4'; else ranks=1; fi
for zero in 0 1 2 3; do
	for n in $ranks; do
		check "ZeRO $zero on $n: the shards are the whole" 'shards $n $zero 2 2 && is=$(python3 payload.py ck) && [ "$is" = $((14 * parameters)) ] || { echo "$is"; ls ck/*; false; }'
	done
done
if [ -x "$O/ioreel-mpi" ]; then
	names() { shards "$@" && ls ck/global_step0 | tr '\n' ' '; }
	is 'ZeRO 0: a file by model parallel rank' "$(names 2 0 2 1)" 'mp_rank_00_model_states.pt mp_rank_01_model_states.pt '
	is 'ZeRO 1: the optimizer by replica too' "$(names 4 1 2 1)" \
		'mp_rank_00_model_states.pt mp_rank_01_model_states.pt zero_pp_rank_0_mp_rank_00_optim_states.pt zero_pp_rank_0_mp_rank_01_optim_states.pt zero_pp_rank_1_mp_rank_00_optim_states.pt zero_pp_rank_1_mp_rank_01_optim_states.pt '
	is 'ZeRO 3: both by replica' "$(names 2 3 1 1)" \
		'zero_pp_rank_0_mp_rank_00_model_states.pt zero_pp_rank_0_mp_rank_00_optim_states.pt zero_pp_rank_1_mp_rank_00_model_states.pt zero_pp_rank_1_mp_rank_00_optim_states.pt '
	is 'a pipeline: files of layers' "$(names 2 1 1 2)" \
		'layer_00-model_00-model_states.pt layer_01-model_00-model_states.pt layer_02-model_00-model_states.pt layer_03-model_00-model_states.pt layer_04-model_00-model_states.pt layer_05-model_00-model_states.pt layer_06-model_00-model_states.pt mp_rank_00_model_states.pt mp_rank_01_model_states.pt zero_pp_rank_0_mp_rank_00_optim_states.pt zero_pp_rank_0_mp_rank_01_optim_states.pt '
	is 'the last one is named' "$(cat ck/latest)" global_step0
fi
workload l.json '{"writes": 1, "transformer": {"layers": 32, "hidden": 4096, "key_value": 1024, "feed_forward": 14336, "vocabulary": 128256, "zero": 3}}'
check 'Llama 3 8B has 8,030,261,248 parameters' '"$IOREEL" run -q --json l.json --data . --scale 1/1000 --checkpoints ck >r.json &&
	[ "$(field r.json "0.98 < d[\"write_bytes\"] / (14 * 8030261248 / 1000) < 1.02")" = True ]'

# --- fsync, rename, keep ------------------------------------------------------
workload r.json '{"writes": 4, "keep": 2, "files": [{"layout": "torch", "owner": "all", "bytes": 50000, "fsync": true, "rename": true}, {"bytes": 9000, "count": 2}], "transformer": {"layers": 1, "hidden": 8, "feed_forward": 16, "vocabulary": 10, "zero": 1}}'
rm -rf ck
if [ -n "$strace_ok" ]; then
	check 'fsync and rename where they are asked for' 'strace -f -y -o s -e trace=fsync,rename "$IOREEL" run -q r.json --data . --checkpoints ck &&
		[ "$(grep -c "fsync(.*[.]pt[.]part>) *= 0" s)" = 4 ] && [ "$(grep -c "fsync" s)" = 4 ] && [ "$(grep -c "rename(.*[.]part\".* = 0" s)" = 4 ]'
else
	check 'without a fault' 'run r.json --checkpoints ck'
fi
is 'keep removes the old ones' "$(cd ck && find . -type f | sort | tr '\n' ' ')" \
	"$(for i in 2 3; do printf './checkpoint_00000%d_rank_00000_0_0.pt ./checkpoint_00000%d_rank_00000_1_0.bin ./checkpoint_00000%d_rank_00000_1_1.bin ' $i $i $i; done
	for i in 2 3; do printf './global_step%d/mp_rank_00_model_states.pt ./global_step%d/zero_pp_rank_0_mp_rank_00_optim_states.pt ' $i $i; done; echo './latest ')"
check 'a plain file without write_bytes is one write' 'workload o.json "{\"writes\": 1, \"files\": [{\"bytes\": 50000000}]}"; run --json o.json --checkpoints ck >r.json &&
	[ "$(field r.json "d[\"write_calls\"]")" = 1 ]'

# --- background ---------------------------------------------------------------
# trained BACKGROUND BYTES: a workload of 40 steps that saves in each tenth.
trained() {
	printf '{"schema": "ioreel-workload-1", "name": "b", "epochs": 1, "dataset": {"format": "raw", "files": 1, "samples_per_file": 40, "sample_bytes": 4096}, "compute": {"step_ns": 5000000}, "checkpoint": {"every_steps": 10, "keep": 2, "background": %s, "files": [{"bytes": %s, "write_bytes": 1000000, "fsync": true, "rename": true}]}}' $1 $2 >b.json
	rm -rf b.data ck && "$IOREEL" gen -q b.json b.data
}
saved() { (cd ck && find . -type f -printf '%p %s\n' | sort); }
trained false 100000000
"$IOREEL" run -q --json b.json --data b.data --checkpoints ck >r.json && saved >waits
trained true 100000000
check 'in the background: the same files and counts' '"$IOREEL" run -q --json b.json --data b.data --checkpoints ck -o b.db >s.json && saved | diff waits - &&
	[ "$(field r.json "[d[k] for k in (\"write_bytes\", \"write_calls\", \"other_calls\", \"steps\")]")" = "$(field s.json "[d[k] for k in (\"write_bytes\", \"write_calls\", \"other_calls\", \"steps\")]")" ]'
is 'in the background: steps go on' "$(sql b.db "SELECT count(*), sum(EXISTS (SELECT 1 FROM v_span s WHERE s.name = 'step'
	AND s.start_ns > c.start_ns AND s.start_ns < c.start_ns + c.dur_ns)) >= 3, count(DISTINCT c.tid) FROM v_span c WHERE c.name = 'checkpoint'")" \
	"$(printf '4\t1\t1')"
is 'in the background: its calls belong to checkpoints' "$(sql b.db "SELECT sum(bytes), count(DISTINCT tid) FROM v_event WHERE class = 'checkpoint' AND call_group = 'write'")" \
	"$(printf '400000000\t1')"

for background in false true; do
	trained $background 1000000
	"$IOREEL" run -q --json b.json --data b.data --checkpoints ck --set checkpoint.work_ns=30000000 -o b.db >s.json
	is "background $background: a saver works before it writes" "$(sql b.db "SELECT count(*), min((SELECT min(e.start_ns) FROM v_event e
		WHERE e.class = 'checkpoint' AND e.call_group = 'write' AND e.start_ns >= c.start_ns) - c.start_ns) >= 30000000
		FROM v_span c WHERE name = 'checkpoint'")" "$(printf '4\t1')"
done
is 'of a saver that steps it counts as decoding' "$("$IOREEL" run -q --json b.json --data b.data --checkpoints ck --set checkpoint.work_ns=30000000 --set checkpoint.background=false >s.json
	field s.json 'd["time"]["decode_s"] >= 0.12')" True

# At the end of an epoch, in no step: before its evaluation or after it.
printf '{"schema": "ioreel-workload-1", "name": "e", "epochs": 2, "dataset": {"format": "raw", "files": 4, "samples_per_file": 4, "sample_bytes": 4096}, "pipeline": {"batch": 4}, "evaluation": {"files": 1, "samples_per_file": 4, "every_epochs": 1, "batch": 2}, "checkpoint": {"every_epochs": 1, "files": [{"bytes": 10000}]}}' >e.json
rm -rf e.data; "$IOREEL" gen -q e.json e.data
for after in false true; do
	rm -rf ck
	"$IOREEL" run -q --json e.json --data e.data --checkpoints ck --set checkpoint.after_evaluation=$after -o e.db >s.json
	is "after_evaluation $after" "$(sql e.db "SELECT group_concat(name, ' ') FROM (SELECT name FROM v_span
		WHERE name IN ('eval', 'checkpoint') ORDER BY start_ns)")" \
		"$([ $after = true ] && echo 'eval checkpoint eval checkpoint' || echo 'checkpoint eval checkpoint eval')"
	is "after_evaluation $after: it is in no step" "$(sql e.db "SELECT count(*) FROM v_span c JOIN v_span s
		ON c.start_ns >= s.start_ns AND c.start_ns < s.start_ns + s.dur_ns WHERE c.name = 'checkpoint' AND s.name = 'step'")" 0
	is "after_evaluation $after: it counts" "$(field s.json '(d["write_bytes"], d["checkpoints"], d["checkpoint_s"] > 0)')" '(20000, 2, True)'
done

# --- failures -----------------------------------------------------------------
# small COMMAND: with a disk of 5 MB as the folder small.
if unshare -m true 2>/dev/null; then own=-m; else own=-rm; fi
small() { unshare $own sh -c 'mount -t tmpfs -o size=5m none small && eval "$1"' - "$1"; }
mkdir small
for layout in plain torch tensorflow; do
	workload d.json "{\"writes\": 3, \"files\": [{\"layout\": \"$layout\", \"bytes\": 3000000}]}"
	title="$layout: a full disk is one clear error, and no half file"
	if small true 2>/dev/null; then
		check "$title" 'small "\"\$IOREEL\" run -q d.json --data . --checkpoints small 2>err; echo \$? >rc; find small -type f >left"
			[ "$(cat rc)" = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "No space left on device" err && ! grep -q "part\|temp" left && [ "$(grep -vc "checkpoint$\|index$" left)" = 1 ]'
	else
		skip "$title" 'tmpfs cannot be mounted'
	fi
done
title='in the background: a full disk is one clear error, too'
if small true 2>/dev/null; then
	trained true 3000000
	check "$title" 'small "\"\$IOREEL\" run -q b.json --data b.data --checkpoints small 2>err; echo \$? >rc; find small -type f >left"
		[ "$(cat rc)" = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "No space left on device" err && ! grep -q part left'
else
	skip "$title" 'tmpfs cannot be mounted'
fi
workload s.json '{"writes": 200, "files": [{"layout": "torch", "bytes": 60000000, "tensor_bytes": 20000}, {"layout": "tensorflow", "bytes": 60000000, "tensor_bytes": 20000}]}'
check 'Ctrl-C: no half file under a final name' 'rm -rf ck; "$IOREEL" run -q --json s.json --data . --checkpoints ck >r.json & pid=$!
	while [ ! -e ck/checkpoint_rank_00000_1_0 ]; do sleep 0.05; done; sleep 0.2; kill -TERM $pid; wait $pid
	python3 -c "
import glob, zipfile
files = glob.glob(\"ck/*.pt\")
assert files and all(len(zipfile.ZipFile(f).namelist()) == 3006 for f in files)
data = glob.glob(\"ck/*.data-00000-of-00001\")
assert len({__import__(\"os\").path.getsize(f) for f in data}) == 1
assert len(data) == len(glob.glob(\"ck/*.index\")) and not glob.glob(\"ck/*_temp*\")
import json; assert not json.load(open(\"r.json\"))[\"complete\"]"'

# --- fit ----------------------------------------------------------------------
mkdir -p jobdata
cat >torch_job.py <<'PY'
import os, torch
from torch.utils.data import DataLoader, Dataset
files = ["jobdata/%d.raw" % i for i in range(8)]
for f in files:
    os.path.exists(f) or open(f, "wb").write(b"1" * 4000)
class Data(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.frombuffer(bytearray(open(files[i], "rb").read()), dtype=torch.float32)
model = torch.nn.Linear(1000, 50)
optimizer = torch.optim.Adam(model.parameters())
os.makedirs("saved", exist_ok=True)
for epoch in range(4):
    for x in DataLoader(Data(), batch_size=2):
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
    if epoch % 2:
        with open("saved/epoch%d.tmp" % epoch, "wb") as f: pass
        torch.save(model.state_dict(), "saved/epoch%d.pt.tmp" % epoch)
        fd = os.open("saved/epoch%d.pt.tmp" % epoch, os.O_RDWR); os.fsync(fd); os.close(fd)
        os.rename("saved/epoch%d.pt.tmp" % epoch, "saved/epoch%d.pt" % epoch)
PY
cat >fit_torch.py <<'PY'
"""Train and save as the rank RANK: a file of its own with "shards", else rank 0."""
import os, sys, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
how, rank = sys.argv[1], int(os.environ.get("RANK", 0))
class Data(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i):
        with open("jobdata/%d.raw" % i, "rb") as f:
            return torch.frombuffer(bytearray(f.read()), dtype=torch.float32)
# Tensors of 4 bytes to 1.2 MB; fewer than 1024 bytes are written with others.
model = nn.Sequential(nn.Linear(1000, 300), nn.ReLU(), nn.BatchNorm1d(300), nn.Linear(300, 70), nn.Linear(70, 10))
optimizer = torch.optim.Adam(model.parameters())
os.makedirs("fit_saved/0", exist_ok=True)
for epoch in range(4):
    for x in DataLoader(Data(), batch_size=2):
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
    if epoch % 2 == 0:
        continue
    if how == "small":
        torch.save({"w": torch.zeros(100)}, "fit_saved/a_rather_long_name-%d.pt" % epoch)
    elif how == "large":
        torch.save({"layers.%d.weight" % i: torch.zeros(1000 * i + 3000) for i in range(40)}, "fit_saved/l%d.pt" % epoch)
    elif how == "shards":
        os.makedirs("fit_saved/global_step%d" % epoch, exist_ok=True)
        at = "fit_saved/global_step%d/" % epoch
        if not rank:
            torch.save(model.state_dict(), at + "mp_rank_00_model_states.pt")
        torch.save(optimizer.state_dict(), at + "zero_pp_rank_%d_mp_rank_00_optim_states.pt" % rank)
    else:
        torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, "fit_saved/e%d.pt" % epoch)
PY
cat >written.py <<'PY'
"""KS of the sizes of writes and the largest |d| of the counts of a comparison."""
import json, sys
d = json.load(sys.stdin)
ks = {x["name"]: x["ks"] for x in d["distributions"]}["size of writes"]
worst = max((abs(f["d"] or 0), f["name"]) for f in d["factors"] if f["unit"] not in ("ns", "B/s"))
print("KS", ks, "|d|", worst)
assert ks <= 0.02 and worst[0] <= 0.1
PY
# refit NAME: fit the recording NAME.reel, generate, run and compare.
refit() {
	"$IOREEL" fit -q "$1.reel" -o "$1.json" && "$IOREEL" gen -q "$1.json" "$1.data" && rm -rf ck &&
		$2 "$IOREEL${2:+-mpi}" run -q "$1.json" --data "$1.data" --checkpoints ck -o "$1.db" >/dev/null &&
		"$IOREEL" compare --json --class checkpoint "$1.reel" "$1.db" >"$1.compared" && python3 written.py <"$1.compared"
}
if [ -n "$torch_python" ]; then
	python3 -c "
[open(\"jobdata/%d.raw\" % i, \"wb\").write(b\"1\" * 4000) for i in range(8)]"
	check 'fit: files of torch.save, synced and renamed' '
		"$IOREEL" record -q -o job.reel -- "$torch_python" torch_job.py && "$IOREEL" fit job.reel -o job.json &&
		[ "$(field job.json "[d[\"checkpoint\"][\"every_epochs\"]] + [(f[\"layout\"], f[\"owner\"], f[\"count\"], f[\"fsync\"], f[\"rename\"], 200000 < f[\"bytes\"] < 210000) for f in d[\"checkpoint\"][\"files\"]]")" = "[2, ('"'torch', 'root', 1, True, True, True"')]" ]'
	for how in model small large; do
		check "fit: the writes of torch.save, $how" '"$IOREEL" record -q -o $how.reel -- "$torch_python" fit_torch.py $how && refit $how'
		[ $how = small ] || is "fit: release and stream of torch.save, $how" "$(field $how.json "(lambda f: \"\\\"release\\\": \\\"%s\\\", \\\"stream\\\": \\\"%s\\\"\" % (f[\"release\"], f[\"stream\"]))(d[\"checkpoint\"][\"files\"][0])")" "$form"
		[ $how = small ] || check "fit: a zip file without a fault, $how" '"$torch_python" -c "
import glob, torch, zipfile
for f in glob.glob(\"ck/*.pt\"):
    assert zipfile.ZipFile(f).testzip() is None
    torch.load(f)
assert f"'
	done
	is 'fit: all files of the model are as long as the recorded ones' "$(rm -rf ck; run model.json --data model.data --checkpoints ck >/dev/null; cat ck/*.pt | wc -c)" "$(cat fit_saved/e?.pt | wc -c)"
	check 'fit: shards of ranks' '"$IOREEL" record -q -o shards.reel -- sh -c "WORLD_SIZE=2 RANK=1 \"$torch_python\" fit_torch.py shards & WORLD_SIZE=2 RANK=0 \"$torch_python\" fit_torch.py shards; wait" &&
		"$IOREEL" fit -q shards.reel -o shards.json && [ "$(field shards.json "[d[\"checkpoint\"][\"every_epochs\"]] + sorted((f[\"layout\"], f[\"owner\"], f[\"count\"]) for f in d[\"checkpoint\"][\"files\"])")" = "[2, ('"'torch', 'root', 1), ('torch', 'shard', 1"')]" ]'
	if [ -x "$O/ioreel-mpi" ]; then
		check 'fit: the writes of shards' 'refit shards "mpirun --allow-run-as-root --oversubscribe -n 2"'
	fi
else
	skip 'fit: files of torch.save, synced and renamed' 'no torch'
fi

# Writes that no release of torch makes: their sizes stay.
cat >unlike.py <<'PY'
import ioreel, os
sizes = [1104, 8000624, 8000128, 2151]
for step in ioreel.steps(range(4)):
    os.read(os.open("sample", os.O_RDONLY), 1000)
    with ioreel.span("save"):
        fd = os.open("saved%d.pt" % step, os.O_WRONLY | os.O_CREAT)
        for size in sizes:
            os.writev(fd, [bytes(size)])
        os.close(fd)
PY
head -c 1000 /dev/zero >sample
"$IOREEL" record -q -o unlike.reel -- env PYTHONPATH="$TOP/preload/python" python3 unlike.py
check 'fit: writes that torch.save() does not make' '"$IOREEL" fit -q unlike.reel -o unlike.json'
is 'fit: they are writes of a plain file' "$(field unlike.json '[(f["layout"], f["bytes"], f["series_bytes"]) for f in d["checkpoint"]["files"]]')" \
	"[('plain', 16004007, [1104, 8000624, 8000128, 2151])]"

# Files with hashes for names, which a thread writes while steps go on.
cat >hashed.py <<'PY'
import hashlib, ioreel, os, threading, time
def save(n):
    with ioreel.span("checkpoint", n):
        began.set()
        time.sleep(0.05 if n < 20 else 0.15)  # steps begin before the first file
        for k, size in enumerate((200, 3000, 1000000, 190)):
            name = hashlib.sha256(b"%d %d" % (n, k)).hexdigest()[:32]
            with open("hashed/" + name, "wb") as f:
                f.write(bytes(size))
            time.sleep(0.05)
epoch = ioreel.span("epoch", 0)
epoch.__enter__()
for step in ioreel.steps(range(40)):
    os.read(os.open("sample", os.O_RDONLY), 1000)
    time.sleep(0.02)
    if step in (5, 25):
        began = threading.Event()
        thread = threading.Thread(target=save, args=(step,))
        thread.start()
        began.wait()
epoch.__exit__(None, None, None)
thread.join()
PY
mkdir hashed
"$IOREEL" record -q -o hashed.reel -- env PYTHONPATH="$TOP/preload/python" python3 hashed.py
check 'fit: a checkpoint in the background' '"$IOREEL" fit -q hashed.reel -o hashed.json'
is 'fit: its files, by their sizes' "$(field hashed.json '(d["checkpoint"]["background"], d["checkpoint"]["every_steps"], [(f["bytes"], f["count"]) for f in d["checkpoint"]["files"]])')" \
	'(True, 20, [(195, 2), (3000, 1), (1000000, 1)])'
# On a busy machine a share of it counts.
is 'fit: and the time before and between its writes' "$(field hashed.json '1e6 < d["checkpoint"]["work_ns"]')" True

# A save after the evaluation of each epoch.
cat >evaluated.py <<'PY'
import ioreel, os, time
for epoch in range(3):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(8)):
            os.read(os.open("sample", os.O_RDONLY), 1000)
    with ioreel.span("eval", epoch):
        with ioreel.span("fetch"):
            os.read(os.open("sample", os.O_RDONLY), 1000)
    with ioreel.span("checkpoint", epoch):
        with open("evaluated%d.pt" % epoch, "wb") as f:
            f.write(bytes(50000))
PY
"$IOREEL" record -q -o evaluated.reel -- env PYTHONPATH="$TOP/preload/python" python3 evaluated.py
check 'fit: a save after each evaluation' '"$IOREEL" fit -q evaluated.reel -o evaluated.json'
is 'fit: at the ends of epochs, after it' "$(field evaluated.json '(d["checkpoint"]["every_epochs"], d["checkpoint"]["after_evaluation"])')" '(1, True)'

# Files with random names until they are renamed, and one that is not.
cat >renamed.py <<'PY'
import ioreel, os, tempfile
with ioreel.span("epoch", 0):
    for step in ioreel.steps(range(34)):
        os.read(os.open("sample", os.O_RDONLY), 1000)
        if step % 10 == 9:
            with ioreel.span("checkpoint", step):
                fd, name = tempfile.mkstemp(prefix=".tmp", dir="renamed")
                os.write(fd, bytes(500000))
                os.fsync(fd)
                os.close(fd)
                os.rename(name, "renamed/model")
                with open("renamed/state", "wb") as f:
                    f.write(bytes(100))
PY
mkdir renamed
"$IOREEL" record -q -o renamed.reel -- env PYTHONPATH="$TOP/preload/python" python3 renamed.py
check 'fit: files that are renamed' '"$IOREEL" fit -q renamed.reel -o renamed.json'
is 'fit: one after each tenth step' "$(field renamed.json '(d["checkpoint"]["every_steps"], d["checkpoint"]["background"])')" '(10, False)'
is 'fit: each of them is one, and alone synced and renamed' "$(field renamed.json '[(f["bytes"], f["count"], f["fsync"], f["rename"]) for f in d["checkpoint"]["files"]]')" \
	'[(500000, 1, True, True), (100, 1, False, False)]'

# The second epoch is a step shorter: the benchmark has a step more, and no save more.
cat >shorter.py <<'PY'
import ioreel, os
done = 0
for epoch, steps in enumerate((15, 14)):
    with ioreel.span("epoch", epoch):
        for step in ioreel.steps(range(steps)):
            os.read(os.open("sample", os.O_RDONLY), 1000)
            done += 1
            if done % 10 == 0:
                with ioreel.span("checkpoint", step), open("shorter%d" % done, "wb") as f:
                    f.write(bytes(1000))
PY
"$IOREEL" record -q -o shorter.reel -- env PYTHONPATH="$TOP/preload/python" python3 shorter.py
"$IOREEL" fit -q shorter.reel -o shorter.json
is 'fit: two checkpoints in 29 steps are two in 30' "$(field shorter.json '2 * 15 // d["checkpoint"]["every_steps"]')" 2

# Archives of all releases of torch: their records, and fit finds the release.
mkdir releases && cd releases || exit 1
for release in 2.7 2.1 1.6; do
	case $release in
	2.7) records='.data/serialization_id .format_version .storage_alignment byteorder data.pkl version' ;;
	2.1) records='.data/serialization_id byteorder data.pkl version' ;;
	1.6) records='data.pkl version' ;;
	esac
	cat >w.json <<-J
		{"schema": "ioreel-workload-1", "name": "t", "epochs": 1, "dataset": {"format": "raw", "files": 8, "sample_bytes": 4000},
		 "pipeline": {"batch": 2, "readers": 0}, "compute": {"step_ns": 1000000}, "checkpoint": {"every_epochs": 1,
		 "files": [{"layout": "torch", "bytes": 400000, "tensor_bytes": 20000, "release": "$release"}]}}
	J
	rm -rf d ck
	"$IOREEL" gen -q w.json d && "$IOREEL" run -q w.json --data d --checkpoints ck -o r.db >/dev/null
	is "records of torch $release" "$(python3 -c "
import glob, zipfile
z = zipfile.ZipFile(*glob.glob('ck/*'))
assert z.testzip() is None
print(*sorted(n.split('/', 1)[1] for n in z.namelist() if not n.split('/data/')[-1].isdigit()))")" "$records"
	check "fit finds torch $release" '"$IOREEL" fit -q r.db -o f.json &&
		[ "$(field f.json "[(f[\"release\"], len(f[\"series_bytes\"])) for f in d[\"checkpoint\"][\"files\"]]")" = "['"('$release', 20)"']" ]'
done
cd ..

# --- faults of the workload ---------------------------------------------------
# fault TITLE CHECKPOINT LINE: exit 1, and a line begins with LINE.
fault() {
	workload bad.json "$2"
	fault_line=$3
	check "$1" '"$IOREEL" workload check bad.json 2>err; [ $? = 1 ] && grep -q -- "^$fault_line" err || { cat err; false; }'
}
fault 'in the background of no steps' '{"writes": 1, "background": true, "files": [{"bytes": 1}]}' 'checkpoint.background: only with'
fault 'writes of a layout' '{"writes": 1, "files": [{"layout": "torch", "bytes": 1, "write_bytes": 1}]}' 'checkpoint.files.0..write_bytes: only of plain'
fault 'tensors of a plain file' '{"writes": 1, "files": [{"bytes": 1, "tensor_bytes": 1}]}' 'checkpoint.files.0..tensor_bytes: only of'
fault 'a series and sizes of writes' '{"writes": 1, "files": [{"bytes": 1, "write_bytes": 1, "series_bytes": [1]}]}' 'checkpoint.files.0..series_bytes: only without'
fault 'a pickle of another layout' '{"writes": 1, "files": [{"layout": "tensorflow", "bytes": 1, "pickle_bytes": 1}]}' 'checkpoint.files.0.: archive, pickle_bytes'
fault 'too many tensors' '{"writes": 1, "files": [{"layout": "torch", "bytes": 1000000000, "tensor_bytes": 1}]}' 'checkpoint.files.0..tensor_bytes: 1e+09 tensors'
fault 'a rename that TensorFlow always makes' '{"writes": 1, "files": [{"layout": "tensorflow", "bytes": 1, "rename": true}]}' 'checkpoint.files.0..rename: '
fault 'a model without a width' '{"writes": 1, "transformer": {"layers": 3}}' 'checkpoint.transformer.hidden: missing'
fault 'a pipeline that is longer than the model' '{"writes": 1, "transformer": {"layers": 3, "hidden": 8, "feed_forward": 8, "vocabulary": 8, "pipeline": 4}}' 'checkpoint.transformer.pipeline: more than layers'
fault 'reads of what keep removes' '{"writes": 3, "reads": 3, "keep": 2, "files": [{"bytes": 1}]}' 'checkpoint.reads: more than keep leaves'
finish
