#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel workload import and export: DLIO's YAML in and out, by the values that are
# published, by DLIO's own loader and by fio's parser; damaged and hostile files.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'

w() { "$IOREEL" workload "$@"; }
field() { python3 -c "import json; d = json.load(open('$1')); print($2)"; }

# --- the published workloads --------------------------------------------------
cat >published.py <<'PY'
"""From the table of DLIO's workloads: a YAML of each, nested or not, with the names
of either version; what ioreel makes of it; and there and back again."""
import csv, json, subprocess, sys
ioreel, path = sys.argv[1:]
def number(s):
    return float(s) if s else 0
def yaml_of(r, nested, old):
    length = "record_length" if old else "record_length_bytes"
    out = ["workload:" if nested else "# top", "framework: " + r["framework"], "workflow:",
           "  train: " + str(r["ckpt"] != "only"), "  checkpoint: " + str(bool(r["ckpt"]))]
    if r["ckpt"] != "only":
        out += ["dataset:", "  format: " + r["format"], "  num_files_train: " + r["files"],
                "  num_samples_per_file: " + r["samples_per_file"],
                f"  {length}: {int(number(r['record_bytes']))}"]
        if r["record_stdev"]:
            out += [f"  {length}_stdev: {r['record_stdev']}"]
        out += ["reader:", "  batch_size: " + r["batch"], "  read_threads: " + r["read_threads"],
                "  prefetch_size: " + r["prefetch"]]
        out += [f"  {k}: {r[k]}" for k in ("file_shuffle", "sample_shuffle", "transfer_size") if r[k]]
        out += ["train:", "  computation_time: " + r["compute_s"]]
        if r["epochs"]:
            out += ["  epochs: " + r["epochs"]]
        if r["max_steps"]:
            out += ["  total_training_steps: " + r["max_steps"]]
    if r["au"]:
        out += ["metric:", "  au: " + r["au"]]
    return "\n".join(out[:1] + [("  " if nested else "") + line for line in out[1:]]) + "\n"
def run(*words):
    return subprocess.run([ioreel, "workload", *words], check=True, capture_output=True, text=True)
count = 0
for i, r in enumerate(csv.DictReader(open(path))):
    if r["ckpt"] == "only" or r["ckpt"].startswith(("steps", "epoch")):
        r["ckpt"] = "" # their sizes: below
    if not r["format"]:
        continue
    open("a.yaml", "w").write(yaml_of(r, i % 2, i % 3 == 0))
    run("import", "a.yaml", "-o", "a.json")
    d = json.load(open("a.json"))
    q = d["dataset"]["sample_bytes"]
    if number(r["record_stdev"]):
        q = q["quantiles"]
        assert abs(q[16] - number(r["record_bytes"])) <= 1
        # 1.86273: the normal quantile at 31/32
        assert abs((q[31] - q[16]) / 1.862731867 - number(r["record_stdev"])) < 2, r
    else:
        assert q == int(number(r["record_bytes"])), r
    want = {"files": r["files"], "samples_per_file": r["samples_per_file"]}
    assert all(d["dataset"][k] == int(v) for k, v in want.items()), r
    assert d["pipeline"]["batch"] == int(r["batch"]) and d["pipeline"]["readers"] == int(r["read_threads"])
    assert abs(d["compute"]["step_ns"] - number(r["compute_s"]) * 1e9) <= 1
    assert abs(d["rules"]["au_percent"] - 100 * number(r["au"])) < 1e-9, (r, d["rules"])
    assert d["total_steps"] == number(r["max_steps"]) and d["epochs"] == (number(r["epochs"]) or 1)
    assert (d["pipeline"]["order"] == "sequential") == (not r["file_shuffle"] and r["sample_shuffle"] in ("", "off"))
    run("export", "a.json", "--as", "dlio", "-o", "b.yaml")
    run("import", "b.yaml", "-o", "b.json")
    assert json.load(open("b.json")) == d, (r, "there and back")
    count += 1
assert count >= 16, count
PY
if [ -e "${IOREEL_DATA:-/none}/dlio_workloads.csv" ]; then
	check 'the published workloads: values, and there and back' \
		'python3 published.py "$IOREEL" "$IOREEL_DATA/dlio_workloads.csv"'
else
	skip 'the published workloads' 'no IOREEL_DATA'
fi

# --- checkpoints --------------------------------------------------------------
cat >llama.yaml <<'Y'
workload:
  model:
    name: llama_8b
    num_layers: 32
    transformer: {hidden_size: 4096, ffn_hidden_size: 14336, vocab_size: 128256,
                  num_attention_heads: 32, num_kv_heads: 8}
    parallelism: {tensor: 2, pipeline: 4, zero_stage: 3}
  workflow: {train: False, checkpoint: True}
  checkpoint: {fsync: True, num_checkpoints_write: 10, num_checkpoints_read: 10, time_between_checkpoints: 5}
Y
check 'Llama 3 8B: the sizes and the parallelism' 'w import llama.yaml -o l.json 2>notes &&
	[ "$(field l.json "(lambda t: (t[\"layers\"], t[\"hidden\"], t[\"key_value\"], t[\"feed_forward\"], t[\"vocabulary\"], t[\"parameter_bytes\"], t[\"optimizer_bytes\"],
		t[\"zero\"], t[\"tensor\"], t[\"pipeline\"], d[\"checkpoint\"][\"files\"]))(d[\"checkpoint\"][\"transformer\"])")" = \
	"(32, 4096, 1024, 14336, 128256, 2, 12, 3, 2, 4, [])" ]'
check 'its times and ranks' '[ "$(field l.json "(d[\"ranks\"], d[\"epochs\"], d[\"checkpoint\"][\"writes\"], d[\"checkpoint\"][\"reads\"], d[\"checkpoint\"][\"pause_ns\"])")" = "(8, 0, 10, 10, 5000000000)" ]'
check 'fsync is made, and DLIO does not make it' 'grep -q "fsync: DLIO never" notes &&
	[ "$(field l.json "d[\"checkpoint\"][\"transformer\"][\"fsync\"]")" = True ]'
check 'there and back' 'w export l.json --as dlio -o l2.yaml && w import l2.yaml -o l2.json 2>/dev/null &&
	[ "$(field l2.json "d[\"checkpoint\"]")" = "$(field l.json "d[\"checkpoint\"]")" ] && grep -q "type: transformer" l2.yaml'
cat >shards.yaml <<'Y'
model: {name: s, type: transformer, num_layers: 4, optimization_groups: [1000, 500], layer_parameters: [3000, 1000], parallelism: {tensor: 2, pipeline: 2}}
workflow: {train: False, checkpoint: True}
checkpoint: {num_checkpoints_write: 1}
Y
check 'a transformer by lists of tensors has no model_size_bytes' 'w import shards.yaml -o s.json 2>notes &&
	[ "$(field s.json "[(f[\"owner\"], f[\"count\"], f[\"bytes\"]) for f in d[\"checkpoint\"][\"files\"]]")" = "[('"'all'"', 2, 2000), ('"'all'"', 1, 4500)]" ]'
cat >shipped.py <<'PY'
"""The models that DLIO ships, from their sizes, heads and parallelism: as in workloads/."""
import json, subprocess, sys
program, folder = sys.argv[1:]
#        layers, hidden, feed forward, vocabulary, heads, key-value heads, tensor, pipeline, stage
models = {"7b": (32, 4096, 11008, 32000, 32, 32, 1, 1, 1), "7b-zero3": (32, 4096, 11008, 32000, 32, 32, 1, 1, 3),
          "8b-zero3": (32, 4096, 14336, 128256, 32, 8, 1, 1, 3), "70b": (80, 8192, 28672, 128256, 128, 8, 8, 4, 1),
          "70b-zero3": (80, 8192, 28672, 128256, 128, 8, 8, 1, 3), "405b": (126, 16384, 53248, 128256, 128, 8, 8, 32, 1),
          "1t": (128, 25872, 98304, 128256, 192, 32, 8, 64, 1)}
def defaults(path):
    return json.loads(subprocess.run([program, "workload", "set", path, "name=x"], check=True, capture_output=True).stdout)
for name, (layers, hidden, ffn, vocabulary, heads, kv, tensor, pipeline, stage) in models.items():
    with open("m.yaml", "w") as f:
        f.write(f"""
model:
  name: llama_{name}
  type: transformer
  num_layers: {layers}
  model_datatype: fp16
  optimizer_datatype: fp32
  parallelism:
    tensor: {tensor}
    pipeline: {pipeline}
    zero_stage: {stage}
  transformer:
    vocab_size: {vocabulary}
    hidden_size: {hidden}
    ffn_hidden_size: {ffn}
    num_attention_heads: {heads}
    num_kv_heads: {kv}
framework: pytorch
workflow: {{generate_data: False, train: False, checkpoint: True}}
checkpoint: {{fsync: True, time_between_checkpoints: 5, num_checkpoints_write: 10, num_checkpoints_read: 10}}
""")
    subprocess.run([program, "workload", "import", "m.yaml", "-o", "m.json"], check=True, capture_output=True)
    is_, want = defaults("m.json"), defaults("%s/dlio-llama-%s.json" % (folder, name))
    assert is_["checkpoint"] == want["checkpoint"], (name, is_["checkpoint"], want["checkpoint"])
    assert max(is_["ranks"], 1) == want["ranks"] and is_["epochs"] == want["epochs"] == 0, name
PY
check 'the models that DLIO ships' 'python3 shipped.py "$IOREEL" "$TOP/workloads"'
printf 'model: {name: m, model_size: 499153191}\nworkflow: {checkpoint: True}\ncheckpoint: {epochs_between_checkpoints: 2}\n' >m.yaml
check 'a misspelt model_size is said, and used' 'w import m.yaml -o m.json 2>notes && grep -q "model.model_size: DLIO does not read" notes &&
	[ "$(field m.json "d[\"checkpoint\"][\"files\"][0][\"bytes\"]")" = 499153191 ]'

# --- times --------------------------------------------------------------------
cat >times.py <<'PY'
"""The quantiles of each type against NumPy's own samples."""
import json, subprocess, sys
import numpy as np
g = np.random.default_rng(5)
types = {
    "{type: normal, mean: 0.01, stdev: 0.006}": abs(g.normal(0.01, 0.006, 200000)),
    "{type: uniform, min: 0.2, max: 0.5}": g.uniform(0.2, 0.5, 200000),
    "{type: gamma, shape: 2.5, scale: 0.03}": g.gamma(2.5, 0.03, 200000),
    "{type: exponential, scale: 0.07}": g.exponential(0.07, 200000),
    "{type: poisson, lam: 3.5}": g.poisson(3.5, 200000),
}
for text, sample in types.items():
    open("t.yaml", "w").write(f"train: {{computation_time: {text}}}\n")
    subprocess.run([sys.argv[1], "workload", "import", "t.yaml", "-o", "t.json"], check=True)
    q = np.array(json.load(open("t.json"))["compute"]["step_ns"]["quantiles"]) / 1e9
    share = np.linspace(0, 1, len(q))[1:-1]
    for s, v in zip(share, q[1:-1]):
        below, at = (sample < v - 1e-9).mean(), (sample <= v + 1e-9).mean()
        assert below - 0.005 <= s <= at + 0.005, (text, s, v, below, at)
PY
if python3 -c 'import numpy' 2>/dev/null; then
	check 'distributions of times are those of NumPy' 'python3 times.py "$IOREEL"'
else
	skip 'distributions of times' 'no NumPy'
fi
check 'a constant and a deviation' 'printf "train: {computation_time: 0.5, computation_time_stdev: 0.1}\n" >t.yaml
	w import t.yaml -o t.json && [ "$(field t.json "d[\"compute\"][\"step_ns\"][\"quantiles\"][16]")" = 500000000 ]'

# --- keys without effect ------------------------------------------------------
cat >odd.yaml <<'Y'
dataset: {format: mmap_indexed_binary, num_files: 9, enable_chunking: True, chunk_size: 4096}
reader: {read_threads: 2, file_acess: multi, computation_threads: 8}
workflow: {evaluation: False}
Y
check 'keys that DLIO ignores are named' 'w import odd.yaml -o o.json 2>notes &&
	grep -q "dataset.num_files: DLIO has no such key" notes && grep -q "reader.file_acess: DLIO has no such key" notes &&
	grep -q "computation_threads: not imported" notes && grep -q "reads none of their data" notes'
# The size of TensorFlow's buffer is a window of its own, but not of files that are shuffled.
buffered() { printf 'reader: {data_loader: %s, shuffle_size: 77%s}\n' "$1" "$2" >b.yaml; w import b.yaml -o b.json 2>notes; }
check 'the buffer of a shuffle is imported, or named' 'buffered tensorflow ", sample_shuffle: seed" &&
	[ "$(field b.json "(d[\"pipeline\"][\"order\"], d[\"pipeline\"][\"window\"])")" = "('"'window'"', 77)" ] && ! grep -q shuffle_size notes &&
	buffered tensorflow ", sample_shuffle: seed, file_shuffle: seed" && grep -q "reader.shuffle_size: not imported" notes &&
	buffered tensorflow "" && grep -q "reader.shuffle_size: not imported" notes &&
	buffered pytorch ", sample_shuffle: seed" && grep -q "reader.shuffle_size: DLIO.s PyTorch loader does not" notes'
cat >parquet.yaml <<'Y'
dataset:
  format: parquet
  num_samples_per_file: 3000
  parquet:
    row_group_size: 512
    columns:
      - {name: label, dtype: int32}
      - {name: dense}
      - {name: embedding, dtype: float16, size: 64}
      - {name: unused, dtype: binary, size: 600, read: false}
Y
check 'the columns of MLPerf Storage'"'"'s parquet' 'w import parquet.yaml -o p.json 2>notes && ! grep -q parquet\\. notes &&
	[ "$(field p.json "[d[\"dataset\"][k] for k in (\"format\", \"row_group_rows\", \"sample_bytes\")]")" = "['"'parquet'"', 512, 736]" ] &&
	[ "$(field p.json "[(c[\"bytes\"], c[\"count\"], c[\"read\"]) for c in d[\"dataset\"][\"columns\"]]")" = \
		"[(4, 2, True), (128, 1, True), (600, 1, False)]" ]'
check 'there and back again' 'w export p.json --as dlio >q.yaml && w import q.yaml -o r.json 2>notes &&
	python3 -c "import json; a, b = (json.load(open(f))[\"dataset\"] for f in (\"p.json\", \"r.json\")); assert a == b, (a, b)"'
check 'a row of one column, and groups of 1,024' 'printf "dataset: {format: parquet, record_length_bytes: 77}\n" >p.yaml && w import p.yaml -o p.json &&
	[ "$(field p.json "[d[\"dataset\"][k] for k in (\"row_group_rows\", \"sample_bytes\", \"columns\")]")" = "[1024, 77, []]" ]'
check 'a size that is no number is refused' 'sed "s/size: 64/size: many/" parquet.yaml >bad.yaml && ! w import bad.yaml -o p.json 2>err && grep -q "columns.2..size" err'
check 'all that DLIO cannot hold is a comment' 'w set o.json pipeline.drop_last=false dataset.compressibility=0.5 cache=cold compute.on=cpu \
		"dataset.sample_bytes={\"quantiles\":[10,20,90]}" >p.json && w export p.json --as dlio >p.yaml &&
	for key in drop_last compressibility "cache:" compute.on sample_bytes; do sed -n "/^# - /p" p.yaml | grep -q "$key" || exit 1; done'
check 'a format that DLIO lacks is refused' 'w set o.json dataset.format=tar >p.json; ! w export p.json --as dlio 2>err && grep -q "no format .tar" err'
cat >formats.sh <<'S'
# Each format that the message offers is exported.
"$IOREEL" workload set o.json dataset.format=raw >p.json
! "$IOREEL" workload export p.json --as dlio 2>err >out || exit 1
names=$(sed -n 's/.*set dataset.format to one of //p' err | tr -d ,)
[ "$(echo $names | wc -w)" = 9 ] || exit 1
for name in $names; do
	"$IOREEL" workload set o.json dataset.format=$name >p.json && "$IOREEL" workload export p.json --as dlio >out 2>err || exit 1
done
S
check 'and the message gives the key and the formats that can be exported' 'sh formats.sh'

# --- DLIO's own loader --------------------------------------------------------
cat >loader.py <<'PY'
"""DLIO's own reading of all workloads that it ships, and of what ioreel makes of them."""
import glob, os, subprocess, sys, types
import yaml
class Tracer: # DLIO's stand-in for it does not work
    def __init__(self, *a, **k): pass
    def log(self, f): return f
    log_init = log_static = log
for module in "dftracer", "dftracer.logger", "dftracer.python":
    stub = sys.modules[module] = types.ModuleType(module)
    stub.dftracer, stub.dft_fn, stub.ai, stub.DFTRACER_ENABLE = Tracer, Tracer, Tracer(), False
if sys.argv[1:] == ["--there"]:
    import dlio_benchmark.utils.config, mpi4py.MPI
    sys.exit()
import dlio_benchmark
from dlio_benchmark.utils.config import ConfigArguments, DLIOMPI, LoadConfig
DLIOMPI.get_instance().initialize()
def load(path):
    ConfigArguments._ConfigArguments__instance = None
    args = ConfigArguments.get_instance()
    LoadConfig(args, yaml.safe_load(open(path)))
    return args
def done_after(a, first, between):
    """The epochs after which it is done."""
    return list(range(getattr(a, first), a.epochs + 1, getattr(a, between)))
def value(v):
    return getattr(v, "value", v)
same = """framework epochs batch_size read_threads num_files_train num_samples_per_file computation_time seed
          seed_change_epoch total_training_steps transfer_size num_subfolders_train do_eval do_checkpoint
          au file_prefix preprocess_time""".split()
evaluated = "num_files_eval batch_size_eval eval_time num_subfolders_eval".split()
program, count = sys.argv[1], 0
for path in sorted(glob.glob(os.path.dirname(dlio_benchmark.__file__) + "/configs/workload/*.yaml")):
    name = os.path.basename(path)
    subprocess.run([program, "workload", "import", path, "-o", "x.json"], check=True, capture_output=True)
    subprocess.run([program, "workload", "check", "x.json"], check=True, capture_output=True)
    subprocess.run([program, "run", "-q", "--null", "--scale", "1/1000", *(["--set", "epochs=1"] if load(path).epochs > 100 else []), "--set", "compute.step_ns=0", "--set", "evaluation.step_ns=0",
                    "--set", "checkpoint.pause_ns=0", "x.json"], check=True, capture_output=True, timeout=100)
    subprocess.run([program, "workload", "export", "x.json", "--as", "dlio", "-o", "x.yaml"], check=True)
    a, b = load(path), load("x.yaml")
    trains = yaml.safe_load(open(path)).get("workflow", {}).get("train", True)
    for key in same + (evaluated if a.do_eval else []):
        if not trains and not key.startswith(("do_", "seed")):
            continue
        x, y = value(getattr(a, key, 0)), value(getattr(b, key, 0))
        assert x == y or isinstance(x, float) and abs(x - y) <= 1e-9 * abs(x), (name, key, x, y)
    if trains:
        length = "record_length_bytes" if hasattr(a, "record_length_bytes") else "record_length"
        assert abs(getattr(a, length) - getattr(b, length)) < 1, (name, length)
        stdev = length + "_stdev"
        assert abs(getattr(a, stdev) * 2 ** .5 - getattr(b, stdev)) < 2, (name, getattr(a, stdev), getattr(b, stdev))
        assert value(b.format) == value(a.format), (name, a.format, b.format)
        assert value(a.file_shuffle) == value(b.file_shuffle) or value(a.sample_shuffle) != "off", name
    if trains and a.do_checkpoint:
        assert a.steps_between_checkpoints == b.steps_between_checkpoints, name
        if a.steps_between_checkpoints < 0:
            epochs = [done_after(x, "checkpoint_after_epoch", "epochs_between_checkpoints") for x in (a, b)]
            assert epochs[0] == epochs[1], (name, epochs)
    if a.do_eval:
        epochs = [done_after(x, "eval_after_epoch", "epochs_between_evals") for x in (a, b)]
        assert epochs[0] == epochs[1], (name, epochs)
    count += 1
assert count >= 14, count
PY
python=${IOREEL_DLIO_PYTHON:-python3}
if "$python" loader.py --there 2>/dev/null; then
	check "DLIO's own loader reads the same from the export" '"$python" loader.py "$IOREEL"'
else
	skip "DLIO's own loader" 'no dlio_benchmark (IOREEL_DLIO_PYTHON names a Python that has it)'
fi
# 4,195,198,976 samples in a file, and evaluation keys that no version reads.
printf 'model: dlrm\ndataset: {format: indexed_binary, num_files_train: 1, num_samples_per_file: 4195198976, record_length: 327680}\n' >d.yaml
check 'the dlrm of DLIO 2.0.0' 'w import d.yaml -o d.json && [ "$(field d.json "d[\"dataset\"][\"samples_per_file\"]")" = 4195198976 ]'
printf 'workflow: {generate_data: True, train: False}\ndataset: {num_files_train: 3}\n' >g.yaml
check 'a YAML that only makes data is a data set' 'w import g.yaml -o g.json 2>err && [ "$(field g.json "(d[\"dataset\"][\"files\"], d[\"epochs\"])")" = "(3, 1)" ] &&
	grep -q "only makes this data set" err'
# after FIRST BETWEEN EPOCHS EVERY: of checkpoints.
after() {
	printf "workflow: {checkpoint: True}\ncheckpoint: {checkpoint_after_epoch: $1, epochs_between_checkpoints: $2}\ntrain: {epochs: $3}\n" >c.yaml
	is "checkpoints after $1 epochs, then every $2, of $3" "$(w import c.yaml -o c.json 2>err; field c.json 'd["checkpoint"]["every_epochs"]') $(grep -c 'here they are every' err)" "$4"
}
after 5 2 5 '5 0'
after 2 2 6 '2 0'
after 7 1 5 '7 0'
after 1 2 5 '2 1'
after 3 2 5 '2 1'

# --- fio and IOR --------------------------------------------------------------
mkdir files
if command -v fio >/dev/null; then
	for f in "$TOP"/workloads/*.json; do
		grep -q '"kvcache"' "$f" || check "fio takes ${f##*/}" 'w export "$f" --as fio -o j.fio && fio --parse-only --directory=files j.fio >out 2>&1 &&
			! grep -qi "max of\|bad option\|warning" out'
	done
	cat >small.json <<'J'
{"schema": "ioreel-workload-1", "name": "s", "epochs": 2,
 "dataset": {"files": 8, "sample_bytes": 40960}, "pipeline": {"readers": 2, "batch": 2}, "compute": {"step_ns": 1000}}
J
	# 20 files of 10 to 90 kB, by two jobs, twice; two ranks write two checkpoints of 300 kB, and read one.
	python3 -c "
import json
d = json.load(open('small.json'))
d['dataset'].update(files=20, sample_bytes={'quantiles': [10000, 20000, 60000, 90000]})
d.update(ranks=2, checkpoint={'writes': 2, 'reads': 1, 'files': [{'owner': 'all', 'bytes': 300000, 'fsync': True}]})
json.dump(d, open('m.json', 'w'))"
	check 'fio: the bytes and calls of files of several sizes, and of checkpoints' 'w export m.json --as fio -o m.fio && mkdir fm && fio --directory=fm --output-format=json --output=o m.fio &&
		[ "$(field o "sum(j[\"read\"][\"io_bytes\"] for j in d[\"jobs\"]), sum(j[\"read\"][\"total_ios\"] for j in d[\"jobs\"]), sum(j[\"write\"][\"io_bytes\"] for j in d[\"jobs\"])")" = \
		"$((2 * 20 * 43333 + 2 * 300000)) 42 $((2 * 2 * 300000))" ] && [ "$(ls fm/checkpoint-0.* | wc -l)" = 2 ]'
	check 'fio reads every file twice' 'w export small.json --as fio -o s.fio && fio --directory=files --output-format=json --output=o s.fio &&
		[ "$(field o "sum(j[\"read\"][\"io_bytes\"] for j in d[\"jobs\"])")" = $((8 * 40960 * 2)) ]'
else
	skip 'the job files of fio' 'no fio'
fi
# Writes in their order have their mean size in fio, and DLIO has none.
cat >series.json <<'J'
{"schema": "ioreel-workload-1", "name": "s", "dataset": {"format": "npz", "files": 4, "sample_bytes": 8192},
 "checkpoint": {"every_steps": 2, "files": [{"bytes": 1200000, "series_bytes": [100000, 300000, 200000]}]}}
J
check 'fio: the writes of a series' 'w export series.json --as fio >o && grep -q "^bs=200000$" o'
check 'DLIO: they are named as lost' 'w export series.json --as dlio >o && grep -q "^#.*write sizes" o'
check 'direct reads are whole blocks of 4 KiB' 'w set "$TOP/workloads/dlio-unet3d-h100.json" access.direct=true dataset.sample_bytes=5000 >o.json && w export o.json --as fio >o.fio &&
	grep -q "^bs=8192$" o.fio && grep -q "^direct=1" o.fio'
check 'fio and IOR: the checkpoints of llama3 8b' 'w export "$TOP/workloads/mlperf3-llama3-8b.json" --as fio >o && grep -q "^filesize=140529" o && [ "$(grep -c "^numjobs=8$" o)" = 2 ] &&
	w export "$TOP/workloads/mlperf3-llama3-8b.json" --as ior >o && grep -q "^mpirun -n 8 ior -a POSIX -w -e -F -m -k -t 1048576 -b 14053.* -i 10 -d 5 -o" o && grep -q " -r -F " o'
check 'a key-value cache is refused' '! w export "$TOP/workloads/mlperf3-kvcache-70b.json" --as fio 2>err && grep -q "cannot be exported" err'
check 'a command line of IOR' 'w set "$TOP/workloads/dlio-unet3d-h100.json" access.api=mpiio access.collective=true ranks=4 access.transfer_bytes=1048576 >i.json
	w export i.json --as ior | grep -Eq "^mpirun -n 4 ior -a MPIIO -c .*-t 1048576 -b [0-9]+ -s 6 -i 5 -z" '
check 'its block is a whole number of transfers' 'b=$(w export i.json --as ior | sed -n "s/.* -b \([0-9]*\).*/\1/p"); [ $((b % 1048576)) = 0 ] && [ "$b" -gt 900000000 ]'

# --- hostile files ------------------------------------------------------------
# refused TITLE YAML WORDS: one line that has the words; no output.
refused() {
	printf -- "$2" >bad.yaml
	check "$1" 'rm -f o.json; timeout 20 "$IOREEL" workload import bad.yaml -o o.json >out 2>err; [ $? = 1 ] &&
		[ "$(wc -l <err)" = 1 ] && grep -q -- "'"$3"'" err && [ ! -e o.json ]'
}
refused 'no YAML' 'a: [1, 2\n' 'bad.yaml. is no YAML: line'
refused 'a list at the top' '- 1\n' 'its top is no map'
refused 'a workload' '{"schema": "ioreel-workload-1", "name": "x"}' 'is a workload already'
refused 'a YAML of another program' 'jobs: [{name: x}]\n' 'has no key of DLIO'
refused 'an empty file' '' 'its top is no map'
refused 'a number that is none' 'dataset:\n  num_files_train: many\n' 'line 2: dataset.num_files_train: not a number'
refused 'NaN' 'train: {computation_time: .nan}\n' 'computation_time: not a number'
refused '10^12 files' 'dataset: {num_files_train: 1000000000000}\n' 'dataset.files: 1000000000000 is more'
refused 'half a file' 'dataset: {num_files_train: 1.5}\n' 'dataset.files: not an integer'
refused 'a negative size' 'dataset: {record_length_bytes: -5}\n' 'dataset.sample_bytes: -5 is less than 0'
refused 'a prefix that leads out' 'dataset: {file_prefix: ../x}\n' 'dataset.prefix: not a name'
refused 'a format that is none' 'dataset: {format: zarr}\n' 'dataset.format: no format of DLIO'
refused 'an unknown distribution' 'train: {computation_time: {type: cauchy}}\n' 'not one of normal'
refused 'a negative time' 'train: {computation_time: -1}\n' 'a time below 0'
refused 'a year of computing' 'train: {computation_time: 1e9}\n' 'compute.step_ns'
refused 'aliases of aliases' 'a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n' 'too deep or too large'
refused 'an alias of itself' 'a: &a [*a]\n' 'too deep or too large'
check 'a file of 2 MB' 'yes "a: 1" | head -c 2000000 >big.yaml; ! w import big.yaml -o o.json 2>err && [ ! -e o.json ] && [ "$(wc -l <err)" = 1 ]'
check 'a missing file' '! w import none.yaml -o o.json 2>err && grep -q "none.yaml" err'
cat >mangle.py <<'PY'
"""Damage at random: an exit status of 0 or 1, never a signal."""
import random, subprocess, sys
random.seed(3)
text = open("llama.yaml", "rb").read()
for i in range(150):
    b = bytearray(text)
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(b))
        b[at:at + random.randint(0, 3)] = bytes(random.choice(b"{}[]:,-&*!|>'\"%@`0123456789\n \t\xff\0") for _ in range(random.randint(0, 3)))
    open("x.yaml", "wb").write(b)
    r = subprocess.run([sys.argv[1], "workload", "import", "x.yaml", "-o", "x.json"], capture_output=True, timeout=20)
    assert r.returncode in (0, 1), (i, r)
PY
check 'damaged files' 'python3 mangle.py "$IOREEL"'
finish
